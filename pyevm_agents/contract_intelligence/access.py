"""Access by counterfactual: which functions an account may call, why not, and which accounts may.

A function is forbidden if a check of the caller stops every call that was found, and the same call
goes on for another account, or for the account once a list has the account. A balance or an
allowance that the account lacks does not forbid a function.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from eth_keys.datatypes import PrivateKey
from eth_typing import Address
from eth_utils import keccak, to_canonical_address

from pyevm_agents.abi.values import decode_values, get_max_decoded_bytes
from pyevm_agents.contract_intelligence.argument_derivation import derive_arguments
from pyevm_agents.contract_intelligence.asset_needs import find_needs, name_amounts
from pyevm_agents.contract_intelligence.call_search import (
    AccessCheck,
    CallAttempt,
    CallSearch,
    CheckKind,
    SearchResult,
    propose_settings,
)
from pyevm_agents.contract_intelligence.caller_taint import (
    CALLDATA_FLAG,
    CALLER_FLAG,
    VALUE_FLAG,
)
from pyevm_agents.contract_intelligence.candidate_arguments import (
    Surroundings,
    look_around,
    to_address,
    word_to_address,
)
from pyevm_agents.contract_intelligence.capabilities import (
    Access,
    ExampleCall,
    FunctionCapability,
)
from pyevm_agents.contract_intelligence.conditions import (
    ValueComparison,
    find_keyed,
    is_amount,
    is_own_mask,
    list_comparisons,
)
from pyevm_agents.contract_intelligence.item_owners import find_item_access
from pyevm_agents.contract_intelligence.parameter_evidence import share_units, show_parameters
from pyevm_agents.contract_intelligence.probe import MAX_OUTPUT_BYTES, Prober, to_hex_address
from pyevm_agents.contract_intelligence.role_names import describe_role
from pyevm_agents.contract_intelligence.stored_amounts import show_stored_amounts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyevm_agents.chain import Chain
    from pyevm_agents.contract_intelligence.item_owners import ItemAccess
    from pyevm_agents.contract_intelligence.probe import Overrides, ProbeResult

MAX_CHECKS = 12
"""Checks of one function that are tried, the last first."""

MAX_REASON_CHARACTERS = 160
MAX_PROPOSALS = 8
"""Other arguments that are tried for an account that passes a check."""

MAX_SETTINGS = 8
"""Values of a slot of the account that are tried, and as many that follow from these."""

SIGNER = PrivateKey(keccak(text="an account that signs"))
"""Key of an account that nothing else has to do with, which signs in place of the caller."""

ALWAYS_REVERTS, HAS_RUN = "it always reverts, whoever calls it", "it runs once, and has run"
"""Reasons why nobody can call a function."""

SETUP_NAME = re.compile("(?i)_*(init|initiali[sz]e|set_?up)([A-Z0-9_].*)?$")
"""Names of functions that run once: they propose, and executions decide."""

_UNPRINTABLE = re.compile(r"[^\x20-\x7e]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Barrier:
    """A check of the caller that stops the account."""

    reason: str
    callers: tuple[str, ...] = ()
    role: str = ""
    access: Access = Access.FORBIDDEN


@dataclass(frozen=True, slots=True, kw_only=True)
class _Passing:
    """The other accounts that pass a check which stops the account."""

    callers: tuple[Address, ...] = ()
    is_success: bool = False
    """Whether the call of the first one succeeds."""


def analyse_functions(  # noqa: PLR0913 - keyword arguments
    chain: Chain,
    contract: str | bytes,
    functions: Sequence[FunctionCapability],
    account: str | bytes,
    *,
    known_accounts: Mapping[str, str] | None = None,
    prober: Prober | None = None,
) -> tuple[FunctionCapability, ...]:
    """Determine by execution which functions of a contract an account can call, and how.

    The chain is not changed. The result is a function of the chain's state and the arguments.

    Input:
        chain: of its own, or an in-process fork of a live one.
        contract: address of the contract; of a proxy, the proxy's.
        functions: name, selector, parameters and, if known, outputs and kind of each.
        account: the agent's account, a contract: it signs nothing.
        known_accounts: other accounts and contracts (tokens, deployers), each with a noun for
            sentences such as `the deployer`, or an empty text.
        prober: one for several contracts; by default a new one.

    Output: the functions in the same order, with access, reason, callers, example, approvals,
        needs and derivations of parameters.
    Raises: EngineFault, RemoteFault: the host or the remote node failed.
    """
    probing = Prober(chain, known=chain.known_contracts) if prober is None else prober
    place = look_around(
        probing, to_address(contract), functions, to_address(account), known_accounts or {}
    )
    if not chain.code(place.contract):
        reason = f"{to_hex_address(place.contract)} has no code."
        return tuple(replace(each, access=Access.UNKNOWN, reason=reason) for each in functions)
    searches = [_search(place, function) for function in functions]
    concluded = [
        replace(
            _conclude(place, function, search, found),
            delegates=_list_delegates(function, found),
        )
        for function, (search, found) in zip(functions, searches, strict=True)
    ]
    made = [_get_furthest(search, found) for search, found in searches]
    return share_units(show_stored_amounts(concluded, made, place.account))


def _search(place: Surroundings, function: FunctionCapability) -> tuple[CallSearch, SearchResult]:
    search = CallSearch(place.prober, place.contract, function, place.account, place.known)
    found = search.run()
    if found.success is not None and not function.is_read_only:
        writes = found.success[1].tape.writes
        for write in writes:
            place.written_slots.setdefault((write.account, write.slot), function.name)
        if any(bytes(place.account) in write.value.to_bytes(32, "big") for write in writes):
            place.own_calls.append((function.selector, *found.success))
    return search, found


def _list_delegates(function: FunctionCapability, found: SearchResult) -> tuple[str, ...]:
    """Return the contracts to which calls of a function were delegated, whole."""
    made = [*found.failures, *filter(None, (found.success, found.hypothetical))]
    delegates = (result.find_delegate() for _, result in made)
    seen = [to_hex_address(bytes(each)) for each in delegates if each is not None]
    return tuple(dict.fromkeys((*function.delegates, *seen)))


# -- conclusions -- #


def _conclude(
    place: Surroundings, function: FunctionCapability, search: CallSearch, found: SearchResult
) -> FunctionCapability:
    made = found.success or found.hypothetical
    if made is not None:
        function = show_parameters(search, function, *made)
    item = None if made is None else find_item_access(place, search, *made)
    if item is not None and item.own is None and not item.is_obtainable:
        return _describe_item(function, item)
    if found.success is not None:
        own = None if item is None else item.own
        return _describe_example(place, function, search, *(own or found.success))
    last = _get_last(found)
    if last[1] is not None and place.prober.is_endless(last[1]):
        reason = f"A call of {_name(function)} does not end within {last[1].gas_limit:,} gas."
        return replace(function, access=Access.UNKNOWN, reason=reason)
    needs = find_needs(place.prober, place.account, function, *last)
    barrier = _find_barrier(place, function, search, found) or _find_dead_end(
        place, function, found
    )
    if barrier is not None:
        return replace(
            function,
            access=barrier.access,
            reason=barrier.reason,
            callers=barrier.callers,
            role=barrier.role,
        )
    return replace(
        function,
        access=_judge_failures(found),
        reason=_describe_failure(function, found),
        approvals=needs.approvals,
        needs_balance_of=needs.tokens,
    )


def _get_furthest(
    search: CallSearch, found: SearchResult
) -> tuple[CallSearch, CallAttempt, ProbeResult] | None:
    """Return the call of a function that went furthest, with its search."""
    last = [each for each in found.failures if each[0] is not None and each[1] is not None]
    made = found.success or found.hypothetical or (last[-1] if last else None)
    return None if made is None else (search, *made)


def _get_last(found: SearchResult) -> tuple[CallAttempt | None, ProbeResult | None]:
    return found.failures[-1] if found.failures else (None, None)


def _judge_failures(found: SearchResult) -> Access:
    """Return the access of a function that no check of the caller closes."""
    if found.hypothetical is not None:
        return Access.OPEN
    for _, result in found.failures:
        if result.halt is None and _has_condition(result):
            return Access.OPEN
    return Access.UNKNOWN


def _has_condition(result: ProbeResult) -> bool:
    """Whether a revert depends on arguments, state or time, as far as its conditions show."""
    failing = result.find_failing_calls()
    return any(
        comparison.flags & ~VALUE_FLAG and not is_own_mask(comparison)
        for decision in result.tape.decisions
        if decision.call in failing
        for comparison in list_comparisons(decision.condition)
    )


def _describe_failure(function: FunctionCapability, found: SearchResult) -> str:
    if not found.failures:
        return f"No arguments for {_name(function)} were found."
    result = found.failures[0][1]
    if result.halt is not None:
        return f"A call of {_name(function)} halts: {clean_text(result.halt)}."
    return f"A call of {_name(function)} reverts now: {clean_text(result.reason)}."


def _describe_example(
    place: Surroundings,
    function: FunctionCapability,
    search: CallSearch,
    attempt: CallAttempt,
    result: ProbeResult,
) -> FunctionCapability:
    needs = find_needs(place.prober, place.account, function, attempt, result)
    needs = name_amounts(search, attempt, needs, place.account)
    types = tuple(output.abi_type for output in function.outputs)
    output = decode_values(types, result.output) if types else ()
    if output is None and function.is_read_only:
        return replace(
            function, access=Access.UNKNOWN, reason=_describe_answer(function, types, result)
        )
    example = ExampleCall(
        args=attempt.values,
        value_wei=attempt.value_wei,
        caller=to_hex_address(place.account),
        gas_used=result.gas_used,
        output=output or (),
    )
    derived = function.parameters
    if not function.is_read_only:
        derivations = derive_arguments(place.prober, search, attempt, result)
        derived = tuple(
            replace(parameter, derivation=derivations.get(index, parameter.derivation))
            for index, parameter in enumerate(function.parameters)
        )
    return replace(
        function,
        access=Access.OPEN,
        reason="",
        parameters=derived,
        example=example,
        approvals=needs.approvals,
        needs_balance_of=needs.tokens,
    )


def _describe_answer(
    function: FunctionCapability, types: Sequence[str], result: ProbeResult
) -> str:
    """Return why the answer of a call that ran was not read."""
    most_bytes = min(get_max_decoded_bytes(types), MAX_OUTPUT_BYTES - 1)
    if len(result.output) > most_bytes:
        return (
            f"A call of {_name(function)} answers with more than {most_bytes:,} bytes, which are "
            "not read."
        )
    return f"A call of {_name(function)} answers something else than its ABI says."


def _find_barrier(
    place: Surroundings, function: FunctionCapability, search: CallSearch, found: SearchResult
) -> _Barrier | None:
    """Return the access to a function that a check of the caller closes; None if no check does.

    Of several such checks, the one counts that other accounts pass, best with a call that succeeds.
    """
    best: tuple[AccessCheck, _Passing, ProbeResult] | None = None
    for check, attempt, before in _list_checks(found):
        passing = _try_check(place, search, check, attempt, before)
        if passing is None:
            continue
        if check.slot in place.written_slots:
            if best is not None:
                continue
            first = place.written_slots[check.slot]
            reason = f"A call of {_name(function)} reverts until my account has called {first}."
            names = tuple(map(to_hex_address, passing.callers))
            return _Barrier(access=Access.OPEN, reason=reason, callers=names)
        if best is None or passing.is_success or (passing.callers and not best[1].callers):
            best = check, passing, before
        if passing.is_success:
            break
    if best is not None:
        check, passing, stopped = best
        names = tuple(map(to_hex_address, passing.callers))
        reason, role = _describe_barrier(place, function, check, stopped, names)
        return _Barrier(reason=reason, callers=names, role=role)
    return _find_other_callers(place, function, search, found) or _find_last_comparison(
        function, found
    )


def _find_dead_end(
    place: Surroundings, function: FunctionCapability, found: SearchResult
) -> _Barrier | None:
    """Return the barrier to every caller: the code always reverts, or runs once and has run.

    The code proposes the reason, and no execution shows otherwise.
    """
    if found.hypothetical is not None:
        if not _has_run(place, function, *found.hypothetical):
            return None
        reason = f"I cannot call {_name(function)} because {HAS_RUN}."
        return _Barrier(reason=reason)
    results = [result for _, result in found.failures]
    is_dead = results and all(
        each.halt is None and place.reverts_always(function.selector, each) for each in results
    )
    if not is_dead:
        return None
    reason = f"I cannot call {_name(function)} because {ALWAYS_REVERTS}."
    return _Barrier(reason=reason)


def _has_run(
    place: Surroundings,
    function: FunctionCapability,
    attempt: CallAttempt,
    result: ProbeResult,
) -> bool:
    """Whether a function runs only while slots are empty that the function fills.

    Another function may empty the slots again: so the name must be that of a set-up, or no other
    function write the slots.
    """
    filled = {(each.account, each.slot) for each in result.tape.writes if each.value}
    emptied = [
        (account, slot)
        for account, slot, value in attempt.state
        if place.prober.read_slot(account, slot) > value
    ]
    if not emptied or len(emptied) < len(attempt.state) or not filled.issuperset(emptied):
        return False
    if SETUP_NAME.match(function.name):
        return True
    return all(
        place.list_writers(account, slot, result) == {function.selector}
        for account, slot in emptied
    )


def _list_checks(found: SearchResult) -> list[tuple[AccessCheck, CallAttempt, ProbeResult]]:
    """Return the checks that may close a function, the best first."""
    checks = [
        (check, attempt, before)
        for check, attempt, before in reversed(found.checks)
        if check.slot not in found.amounts
        and not (attempt.state and found.hypothetical is not None)
    ]
    return sorted(checks, key=lambda each: len(each[1].state))[:MAX_CHECKS]


def _try_check(
    place: Surroundings,
    search: CallSearch,
    check: AccessCheck,
    attempt: CallAttempt,
    before: ProbeResult,
) -> _Passing | None:
    """Return the accounts that pass a check; None if the check does not stop the account."""
    match check.kind:
        case CheckKind.IDENTITY:
            return _try_identity(place, search, check, attempt, before)
        case CheckKind.SIGNATURE:
            return _try_signature(search, check, attempt, before)
        case CheckKind.MEMBERSHIP:
            return _try_membership(place, search, check, attempt, before)


def _try_identity(
    place: Surroundings,
    search: CallSearch,
    check: AccessCheck,
    attempt: CallAttempt,
    before: ProbeResult,
) -> _Passing | None:
    if check.holder:
        holder = (word_to_address(check.holder),)
        passing = _list_passing(search, check, attempt, before, holder)
        return passing if passing.callers else None
    if check.slot is None:
        return None
    own = int.from_bytes(place.account, "big")
    account, slot = check.slot
    word = place.prober.read_slot(account, slot)
    for value in (word | own, own, word | own << 8, word | own << 96):
        result = search.probe(attempt, more=((account, slot, value),))
        if _goes_on(check, before, result):
            return _Passing()
    return None


def _try_signature(
    search: CallSearch, check: AccessCheck, attempt: CallAttempt, before: ProbeResult
) -> _Passing | None:
    """Let another account sign and call: the agent's account is a contract, and signs nothing."""
    signer = Address(SIGNER.public_key.to_canonical_address())
    signed = search.sign(attempt, signer, _sign)
    if signed is None or not _goes_on(check, before, search.probe(signed, sender=signer)):
        return None
    return _Passing()


