"""Relationships of contracts: existing pools, paths of tokens through pools, tools that fit."""

from __future__ import annotations

from itertools import combinations, permutations
from typing import TYPE_CHECKING

from pyevm_agents.contract_intelligence.capabilities import (
    ContractIntelligence,
    ContractKind,
    QuotedPath,
    Relationships,
    TokenPair,
)
from pyevm_agents.contract_intelligence.primitives import load_primitives

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyevm_agents.contract_intelligence.contract_reader import ContractReader

GET_PAIR = "getPair(address,address)"
GET_AMOUNTS_OUT = "getAmountsOut(uint256,address[])"
ALL_PAIRS, ALL_PAIRS_LENGTH = "allPairs(uint256)", "allPairsLength()"

MAX_TOKENS = 32
"""Tokens whose pools are asked for: 496 pairs."""

MAX_LISTED_POOLS = 16
"""Pools that are read of a factory when no tokens are given."""

MAX_QUOTED_TOKENS = 6
"""Tokens between which paths are quoted: 30 ordered pairs, with at most five paths each."""

DEFAULT_DECIMALS = 18

MAX_PATH_TOKENS = 3
"""Tokens of a path. Each one more is another pool's fee."""


def read_relationships(
    reader: ContractReader, address: str, kind: ContractKind, tokens: Sequence[str] = ()
) -> Relationships:
    """Return the contracts that a contract names, and the pools of tokens in reach.

    Input: the contract; its kind; tokens of which pools are wanted, such as those that are
           inspected with it.
    """
    reads = load_primitives().reads
    wrapped = ""
    if kind is ContractKind.DEX_ROUTER:
        wrapped = reader.read_first_address(address, reads["wrapped_native"])
    named = [reader.read_address(address, signature) for signature in reads["named"]]
    pairs = tuple(_iter_pairs(reader, address, kind, _merge([wrapped], tokens)))
    is_router = kind is ContractKind.DEX_ROUTER
    places = _merge([wrapped], _list_tokens(pairs))
    return Relationships(
        tokens=tuple(filter(None, map(reader.read_token, places))),
        token_pairs=pairs,
        paths=tuple(_iter_quotes(reader, address, pairs)) if is_router else (),
        admin_address=reader.read_first_address(address, reads["owner"]),
        wrapped_native=wrapped,
        named_contracts=_merge([wrapped], named),
    )


def list_paths(
    pairs: Sequence[TokenPair], token_in: str, token_out: str, max_tokens: int = MAX_PATH_TOKENS
) -> tuple[tuple[str, ...], ...]:
    """Return all paths without repeated tokens through pools, the shortest first."""
    neighbours: dict[str, list[str]] = {}
    for pair in pairs:
        neighbours.setdefault(pair.token_a, []).append(pair.token_b)
        neighbours.setdefault(pair.token_b, []).append(pair.token_a)
    found: list[tuple[str, ...]] = []
    begun: list[tuple[str, ...]] = [(token_in,)]
    for _ in range(max_tokens - 1):
        grown = [
            (*path, token)
            for path in begun
            for token in dict.fromkeys(neighbours.get(path[-1], ()))
            if token not in path
        ]
        found += [path for path in grown if path[-1] == token_out]
        begun = [path for path in grown if path[-1] != token_out]
    return tuple(found)


def quote_paths(
    reader: ContractReader, router: str, paths: Sequence[Sequence[str]], amount_in: int
) -> tuple[QuotedPath, ...]:
    """Return the paths for which a router gives a quote, the best quote first."""
    quotes = []
    for path in paths:
        match reader.read(router, GET_AMOUNTS_OUT, ["uint256[]"], amount_in, list(path)):
            case ((*_, int(amount)),):
                quotes.append(
                    QuotedPath(tokens=tuple(path), amount_in=amount_in, amount_out=amount)
                )
            case _:
                pass
    return tuple(sorted(quotes, key=lambda quote: -quote.amount_out))


def _iter_quotes(
    reader: ContractReader, router: str, pairs: Sequence[TokenPair]
) -> Iterator[QuotedPath]:
    """Yield the paths between the tokens of pools, with the quotes for one whole token."""
    for token_in, token_out in permutations(_list_tokens(pairs)[:MAX_QUOTED_TOKENS], 2):
        facts = reader.read_token(token_in)
        decimals = DEFAULT_DECIMALS if facts is None else facts.decimals
        unit = 10 ** (DEFAULT_DECIMALS if decimals is None else decimals)
        yield from quote_paths(reader, router, list_paths(pairs, token_in, token_out), unit)


def group_contracts(contracts: Sequence[ContractIntelligence]) -> tuple[tuple[str, ...], ...]:
    """Return the contracts whose tools belong together: one names or needs the other.

    Output: addresses; groups and members in the order of the contracts.
    """
    addresses = [contract.address for contract in contracts]
    groups = {address: {address} for address in addresses}
    for contract in contracts:
        for other in _list_related(contract):
            if other in groups and groups[other] is not groups[contract.address]:
                merged = groups[other] | groups[contract.address]
                groups.update(dict.fromkeys(merged, merged))
    shown = dict.fromkeys(
        tuple(address for address in addresses if address in groups[each]) for each in addresses
    )
    return tuple(shown)


def _list_related(contract: ContractIntelligence) -> Iterator[str]:
    relations = contract.relationships
    yield from relations.named_contracts
    for approval in relations.required_approvals:
        yield from (approval.token, approval.spender)
    if contract.kind is not ContractKind.DEX_FACTORY:
        for pair in relations.token_pairs:
            yield from (pair.token_a, pair.token_b, pair.pool)


def _iter_pairs(
    reader: ContractReader, address: str, kind: ContractKind, tokens: Sequence[str]
) -> Iterator[TokenPair]:
    reads = load_primitives().reads
    match kind:
        case ContractKind.DEX_PAIR:
            first, second = (reader.read_address(address, each) for each in reads["tokens"])
            if first and second:
                yield TokenPair(token_a=first, token_b=second, pool=address)
        case ContractKind.DEX_ROUTER:
            factory = reader.read_first_address(address, reads["factory"])
            if factory:
                yield from _iter_pools(reader, factory, tokens)
        case ContractKind.DEX_FACTORY if len(tokens) > 1:
            yield from _iter_pools(reader, address, tokens)
        case ContractKind.DEX_FACTORY:
            yield from _iter_first_pools(reader, address)
        case _:
            pass


def _iter_pools(reader: ContractReader, factory: str, tokens: Sequence[str]) -> Iterator[TokenPair]:
    """Yield the pools of a factory that exist among tokens."""
    for first, second in combinations(tokens[:MAX_TOKENS], 2):
        pool = reader.read_address(factory, GET_PAIR, first, second)
        if pool:
            yield TokenPair(token_a=first, token_b=second, pool=pool)


def _iter_first_pools(reader: ContractReader, factory: str) -> Iterator[TokenPair]:
    match reader.read(factory, ALL_PAIRS_LENGTH, ["uint256"]):
        case (int(count),):
            for index in range(min(count, MAX_LISTED_POOLS)):
                pool = reader.read_address(factory, ALL_PAIRS, index)
                if pool:
                    yield from _iter_pairs(reader, pool, ContractKind.DEX_PAIR, ())
        case _:
            pass


def _list_tokens(pairs: Sequence[TokenPair]) -> tuple[str, ...]:
    return _merge([token for pair in pairs for token in (pair.token_a, pair.token_b)])


def _merge(*lists: Sequence[str]) -> tuple[str, ...]:
    """Return the addresses of several lists, each once."""
    return tuple(dict.fromkeys(address for each in lists for address in each if address))
