"""The desk's limits: whatever its trader asks for, funds stay within them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.contracts.plain_evm import (
    OWNER,
    STRANGER,
    ZERO,
    Contract,
    RevertedError,
    plain_evm,
    reverts,
)
from tests.contracts.trading.trading_world import (
    BTC,
    BTC_PRICE,
    CASH,
    ETH,
    ETH_PRICE,
    HOUR,
    USDT,
    Limits,
    PlainDeployer,
    TradingWorld,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

LIMITS = Limits()
BPS = 10_000
NO_INPUT: tuple[list[object], bytes] = ([], b"")


@pytest.fixture(scope="module")
def market() -> TradingWorld:
    """A market and a desk of all tests, each of which is rolled back; the owner trades."""
    world = TradingWorld(PlainDeployer(plain_evm()))
    world.build_market()
    world.build_desk()
    world["desk"]("setAgent", OWNER.address, OWNER.address)
    return world


@pytest.fixture
def world(market: TradingWorld) -> Iterator[TradingWorld]:
    state = evm_of(market).vm.state
    snapshot = state.snapshot()
    yield market
    state.revert(snapshot)


def evm_of(world: TradingWorld) -> Any:  # noqa: ANN401 - Evm
    assert isinstance(world.deployer, PlainDeployer)
    return world.deployer.evm


def desk_of(world: TradingWorld) -> Contract:
    desk = world["desk"]
    assert isinstance(desk, Contract)
    return desk


def held(world: TradingWorld) -> tuple[int, ...]:
    desk = world.address("desk")
    return tuple(world[symbol]("balanceOf", desk) for symbol in ("USDT", "ETH", "BTC"))


def move_price(world: TradingWorld, symbol: str, amount: int, *path: str) -> None:
    """Swap tokens of the owner along a path, so that its pools' prices move."""
    addresses = [world.address(each) for each in (symbol, *path)]
    world["router"](
        "swapExactTokensForTokens", amount, 0, addresses, OWNER.address, 2**256 - 1
    )  # fmt: skip


def test_a_purchase_and_a_sale(world: TradingWorld) -> None:
    desk = desk_of(world)
    (buy,) = desk("rebalance", [1_000, 0])
    amount = 10_000 * USDT * ETH // (ETH_PRICE * USDT)
    assert buy[:3] == (0, True, amount)
    assert desk.events("Traded") == [
        {"asset": 0, "isBuy": True, "assetAmount": amount, "cashAmount": buy[3], "route": buy[4]}
    ]
    assert held(world) == (CASH * USDT - buy[3], amount, 0)
    assert 10_000 * USDT < buy[3] <= 10_100 * USDT

    (sale,) = desk("rebalance", [0, 0])
    # Values and amounts are rounded down, so less than a base unit of cash is left.
    sold = amount * ETH_PRICE * USDT // ETH * ETH // (ETH_PRICE * USDT)
    assert sale[:3] == (0, False, sold)
    assert held(world) == (CASH * USDT - buy[3] + sale[3], amount - sold, 0)
    assert desk("rebalance", [0, 0]) == ()
    for token in ("USDT", "ETH"):
        assert world[token]("allowance", desk.address, world.address("router")) == 0


def test_the_better_of_two_routes_is_taken(world: TradingWorld) -> None:
    desk = desk_of(world)
    move_price(world, "USDT", 30_000 * USDT, "ETH")  # Now ETH costs 1 % more there.
    (buy,) = desk("rebalance", [1_000, 0])
    assert buy[4] == "via DAI"
    move_price(world, "ETH", 80 * ETH, "USDT")
    (buy,) = desk("rebalance", [2_000, 0])
    assert buy[4] == "directly"
    assert buy[3] < 10_000 * USDT


def test_sales_come_before_purchases(world: TradingWorld) -> None:
    desk = desk_of(world)
    desk("setLimits", replace(LIMITS, max_trade=10**12, max_turnover=10**13).as_abi())
    desk("rebalance", [5_000, 0])
    trades = desk("rebalance", [1_000, 3_000])
    assert [(trade[0], trade[1]) for trade in trades] == [(0, False), (1, True)]


def test_trades_and_their_sum_stop_at_the_limits(world: TradingWorld) -> None:
    desk = desk_of(world)
    asked = [5_000, 3_000]
    trades = desk("rebalance", asked)
    assert [trade[2] for trade in trades] == [
        LIMITS.max_trade * ETH // (ETH_PRICE * USDT), LIMITS.max_trade * BTC // (BTC_PRICE * USDT),
    ]  # fmt: skip
    desk("rebalance", asked)
    period = evm_of(world).vm.state.timestamp // HOUR
    assert desk("turnoverOf", period) == LIMITS.max_turnover
    assert desk("rebalance", asked) == ()
    assert desk("rebalance", [0, 0]) == ()


def test_a_share_stays_below_its_limit_after_the_costs(world: TradingWorld) -> None:
    desk = desk_of(world)
    desk("setLimits", replace(LIMITS, max_trade=10**12, max_turnover=10**13).as_abi())
    desk("rebalance", [5_000, 3_000])
    for asset, most in enumerate(world.shares_bps):
        assert most * 0.98 <= world.share_bps(asset) <= most
    with reverts("PositionLimitExceeded", 0, 5_001, 5_000):
        desk("rebalance", [5_001, 0])
    with reverts("WrongShareCount", 1, 2):
        desk("rebalance", [0])