def _sign(digest: bytes) -> tuple[int, int, int]:
    """Return v, r and s of a hash."""
    v, r, s = SIGNER.sign_msg_hash(digest).vrs
    return v + 27, r, s


def _try_membership(
    place: Surroundings,
    search: CallSearch,
    check: AccessCheck,
    attempt: CallAttempt,
    before: ProbeResult,
) -> _Passing | None:
    if check.slot is None:
        return None
    others = place.list_others(check.slot[0])
    waiting = [*check.settings]
    for setting in waiting[:MAX_SETTINGS]:
        more = ((*check.slot, setting),)
        if _pass(search, check, attempt, before, more=more) is not None:
            return _list_passing(search, check, attempt, before, others)
        result = search.probe(attempt, more=more)
        if result is not None and _is_passed(check, result):
            waiting += propose_settings(check.slot, result)
    for setting in dict.fromkeys(waiting[len(check.settings) :][:MAX_SETTINGS]):
        if _pass(search, check, attempt, before, more=((*check.slot, setting),)) is not None:
            return _list_passing(search, check, attempt, before, others)
    return None


def _pass(  # noqa: PLR0913 - keyword arguments
    search: CallSearch,
    check: AccessCheck,
    attempt: CallAttempt,
    before: ProbeResult,
    *,
    sender: Address | None = None,
    more: Overrides = (),
) -> ProbeResult | None:
    """Return a result that goes on where the account is stopped; None if no call does.

    A call that passes the check, and is then stopped where the account is, is made again with the
    other arguments that the conditions propose.
    """
    result = search.probe(attempt, sender=sender, more=more)
    if result is None or _goes_on(check, before, result):
        return result
    if not _is_passed(check, result):
        return None
    for changed in islice(search.propose_arguments(attempt, before, result), MAX_PROPOSALS):
        stopped = search.probe(changed)
        after = search.probe(changed, sender=sender, more=more)
        if stopped is not None and not stopped.is_success and _goes_on(check, stopped, after):
            return after
    return None


