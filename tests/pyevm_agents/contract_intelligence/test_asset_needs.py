"""Approvals and balances that calls need."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.contract_intelligence.capabilities import Access, Approval, ApprovalKind
from tests.chain_bench import OWNER, Bench
from tests.pyevm_agents.contract_intelligence.deployment import (
    AGENT,
    analyse,
    deploy_uniswap,
    hex_of,
    load_uniswap_artifact,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from eth_typing import Address

DEPOSIT = "deposit(uint256,uint256,address,uint256)"


def deploy_spender(chain: Bench) -> tuple[Address, Address]:
    """Deploy a token, and a contract that pulls it and has some."""
    token = chain.deploy("TokenBox", OWNER)
    spender = chain.deploy("SpenderBox", token, OWNER)
    transfer = load_artifact("TokenBox").encode_call("transfer", hex_of(spender), 10**20)
    chain.send(token, transfer)
    return token, spender


def test_a_deposit_needs_tokens_and_their_approval(bench: Callable[..., Bench]) -> None:
    """The partner pays no fee, which is no reason to forbid it to others."""
    chain = bench()
    token, spender = deploy_spender(chain)
    function = analyse(chain, spender, "SpenderBox")[DEPOSIT]
    assert function.access is Access.OPEN
    assert function.example is not None
    amount = function.example.args[0]
    assert isinstance(amount, int)
    assert function.approvals == (
        Approval(token=hex_of(token), spender=hex_of(spender), amount=amount, parameter="amount"),
    )
    assert function.needs_balance_of == (hex_of(token),)


def test_an_account_with_tokens_and_an_allowance_lacks_nothing(
    bench: Callable[..., Bench],
) -> None:
    chain = bench()
    token, spender = deploy_spender(chain)
    artifact = load_artifact("TokenBox")
    chain.send(token, artifact.encode_call("approve", hex_of(spender), 2**200))
    function = analyse(chain, spender, "SpenderBox", account=OWNER)[DEPOSIT]
    assert function.needs_balance_of == ()
    assert [each.spender for each in function.approvals] == [hex_of(spender)]


def test_balances_of_the_token_itself(bench: Callable[..., Bench]) -> None:
    chain = bench()
    token = chain.deploy("TokenBox", OWNER)
    functions = analyse(chain, token, "TokenBox")
    transfer = functions["transfer(address,uint256)"]
    assert (transfer.access, transfer.needs_balance_of) == (Access.OPEN, (hex_of(token),))
    assert functions["approve(address,uint256)"].needs_balance_of == ()


def test_ether_votes_and_items(bench: Callable[..., Bench]) -> None:
    chain = bench()
    box = chain.deploy("OwnableBox", OWNER)
    functions = analyse(chain, box, "OwnableBox")
    assert functions["deposit()"].needs_balance_of == ("native",)
    assert functions["deposit()"].example is not None
    assert functions["deposit()"].example.value_wei > 0
    # The box keeps points of accounts. It is no token.
    give = functions["give(uint256,address)"]
    assert (give.access, give.needs_balance_of) == (Access.OPEN, ())
    deals = analyse(chain, chain.deploy("DealBox", OWNER), "DealBox")
    assert deals["close(uint256)"].needs_balance_of == ()


def test_items_that_the_account_has_not(bench: Callable[..., Bench]) -> None:
    chain = bench()
    items = chain.deploy("ItemBox", OWNER)
    functions = analyse(chain, items, "ItemBox")
    for name in ("transferFrom(address,address,uint256)", "approve(address,uint256)"):
        assert functions[name].access is Access.OPEN
        assert functions[name].needs_balance_of == (hex_of(items),)


@dataclass(frozen=True, kw_only=True)
class Market:
    """A market of items, with tokens of `OWNER`."""

    bench: Bench
    items: Address
    stacks: Address
    market: Address
    wrapper: Address


def deploy_market(bench: Bench) -> Market:
    """Deploy an ERC-721 and an ERC-1155 token, and two contracts that take their items."""
    items = bench.deploy("Collectible", OWNER, OWNER)
    stacks = bench.deploy("GameItems", OWNER, OWNER)
    return Market(
        bench=bench,
        items=items,
        stacks=stacks,
        market=bench.deploy("ItemMarket", items, stacks, OWNER),
        wrapper=bench.deploy("WrappedCollectible", items, OWNER),
    )


def list_item_approvals(found: Market) -> dict[str, Approval]:
    """Return the approvals that calls of the market and the wrapper need, by function."""
    item = Approval(
        token=hex_of(found.items), spender=hex_of(found.market), amount=None, kind=ApprovalKind.ITEM
    )
    every = Approval(
        token=hex_of(found.stacks),
        spender=hex_of(found.market),
        amount=None,
        kind=ApprovalKind.ALL,
    )
    return {
        "offer(uint256,uint256)": replace(item, parameter="item", item=1_000_000),
        "depositFor(address,uint256[])": replace(
            item, spender=hex_of(found.wrapper), parameter="tokenIds", item=1
        ),
        "keep(uint256,uint256)": every,
        "keepAll(uint256[],uint256[])": every,
    }


def test_calls_that_take_items_need_items_and_their_approval(bench: Callable[..., Bench]) -> None:
    """Nobody has an item yet: the account is given one, and its approval, in the simulation."""
    found = deploy_market(bench())
    functions = {
        **analyse(found.bench, found.wrapper, "WrappedCollectible"),
        **analyse(found.bench, found.market, "ItemMarket"),
    }
    for signature, approval in list_item_approvals(found).items():
        function = functions[signature]
        assert function.access is Access.OPEN
        assert function.example is not None
        assert function.approvals == (approval,)
        assert function.needs_balance_of == (approval.token,)
    for signature in ("collect(address)", "recover(address,uint256)"):
        assert functions[signature].access is Access.FORBIDDEN
        assert functions[signature].approvals == ()


@pytest.mark.parametrize(
    ("function", "arguments", "approval"),
    [
        ("offer", (1, 5), ("approve", 1)),
        ("depositFor", (hex_of(OWNER), [1]), ("approve", 1)),
        ("keep", (1, 5), ("setApprovalForAll", True)),
        ("keepAll", ([1], [5]), ("setApprovalForAll", True)),
    ],
)
def test_the_approvals_of_items_are_what_calls_need(
    bench: Callable[..., Bench],
    function: str,
    arguments: tuple[object, ...],
    approval: tuple[str, object],
) -> None:
    found = deploy_market(bench())
    chain, is_item = found.bench, approval[0] == "approve"
    token, name = (found.items, "Collectible") if is_item else (found.stacks, "GameItems")
    if is_item:
        data = load_artifact(name).encode_call("safeMint", hex_of(OWNER), 1, "")
    else:
        role = chain.read(name, token, "KEEPER_ROLE")
        chain.send(token, load_artifact(name).encode_call("grantRole", role, hex_of(OWNER)))
        data = load_artifact(name).encode_call("mint", hex_of(OWNER), 1, 10, b"")
    chain.send(token, data)[1].raise_if_error()
    is_wrapper = function == "depositFor"
    spender = found.wrapper if is_wrapper else found.market
    artifact = load_artifact("WrappedCollectible" if is_wrapper else "ItemMarket")
    call = artifact.encode_call(function, *arguments)
    assert chain.send(spender, call)[1].is_error
    approve, value = approval
    data = load_artifact(name).encode_call(approve, hex_of(spender), value)
    chain.send(token, data)[1].raise_if_error()
    chain.send(spender, call)[1].raise_if_error()


def test_an_item_of_a_contract_without_any_can_be_approved(bench: Callable[..., Bench]) -> None:
    found = deploy_market(bench())
    functions = analyse(found.bench, found.wrapper, "WrappedCollectible")
    approve = functions["approve(address,uint256)"]
    assert (approve.access, approve.needs_balance_of) == (Access.OPEN, (hex_of(found.wrapper),))


@pytest.mark.slow
def test_approvals_for_the_router(bench: Callable[..., Bench]) -> None:
    chain = bench()
    uniswap = deploy_uniswap(chain)
    abi = load_uniswap_artifact("v2-periphery", "UniswapV2Router02")["abi"]
    known = {hex_of(uniswap.token): "", hex_of(uniswap.weth): ""}
    functions = analyse(chain, uniswap.router, abi, known=known)
    found = {
        each.name: {(approval.token, approval.parameter) for approval in each.approvals}
        for each in functions.values()
    }
    token, weth, pair = map(hex_of, (uniswap.token, uniswap.weth, uniswap.pair))
    assert found["swapExactTokensForETH"] == {(token, "amountIn")}
    assert found["swapExactTokensForTokens"] in ({(token, "amountIn")}, {(weth, "amountIn")})
    assert found["removeLiquidity"] == {(pair, "liquidity")}
    assert found["addLiquidityETH"] == {(token, "amountTokenDesired")}
    assert {each for each, _ in found["addLiquidity"]} == {token, weth}
    assert found["swapExactETHForTokens"] == set()
    assert functions["swapExactETHForTokens(uint256,address[],address,uint256)"].access is (
        Access.OPEN
    )
    assert chain.chain.balance(AGENT) == 0


@pytest.mark.slow
def test_what_is_no_token_needs_no_approval(bench: Callable[..., Bench]) -> None:
    """The router calls the factory and the account as tokens, where it is given them as such."""
    chain = bench()
    uniswap = deploy_uniswap(chain)
    abi = load_uniswap_artifact("v2-periphery", "UniswapV2Router02")["abi"]
    tokens = {hex_of(each) for each in (uniswap.token, uniswap.weth, uniswap.pair)}
    for known in ({}, {hex_of(uniswap.factory): ""}):
        functions = analyse(chain, uniswap.router, abi, known=known)
        found = {one.token for each in functions.values() for one in each.approvals}
        assert found <= tokens
