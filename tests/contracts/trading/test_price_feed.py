"""The price feed, and the rows that models take from it."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.contracts.plain_evm import OWNER, STRANGER, ZERO, Contract, Evm, reverts, text_input

CAPACITY, WINDOW = 32, 20
NO_INPUT: tuple[list[object], bytes] = ([], b"")
FORECAST, RISK = 0, 1
PRICES = [round(600 * 1.01 ** (step % 5) * 10**8) for step in range(40)]


@pytest.fixture
def feed(evm: Evm) -> Contract:
    return evm.deploy("PriceFeed", OWNER.address, "view_prices", ["ETH", "BTC"], "USDT", 8)


def returns(prices: list[int]) -> list[int]:
    """Return the returns of prices with 6 decimals, towards zero."""
    return [int((after - before) * 10**6 / before) for before, after in pairwise(prices)]


def push(feed: Contract, count: int) -> None:
    for price in PRICES[:count]:
        feed("push", [price, 3 * price])


def test_the_last_prices_stay(feed: Contract) -> None:
    with reverts("NotEnoughPrices", 0, 1):
        feed("priceOf", 0)
    push(feed, 40)
    assert feed("steps") == 40
    assert [feed("priceAgo", 1, ago) for ago in range(CAPACITY)] == [
        3 * price for price in PRICES[: -CAPACITY - 1 : -1]
    ]
    with reverts("NotEnoughPrices", CAPACITY, CAPACITY + 1):
        feed("priceAgo", 0, CAPACITY)
    with reverts("WrongAssetCount", 3):
        feed("priceOf", 2)
    assert list(feed("returnsOf", 0, CAPACITY - 1)) == returns(PRICES[-CAPACITY:])
    change = (PRICES[-1] - PRICES[-21]) * 10**6 // PRICES[-21]
    assert feed("changeSince", 0, 20) == change


def test_it_is_a_tool(feed: Contract) -> None:
    assert feed("description") == "Shows the newest prices of ETH, BTC"
    assert feed("inputDescription") == ((),)
    feed("push", [60_000_000_000, 1])
    assert feed("run", NO_INPUT, ZERO) == (-1, "Prices: ETH 600.00 USDT, BTC 0.00 USDT")
    feed("push", [59_400_000_000, 2])
    assert feed("run", NO_INPUT, ZERO) == (
        -1, "Prices: ETH 594.00 USDT (-1.00 %), BTC 0.00 USDT (100.00 %)",
    )  # fmt: skip
    with reverts("UnexpectedInput", "no parameters expected"):
        feed("run", text_input("ETH"), ZERO)


def test_only_the_owner_pushes_prices_of_all_assets(evm: Evm, feed: Contract) -> None:
    with reverts("OwnableUnauthorizedAccount", STRANGER.address):
        feed("push", [1, 1], sender=STRANGER)
    with reverts("WrongPriceCount", 1, 2):
        feed("push", [1])
    with reverts("WrongPrice", 1, 0):
        feed("push", [1, 0])
    for symbols in ([], ["A"] * 9):
        with reverts("WrongAssetCount", len(symbols)):
            evm.deploy("PriceFeed", OWNER.address, "feed", symbols, "USDT", 8)


def test_rows_of_models(evm: Evm, feed: Contract) -> None:
    push(feed, 20)
    risk = evm.deploy("FeedInputs", feed.address, RISK, ZERO)
    with reverts("NotEnoughPrices", 20, 21):
        risk("modelInputs", ZERO)
    feed("push", [PRICES[20], 3 * PRICES[20]])
    row = returns(PRICES[:21])
    assert list(risk("modelInputs", ZERO)) == row * 2

    plain = evm.deploy("FeedInputs", feed.address, FORECAST, ZERO)
    momentum = int((PRICES[20] - PRICES[0]) * 10**6 / PRICES[0])
    volatility = sum(map(abs, row)) // WINDOW
    assert list(plain("modelInputs", ZERO)) == [*row[-5:], momentum, volatility, 0] * 2


def test_returns_are_cut_to_the_models_range(evm: Evm, feed: Contract) -> None:
    push(feed, 20)
    feed("push", [10 * PRICES[19], 1])
    risk = evm.deploy("FeedInputs", feed.address, RISK, ZERO)
    values = risk("modelInputs", ZERO)
    assert (values[WINDOW - 1], values[-1]) == (10**6, -999_999)
