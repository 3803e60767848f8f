"""A router and a token that others deployed, and what an account buys there."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from eth_typing import Address
from eth_utils import to_checksum_address

from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.config import ChainConfig
from pyevm_agents.devnet.chain import DEVELOPMENT_ADDRESS, DEVELOPMENT_BALANCE_WEI
from pyevm_agents.devnet.local_account import LocalAccount
from pyevm_agents.errors import ConfigError
from pyevm_agents.scenarios.swap import market as swap_market
from pyevm_agents.scenarios.swap.agent import plan_swap_agent
from pyevm_agents.scenarios.swap.market import (
    BOUGHT_TOKENS,
    NATIVE_GIVEN,
    SwapMarket,
    describe_world,
    fund_from_pool,
    open_market,
)
from pyevm_agents.scenarios.swap.world import ACCOUNT_NATIVE_WEI, SwapWorld

if TYPE_CHECKING:
    from collections.abc import Iterator

ACCOUNT = Address(b"\xac" * 20)
NOWHERE = Address(b"\x22" * 20)


@pytest.fixture(scope="module")
def world() -> SwapWorld:
    account = GenesisAccount(balance_wei=DEVELOPMENT_BALANCE_WEI)
    chain = Chain(ChainConfig(), accounts={DEVELOPMENT_ADDRESS: account})
    return SwapWorld(LocalAccount(chain), native_symbol="BNB")


@pytest.fixture
def sender(world: SwapWorld) -> Iterator[LocalAccount]:
    """The owner of the world, whose transactions are undone."""
    owner = world.owner
    assert isinstance(owner, LocalAccount)
    snapshot = owner.chain.snapshot()
    yield owner
    owner.chain.revert(snapshot)


def find_market(world: SwapWorld, sender: LocalAccount, token: str) -> SwapMarket:
    return open_market(sender, world.router, world.address(token), native_symbol="BNB")


@pytest.mark.parametrize("token", ["USDT", "DAI"])
def test_a_market_is_found_from_two_addresses(
    world: SwapWorld, sender: LocalAccount, token: str
) -> None:
    market = find_market(world, sender, token)
    assert (market.token_symbol, market.native_symbol) == (token, "BNB")
    assert market.wrapped == world.address("WETH")
    assert market.token_decimals == world.read(token, "decimals")
    assert market.read(market.switch, "owner") == to_checksum_address(sender.address).lower()
    assert market.quote(NATIVE_GIVEN, market.buying_path) == world.quote(
        NATIVE_GIVEN, "WETH", token
    )


def test_an_account_buys_the_tokens(world: SwapWorld, sender: LocalAccount) -> None:
    market = find_market(world, sender, "DAI")
    fund_from_pool(market, ACCOUNT)
    assert market.read_balance(ACCOUNT) == BOUGHT_TOKENS[0] * market.token_unit
    assert sender.chain.state().get_balance(ACCOUNT) == ACCOUNT_NATIVE_WEI


def test_an_account_buys_what_a_small_pool_sells(
    world: SwapWorld, sender: LocalAccount, monkeypatch: pytest.MonkeyPatch
) -> None:
    market = find_market(world, sender, "USDT")
    pool = describe_world(world).quote(60_000 * 10**6, market.selling_path)
    monkeypatch.setattr(swap_market, "BOUGHT_TOKENS", (60_000, 59_999, 700))
    monkeypatch.setattr(swap_market, "MOST_PAID_WEI", pool)
    fund_from_pool(market, ACCOUNT)
    assert market.read_balance(ACCOUNT) == 700 * market.token_unit


def test_a_pool_that_sells_too_little_is_refused(world: SwapWorld, sender: LocalAccount) -> None:
    market = replace(find_market(world, sender, "DAI"), token_decimals=24)
    with pytest.raises(ConfigError, match="its pool must sell 100 DAI for at most 5,000 BNB"):
        fund_from_pool(market, ACCOUNT)


@pytest.mark.parametrize(
    ("router", "token", "message"),
    [
        ("", "USDT", "--router 0x2222222222222222222222222222222222222222: has no code on chain"),
        ("router", "", "--token 0x2222222222222222222222222222222222222222: has no code on chain"),
        ("factory", "USDT", "must be a router like Uniswap V2's, with factory"),
        ("USDT", "DAI", "must be a router like Uniswap V2's"),
        ("router", "switch", r"must be a token with symbol\(\) and decimals\(\)"),
        ("router", "WETH", "must not be the wrapped native token"),
        ("router", "USDC", "must have a pool with 0x"),
    ],
)
def test_unfit_addresses_are_named(
    world: SwapWorld, sender: LocalAccount, router: str, token: str, message: str
) -> None:
    places = [world.address(name) if name else NOWHERE for name in (router, token)]
    with pytest.raises(ConfigError, match=message):
        open_market(sender, *places, native_symbol="BNB")


@pytest.mark.slow
@pytest.mark.parametrize("token", ["USDT", "DAI"])
def test_a_swap_of_tokens_of_any_decimals_approves_what_it_gives(
    world: SwapWorld, sender: LocalAccount, token: str
) -> None:
    market = find_market(world, sender, token)
    tools = plan_swap_agent(sender.chain, market, ACCOUNT).tools
    [selling] = [each for each in tools if each.function.name == "swapExactTokensForETH"]
    [allowance] = selling.spec.allowances
    assert allowance.token == to_checksum_address(world.address(token))
    assert allowance.spender == to_checksum_address(world.router)
    assert (allowance.is_derived, allowance.amount_argument) == (True, "amountIn")
