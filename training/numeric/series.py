"""Rows of the forecast and risk models from prices, in the integers that contracts compute."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from training.numeric.packages import Prices

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]

SCALE = 10**6
"""A fraction of 1 as an integer: returns have 6 decimals."""

WINDOW = 20
"""Returns that a feed keeps."""

RECENT = 5
"""Returns that the forecast reads one by one."""

MOST_RETURN = 10**6
"""Bound of an input, 100 % of a price."""

SENTIMENT_SCALE = 10**4
LEAST_PRICE = 5.0
"""Prices under it are left out: rounding to 0.001 looks like reversals of returns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Windows:
    """The returns before each step, oldest first, and the step's own return, times SCALE."""

    returns: Integers
    momentum: Integers
    nexts: Integers
    dates: NDArray[np.str_]
    names: NDArray[np.str_]

    def select(self, mask: NDArray[np.bool_]) -> Windows:
        """Return the rows where the mask holds."""
        return Windows(
            returns=self.returns[mask],
            momentum=self.momentum[mask],
            nexts=self.nexts[mask],
            dates=self.dates[mask],
            names=self.names[mask],
        )

    @property
    def volatility(self) -> Integers:
        """Mean absolute return of the window, rounded down."""
        return np.asarray(np.abs(self.returns).sum(1) // WINDOW)

    def between(self, first: str, end: str) -> Windows:
        """Return the rows whose step is at `first` or later and before `end`."""
        return self.select((self.dates >= first) & (self.dates < end))


def returns_of(prices: Sequence[int]) -> list[int]:
    """Return `(p[i] - p[i - 1]) * SCALE / p[i - 1]` of integer prices, truncated as in Solidity."""
    return [clip(divide((new - old) * SCALE, old)) for old, new in pairwise(prices)]


def divide(dividend: int, divisor: int) -> int:
    """Divide by a positive number and truncate towards zero."""
    quotient = abs(dividend) // divisor
    return quotient if dividend >= 0 else -quotient


def clip(value: int) -> int:
    """Return the nearest value that the models accept as a return."""
    return max(-MOST_RETURN, min(MOST_RETURN, value))


def windows(prices: Prices, least_price: float = LEAST_PRICE) -> Windows:
    """Return a row for each step after the first `WINDOW + 1` prices."""
    closes = [round(close * SCALE) for close in prices.closes]
    returns = np.array(returns_of(closes), dtype=np.int64)
    count = len(returns) - WINDOW
    rows = np.lib.stride_tricks.sliding_window_view(returns, WINDOW)[:count]
    momentum = [
        clip(divide((closes[i + WINDOW] - closes[i]) * SCALE, closes[i])) for i in range(count)
    ]
    lows = np.lib.stride_tricks.sliding_window_view(np.array(prices.closes), WINDOW + 2).min(1)
    made = Windows(
        returns=rows.copy(),
        momentum=np.array(momentum, dtype=np.int64),
        nexts=returns[WINDOW:],
        dates=np.array(prices.dates[WINDOW + 1 :]),
        names=np.full(count, prices.name),
    )
    moves = np.abs(made.returns).sum(1) > 0
    return made.select((lows[:count] >= least_price) & moves)


def join(parts: Sequence[Windows]) -> Windows:
    """Return the rows of several assets, sorted by date."""
    order = np.argsort(np.concatenate([part.dates for part in parts]), kind="stable")
    return Windows(
        returns=np.concatenate([part.returns for part in parts])[order],
        momentum=np.concatenate([part.momentum for part in parts])[order],
        nexts=np.concatenate([part.nexts for part in parts])[order],
        dates=np.concatenate([part.dates for part in parts])[order],
        names=np.concatenate([part.names for part in parts])[order],
    )


def forecast_inputs(rows: Windows, sentiment: Integers) -> Integers:
    """Return the inputs of the forecast: recent returns, momentum, volatility, sentiment."""
    columns = [rows.returns[:, -RECENT:], rows.momentum[:, None], rows.volatility[:, None]]
    return np.concatenate([*columns, sentiment[:, None]], axis=1)


def synthetic_sentiment(rows: Windows, correlation: float, share: float, seed: int) -> Integers:
    """Make up sentiments that correlate with the next return.

    No package ships posts beside prices, so that this is the sentiment's only source. A share of
    rows has a post. Its score is noise plus the next return in units of the window's volatility,
    bounded to 3, so that their correlation is the given one.
    """
    random = np.random.default_rng(seed)
    ahead = np.clip(rows.nexts / np.maximum(rows.volatility, 1), -3, 3)
    ahead = (ahead - ahead.mean()) / ahead.std()
    noise = random.standard_normal(len(ahead))
    mixed = correlation * ahead + np.sqrt(1 - correlation**2) * noise
    scores = np.clip(np.rint(mixed * 0.4 * SENTIMENT_SCALE), -SENTIMENT_SCALE, SENTIMENT_SCALE)
    return np.where(random.random(len(ahead)) < share, scores, 0).astype(np.int64)