def _list_passing(
    search: CallSearch,
    check: AccessCheck,
    attempt: CallAttempt,
    before: ProbeResult,
    others: Sequence[Address],
) -> _Passing:
    """Return those of other accounts that pass a check, first those that succeed."""
    succeeding: list[Address] = []
    passing: list[Address] = []
    for other in others:
        result = _pass(search, check, attempt, before, sender=other)
        if result is not None:
            (succeeding if result.is_success else passing).append(other)
    return _Passing(callers=(*succeeding, *passing), is_success=bool(succeeding))


def _is_passed(check: AccessCheck, result: ProbeResult) -> bool:
    """Whether the check itself had another outcome."""
    return result.tape.jumps.get(check.place, check.is_taken) != check.is_taken


def _goes_on(check: AccessCheck, before: ProbeResult, after: ProbeResult | None) -> bool:
    """Whether a call succeeds, or passes a check that failed before.

    A call that passes one check and then fails earlier than the one before has not gone on.
    """
    if after is None:
        return False
    if after.is_success:
        return True
    if after.failure_place == before.failure_place:
        return False
    last = before.list_last_jumps()
    jumps = after.tape.jumps
    if any(jumps.get(place, is_taken) != is_taken for place, is_taken in last):
        return True
    return _is_passed(check, after) and all(place in jumps for place, _ in last[1:])


