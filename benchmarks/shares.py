"""Shares with their uncertainty: a count of a total, and the interval of the true share."""

from __future__ import annotations

import math
from dataclasses import dataclass

Z95 = 1.959963984540054
"""Standard deviations to either side of 95 % of a normal distribution."""


@dataclass(frozen=True, slots=True)
class Share:
    """A count of a total."""

    count: int
    total: int

    @property
    def value(self) -> float:
        """The share; 0 of nothing is 0."""
        return self.count / self.total if self.total else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % confidence interval after Wilson; 0 to 1 for a total of 0.

        Source: E. B. Wilson, "Probable inference, the law of succession, and statistical
            inference", Journal of the American Statistical Association 22 (1927).
        """
        if not self.total:
            return 0.0, 1.0
        share, scale = self.value, Z95**2 / self.total
        centre = (share + scale / 2) / (1 + scale)
        spread = math.sqrt(share * (1 - share) * scale + scale**2 / 4) / (1 + scale)
        # Exactly 0 or 1 where all are alike, which rounding would miss.
        low = 0.0 if self.count == 0 else max(0.0, centre - spread)
        high = 1.0 if self.count == self.total else min(1.0, centre + spread)
        return low, high

    def __str__(self) -> str:
        """Return `54/60 90 % (80-95)`; a dash for a total of 0."""
        if not self.total:
            return "-"
        low, high = self.interval
        return (
            f"{self.count}/{self.total} {percent(self.value)} % ({100 * low:.0f}-{100 * high:.0f})"
        )


def percent(share: float) -> str:
    """Return a share in per cent: whole, or with the digits that distinguish it from 0 and 100."""
    text = f"{100 * share:.1f}"
    return text.removesuffix(".0")


def share_of(marks: list[bool]) -> Share:
    """Return the share of true marks."""
    return Share(sum(marks), len(marks))
