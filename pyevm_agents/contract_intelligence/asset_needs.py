"""Tokens and approvals that a call needs, found in the transfers made or tried."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from eth.vm import opcode_values as op
from eth_abi import encode

from precompiles.spec import WORD_BYTES
from pyevm_agents.contract_intelligence.calldata_layout import list_leaves
from pyevm_agents.contract_intelligence.caller_taint import PARTS, Expression
from pyevm_agents.contract_intelligence.capabilities import NATIVE_UNIT, Approval, ApprovalKind
from pyevm_agents.contract_intelligence.conditions import strip
from pyevm_agents.contract_intelligence.item_transfers import (
    BALANCE_OF,
    IS_APPROVED_FOR_ALL,
    ITEM_TRANSFERS,
    MULTI_TRANSFERS_FROM,
    is_token_item,
    is_transfer_of,
)
from pyevm_agents.contract_intelligence.parameter_leaves import name_path
from pyevm_agents.contract_intelligence.probe import (
    TRANSFER_TOPIC,
    TRANSFER_TOPICS,
    CallProbe,
    to_hex_address,
)

if TYPE_CHECKING:
    from eth_typing import Address

    from pyevm_agents.contract_intelligence.call_search import CallAttempt, CallSearch
    from pyevm_agents.contract_intelligence.caller_taint import TracedCall
    from pyevm_agents.contract_intelligence.capabilities import FunctionCapability
    from pyevm_agents.contract_intelligence.probe import Prober, ProbeResult

SUPPORTS_INTERFACE = bytes.fromhex("01ffc9a7")
ERC721_ID = bytes.fromhex("80ac58cd")
AMOUNT_OFFSET = 4 + 2 * WORD_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class AssetNeeds:
    """Balances and approvals that the account needs for a call."""

    approvals: tuple[Approval, ...] = ()
    tokens: tuple[str, ...] = ()
    """Tokens, or `native`, of which the account has too little."""

    untraced: frozenset[str] = frozenset()
    """Tokens of approvals whose amounts were copied, so that their origin is lost."""


def find_needs(
    prober: Prober,
    account: Address,
    function: FunctionCapability,
    attempt: CallAttempt | None,
    result: ProbeResult | None,
) -> AssetNeeds:
    """Return the approvals and the tokens that a call needs."""
    if attempt is None or result is None:
        return AssetNeeds()
    approvals: dict[tuple[str, str], Approval] = {}
    untraced: set[str] = set()
    for call in result.list_calls():
        approval = _find_approval(prober, account, function, call, result)
        if approval is not None:
            key = approval.token, approval.spender
            known = approvals.get(key)
            approvals[key] = approval if known is None else _join(function, known, approval)
            word = call.data_taint.read(AMOUNT_OFFSET)
            if word is None or word.op == PARTS:
                untraced.add(approval.token)
    return AssetNeeds(
        approvals=tuple(approvals.values()),
        tokens=_list_tokens(prober, account, attempt, result, frozenset(approvals)),
        untraced=frozenset(untraced),
    )


def _join(function: FunctionCapability, first: Approval, second: Approval) -> Approval:
    """Return the approval of two transfers of a call, set by a parameter if both are of a list."""
    is_list = any(
        each.name == first.parameter and each.abi_type.endswith("]") for each in function.parameters
    )
    if first.kind is not ApprovalKind.AMOUNT or (is_list and first.parameter == second.parameter):
        return first
    return replace(first, amount=(first.amount or 0) + (second.amount or 0), parameter="")


def _list_tokens(
    prober: Prober,
    account: Address,
    attempt: CallAttempt,
    result: ProbeResult,
    approved: frozenset[tuple[str, str]],
) -> tuple[str, ...]:
    """Return the tokens of which the call needs more than the account has.

    A contract that is no token does not count, even if it keeps an amount of the account. Tokens
    that the call does not miss are left out.
    """
    balances = {slot: token for token, slot in _list_balances(prober, account, attempt, result)}
    found: dict[str, list[tuple[Address, int, int]]] = {}
    for entry in (*attempt.needs, *attempt.holdings):
        token = balances.get(entry[:2], to_hex_address(entry[0]))
        is_known = entry[:2] in balances or is_token_item(prober, account, entry[:2], result)
        is_allowance = not is_known and any(token == each for each, _ in approved)
        is_other = entry in attempt.needs and not is_allowance
        if is_known or (is_other and _has_balances(prober, account, entry[0])):
            found.setdefault(token, []).append(entry)
    tokens = [token for token, entries in found.items() if _are_missed(prober, entries, result)]
    if attempt.value_wei > prober.chain.balance(account):
        tokens.append(NATIVE_UNIT)
    return tuple(tokens)


def _has_balances(prober: Prober, account: Address, place: Address) -> bool:
    """Whether a contract returns how much of a token an account has."""
    answer = prober.read(place, BALANCE_OF + encode(["address"], [bytes(account)]), account)
    return answer.is_success and len(answer.output) == WORD_BYTES


def _are_missed(
    prober: Prober, entries: list[tuple[Address, int, int]], result: ProbeResult
) -> bool:
    """Whether a call ends differently without the values that some slots were given."""
    rest = tuple(each for each in result.probe.storage if each not in entries)
    without = prober.run(replace(result.probe, storage=rest))
    return without.failure_place != result.failure_place


def name_amounts(
    search: CallSearch, attempt: CallAttempt, needs: AssetNeeds, account: Address
) -> AssetNeeds:
    """Return needs whose approvals name the parameter that sets the amount.

    Where the amount's way from the calldata is not traced, the parameter is the one whose next
    larger value makes the amount larger by one.
    """
    named = []
    for approval in needs.approvals:
        name = approval.parameter
        if not name and approval.amount and approval.token in needs.untraced:
            name = _find_amount(search, attempt, approval, account)
        named.append(replace(approval, parameter=name))
    return AssetNeeds(approvals=tuple(named), tokens=needs.tokens)


def _find_amount(
    search: CallSearch, attempt: CallAttempt, approval: Approval, account: Address
) -> str:
    """Return the parameter with the amount of an approval; empty for none."""
    amount = approval.amount or 0
    for index, parameter in enumerate(search.function.parameters):
        if attempt.values[index] != amount or not parameter.abi_type.startswith("uint"):
            continue
        result = search.probe(attempt.with_value((index,), amount + 1))
        if result is None or not result.is_success:
            continue
        after = find_needs(search.prober, account, search.function, attempt, result)
        if replace(approval, amount=amount + 1) in after.approvals:
            return parameter.name
    return ""


def _find_approval(
    prober: Prober,
    account: Address,
    function: FunctionCapability,
    call: TracedCall,
    result: ProbeResult,
) -> Approval | None:
    """Return the approval that a call of a token uses; None for another call."""
    if not is_transfer_of(call, account) or not _is_token(prober, account, call):
        return None
    kind = _find_kind(prober, call, result)
    number = int.from_bytes(call.data[AMOUNT_OFFSET : AMOUNT_OFFSET + WORD_BYTES], "big")
    word = None if kind is ApprovalKind.ALL else call.data_taint.read(AMOUNT_OFFSET)
    return Approval(
        token=to_hex_address(bytes(call.account)),
        spender=to_hex_address(bytes(call.sender)),
        amount=number if kind is ApprovalKind.AMOUNT else None,
        parameter="" if word is None else _find_parameter(function, word, result),
        kind=kind,
        item=number if kind is ApprovalKind.ITEM else None,
    )


def _find_kind(prober: Prober, call: TracedCall, result: ProbeResult) -> ApprovalKind:
    selector = call.data[:4]
    if selector in MULTI_TRANSFERS_FROM:
        return ApprovalKind.ALL
    is_item = selector in ITEM_TRANSFERS or is_item_token(prober, call, result)
    return ApprovalKind.ITEM if is_item else ApprovalKind.AMOUNT


def _is_token(prober: Prober, account: Address, call: TracedCall) -> bool:
    """Whether a contract is a token: a transfer ran, or balance or approval is readable."""
    if not prober.chain.code(call.account):
        return False
    if not call.is_error:
        return True
    own, spender = bytes(account), bytes(call.sender)
    answers = (
        prober.read(call.account, data, account)
        for data in (
            BALANCE_OF + encode(["address"], [own]),
            IS_APPROVED_FOR_ALL + encode(["address", "address"], [own, spender]),
        )
    )
    return any(answer.is_success and len(answer.output) >= WORD_BYTES for answer in answers)


def is_item_token(prober: Prober, call: TracedCall, result: ProbeResult) -> bool:
    """Return whether a token is an ERC-721: transfers have a fourth topic, or ERC-165 says so."""
    for address, topics, _ in result.logs:
        if address == bytes(call.account) and topics and topics[0] == TRANSFER_TOPIC:
            return len(topics) > TRANSFER_TOPICS
    data = SUPPORTS_INTERFACE + encode(["bytes4"], [ERC721_ID])
    answer = prober.run(CallProbe(sender=call.sender, to=call.account, data=data, gas=100_000))
    return answer.is_success and answer.output[:WORD_BYTES] == encode(["bool"], [True])


def _find_parameter(function: FunctionCapability, word: Expression, result: ProbeResult) -> str:
    """Return the path of the parameter that a word comes from unchanged; empty for none."""
    bare = strip(word)
    if not isinstance(bare, Expression) or bare.op != op.CALLDATALOAD:
        return ""
    types = [parameter.abi_type for parameter in function.parameters]
    for leaf in list_leaves(types, result.probe.data):
        if leaf.offset == bare.offset and not leaf.is_length:
            return name_path(function.parameters, leaf.path)
    return ""


def _list_balances(
    prober: Prober, account: Address, attempt: CallAttempt, result: ProbeResult
) -> list[tuple[str, tuple[Address, int]]]:
    """Return each token that a call uses, with the slot of the account's balance."""
    if not attempt.needs:
        return []
    holders = {each[0] for each in attempt.needs}
    tokens = dict.fromkeys(call.account for call in result.list_calls() if call.account in holders)
    found: list[tuple[str, tuple[Address, int]]] = []
    for token in tokens:
        answer = prober.read(token, BALANCE_OF + encode(["address"], [bytes(account)]), account)
        if answer.is_success:
            found += [
                (to_hex_address(bytes(token)), (each.account, each.slot))
                for each in answer.tape.reads
            ]
    return found
