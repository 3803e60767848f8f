"""Amounts that a call stores, and that another call of the contract moves: the price of a listing.

    list(tokenId, price)    stores the price
    buy(tokenId)            moves as much of a token

A number counts a token if calls that differ in that number alone store it, and another function
then moves the same amount of the token, or tries to. The first call is made from another account,
since few contracts let an account deal with itself.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from eth_utils import is_address, keccak

from pyevm_agents.contract_intelligence.asset_movements import list_movements
from pyevm_agents.contract_intelligence.calldata_layout import (
    fit_number,
    get_at,
    list_leaves,
)
from pyevm_agents.contract_intelligence.capabilities import NATIVE_UNIT
from pyevm_agents.contract_intelligence.conditions import ADDRESS_MASK
from pyevm_agents.contract_intelligence.item_owners import fit_word, iter_named
from pyevm_agents.contract_intelligence.parameter_evidence import TRIAL_VALUES, is_free
from pyevm_agents.contract_intelligence.parameter_leaves import find_leaf, replace_leaf

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eth_typing import Address

    from pyevm_agents.contract_intelligence.call_search import CallAttempt, CallSearch
    from pyevm_agents.contract_intelligence.calldata_layout import CalldataLeaf
    from pyevm_agents.contract_intelligence.capabilities import FunctionCapability
    from pyevm_agents.contract_intelligence.probe import Overrides, ProbeResult

    Made = tuple[CallSearch, CallAttempt, ProbeResult]
    """A search of calls of a function, with the one that went furthest."""

SOMEBODY = keccak(text="somebody who stores an amount")[12:]
"""Address of an account that nothing else has to do with."""

MAX_NAMED = 12
"""Calls of another function that are tried, with words of the first one as arguments."""


def show_stored_amounts(
    functions: Sequence[FunctionCapability], made: Sequence[Made | None], account: Address
) -> list[FunctionCapability]:
    """Return functions whose numbers have the token that another function moves as much of.

    Input: the functions; for each the search with the call that went furthest; the agent's account.
    """
    writing = [
        each
        for function, each in zip(functions, made, strict=True)
        if each is not None and not function.is_read_only
    ]
    found = []
    for function, own in zip(functions, made, strict=True):
        others = [each for each in writing if each is not own]
        if own is None or function.is_read_only or not own[2].is_success:
            found.append(function)
            continue
        shown = function
        for leaf in _list_numbers(own, function):
            token = _find_token(own, others, leaf, account)
            if token:
                parameters = replace_leaf(shown.parameters, leaf.path, token=token)
                shown = replace(shown, parameters=parameters)
        found.append(shown)
    return found


def _list_numbers(made: Made, function: FunctionCapability) -> list[CalldataLeaf]:
    """Return the numbers of a call, outside lists, without a known unit."""
    search, attempt, result = made
    return [
        leaf
        for leaf in list_leaves(search.types, result.probe.data)
        if leaf.abi_type.startswith("uint")
        and not leaf.is_length
        and isinstance(get_at(attempt.values, leaf.path), int)
        and (parameter := find_leaf(function.parameters, leaf.path)) is not None
        and not parameter.token
        and is_free(parameter)
    ]


def _find_token(made: Made, others: Sequence[Made], leaf: CalldataLeaf, account: Address) -> str:
    """Return the token of which another call moves a number's amount; empty if none does."""
    search, attempt, _ = made
    common: set[str] | None = None
    for value in [each for each in TRIAL_VALUES if fit_number(leaf.abi_type, each) == each][:3]:
        stored = search.probe(attempt.with_value(leaf.path, value))
        if stored is None or not stored.is_success:
            continue
        if not _is_stored(stored, value):
            return ""
        writes = _hand_over(stored, account)
        moved = {
            each.token
            for other in others
            for result in _try(other, stored, writes, value)
            for each in list_movements(other[0].prober, result, with_failed=True)
            if each.amount == value and (each.token == NATIVE_UNIT or is_address(each.token))
        }
        if common is not None:
            common &= moved
            return common.pop() if len(common) == 1 else ""
        common = moved
        if not common:
            return ""
    return ""


def _is_stored(result: ProbeResult, value: int) -> bool:
    """Return whether a call writes a number to whole bytes of a slot, alone or with others."""
    size = (value.bit_length() + 7) // 8
    return any(
        value.to_bytes(size, "big") in write.value.to_bytes(32, "big")
        for write in result.tape.writes
    )


def _hand_over(stored: ProbeResult, account: Address) -> Overrides:
    """Return a call's writes, with another account in place of the agent's."""
    own, other = int.from_bytes(account, "big"), int.from_bytes(SOMEBODY, "big")
    found = []
    for write in stored.tape.writes:
        value = write.value
        for shift in (0, 96):
            if value >> shift & ADDRESS_MASK == own:
                value += (other - own) << shift
        found.append((write.account, write.slot, value))
    return tuple(found)


def _try(other: Made, stored: ProbeResult, writes: Overrides, value: int) -> Iterator[ProbeResult]:
    """Yield another function's results, with own arguments and with words of the first call.

    Never with the value itself: the moved amount would then be an argument.
    """
    search, attempt, result = other
    words = [each for each in iter_named(stored) if each != value]
    for changed in (attempt, *islice(_name(other, words), MAX_NAMED)):
        after = search.probe(changed, more=(*attempt.needs, *writes))
        if after is not None and after is not result:
            yield after


def _name(other: Made, words: Sequence[int]) -> Iterator[CallAttempt]:
    """Yield attempts of which one argument is a word of another call."""
    search, attempt, result = other
    for leaf in list_leaves(search.types, result.probe.data):
        for word in dict.fromkeys(words):
            value = None if leaf.is_length else fit_word(leaf.abi_type, word)
            if value is not None and value != get_at(attempt.values, leaf.path):
                yield attempt.with_value(leaf.path, value)
