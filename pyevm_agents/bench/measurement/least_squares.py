"""Non-negative least squares for times, with relative errors and an honest uncertainty.

A time of a second is known to some percent, as a time of a millisecond is: every measurement is
weighted by the relative error. Coefficients are times, hence not negative. The uncertainty has two
sources: the noise of rounds, by resampling, and the misfit of the function, by random signs of the
    residuals.

Source: Lawson and Hanson, "Solving Least Squares Problems", chapter 23; Efron and Tibshirani, "An
    Introduction to the Bootstrap", chapter 9; Wu, "Jackknife, Bootstrap and Other Resampling
    Methods in Regression Analysis" (the wild bootstrap).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, combinations
from typing import TYPE_CHECKING

import numpy as np

from pyevm_agents.bench.measurement.intervals import (
    RESAMPLES,
    SEED,
    bound_estimate,
    resample_medians,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pyevm_agents.reports.number_format import Interval

    Numbers = NDArray[np.float64]

SLOPE = 1e-10
"""Gradients below this count as 0, for columns of length 1 and targets of about 1: rounding errors.
"""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LeastSquaresFit:
    """Coefficients of a sum of columns, and their values for resampled measurements."""

    coefficients: Numbers
    resampled: Numbers
    """`RESAMPLES` rows of coefficients."""

    measured: Numbers
    fitted: Numbers

    def evaluate(self, row: Sequence[float]) -> Interval:
        """Return the value of a row of columns, with the uncertainty."""
        weights = np.asarray(row, dtype=np.float64)
        return bound_estimate(self.resampled @ weights, middle=float(self.coefficients @ weights))

    def get_coefficient(self, index: int) -> Interval:
        """Return one coefficient."""
        return self.evaluate(np.eye(len(self.coefficients))[index].tolist())


def fit(rows: Sequence[Sequence[float]], samples: Sequence[Sequence[float]]) -> LeastSquaresFit:
    """Fit times to columns, by the median of each row's samples.

    Input:
        rows: the amount of each column in each measurement.
        samples: the seconds of each measurement, by round.

    Raises: ValueError: there are fewer rows than columns, or a time is not positive.
    """
    design = np.asarray(rows, dtype=np.float64)
    measured = np.array([np.median(each) for each in samples])
    count, columns = design.shape
    if count < columns or not (measured > 0).all():
        raise ValueError(
            f"{count} measurements for {columns} coefficients, the shortest of "
            f"{measured.min(initial=np.inf)} s; measure more, each longer than nothing"
        )
    weighted = design / measured[:, None]
    coefficients = solve_non_negative(weighted, np.ones((count, 1)))[:, 0]
    fitted = design @ coefficients
    freedom = max(1, count - int((coefficients > 0).sum()))
    signs = np.random.default_rng(SEED + 1).choice((-1.0, 1.0), (RESAMPLES, count))
    again = np.stack([resample_medians(each) for each in samples], axis=1)
    again += signs * (measured - fitted) * np.sqrt(count / freedom)
    return LeastSquaresFit(
        coefficients=coefficients,
        resampled=solve_non_negative(weighted, (again / measured).T).T,
        measured=measured,
        fitted=fitted,
    )


def solve_non_negative(design: Numbers, targets: Numbers) -> Numbers:
    """Return the best non-negative coefficients for each column of targets.

    Sets of columns are tried, the largest first, until no allowed step improves the solution of any
    target. The worst case tries all sets, which is fast for the few columns of a fit.
    """
    columns = design.shape[1]
    lengths = np.linalg.norm(design, axis=0)
    lengths[lengths == 0] = 1.0
    scaled = design / lengths
    squares, products = scaled.T @ scaled, scaled.T @ targets
    best = np.zeros((columns, targets.shape[1]))
    gained = np.zeros(targets.shape[1])
    left = np.flatnonzero((products > 0).any(axis=0))
    sizes = range(columns, 0, -1)
    for chosen in chain.from_iterable(combinations(range(columns), size) for size in sizes):
        if not len(left):
            break
        used = list(chosen)
        inverse = np.linalg.pinv(squares[np.ix_(used, used)], hermitian=True)
        solved = np.zeros((columns, len(left)))
        solved[used] = inverse @ products[used][:, left]
        slopes = products[:, left] - squares @ solved
        gains = (solved * products[:, left]).sum(axis=0)  # What is explained of the square sum.
        better = (solved >= 0).all(axis=0) & (gains > gained[left])
        gained[left[better]] = gains[better]
        best[:, left[better]] = solved[:, better]
        left = left[~(better & (slopes <= SLOPE).all(axis=0))]
    return np.asarray(best / lengths[:, None], dtype=np.float64)
