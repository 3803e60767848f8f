"""Arguments that need no choice: deadlines, recipients, and the least output of an exchange.

Each is decided by execution of the example call with another value of the argument.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from precompiles.spec import WORD_BYTES
from pyevm_agents.contract_intelligence.call_search import to_address
from pyevm_agents.contract_intelligence.calldata_layout import (
    CalldataLeaf,
    fit_number,
    get_at,
    list_leaves,
)
from pyevm_agents.contract_intelligence.caller_taint import CALLDATA_FLAG, TIME_FLAG
from pyevm_agents.contract_intelligence.capabilities import Derivation, Source
from pyevm_agents.contract_intelligence.conditions import (
    Relation,
    find_words,
    is_account,
    list_comparisons,
)
from pyevm_agents.contract_intelligence.probe import to_hex_address

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eth_typing import Address

    from pyevm_agents.contract_intelligence.call_search import CallAttempt, CallSearch
    from pyevm_agents.contract_intelligence.conditions import ValueComparison
    from pyevm_agents.contract_intelligence.probe import Prober, ProbeResult

DEADLINE_SECONDS = 1_200
"""Twenty minutes, as wallets set it."""

SLIPPAGE_BPS = 50
"""Half a percent, as wallets set it."""

MARKER = "0x00000000000000000000000000000000C0FFEE01"
"""An account that nothing else has to do with."""

MAX_OUTPUTS = 8
"""Amounts of one call that are tried as its least output."""


OutputPlace = tuple[str, int]
"""Where an amount of a result stands: a word of the output, or a transfer."""


def derive_arguments(
    prober: Prober, search: CallSearch, attempt: CallAttempt, result: ProbeResult
) -> dict[int, Derivation]:
    """Return derivations by the index of the parameter, for the call that succeeded."""
    derived: dict[int, Derivation] = {}
    for leaf in list_leaves(search.types, result.probe.data):
        if len(leaf.path) != 1 or leaf.is_length:
            continue
        compared = [*_list_comparisons_of(leaf, result)]
        found: Derivation | None = None
        if leaf.abi_type == "address":
            found = _derive_account(search, attempt, result, leaf, compared)
        elif leaf.abi_type.startswith("uint"):
            found = _derive_deadline(prober, search, attempt, leaf, compared)
            found = found or _derive_minimum(search, attempt, result, leaf, compared)
        if found is not None:
            derived[leaf.path[0]] = found
    return derived


def _list_comparisons_of(leaf: CalldataLeaf, result: ProbeResult) -> Iterator[ValueComparison]:
    """Yield the comparisons that an argument takes part in."""
    for decision in result.tape.decisions:
        if decision.condition.flags & CALLDATA_FLAG:
            for comparison in list_comparisons(decision.condition):
                sides = (comparison.left, comparison.right)
                if any(word.offset == leaf.offset for side in sides for word in find_words(side)):
                    yield comparison


def _succeeds(search: CallSearch, attempt: CallAttempt, leaf: CalldataLeaf, value: object) -> bool:
    result = search.probe(attempt.with_value(leaf.path, value))
    return result is not None and result.is_success


def _derive_deadline(
    prober: Prober,
    search: CallSearch,
    attempt: CallAttempt,
    leaf: CalldataLeaf,
    compared: list[ValueComparison],
) -> Derivation | None:
    """Return the deadline of a transaction: times before the block's revert, later ones do not.

    A time that changes the call's effects, such as the term of a deal, is no deadline.
    """
    if not any(comparison.flags & TIME_FLAG for comparison in compared):
        return None
    now = int(prober.header.timestamp)
    if _succeeds(search, attempt, leaf, now - 1):
        return None
    times = [fit_number(leaf.abi_type, now + part * DEADLINE_SECONDS) for part in (1, 2)]
    early, late = (search.probe(attempt.with_value(leaf.path, each)) for each in times)
    if early is None or late is None or not early.is_success:
        return None
    if times[0] == times[1] or _list_effects(early) != _list_effects(late):
        return None
    return Derivation(
        source=Source.DEADLINE,
        seconds=DEADLINE_SECONDS,
        sentence=f"the block's time plus {DEADLINE_SECONDS // 60} minutes",
    )


def _list_effects(result: ProbeResult) -> tuple[object, ...]:
    """Return a call's effects: writes, logs, output and moved amounts."""
    writes = [(each.account, each.slot, each.value) for each in result.tape.writes]
    return result.is_success, writes, result.logs, result.output, result.list_transfers()


