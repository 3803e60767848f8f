"""Two contenders on the same tasks: discordant counts, McNemar's exact test, and an interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.shares import Share

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """Counts of tasks by the marks of two contenders."""

    both: int
    only_first: int
    only_second: int
    neither: int

    @property
    def total(self) -> int:
        """Number of tasks."""
        return self.both + self.only_first + self.only_second + self.neither

    @property
    def first(self) -> Share:
        """The first contender's share."""
        return Share(self.both + self.only_first, self.total)

    @property
    def second(self) -> Share:
        """The second contender's share."""
        return Share(self.both + self.only_second, self.total)

    @property
    def difference(self) -> float:
        """The first contender's share less the second's; 0 of no tasks."""
        return (self.only_first - self.only_second) / self.total if self.total else 0.0

    @property
    def p_value(self) -> float:
        """The two-sided p-value of McNemar's exact test: is a difference mere luck?

        Of the discordant tasks, each contender has as many as heads in fair tosses; 1 without any.
        Source: Q. McNemar, Psychometrika 12 (1947).
        """
        tosses, fewest = self.only_first + self.only_second, min(self.only_first, self.only_second)
        tail = sum(math.comb(tosses, heads) for heads in range(fewest + 1))
        return min(1.0, 2 * tail / (1 << tosses))

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % confidence interval of the difference; -1 to 1 for no tasks.

        Source: R. G. Newcombe, "Improved confidence intervals for the difference between binomial
            proportions based on paired data", Statistics in Medicine 17 (1998), method 10.
        """
        if not self.total:
            return -1.0, 1.0
        phi = self._correlation()
        below_first, above_first = _distances(self.first)
        below_second, above_second = _distances(self.second)
        below = _hypotenuse(below_first, above_second, phi)
        above = _hypotenuse(above_first, below_second, phi)
        return max(-1.0, self.difference - below), min(1.0, self.difference + above)

    def _correlation(self) -> float:
        """Return the correlation of both marks, with Newcombe's correction for continuity."""
        first, second = self.first.count, self.second.count
        margins = first * (self.total - first) * second * (self.total - second)
        if not margins:
            return 0.0
        product = float(self.both * self.neither - self.only_first * self.only_second)
        if product > 0:
            product = max(product - self.total / 2, 0.0)
        return product / math.sqrt(margins)


def pair_marks(pairs: Iterable[tuple[bool, bool]]) -> Paired:
    """Count pairs of marks, the first contender's before the second's."""
    marks = [*pairs]
    return Paired(
        both=marks.count((True, True)),
        only_first=marks.count((True, False)),
        only_second=marks.count((False, True)),
        neither=marks.count((False, False)),
    )


def _distances(share: Share) -> tuple[float, float]:
    """Return the distances of a share from the ends of its interval."""
    low, high = share.interval
    return share.value - low, high - share.value


def _hypotenuse(one: float, other: float, correlation: float) -> float:
    return math.sqrt(max(one**2 - 2 * correlation * one * other + other**2, 0.0))
