"""Figures of classes and of forecasts, with intervals."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

CLASSES = (-1, 0, 1)
Z_95 = 1.959964
"""Standard normal quantile of a two-sided interval of 95 %."""


def accuracy(truth: Integers, guess: Integers) -> float:
    """Return the share of equal classes."""
    return float(np.mean(truth == guess))


def macro_f1(truth: Integers, guess: Integers) -> float:
    """Return the mean F1 score of the classes -1, 0 and 1; 0 for a class that is never right."""
    scores = []
    for label in CLASSES:
        hits = float(np.sum((truth == label) & (guess == label)))
        claims = float(np.sum(truth == label) + np.sum(guess == label))
        scores.append(2 * hits / claims if claims else 0.0)
    return float(np.mean(scores))


def correlation(left: Floats, right: Floats) -> float:
    """Return Pearson's correlation; 0 if one side is constant."""
    if np.std(left) == 0 or np.std(right) == 0:
        return 0.0
    return float(np.corrcoef(left, right)[0, 1])


def wilson_interval(hits: int, tries: int) -> tuple[float, float]:
    """Return Wilson's interval of 95 % of a share."""
    share, spread = hits / tries, Z_95**2 / tries
    middle = (share + spread / 2) / (1 + spread)
    half = Z_95 / (1 + spread) * math.sqrt(share * (1 - share) / tries + spread / (4 * tries))
    return middle - half, middle + half


def hit_rate(truth: Floats, guess: Floats) -> dict[str, float]:
    """Return how often the signs agree, where neither is 0, with Wilson's interval."""
    both = (truth != 0) & (guess != 0)
    tries = int(np.sum(both))
    if not tries:
        return {"share": 0.5, "low": 0.0, "high": 1.0, "tries": 0}
    hits = int(np.sum(np.sign(truth[both]) == np.sign(guess[both])))
    low, high = wilson_interval(hits, tries)
    return {"share": hits / tries, "low": low, "high": high, "tries": tries}


def day_interval(
    days: NDArray[np.str_], value: Callable[[Integers], float], seed: int, tries: int = 200
) -> tuple[float, float]:
    """Return a bootstrap interval of 95 % of a figure, drawn by days.

    Assets move together on a day, so that rows of one day are drawn together.
    """
    _, codes = np.unique(days, return_inverse=True)
    order = np.argsort(codes, kind="stable")
    bounds = np.searchsorted(codes[order], np.arange(codes.max() + 2))
    rows = [order[bounds[i] : bounds[i + 1]] for i in range(len(bounds) - 1)]
    random = np.random.default_rng(seed)
    values = [
        value(np.concatenate([rows[i] for i in random.integers(0, len(rows), len(rows))]))
        for _ in range(tries)
    ]
    low, high = np.quantile(values, [0.025, 0.975])
    return float(low), float(high)
