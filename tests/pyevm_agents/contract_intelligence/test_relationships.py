"""Pools that exist, paths through them with their quotes, and groups of contracts."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.contract_intelligence.capabilities import (
    Approval,
    ContractIntelligence,
    ContractKind,
    Relationships,
    TokenPair,
)
from pyevm_agents.contract_intelligence.contract_reader import ContractReader
from pyevm_agents.contract_intelligence.relationships import (
    group_contracts,
    list_paths,
    quote_paths,
    read_relationships,
)
from tests.pyevm_agents.contract_intelligence.answering_code import (
    LOOP,
    address_of,
    build_answers,
    read_chain,
)
from tests.pyevm_agents.contract_intelligence.exchange import ETHER, USER, get_exchange

NAMES = st.sampled_from("ABCDE")
PAIRS = st.lists(st.tuples(NAMES, NAMES).filter(lambda pair: pair[0] != pair[1]), max_size=8)


def compute_output(paid: int, reserve_paid: int, reserve_bought: int) -> int:
    """Return what a swap gives. Source: UniswapV2Library.getAmountOut."""
    less_fee = paid * 997
    return less_fee * reserve_bought // (reserve_paid * 1000 + less_fee)


def test_the_pools_of_a_router() -> None:
    exchange = get_exchange()
    reader = ContractReader(exchange.chain)
    found = read_relationships(
        reader, exchange.router, ContractKind.DEX_ROUTER, [exchange.usdc, exchange.dai]
    )
    weth = exchange.weth
    assert found.wrapped_native == weth
    assert found.named_contracts == (weth, exchange.factory)
    assert [(each.token_a, each.token_b, each.pool) for each in found.token_pairs] == [
        (weth, exchange.usdc, exchange.usdc_pool),
        (weth, exchange.dai, exchange.dai_pool),
    ]
    paths = {(each.tokens[0], each.tokens[-1]): each for each in found.paths}
    assert len(paths) == 6
    best = paths[exchange.usdc, exchange.dai]
    assert best.tokens == (exchange.usdc, weth, exchange.dai)
    assert best.amount_in == 10**6
    in_ether = compute_output(10**6, 100_000 * 10**6, 50 * ETHER)
    assert best.amount_out == compute_output(in_ether, 50 * ETHER, 200_000 * ETHER)


def test_a_router_without_further_tokens_knows_the_wrapped_one_alone() -> None:
    exchange = get_exchange()
    reader = ContractReader(exchange.chain)
    found = read_relationships(reader, exchange.router, ContractKind.DEX_ROUTER)
    assert (found.token_pairs, found.paths) == ((), ())


def test_a_pool_and_a_factory() -> None:
    exchange = get_exchange()
    reader = ContractReader(exchange.chain)
    pool = read_relationships(reader, exchange.usdc_pool, ContractKind.DEX_PAIR)
    [pair] = pool.token_pairs
    assert {pair.token_a, pair.token_b} == {exchange.usdc, exchange.weth}
    assert exchange.factory in pool.named_contracts
    factory = read_relationships(reader, exchange.factory, ContractKind.DEX_FACTORY)
    assert {each.pool for each in factory.token_pairs} == {exchange.usdc_pool, exchange.dai_pool}
    tokens = [exchange.dai, exchange.weth]
    chosen = read_relationships(reader, exchange.factory, ContractKind.DEX_FACTORY, tokens)
    assert [each.pool for each in chosen.token_pairs] == [exchange.dai_pool]


def test_an_owner_and_a_router_that_lies() -> None:
    lying, owned = address_of(0xA0), address_of(0xB0)
    answers = {
        "factory()": (["address"], [address_of(0xC0)]),
        "WETH()": (["string"], ["x" * 400]),
        "getAmountsOut(uint256,address[])": (["uint256[]"], [[]]),
    }
    codes = {
        lying: build_answers(answers),
        owned: build_answers({"owner()": (["address"], [USER])}),
        address_of(0xC0): LOOP,
    }
    reader = read_chain(codes)
    found = read_relationships(reader, lying, ContractKind.DEX_ROUTER, [owned, address_of(1)])
    assert (found.token_pairs, found.paths) == ((), ())
    assert quote_paths(reader, lying, [(owned, lying)], 1) == ()
    assert read_relationships(reader, owned, ContractKind.CUSTOM).admin_address == USER


@given(PAIRS, NAMES, NAMES, st.integers(2, 4))
def test_paths_are_all_simple_ones(
    edges: list[tuple[str, str]], start: str, end: str, most: int
) -> None:
    pairs = [TokenPair(token_a=first, token_b=second) for first, second in edges]
    linked = {frozenset(edge) for edge in edges}
    expected = {
        (start, *middle, end)
        for count in range(most - 1)
        for middle in itertools.permutations(set("ABCDE") - {start, end}, count)
        if start != end
        and all(frozenset(step) in linked for step in itertools.pairwise((start, *middle, end)))
    }
    found = list_paths(pairs, start, end, most)
    assert set(found) == expected
    assert len(found) == len(expected)
    assert [*map(len, found)] == sorted(map(len, found))


def test_the_best_quote_is_first() -> None:
    exchange = get_exchange()
    reader = ContractReader(exchange.chain)
    usdc, weth, dai = exchange.usdc, exchange.weth, exchange.dai
    paths = [(weth, usdc), (weth, dai), (usdc, dai)]
    found = quote_paths(reader, exchange.router, paths, ETHER)
    # There is no pool of the last one.
    assert [each.tokens for each in found] == [(weth, dai), (weth, usdc)]


def contract(number: int, **relationships: object) -> ContractIntelligence:
    """Return a contract with relationships to others."""
    return ContractIntelligence(
        address=address_of(number),
        name="x",
        kind=ContractKind.CUSTOM,
        account=USER,
        block_number=0,
        abi_source="file",
        relationships=Relationships(**relationships),  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    "relationships",
    [
        {"named_contracts": (address_of(3),)},
        {"token_pairs": (TokenPair(token_a=address_of(3), token_b=address_of(9)),)},
        {"token_pairs": (TokenPair(token_a="", token_b="", pool=address_of(3)),)},
        {"required_approvals": (Approval(token=address_of(3), spender="", amount=None),)},
    ],
)
def test_related_contracts_are_a_group(relationships: dict[str, object]) -> None:
    contracts = [contract(1, **relationships), contract(2), contract(3)]
    assert group_contracts(contracts) == ((address_of(1), address_of(3)), (address_of(2),))


def test_groups_are_joined() -> None:
    contracts = [
        contract(1, named_contracts=(address_of(2),)),
        contract(2),
        contract(3, named_contracts=(address_of(4),)),
        contract(4, named_contracts=(address_of(1),)),
    ]
    assert group_contracts(contracts) == (tuple(map(address_of, range(1, 5))),)
