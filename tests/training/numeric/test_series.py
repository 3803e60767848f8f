"""Rows from prices: the integers that contracts compute, and no look ahead."""

from __future__ import annotations

import numpy as np
import pytest

from training.numeric import series
from training.numeric.packages import Prices

COUNT = 60


@pytest.fixture
def prices() -> Prices:
    random = np.random.default_rng(7)
    closes = 50 * np.exp(np.cumsum(random.normal(0, 0.02, COUNT)))
    dates = [f"2020-{1 + i // 28:02}-{1 + i % 28:02}" for i in range(COUNT)]
    return Prices("made up", dates, [float(value) for value in closes])


@pytest.mark.parametrize(("dividend", "quotient"), [(7, 3), (-7, -3), (0, 0), (-1, 0), (6, 3)])
def test_division_truncates_towards_zero(dividend: int, quotient: int) -> None:
    assert series.divide(dividend, 2) == quotient


def test_returns_are_truncated_and_bounded() -> None:
    assert series.returns_of([3_000_000, 2_000_000, 9_000_000]) == [-333_333, series.MOST_RETURN]


def test_a_row_has_the_steps_before_and_the_step_itself(prices: Prices) -> None:
    rows = series.windows(prices)
    returns = series.returns_of([round(close * series.SCALE) for close in prices.closes])

    assert len(rows.nexts) == COUNT - series.WINDOW - 1
    assert list(rows.returns[0]) == returns[: series.WINDOW]
    assert rows.nexts[0] == returns[series.WINDOW]
    assert rows.dates[0] == prices.dates[series.WINDOW + 1]
    change = prices.closes[series.WINDOW] / prices.closes[0] - 1
    assert rows.momentum[0] == pytest.approx(change * series.SCALE, abs=2)


def test_inputs_do_not_depend_on_later_prices(prices: Prices) -> None:
    rows = series.windows(prices)
    changed = prices._replace(closes=[*prices.closes[:-1], prices.closes[-1] * 2])
    other = series.windows(changed)

    assert np.array_equal(rows.returns, other.returns)
    assert np.array_equal(rows.momentum, other.momentum)
    assert rows.nexts[-1] != other.nexts[-1]


def test_low_prices_are_left_out(prices: Prices) -> None:
    low = prices._replace(closes=[4.0, *prices.closes[1:]])
    assert len(series.windows(low).nexts) == len(series.windows(prices).nexts) - 1


def test_forecast_inputs_are_in_the_order_of_the_file(prices: Prices) -> None:
    rows = series.windows(prices)
    sentiment = np.arange(len(rows.nexts))
    inputs = series.forecast_inputs(rows, sentiment)

    assert inputs.shape == (len(sentiment), series.RECENT + 3)
    assert list(inputs[3, : series.RECENT]) == list(rows.returns[3, -series.RECENT :])
    assert inputs[3, -3] == rows.momentum[3]
    assert inputs[3, -2] == np.abs(rows.returns[3]).sum() // series.WINDOW
    assert inputs[3, -1] == 3


def test_made_up_sentiment_has_the_stated_correlation() -> None:
    random = np.random.default_rng(1)
    nexts = random.normal(0, 10_000, 40_000).astype(np.int64)
    count = len(nexts)
    rows = series.Windows(
        returns=np.full((count, series.WINDOW), 10_000, dtype=np.int64),
        momentum=np.zeros(count, dtype=np.int64),
        nexts=nexts,
        dates=np.full(count, "2020-01-01"),
        names=np.full(count, "made up"),
    )
    for correlation in (0.0, 0.1, 0.5):
        sentiment = series.synthetic_sentiment(rows, correlation, 1.0, seed=3)
        found = float(np.corrcoef(sentiment, nexts)[0, 1])
        assert found == pytest.approx(correlation, abs=0.03)
    half = series.synthetic_sentiment(rows, 0.1, 0.5, seed=3)
    assert float(np.mean(half == 0)) == pytest.approx(0.5, abs=0.02)
    assert np.abs(half).max() <= series.SENTIMENT_SCALE