@pytest.mark.parametrize(("sign", "eth_price"), [("buy", 550), ("sell", 700)])
def test_a_price_beyond_the_slippage_is_refused(
    world: TradingWorld, sign: str, eth_price: int
) -> None:
    desk = desk_of(world)
    desk("rebalance", [1_000, 0])
    before = held(world)
    world.push(eth_price, BTC_PRICE)  # Both pools stay at 600.
    with pytest.raises(RevertedError) as caught:
        desk("rebalance", [3_000 if sign == "buy" else 0, 0])
    name, asset, is_buy, amount, bound = caught.value.error
    assert (name, asset, is_buy) == ("SlippageTooHigh", 0, sign == "buy")
    assert isinstance(amount, int)
    assert isinstance(bound, int)
    assert amount > bound if is_buy else amount < bound
    assert held(world) == before


def test_a_moved_pool_is_avoided_or_refused(world: TradingWorld) -> None:
    desk = desk_of(world)
    move_price(world, "USDT", 600_000 * USDT, "ETH")
    (buy,) = desk("rebalance", [1_000, 0])
    assert buy[4] == "via DAI"
    move_price(world, "DAI", 3_000_000 * 10**18, "ETH")
    with pytest.raises(RevertedError) as caught:
        desk("rebalance", [2_000, 0])
    assert caught.value.error[0] == "SlippageTooHigh"


def test_old_prices_and_missing_routes_are_refused(world: TradingWorld) -> None:
    desk = desk_of(world)
    desk("removeRoutes", 0)
    with reverts("NoRoute", 0):
        desk("rebalance", [1_000, 0])
    updated_at = world["feed"]("updatedAt")
    desk("setLimits", replace(LIMITS, max_price_age=0).as_abi())
    context = evm_of(world).vm.state.execution_context
    context._timestamp += 1  # noqa: SLF001 - the header of one VM
    try:
        with reverts("PriceTooOld", updated_at):
            desk("rebalance", [0, 1_000])
    finally:
        context._timestamp -= 1  # noqa: SLF001 - as above


def test_only_the_trader_trades_and_only_the_owner_decides(world: TradingWorld) -> None:
    desk = desk_of(world)
    with reverts("NotTrader", STRANGER.address):
        desk("rebalance", [0, 0], sender=STRANGER)
    token = world.address("ETH")
    for function, arguments in {
        "setAgent": (STRANGER.address, STRANGER.address),
        "setLimits": (LIMITS.as_abi(),),
        "setShareLimit": (0, BPS),
        "addAsset": (token, BPS),
        "addRoute": (0, "x", []),
        "removeRoutes": (0,),
        "withdraw": (token, STRANGER.address, 0),
        "pause": (),
        "unpause": (),
    }.items():
        with reverts("OwnableUnauthorizedAccount", STRANGER.address):
            desk(function, *arguments, sender=STRANGER)


def test_the_owner_stops_trades_and_takes_funds_back(world: TradingWorld) -> None:
    desk = desk_of(world)
    desk("pause")
    with reverts("EnforcedPause"):
        desk("rebalance", [1_000, 0])
    desk("withdraw", world.address("USDT"), STRANGER.address, CASH * USDT)
    assert world["USDT"]("balanceOf", STRANGER.address) == CASH * USDT
    desk("unpause")
    assert desk("rebalance", [1_000, 0]) == ()


def test_limits_that_contradict_are_refused(world: TradingWorld) -> None:
    desk = desk_of(world)
    for wrong in (
        replace(LIMITS, min_trade=LIMITS.max_trade + 1),
        replace(LIMITS, max_trade=LIMITS.max_turnover + 1),
        replace(LIMITS, period=0),
        replace(LIMITS, max_slippage_bps=BPS),
    ):
        with reverts("InvalidLimits"):
            desk("setLimits", wrong.as_abi())
    with reverts("InvalidLimits"):
        desk("setShareLimit", 0, BPS + 1)
    with reverts("AssetMismatch", 2):
        desk("addAsset", world.address("DAI"), BPS)
    with reverts("InvalidRoute", 2):
        desk("addRoute", 2, "x", [])
    with reverts("InvalidRoute", 0):
        desk("addRoute", 0, "x", [world.address("DAI")] * 3)


def test_a_stranger_runs_no_trade_and_no_words_are_an_input(world: TradingWorld) -> None:
    desk = desk_of(world)
    tool = evm_of(world).deploy("ExecuteTradeTool", desk.address, ZERO, OWNER.address)
    with reverts("NotAgent", STRANGER.address):
        tool("run", NO_INPUT, ZERO, sender=STRANGER)
    with reverts("UnexpectedInput", "no parameters expected"):
        tool("run", ([(0, b"")], b""), ZERO)


@pytest.mark.slow
@settings(max_examples=8, deadline=None)
@given(
    data=st.lists(
        st.tuples(
            st.integers(0, 6_000), st.integers(0, 4_000), st.integers(550, 650),
            st.integers(0, 20_000),
        ),
        min_size=1, max_size=4,
    )
)  # fmt: skip
def test_no_sequence_of_a_hostile_trader_exceeds_the_limits(
    market: TradingWorld, data: list[tuple[int, int, int, int]]
) -> None:
    """The trader asks for any shares, while prices and pools move."""
    state = evm_of(market).vm.state
    snapshot = state.snapshot()
    desk = desk_of(market)
    try:
        for eth_bps, btc_bps, price, swap in data:
            market.push(price, BTC_PRICE)
            if swap:
                move_price(market, "USDT", swap * USDT, "ETH")
            total, before = desk("values")
            with suppress(RevertedError):
                desk("rebalance", [eth_bps, btc_bps])
            left, after = desk("values")
            turnover = desk("turnoverOf", state.timestamp // HOUR)
            assert turnover <= LIMITS.max_turnover
            assert left >= total - LIMITS.max_turnover * LIMITS.max_slippage_bps // BPS
            for asset, most in enumerate(market.shares_bps):
                if after[asset] > before[asset]:
                    assert market.share_bps(asset) <= most
    finally:
        state.revert(snapshot)