def _find_other_callers(
    place: Surroundings, function: FunctionCapability, search: CallSearch, found: SearchResult
) -> _Barrier | None:
    """Return a barrier that the account meets, and another known account does not."""
    if found.amounts or not found.failures or found.hypothetical is not None:
        return None
    attempt = found.failures[0][0]
    callers = []
    for other in place.list_others():
        result = search.probe(attempt, sender=other)
        if result is not None and result.is_success:
            callers.append(to_hex_address(other))
    if not callers:
        return None
    reason = _say_only(function, f"{callers[0]}{_label(place, callers[0])}", "it")
    return _Barrier(reason=reason, callers=tuple(callers))


def _find_last_comparison(function: FunctionCapability, found: SearchResult) -> _Barrier | None:
    """Return a barrier whose last condition compares the caller, if no account is known to pass."""
    if found.hypothetical is not None or not found.failures:
        return None
    for _, result in found.failures:
        failing = result.find_failing_calls()
        last = next(
            (
                each
                for each in reversed(result.tape.decisions)
                if failing and each.call is failing[-1] and each.position == failing[-1].jump[0]
            ),
            None,
        )
        if last is None or not any(
            _is_closed(comparison) for comparison in list_comparisons(last.condition)
        ):
            return None
    return _Barrier(
        reason=f"I cannot call {_name(function)} because it compares who calls, and my account "
        "does not pass."
    )


