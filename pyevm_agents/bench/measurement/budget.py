"""The time budget of a quick run: on a slow or busy machine, less is measured."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

QUICK_S, FULL_S = 87.0, 910.0
"""Seconds of a quick and of a full run with the default model on two quiet cores."""

QUICK_BUDGET_S = 120.0
"""Seconds after which a quick run skips all that a report can do without."""

LEAST_SHARE = 0.5
"""Share of a quick run's work that is always done: two rounds of each probe, and one run."""

LEAST_ROUNDS = 2
"""Rounds that are always done: an interval needs two samples."""

EVM_SHARE, INFERENCE_SHARE, RUN_SHARE = 0.25, 0.7, 0.9
"""Shares of the budget at whose ends each part stops, in order."""


OUT_OF_TIME = "out of time"


class TimeBudget:
    """The seconds of a benchmark, counted from now, and the measurements skipped at their end."""

    def __init__(
        self, seconds: float = math.inf, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Start the clock."""
        self.seconds = seconds
        self.skipped: list[str] = []
        self._clock = clock
        self._started_s = clock()

    def is_spent(self, share: float = 1.0) -> bool:
        """Return whether a share of the seconds is over."""
        return self._clock() - self._started_s > share * self.seconds

    def list_skipped(self) -> tuple[tuple[str, str], ...]:
        """Return (name, reason) of each skipped measurement, for `Report.left_out`."""
        reason = f"{OUT_OF_TIME} after {self.seconds:.0f} s"
        return tuple((name, reason) for name in self.skipped)


def estimate_seconds(*, is_quick: bool, load_average: float, cores: int) -> float:
    """Return the expected duration of a run with the default model.

    Other processes share the cores: a load average of 2 on two cores doubles the time.
    """
    slowdown = 1 + load_average / cores
    if not is_quick:
        return FULL_S * slowdown
    return min(QUICK_S * slowdown, max(QUICK_BUDGET_S, LEAST_SHARE * QUICK_S * slowdown))
