"""Symbols of tokens: no two are equal, and none is the native currency's.

A symbol is a stranger's text. One that lost characters in cleaning, or that looks like an earlier
one or the native currency's, gets a number and a warning. An amount of one token then can't be
taken for an amount of another.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from precompiles.address_handles import ACCOUNT_HANDLE
from precompiles.spec import MAX_HANDLE_CHARACTERS
from pyevm_agents.contract_intelligence.untrusted_text import (
    NameTable,
    format_handle,
    join_words,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyevm_agents.contract_intelligence.capabilities import ContractIntelligence, TokenFacts

SEPARATORS = " -._"
"""Characters of a symbol that a handle may have in another form."""

MAX_SHOWN_CHARACTERS = 40


def distinguish_symbols(
    contracts: Sequence[ContractIntelligence],
    told: Mapping[str, str],
    native_names: Sequence[str],
) -> tuple[ContractIntelligence, ...]:
    """Return contracts whose tokens have different symbols, with warnings about changed ones.

    Input: contracts in order; the symbols that tokens return, by address; words for the native
        currency.
    """
    reserved = (*native_names, ACCOUNT_HANDLE)
    table = NameTable(MAX_HANDLE_CHARACTERS, ignores_case=True, reserved=reserved)
    native = NameTable(ignores_case=True, reserved=native_names)
    symbols: dict[str, str] = {}
    warnings: dict[str, str] = {}
    for address, symbol in _list_symbols(contracts):
        if address not in symbols:
            symbols[address] = _choose(table, symbol, told.get(address, symbol))
            if symbols[address] != symbol:
                text = told.get(address, symbol)
                reason = _explain(native, symbol, text)
                shown = json.dumps(text[:MAX_SHOWN_CHARACTERS])
                warnings[address] = f"symbol {shown} {reason}; it is called {symbols[address]}"
    return tuple(_apply(each, symbols, warnings) for each in contracts)


def _list_symbols(contracts: Sequence[ContractIntelligence]) -> Iterator[tuple[str, str]]:
    """Yield addresses and symbols of tokens, those of the inspected contracts first."""
    yield from ((each.address, each.symbol) for each in contracts if each.symbol)
    for contract in contracts:
        yield from ((each.address, each.symbol) for each in _list_tokens(contract))


def _list_tokens(contract: ContractIntelligence) -> list[TokenFacts]:
    return [each for each in contract.relationships.tokens if each.symbol]


def _choose(table: NameTable, symbol: str, told: str) -> str:
    """Return a symbol, with a number if not certain to be the token's own."""
    handle = format_handle(symbol)
    if has_lost_characters(told, symbol):
        table.add(handle)  # The symbol that others may have, and this token has not.
        return table.add(handle)
    chosen = table.add(handle)
    return symbol if chosen == handle else chosen


def has_lost_characters(told: str, symbol: str) -> bool:
    """Return whether a token's symbol has characters that the clean form, or the handle, lacks."""
    kept = "".join(each for each in told if each not in SEPARATORS)
    return kept != join_words(symbol).replace("_", "")


def _explain(native: NameTable, symbol: str, told: str) -> str:
    if has_lost_characters(told, symbol):
        return "has characters that are left out"
    if native.has(format_handle(symbol)):
        return "is a word for the native currency"
    if format_handle(symbol).upper() == ACCOUNT_HANDLE:
        return "is the name of the agent's account"
    return "looks like that of another token"


def _apply(
    contract: ContractIntelligence, symbols: Mapping[str, str], warnings: Mapping[str, str]
) -> ContractIntelligence:
    relations = contract.relationships
    tokens = tuple(
        replace(each, symbol=symbols.get(each.address, each.symbol)) for each in relations.tokens
    )
    own = warnings.get(contract.address)
    others = [
        f"token {each.address}: {warnings[each.address]}"
        for each in tokens
        if each.address in warnings and each.address != contract.address
    ]
    return replace(
        contract,
        symbol=symbols.get(contract.address, contract.symbol),
        relationships=replace(relations, tokens=tokens),
        warnings=(*contract.warnings, *([own] if own else []), *others),
    )
