"""Uniswap V2 with tokens and pools, on a chain of this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from eth_typing import Address
from eth_utils import to_canonical_address

from pyevm_agents.chain import Call
from pyevm_agents.devnet.local_account import LocalAccount
from pyevm_agents.errors import ConfigError
from pyevm_agents.scenarios.swap.world import (
    ACCOUNT_NATIVE_WEI,
    NO_DEADLINE,
    ONE_NATIVE,
    TOKENS,
    WRAPPED,
    SwapWorld,
    load_uniswap_artifact,
)
from tests.golden.byte_chain import open_bench

if TYPE_CHECKING:
    from pyevm_agents.chain import Chain

ACCOUNT = Address(b"\xac" * 20)
USDT = 10**6


@pytest.fixture(scope="module")
def chain() -> Chain:
    return open_bench().chain


@pytest.fixture(scope="module")
def world(chain: Chain) -> SwapWorld:
    world = SwapWorld(LocalAccount(chain), native_symbol="BNB")
    world.fund(ACCOUNT)
    return world


def compute_output(given: int, reserve_given: int, reserve_got: int) -> int:
    """Return what a swap gives. Source: UniswapV2Library.getAmountOut."""
    less_fee = given * 997
    return less_fee * reserve_got // (reserve_given * 1000 + less_fee)


def test_the_router_quotes_along_pools(world: SwapWorld) -> None:
    given = ONE_NATIVE // 100
    got = compute_output(given, 100 * ONE_NATIVE, 60_000 * USDT)
    assert world.quote(given, WRAPPED, "USDT") == got
    further = compute_output(got, 40_000 * USDT, 40_000 * USDT)
    assert world.quote(given, WRAPPED, "USDT", "USDC") == further


def test_the_pools_have_their_tokens(world: SwapWorld) -> None:
    for (first, second), pool in world.pools.items():
        name = f"{first}-{second}"
        tokens = {world.read(name, "token0"), world.read(name, "token1")}
        assert {to_canonical_address(one) for one in tokens} == {
            world.tokens[first], world.tokens[second],
        }  # fmt: skip
        assert world.address(name) == pool


def test_the_account_is_funded(chain: Chain, world: SwapWorld) -> None:
    assert chain.balance(ACCOUNT) == ACCOUNT_NATIVE_WEI
    for token in TOKENS:
        assert world.read(token.symbol, "decimals") == token.decimals
        assert world.read(token.symbol, "symbol") == token.symbol
        held = world.read(token.symbol, "balanceOf", ACCOUNT)
        assert held == token.account_tokens * token.unit


def test_a_swap_gives_what_was_quoted(chain: Chain, world: SwapWorld) -> None:
    before = chain.snapshot()
    path = [world.tokens[WRAPPED], world.tokens["DAI"]]
    quoted = world.quote(ONE_NATIVE, WRAPPED, "DAI")
    world.execute(
        "router",
        "swapExactETHForTokens",
        quoted,
        path,
        b"\x01" * 20,
        NO_DEADLINE,
        value_wei=ONE_NATIVE,
    )
    assert world.read("DAI", "balanceOf", b"\x01" * 20) == quoted
    chain.revert(before)


def test_the_owner_alone_may_turn_the_switch(chain: Chain, world: SwapWorld) -> None:
    before = chain.snapshot()
    data = world.contracts["switch"].artifact.encode_call("adminFunction")
    assert chain.call(Call(to=world.switch, sender=ACCOUNT, data=data)).error is not None
    assert world.read("switch", "isOn") is False
    world.execute("switch", "adminFunction")
    assert world.read("switch", "isOn") is True
    chain.revert(before)


def test_a_name_is_given_once(world: SwapWorld) -> None:
    with pytest.raises(ConfigError, match="contract 'USDT': must have a name of its own"):
        world.add("USDT", load_uniswap_artifact("WETH9"), world.router)


def test_an_unknown_artifact_is_named() -> None:
    with pytest.raises(ConfigError, match="no contract 'Pancake'; there are UniswapV2Factory, "):
        load_uniswap_artifact("Pancake")