def _is_closed(comparison: ValueComparison) -> bool:
    """Whether a comparison depends on the caller, not on an argument or an amount of the caller."""
    if not comparison.flags & CALLER_FLAG or comparison.flags & CALLDATA_FLAG:
        return False
    return not any(
        keyed is not None and is_amount(comparison, keyed)
        for keyed in (find_keyed(comparison.left), find_keyed(comparison.right))
    )


# -- sentences -- #


def _describe_item(function: FunctionCapability, item: ItemAccess) -> FunctionCapability:
    """Return a function that only the owner of an item may call."""
    return replace(
        function,
        access=Access.FORBIDDEN,
        reason=_say_only(function, clean_text(item.noun), "it"),
        callers=tuple(map(to_hex_address, item.owners)),
    )


def _describe_barrier(
    place: Surroundings,
    function: FunctionCapability,
    check: AccessCheck,
    stopped: ProbeResult,
    callers: tuple[str, ...],
) -> tuple[str, str]:
    """Return why a check stops the account, and the role, if any, that would pass."""
    if check.kind is CheckKind.SIGNATURE:
        return (
            f"I cannot call {_name(function)} because the caller must have signed, and my account "
            "signs nothing."
        ), ""
    if check.kind is CheckKind.IDENTITY:
        if callers:
            return _say_only(function, f"{callers[0]}{_label(place, callers[0])}", "it"), ""
        noun = _find_empty_getter(place, check)
        return (
            f"I cannot call {_name(function)} because only {noun} may, and there is none now."
        ), ""
    role, holders = ("", "accounts with a role")
    if check.slot is not None:
        role, holders = map(clean_text, describe_role(place, check.slot, stopped))
    if callers:
        who = f"{holders} may, such as {callers[0]}{_label(place, callers[0])}"
        return _say_only(function, who, "one", verb=""), role
    return _say_only(function, holders, "one"), role


