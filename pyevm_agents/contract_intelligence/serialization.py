"""Contract intelligence as JSON, and as the lines of an agent's base prompt.

JSON: keys in camel case; bytes and selectors are `0x…`; integers above 2^53 are decimal strings, as
JavaScript reads no larger ones exactly. Keys are only added from version to version.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from precompiles.address_handles import ACCOUNT_HANDLE
from precompiles.escaping import ADDRESS
from precompiles.spec import MAX_HANDLE_CHARACTERS
from pyevm_agents.contract_intelligence.capabilities import Access
from pyevm_agents.contract_intelligence.chain_metadata import get_chain_metadata
from pyevm_agents.contract_intelligence.people import check_people
from pyevm_agents.contract_intelligence.relationships import group_contracts
from pyevm_agents.contract_intelligence.untrusted_text import NameTable, clean_text, format_handle

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyevm_agents.contract_intelligence.capabilities import (
        Approval,
        ContractIntelligence,
        Derivation,
        ExampleCall,
        FunctionCapability,
        Parameter,
        Relationships,
    )
    from pyevm_agents.contract_intelligence.chain_metadata import ChainMetadata
    from pyevm_agents.contract_intelligence.metadata_stability import MetadataStability
    from pyevm_agents.contract_intelligence.people import Person

SCHEMA_VERSION = 1
MAX_SAFE_INTEGER = (1 << 53) - 1
"""Source: JavaScript, Number.MAX_SAFE_INTEGER."""

MAX_REASONS = 32
"""Sentences of an agent's context about functions that it can't call."""

MAX_REASON_CHARACTERS = 240

_ACCOUNT = re.compile(rf"(?P<address>{ADDRESS.pattern})( \([^()]*\))?")
"""An address in a sentence, with its noun in brackets."""


# -- JSON -- #


def serialize_inspection(
    contracts: Sequence[ContractIntelligence],
    chain: ChainMetadata,
    tools: Mapping[str, MetadataStability] | None = None,
) -> dict[str, Any]:
    """Return contracts, their chain and their groups in JSON.

    Input: contracts; their chain; by address whether the metadata of those that are tools can
           change.
    """
    first, stability = contracts[0], tools or {}
    return {
        "schemaVersion": SCHEMA_VERSION,
        "chain": {
            "id": chain.chain_id,
            "name": chain.name,
            "nativeSymbol": chain.native_symbol,
            "nativeDecimals": chain.native_decimals,
            "explorerUrl": chain.explorer_url,
        },
        "blockNumber": first.block_number,
        "account": first.account,
        "contracts": [serialize_contract(each, stability.get(each.address)) for each in contracts],
        "groups": [list(group) for group in group_contracts(contracts)],
    }


def serialize_contract(
    contract: ContractIntelligence, metadata: MetadataStability | None = None
) -> dict[str, Any]:
    """Return a contract in JSON.

    Input: the contract; whether the metadata can change, None for a contract that is no tool.
    """
    return {
        "address": contract.address,
        "name": contract.name,
        "kind": str(contract.kind),
        "abiSource": contract.abi_source,
        "implementation": contract.implementation or None,
        "proxyKind": contract.proxy_kind or None,
        "isUpgradeable": contract.is_upgradeable,
        "symbol": contract.symbol or None,
        "decimals": contract.decimals,
        "canRead": [each.signature for each in contract.can_read],
        "canWrite": [each.signature for each in contract.can_write],
        "cannotCall": [each.signature for each in contract.cannot_call],
        "roles": [
            {"name": name, "holders": list(holders)} for name, holders in contract.roles.items()
        ],
        "functions": [_serialize_function(each) for each in contract.functions],
        "relationships": _serialize_relationships(contract.relationships),
        "toolMetadata": _serialize_metadata(metadata),
        "warnings": [clean_text(each) for each in contract.warnings],
    }


def _serialize_function(function: FunctionCapability) -> dict[str, Any]:
    example = function.example
    return {
        "name": function.name,
        "signature": function.signature,
        "selector": "0x" + function.selector.hex(),
        "description": function.description,
        "parameters": [_serialize_parameter(each) for each in function.parameters],
        "outputs": [_serialize_parameter(each) for each in function.outputs],
        "isReadOnly": function.is_read_only,
        "isPayable": function.is_payable,
        "access": str(function.access),
        "reason": clean_text(function.reason, MAX_REASON_CHARACTERS) or None,
        "callers": list(function.callers),
        "role": function.role or None,
        "delegates": list(function.delegates),
        "approvals": [_serialize_approval(each) for each in function.approvals],
        "needsBalanceOf": list(function.needs_balance_of),
        "requires": _serialize_requirements(function),
        "quote": function.quote or None,
        "exampleCall": None if example is None else _serialize_example(example),
    }


def _serialize_parameter(parameter: Parameter) -> dict[str, Any]:
    derivation = parameter.derivation
    return {
        "name": parameter.name,
        "type": parameter.abi_type,
        "description": parameter.description,
        "components": [_serialize_parameter(each) for each in parameter.components],
        "role": str(parameter.role) or None,
        "token": parameter.token or None,
        "tokens": list(parameter.tokens),
        "isRecipient": parameter.is_recipient,
        "enum": parameter.enum or None,
        "members": parameter.members or None,
        "derivation": None if derivation is None else _serialize_derivation(derivation),
    }


def _serialize_derivation(derivation: Derivation) -> dict[str, Any]:
    return {
        "source": str(derivation.source),
        "seconds": derivation.seconds,
        "slippageBps": derivation.slippage_bps,
        "value": serialize_value(derivation.value),
        "sentence": clean_text(derivation.sentence),
    }


def _serialize_approval(approval: Approval) -> dict[str, Any]:
    return {
        "token": approval.token,
        "spender": approval.spender,
        "amount": serialize_value(approval.amount),
        "parameter": approval.parameter or None,
        "kind": str(approval.kind),
        "item": serialize_value(approval.item),
    }


def _serialize_requirements(function: FunctionCapability) -> list[dict[str, Any]]:
    """Return the needs of a call: approvals, then balances."""
    return [
        *({"need": "approval", **_serialize_approval(each)} for each in function.approvals),
        *({"need": "balance", "token": each} for each in function.needs_balance_of),
    ]


def _serialize_example(example: ExampleCall) -> dict[str, Any]:
    return {
        "args": [serialize_value(each) for each in example.args],
        "value": str(example.value_wei),
        "caller": example.caller,
        "gasUsed": example.gas_used,
        "output": [serialize_value(each) for each in example.output],
    }


def _serialize_relationships(relations: Relationships) -> dict[str, Any]:
    return {
        "tokens": [
            {
                "address": each.address,
                "symbol": each.symbol,
                "decimals": each.decimals,
                "name": each.name or None,
            }
            for each in relations.tokens
        ],
        "tokenPairs": [
            {"tokenA": each.token_a, "tokenB": each.token_b, "pool": each.pool}
            for each in relations.token_pairs
        ],
        "paths": [
            {
                "tokens": list(each.tokens),
                "amountIn": serialize_value(each.amount_in),
                "amountOut": serialize_value(each.amount_out),
            }
            for each in relations.paths
        ],
        "requiredApprovals": [_serialize_approval(each) for each in relations.required_approvals],
        "adminAddress": relations.admin_address or None,
        "wrappedNative": relations.wrapped_native or None,
        "namedContracts": list(relations.named_contracts),
    }


def _serialize_metadata(metadata: MetadataStability | None) -> dict[str, Any] | None:
    if metadata is None:
        return None
    return {
        "canChange": metadata.can_change,
        "slots": [
            {
                "account": each.account,
                "slot": hex(each.slot),
                "readers": list(each.readers),
                "writers": list(each.writers),
                "callers": list(each.callers),
                "isOpen": each.is_open,
            }
            for each in metadata.slots
        ],
        "codeChanges": [
            {"account": account, "change": str(change)} for account, change in metadata.code_changes
        ],
        "environment": list(metadata.environment),
    }


def serialize_value(value: object) -> object:
    """Return a decoded value in JSON."""
    match value:
        case bool() | str() | None:
            return value
        case int():
            return value if abs(value) <= MAX_SAFE_INTEGER else str(value)
        case bytes():
            return "0x" + value.hex()
        case list() | tuple():
            return [serialize_value(each) for each in value]
        case _:
            return str(value)


# -- the agent's context -- #


def choose_handles(
    contracts: Sequence[ContractIntelligence], *, account: str = "", people: Sequence[Person] = ()
) -> dict[str, str]:
    """Return a name for each address: of the account, the contracts, tokens and people.

    Names are words that the executor takes as handles. No two look alike, also in another case, and
    none is a word for the native currency. Tokens come first, since symbols are unique.

    Raises: ConfigError: a name of a person is no handle, or like another name.
    """
    native = get_chain_metadata(contracts[0].chain_id).native_names
    table = NameTable(MAX_HANDLE_CHARACTERS, ignores_case=True, reserved=native)
    handles = {account: table.add(ACCOUNT_HANDLE)} if account else {}
    order = [each.address for each in contracts]
    related = [token for each in contracts for token in each.relationships.tokens if token.symbol]
    tokens = [(each.address, each.symbol) for each in contracts if each.symbol]
    for address, symbol in (*tokens, *((each.address, each.symbol) for each in related)):
        if address not in handles:
            handles[address] = table.add(format_handle(symbol), "TOKEN")
    for contract in contracts:
        if contract.address not in handles:
            handles[contract.address] = table.add(format_handle(contract.name), "CONTRACT")
    check_people(people, handles, native)
    order += handles
    handles |= {each.address: table.add(each.name) for each in people}
    for contract in contracts:
        admin = contract.relationships.admin_address
        if admin and admin not in handles:
            handles[admin] = table.add(f"OWNER_OF_{handles[contract.address]}", "OWNER")
    shown = [account, *order, *handles] if account else [*order, *handles]
    return {address: handles[address] for address in dict.fromkeys(shown)}


def build_context(
    contracts: Sequence[ContractIntelligence],
    chain: ChainMetadata,
    *,
    max_reasons: int = MAX_REASONS,
    people: Sequence[Person] = (),
) -> str:
    """Return the lines of a base prompt: chain and account, handles, and uncallable functions.

    Each text of a contract stays on the one line of a sentence.
    """
    account = contracts[0].account
    handles = choose_handles(contracts, account=account, people=people)
    place = f"You act on {chain.name} with the account {handles[account]}."
    lines = [
        f"{place} The native token is {chain.native_symbol}.",
        *(f"{name} = {address}" for address, name in handles.items()),
        *[*_iter_reasons(contracts, handles)][:max_reasons],
    ]
    return "\n".join(lines)


def _iter_reasons(
    contracts: Sequence[ContractIntelligence], handles: Mapping[str, str]
) -> Iterator[str]:
    for contract in contracts:
        place = f"in {handles[contract.address]} " if len(contracts) > 1 else ""
        for function in contract.cannot_call:
            named = name_accounts(function.reason, handles)
            reason = clean_text(named, MAX_REASON_CHARACTERS).rstrip(". ")
            if not reason or function.access is not Access.FORBIDDEN:
                continue
            # The executor knows the function by the words between `call` and `because`.
            start = f"I cannot call {function.name} because "
            if reason.startswith(start):
                yield f"{start}{place}{reason.removeprefix(start)}."
            elif reason.startswith("I cannot "):
                yield f"{reason}."
            else:
                yield f"{start}{place}{reason}."


def name_accounts(text: str, handles: Mapping[str, str]) -> str:
    """Return a sentence with the handles of accounts in place of addresses, and of their nouns."""
    return _ACCOUNT.sub(lambda match: handles.get(match["address"], match[0]), text)
