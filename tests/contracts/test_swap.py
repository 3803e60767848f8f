"""The swap pool, the account that trades with it, and the circuit breaker of its owner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from eth_abi import encode
from eth_utils import to_canonical_address

from tests.contracts.plain_evm import OWNER, STRANGER, RevertedError, decode_error, reverts

if TYPE_CHECKING:
    from tests.contracts.plain_evm import Contract, Evm

TOKENS, ETHER = 60_000 * 10**6, 100 * 10**18
LATER, EARLIER = 2_000_000_000, 0
WETH = "0x" + "ee" * 20

# By hand: in * 997 * out // (reserve_in * 1000 + in * 997), with 10**16 wei in, 10**8 units in.
TOKENS_FOR_A_HUNDREDTH = 5_981_403
ETHER_FOR_A_HUNDRED = 165_891_011_103_216_821


@dataclass
class Market:
    evm: Evm
    token: Contract
    pool: Contract
    account: Contract

    @property
    def path(self) -> list[str]:
        return [WETH, self.token.address]

    def ether(self, holder: Contract) -> int:
        return self.evm.vm.state.get_balance(to_canonical_address(holder.address))

    def tokens(self, holder: Contract) -> int:
        return int(self.token("balanceOf", holder.address))


@pytest.fixture
def market(evm: Evm) -> Market:
    token = evm.deploy("DemoToken", "Tether USD", "USDT", 6, 10**30)
    pool = evm.deploy("SwapPool", token.address, WETH)
    account = evm.deploy("TradingAccount", pool.address)
    for holder, tokens, ether in ((pool, TOKENS, ETHER), (account, 257 * 10**6, 5 * 10**18)):
        token("transfer", holder.address, tokens)
        evm.vm.state.set_balance(to_canonical_address(holder.address), ether)
    account("addTool", OWNER.address)
    return Market(evm, token, pool, account)


def test_quotes_are_those_of_a_constant_product(market: Market) -> None:
    assert market.pool("getAmountsOut", 10**16, market.path) == (10**16, TOKENS_FOR_A_HUNDREDTH)
    quote = market.pool("getAmountsOut", 10**8, market.path[::-1])
    assert quote == (10**8, ETHER_FOR_A_HUNDRED)
    assert market.pool("getAmountsOut", 0, market.path) == (0, 0)


def test_ether_is_swapped_for_what_was_quoted(market: Market) -> None:
    product = TOKENS * ETHER
    swap = (10**16, TOKENS_FOR_A_HUNDREDTH, market.path, STRANGER.address, LATER)
    assert market.account("swapExactETHForTokens", *swap) == (10**16, TOKENS_FOR_A_HUNDREDTH)
    assert market.token("balanceOf", STRANGER.address) == TOKENS_FOR_A_HUNDREDTH
    assert market.ether(market.account) == 5 * 10**18 - 10**16
    assert market.ether(market.pool) == ETHER + 10**16
    assert market.ether(market.pool) * market.tokens(market.pool) >= product


def test_tokens_are_swapped_once_they_are_approved(market: Market) -> None:
    swap = (10**8, 0, market.path[::-1], market.account.address, LATER)
    with pytest.raises(RevertedError) as caught:
        market.account("swapExactTokensForETH", *swap)
    name, token, reason = caught.value.error
    assert (name, token) == ("TokenCallFailed", market.token.address)
    assert isinstance(reason, bytes)
    assert decode_error(reason) == ("ERC20InsufficientAllowance", market.pool.address, 0, 10**8)
    market.account("approve", market.pool.address, 10**8)
    assert market.account("swapExactTokensForETH", *swap) == (10**8, ETHER_FOR_A_HUNDRED)
    assert market.tokens(market.account) == 157 * 10**6
    assert market.ether(market.account) == 5 * 10**18 + ETHER_FOR_A_HUNDRED
    assert market.token("allowance", market.account.address, market.pool.address) == 0


def test_a_swap_that_gives_too_little_reverts(market: Market) -> None:
    least = TOKENS_FOR_A_HUNDREDTH + 1
    with reverts("InsufficientOutputAmount", TOKENS_FOR_A_HUNDREDTH, least):
        market.account("swapExactETHForTokens", 10**16, least, market.path, STRANGER.address, LATER)
    market.account("approve", market.pool.address, 10**8)
    with reverts("InsufficientOutputAmount", ETHER_FOR_A_HUNDRED, 10**18):
        market.account(
            "swapExactTokensForETH", 10**8, 10**18, market.path[::-1], STRANGER.address, LATER
        )


@pytest.mark.parametrize("function", ["swapExactETHForTokens", "swapExactTokensForETH"])
def test_a_swap_after_its_deadline_reverts(market: Market, function: str) -> None:
    with reverts("Expired", EARLIER):
        market.account(function, 1, 0, market.path, STRANGER.address, EARLIER)


def test_other_paths_are_refused(market: Market) -> None:
    token = market.token.address
    for path in ([], [WETH], [token, token], [WETH, token, WETH], [token, STRANGER.address]):
        with reverts("UnknownPath", tuple(path)):
            market.pool("getAmountsOut", 1, path)
    with reverts("UnknownPath", (token, WETH)):
        market.account("swapExactETHForTokens", 1, 0, [token, WETH], STRANGER.address, LATER)
    with reverts("UnknownPath", (WETH, token)):
        market.account("swapExactTokensForETH", 1, 0, market.path, STRANGER.address, LATER)


def test_a_receiver_that_takes_no_ether_undoes_the_swap(market: Market) -> None:
    market.account("approve", market.pool.address, 10**8)
    refuses = market.token.address
    with reverts("EtherRefused", refuses):
        market.account("swapExactTokensForETH", 10**8, 0, market.path[::-1], refuses, LATER)
    assert market.tokens(market.account) == 257 * 10**6


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        ("approve", [STRANGER.address, 1]),
        ("swapExactETHForTokens", [1, 0, [], STRANGER.address, LATER]),
        ("swapExactTokensForETH", [1, 0, [], STRANGER.address, LATER]),
    ],
)
def test_only_tools_use_the_account(market: Market, function: str, arguments: list[object]) -> None:
    with reverts("NotTool", STRANGER.address):
        market.account(function, *arguments, sender=STRANGER)


def test_only_the_owner_adds_tools(market: Market) -> None:
    with reverts("NotOwner", STRANGER.address):
        market.account("addTool", STRANGER.address, sender=STRANGER)


def test_only_its_owner_turns_the_switch(evm: Evm) -> None:
    switch = evm.deploy("OwnedSwitch", STRANGER.address)
    with reverts("NotOwner", OWNER.address):
        switch("adminFunction")
    assert switch("isOn") is False
    switch("adminFunction", sender=STRANGER)
    assert switch("isOn") is True


def test_the_last_amount_is_said_in_words(evm: Evm) -> None:
    converter = evm.deploy("LastAmountConverter")
    for amounts in ([7], [7, 2**256 - 1]):
        said = converter("convertToString", encode(["uint256[]"], [amounts]))
        assert said == f"The amount out is: {amounts[-1]}"
