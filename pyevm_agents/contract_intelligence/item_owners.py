"""Owners of items: functions that only the owner of the item in an argument may call.

An item is an entry of a mapping, such as a node of ENS or a deal of an escrow. The search for calls
gives the account the needed item. Here other executions show the item's owner, and whether the
account has an item, or can make one by a call. Items of a token (ERC-721, ERC-1155) do not count:
they are assets, which the account can get like a balance.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from eth.vm import opcode_values as op
from eth_abi import encode
from eth_abi.exceptions import EncodingError

from precompiles.spec import WORD_BYTES
from pyevm_agents.abi.values import decode_values
from pyevm_agents.contract_intelligence.calldata_layout import get_at, list_leaves, replace_at
from pyevm_agents.contract_intelligence.caller_taint import CALLDATA_FLAG, Expression
from pyevm_agents.contract_intelligence.candidate_arguments import word_to_address
from pyevm_agents.contract_intelligence.conditions import (
    ADDRESS_MASK,
    MAX_DEPTH,
    Relation,
    get_flags,
    get_value,
    is_account,
    list_comparisons,
)
from pyevm_agents.contract_intelligence.item_transfers import is_token_item
from pyevm_agents.contract_intelligence.probe import CallProbe, to_hex_address

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eth_typing import Address

    from pyevm_agents.contract_intelligence.call_search import CallAttempt, CallSearch
    from pyevm_agents.contract_intelligence.calldata_layout import CalldataLeaf
    from pyevm_agents.contract_intelligence.candidate_arguments import Surroundings
    from pyevm_agents.contract_intelligence.capabilities import FunctionCapability, Parameter
    from pyevm_agents.contract_intelligence.probe import Overrides, ProbeResult

MAX_ITEMS = 12
"""Other items that are tried."""

MAX_NUMBERS = 8
"""Items of small numbers that are tried, from 0 on."""

MAX_OWN_CALLS = 6
"""Calls of the account of which each may make it the owner of an item."""

MAX_OUTPUT_WORDS = 4
"""Words of a call's output, and of each of its logs, that may name an item that it made."""

_NOT_NOUN = re.compile("^_*(get)?_*|_*(Of|By[A-Z].*)?_*$")
_ID = re.compile("_?(id|Id|ID)$")
_NAMELESS = re.compile("(arg|out|ret)[0-9]*||i|n|no|num|number|index|key")


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemAccess:
    """Access to a function that only an item's owner may call, as executions show."""

    own: tuple[CallAttempt, ProbeResult] | None = None
    """A call with an item that the account has."""

    is_obtainable: bool = False
    """Whether a call of the account makes it the owner of an item."""

    owners: tuple[Address, ...] = ()
    """Owners of items, whose calls go on."""

    noun: str = ""
    """What the owner is called, such as `the owner of the node`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Item:
    """An item that a call was given."""

    entry: tuple[Address, int, int]
    """The slot of its owner, with the account in it."""

    leaves: tuple[CalldataLeaf, ...]
    """The arguments that name it: one, or one for each key of a nested mapping."""


def find_item_access(
    place: Surroundings, search: CallSearch, attempt: CallAttempt, result: ProbeResult
) -> ItemAccess | None:
    """Return the access to a call that needs an item; None for a call without items.

    Input: a call that ran, as the search found it.
    """
    item = _find_item(place, search, attempt, result)
    if item is None:
        return None
    without = tuple(each for each in attempt.holdings if each != item.entry)
    bare = replace(attempt, holdings=without)
    stopped = search.probe(bare)
    if stopped is None or stopped.is_success:
        return None
    found = ItemAccess(noun=_describe_owner(place, search, item, attempt))
    owners: dict[Address, None] = {}
    for changed in (bare, *_list_others(search, item, bare)):
        after = stopped if changed is bare else search.probe(changed)
        if after is None:
            continue
        if after.is_success:
            return replace(found, own=(changed, after))
        for owner in _list_owners(after):
            is_new = owner not in owners and owner != place.account and any(owner)
            if is_new and _goes_on(after, search.probe(changed, sender=owner)):
                owners[owner] = None
    found = replace(found, owners=tuple(owners))
    return replace(found, is_obtainable=_can_obtain(place, search, item, bare, stopped))


def _find_item(
    place: Surroundings, search: CallSearch, attempt: CallAttempt, result: ProbeResult
) -> _Item | None:
    """Return the first item in a call's arguments that is no token's item."""
    leaves = {leaf.offset: leaf for leaf in list_leaves(search.types, result.probe.data)}
    for entry in attempt.holdings:
        if is_token_item(place.prober, place.account, entry[:2], result):
            continue
        holder, slot, _ = entry
        keys = [
            each.key for each in result.tape.reads if (each.account, each.slot) == (holder, slot)
        ]
        words = [word for key in keys[:1] for word in _iter_words(key)]
        named = {word.offset: leaves[word.offset] for word in words if word.offset in leaves}
        return _Item(entry=entry, leaves=tuple(named[offset] for offset in sorted(named)))
    return None


def _iter_words(side: Expression | int | None, depth: int = 0) -> Iterator[Expression]:
    """Yield the words of calldata below a side, those in keys of storage included."""
    if not isinstance(side, Expression) or depth > MAX_DEPTH or not side.flags & CALLDATA_FLAG:
        return
    if side.op == op.CALLDATALOAD:
        yield side
    for operand in side.operands:
        yield from _iter_words(operand, depth + 1)


def _list_owners(result: ProbeResult) -> list[Address]:
    """Return the addresses that arguments name and with which the caller was compared in vain."""
    failing = result.find_failing_calls()
    found = [
        word_to_address(get_value(other) & ADDRESS_MASK)
        for decision in reversed(result.tape.decisions)
        if decision.call in failing or decision.call.parent in failing
        for comparison in list_comparisons(decision.condition)
        if comparison.relation is Relation.EQUAL
        for side, other in comparison.list_sides()
        if is_account(side) and get_flags(other) & CALLDATA_FLAG
    ]
    return [*dict.fromkeys(found)]


def _goes_on(before: ProbeResult, after: ProbeResult | None) -> bool:
    """Whether a call succeeds, or fails at another place than before."""
    if after is None:
        return False
    return after.is_success or after.failure_place != before.failure_place


# -- other items -- #


def _list_others(search: CallSearch, item: _Item, attempt: CallAttempt) -> list[CallAttempt]:
    """Return attempts with other items: words of the contract's getters and logs, small numbers."""
    words = [int.from_bytes(word, "big") for word in search.known.words]
    return [*_name_items(item, attempt, [*range(MAX_NUMBERS), *words])][:MAX_ITEMS]


