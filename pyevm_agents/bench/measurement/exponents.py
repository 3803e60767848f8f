"""Fit growth: p in a + b x^p, with an interval.

The interval joins two uncertainties. Points may not lie on a curve of this form: p then covers all
exponents that fit not much worse than the best one (profile of the sum of squares, F test). And
each point is a median of noisy samples: p then covers the exponents of resampled points.

Source: Bates and Watts, "Nonlinear Regression Analysis and Its Applications", chapter 6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pyevm_agents.bench.measurement.intervals import HIGH_PERCENT, LOW_PERCENT, resample_medians
from pyevm_agents.reports.number_format import Interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

LEAST, MOST, FINENESS = 0.1, 4.0, 0.01
"""Exponents tried: least, most, step. An interval that reaches an end is open there."""

PARAMETERS = 3
"""a, b and p: any three points lie on a curve of this form."""

T_95 = (12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306)
"""Student's t, two-sided 95 %, for 1 degree of freedom and more."""

FASTER = "faster than linear"

LINEAR_WIDTH = 0.5
"""An interval that contains 1 and is wider than this is inconclusive about linear growth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _PowerCurves:
    """All weighted curves of each exponent through points at given places."""

    exponents: Numbers
    bases: Numbers
    """For each exponent, two orthonormal vectors that span its curves."""

    weights: Numbers

    def sum_squares(self, y: Numbers) -> Numbers:
        """Return the residual sum of squares of each exponent.

        Input: a value for each place, or a matrix with a set of values in each row.
        Output: for each exponent, and for each set.
        """
        weighted = (y * self.weights).T
        explained = np.einsum("pk...->p...", np.tensordot(self.bases, weighted, (1, 0)) ** 2)
        return np.asarray(np.maximum((weighted**2).sum(axis=0) - explained, 0.0))


def fit_exponent(xs: Sequence[float], samples: Sequence[Sequence[float]]) -> Interval:
    """Return p in a + b x^p, with the 95 % interval.

    Input:
        xs: at least three places, all above 0.
        samples: one or several measurements at each place, all above 0. Errors are relative to the
        measured value.

    Output: with only three places, the interval contains every exponent tried, as a curve passes
        through any three points.
    Raises: ValueError: there are too few places, or a value is not above 0.
    """
    if len(xs) < PARAMETERS or min(xs) <= 0 or min(map(min, samples)) <= 0:
        raise ValueError(
            f"at {list(xs)}: an exponent needs {PARAMETERS} places or more, and all above 0"
        )
    resampled = np.stack([resample_medians(sample) for sample in samples], axis=-1)
    middle = np.array([float(np.median(sample)) for sample in samples])
    curves = _build_curves(np.asarray(xs, dtype=np.float64), middle)
    squares = curves.sum_squares(middle)
    best = float(curves.exponents[squares.argmin()])
    if len(xs) == PARAMETERS:
        return Interval(middle=best, low=LEAST, high=MOST)
    free = len(xs) - PARAMETERS
    t = T_95[min(free, len(T_95)) - 1]
    # Points exactly on a curve leave only rounding errors.
    bound = max(squares.min(), len(xs) * np.finfo(np.float64).eps) * (1 + t**2 / free)
    fitting = curves.exponents[squares <= bound]
    drawn = curves.exponents[curves.sum_squares(resampled).argmin(axis=0)]
    low, high = np.percentile(drawn, (LOW_PERCENT, HIGH_PERCENT))
    return Interval(
        middle=best, low=float(min(low, fitting[0], best)), high=float(max(high, fitting[-1], best))
    )


def describe_growth(p: Interval) -> str:
    """Return a description of growth by exponent: linear, faster or slower."""
    if p.low > 1:
        return FASTER
    if p.high < 1:
        return "slower than linear"
    return "linear" if p.high - p.low <= LINEAR_WIDTH else "not told from linear"


def fit_log_slope(xs: Sequence[float], ys: Sequence[Interval]) -> Interval:
    """Return p in b x^p by least squares of logarithms, with an interval from those of the points.

    Raises: ValueError: there are fewer than two places, or a value is not above 0.
    """
    if len(set(xs)) < 2 or min(xs) <= 0 or min(y.low for y in ys) <= 0:  # noqa: PLR2004
        raise ValueError(f"at {list(xs)}: a slope needs two places or more, and all above 0")
    x = np.log(np.asarray(xs, dtype=np.float64))
    shares = (x - x.mean()) / ((x - x.mean()) ** 2).sum()
    middle, low, high = (
        np.log([getattr(y, name) for y in ys]) for name in ("middle", "low", "high")
    )
    slope = float(shares @ middle)
    # Each point moves the slope by its share, independently of the others.
    below = np.where(shares > 0, middle - low, high - middle) * shares
    above = np.where(shares > 0, high - middle, middle - low) * shares
    return Interval(
        middle=slope,
        low=slope - float(np.sqrt((below**2).sum())),
        high=slope + float(np.sqrt((above**2).sum())),
    )


def _build_curves(xs: Numbers, middle: Numbers) -> _PowerCurves:
    tried = np.arange(round(LEAST / FINENESS), round(MOST / FINENESS) + 1) / round(1 / FINENESS)
    weights = 1 / middle
    powers = (xs / xs.max()) ** tried[:, None]
    terms = np.stack([np.ones_like(powers), powers], axis=-1) * weights[:, None]
    return _PowerCurves(exponents=tried, bases=np.linalg.qr(terms).Q, weights=weights)