def _say_only(function: FunctionCapability, who: str, pronoun: str, verb: str = " may") -> str:
    name = _name(function)
    return f"I cannot call {name} because only {who}{verb}, and my account is not {pronoun}."


def _label(place: Surroundings, address: str) -> str:
    """Return the noun for an account in brackets, or nothing."""
    account = Address(to_canonical_address(address))
    label = place.labels.get(account, "")
    word = int.from_bytes(account, "big")
    if account == place.contract:
        label = "the contract itself"
    for getter in place.getters:
        if not label and getter.word == word:
            label = f"the {clean_text(getter.name)}"
    return f" ({clean_text(label)})" if label else ""


def _find_empty_getter(place: Surroundings, check: AccessCheck) -> str:
    """Return the noun for an address in a slot that is empty."""
    for getter in place.getters:
        if getter.is_address and not getter.word and check.slot in getter.slots:
            return f"the {clean_text(getter.name)}"
    return "one account"


def _name(function: FunctionCapability) -> str:
    return clean_text(function.name)


def clean_text(text: str) -> str:
    """Return foreign text as printable ASCII of at most `MAX_REASON_CHARACTERS`."""
    clean = _UNPRINTABLE.sub(" ", text).strip()
    return clean if len(clean) <= MAX_REASON_CHARACTERS else f"{clean[:MAX_REASON_CHARACTERS]}..."