def _name_items(item: _Item, attempt: CallAttempt, words: Sequence[int]) -> Iterator[CallAttempt]:
    """Yield attempts whose arguments name an item by some words, one after the other, that fit."""
    size = len(item.leaves)
    starts = range(len(words) - size + 1) if size else ()
    for window in dict.fromkeys(tuple(words[start : start + size]) for start in starts):
        changed = attempt.values
        for leaf, word in zip(item.leaves, window, strict=True):
            value = fit_word(leaf.abi_type, word)
            if value is None:
                break
            changed = replace_at(changed, leaf.path, value)
        else:
            if changed != attempt.values:
                yield replace(attempt, values=changed)


def fit_word(kind: str, word: int) -> object:
    """Return a word as a value of an elementary type; None if word and type do not fit."""
    if kind.startswith("bytes") and kind != "bytes":
        return word.to_bytes(WORD_BYTES, "big")[: int(kind.removeprefix("bytes"))]
    if kind.startswith("uint") and word < 1 << int(kind.removeprefix("uint")):
        return word
    if kind == "address" and word <= ADDRESS_MASK:
        return to_hex_address(word)
    return None


# -- items that the account can make -- #


def _can_obtain(
    place: Surroundings,
    search: CallSearch,
    item: _Item,
    attempt: CallAttempt,
    stopped: ProbeResult,
) -> bool:
    """Whether the call goes on after a call that makes the account the owner of an item."""
    calls = [each for each in place.own_calls if each[0] != search.function.selector]
    for _, made, result in calls[:MAX_OWN_CALLS]:
        if not all(
            is_token_item(place.prober, place.account, each[:2], result) for each in made.holdings
        ):
            continue  # It needs an item itself.
        writes = ((each.account, each.slot, each.value) for each in result.tape.writes)
        after: Overrides = (*made.needs, *made.holdings, *writes)
        words = [*iter_named(result)]
        for changed in (attempt, *[*_name_items(item, attempt, words)][:MAX_ITEMS]):
            if _goes_on(stopped, search.probe(changed, more=after)):
                return True
    return False


def iter_named(result: ProbeResult) -> Iterator[int]:
    """Yield words of a call's output, logs and arguments, which may name a new item."""
    yield from _split(result.output)
    for _, topics, data in result.logs:
        yield from topics[1:]
        yield from _split(data)
    yield from _split(result.probe.data[4:])


def _split(data: bytes) -> list[int]:
    starts = range(0, min(len(data), MAX_OUTPUT_WORDS * WORD_BYTES), WORD_BYTES)
    return [int.from_bytes(data[start : start + WORD_BYTES], "big") for start in starts]


# -- words -- #


def _describe_owner(
    place: Surroundings, search: CallSearch, item: _Item, attempt: CallAttempt
) -> str:
    """Return the noun for an item's owner, from the getter and from the argument."""
    if not item.leaves:
        return "the owner of the item"
    parameter = search.function.parameters[item.leaves[-1].path[0]].name
    thing = _ID.sub("", parameter)
    if _NAMELESS.fullmatch(thing):
        thing = "item"
    values = [get_at(attempt.values, leaf.path) for leaf in item.leaves]
    names = (_name_owner(place, each, item, values) for each in place.functions)
    return f"the {next(filter(None, names), 'owner')} of the {thing}"


def _name_owner(
    place: Surroundings, getter: FunctionCapability, item: _Item, values: Sequence[object]
) -> str:
    """Return the name of the output with the owner of an item; empty without a name."""
    types = [each.abi_type for each in getter.parameters]
    if types != [leaf.abi_type for leaf in item.leaves] or not getter.is_read_only:
        return ""
    try:
        data = getter.selector + encode(types, values)
    except (EncodingError, TypeError, ValueError, OverflowError):
        return ""
    probe = CallProbe(sender=place.account, to=place.contract, data=data, storage=(item.entry,))
    result = place.prober.run(probe)
    if not result.is_success or item.entry[:2] not in {
        (each.account, each.slot) for each in result.tape.reads
    }:
        return ""
    outputs = tuple(each.abi_type for each in getter.outputs)
    own = to_hex_address(place.account).lower()
    for output, told in zip(
        getter.outputs, decode_values(outputs, result.output) or (), strict=False
    ):
        if str(told).lower() == own:
            return _choose_noun(output, getter.name)
    return ""


def _choose_noun(output: Parameter, getter: str) -> str:
    name = getter if _NAMELESS.fullmatch(output.name) else output.name
    noun = _NOT_NOUN.sub("", name)
    return f"{noun[:1].lower()}{noun[1:]}"