def _derive_account(
    search: CallSearch,
    attempt: CallAttempt,
    result: ProbeResult,
    leaf: CalldataLeaf,
    compared: list[ValueComparison],
) -> Derivation | None:
    """Return the account, for a recipient of assets in exchange, and for the owner of the assets.

    An account that only gives a token away chooses the recipient.
    """
    account = result.probe.sender
    given = {each.token for each in result.list_transfers() if each.sender == account}
    if attempt.value_wei:
        given.add(None)
    if not given:
        return None
    value = str(get_at(attempt.values, leaf.path))
    other = search.probe(attempt.with_value(leaf.path, MARKER))
    is_derived = other is not None and (
        _is_recipient(other, given, to_address(MARKER))
        or _is_owner(result, other, given, compared, to_address(value))
    )
    if not is_derived:
        return None
    own = to_hex_address(account)
    if value != own and not _succeeds(search, attempt, leaf, own):
        return None
    return Derivation(source=Source.ACCOUNT, sentence="the agent's account")


def _is_recipient(other: ProbeResult, given: set[Address | None], marker: Address) -> bool:
    """Whether another recipient gets assets that the account does not give."""
    got = {each.token for each in other.list_transfers() if each.recipient == marker}
    return bool(got - given)


def _is_owner(
    result: ProbeResult,
    other: ProbeResult,
    given: set[Address | None],
    compared: list[ValueComparison],
    value: Address,
) -> bool:
    """Whether an argument has to be the caller, who pays in exchange."""
    account = result.probe.sender
    got = {each.token for each in result.list_transfers() if each.recipient == account}
    has_comparison = any(
        is_account(side) for comparison in compared for side, _ in comparison.list_sides()
    )
    return has_comparison and value == account and not other.is_success and bool(got - given)


def _derive_minimum(
    search: CallSearch,
    attempt: CallAttempt,
    result: ProbeResult,
    leaf: CalldataLeaf,
    compared: list[ValueComparison],
) -> Derivation | None:
    """Return the least output: the simulated output as value succeeds, one more reverts.

    The same holds for another output, which another argument changes.
    """
    if not any(comparison.relation is Relation.ORDER for comparison in compared):
        return None
    first = {amount: place for place, amount in reversed(_list_outputs(result).items())}
    for amount, place in [*reversed(first.items())][:MAX_OUTPUTS]:
        if not amount or fit_number(leaf.abi_type, amount + 1) != amount + 1:
            continue
        lower = search.probe(attempt.with_value(leaf.path, amount // 2))
        if lower is None or not lower.is_success or lower.output != result.output:
            continue  # It decides how much is paid out.
        if lower.list_transfers() != result.list_transfers():
            continue
        if _is_bound(search, attempt, leaf, amount) and _is_bound_elsewhere(
            search, attempt, leaf, place, amount
        ):
            return Derivation(
                source=Source.MINIMUM,
                slippage_bps=SLIPPAGE_BPS,
                sentence=f"what a simulation pays out, less {SLIPPAGE_BPS / 100:g} percent",
            )
    return None


def _is_bound(search: CallSearch, attempt: CallAttempt, leaf: CalldataLeaf, amount: int) -> bool:
    """Whether an amount succeeds as the value of an argument, and one more does not."""
    return _succeeds(search, attempt, leaf, amount) and not _succeeds(
        search, attempt, leaf, amount + 1
    )


def _is_bound_elsewhere(
    search: CallSearch, attempt: CallAttempt, leaf: CalldataLeaf, place: OutputPlace, amount: int
) -> bool:
    """Whether an argument is bounded by the output of another call, which is another amount."""
    for other in _list_variants(search, attempt, leaf):
        result = search.probe(other.with_value(leaf.path, 0))
        paid = 0 if result is None else _list_outputs(result).get(place, 0)
        if paid not in {0, amount} and fit_number(leaf.abi_type, paid + 1) == paid + 1:
            return _is_bound(search, other, leaf, paid)
    return False


def _list_variants(
    search: CallSearch, attempt: CallAttempt, leaf: CalldataLeaf
) -> Iterator[CallAttempt]:
    """Yield calls with another number, or with other wei."""
    if attempt.value_wei:
        for value_wei in (2 * attempt.value_wei, attempt.value_wei // 2):
            yield replace(attempt, value_wei=value_wei)
    for index, abi_type in enumerate(search.types):
        value = attempt.values[index]
        if abi_type.startswith("uint") and isinstance(value, int) and leaf.path != (index,):
            for factor in (1_000, 2):
                changed = fit_number(abi_type, value * factor)
                yield attempt.with_value((index,), changed)


def _list_outputs(result: ProbeResult) -> dict[OutputPlace, int]:
    """Return the amounts that a call pays out or returns, the last first."""
    if not result.is_success:
        return {}
    words = [
        int.from_bytes(result.output[at : at + WORD_BYTES], "big")
        for at in range(0, len(result.output) // WORD_BYTES * WORD_BYTES, WORD_BYTES)
    ]
    account = result.probe.sender
    paid = [each.amount for each in result.list_transfers() if each.sender != account]
    return {
        **{("word", i): amount for i, amount in reversed([*enumerate(words)])},
        **{("paid", i): amount for i, amount in reversed([*enumerate(paid)])},
    }
