"""`eth_*` methods for whole accounts, many slots and Merkle proofs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth_utils import to_hex

from pyevm_agents.rpc import serializers
from pyevm_agents.rpc.block_views import (
    require_ethereum_state,
    resolve_sealed_view,
    resolve_view,
)
from pyevm_agents.rpc.errors import INVALID_PARAMS, RpcError
from pyevm_agents.rpc.method_table import MethodTable, optional
from pyevm_agents.rpc.params import (
    LATEST,
    BlockId,
    invalid_param_error,
    parse_address,
    parse_block_id,
    parse_list,
    parse_object,
    parse_slot,
)
from pyevm_agents.state.proofs import prove

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eth_typing import Address

    from pyevm_agents.rpc.context import RequestContext
    from pyevm_agents.rpc.serializers import Json
    from pyevm_agents.state.proofs import AccountProof

METHODS = MethodTable()
AT = optional(parse_block_id, LATEST)

MAX_SLOTS = 1_024
"""The most slots of one request. Source: geth."""

WORD_DIGITS = 64


def parse_slot_keys(value: object, name: str) -> list[tuple[str, int]]:
    """Parse storage slots; return each with a response key, in the client's format."""
    keys = parse_list(value, name)
    if len(keys) > MAX_SLOTS:
        raise RpcError(INVALID_PARAMS, f"too many slots: {len(keys)}, at most {MAX_SLOTS}")
    read = [(key, parse_slot(key, f"{name}[{index}]")) for index, key in enumerate(keys)]
    return [(_format_slot_key(key, number), number) for key, number in read]


def _format_slot_key(key: object, number: int) -> str:
    is_word = isinstance(key, str) and len(key) == len("0x") + WORD_DIGITS
    return serializers.encode_word(number) if is_word else hex(number)


@METHODS.method("eth_getProof", parse_address, parse_slot_keys, AT)
def get_proof(
    rpc: RequestContext, account: Address, storage_keys: list[tuple[str, int]], block: BlockId
) -> Json:
    """Return an account and some slots, with Merkle proofs (EIP-1186)."""
    proof = _prove(rpc, account, [number for _, number in storage_keys], block)
    return {
        "address": serializers.encode_data(account),
        "accountProof": [serializers.encode_data(node) for node in proof.nodes],
        "balance": hex(proof.account.balance),
        "codeHash": serializers.encode_data(proof.account.code_hash),
        "nonce": hex(proof.account.nonce),
        "storageHash": serializers.encode_data(proof.account.storage_root),
        "storageProof": [
            {
                "key": key,
                "value": hex(slot.value),
                "proof": [serializers.encode_data(node) for node in slot.nodes],
            }
            for (key, _), slot in zip(storage_keys, proof.storage, strict=True)
        ],
    }


@METHODS.method("eth_getAccount", parse_address, AT)
def get_account(rpc: RequestContext, account: Address, block: BlockId) -> Json:
    """Return an account of the state trie: balance, code hash, nonce and storage root."""
    account_state = _prove(rpc, account, [], block).account
    return {
        "balance": hex(account_state.balance),
        "codeHash": serializers.encode_data(account_state.code_hash),
        "nonce": hex(account_state.nonce),
        "storageRoot": serializers.encode_data(account_state.storage_root),
    }


@METHODS.method("eth_getAccountInfo", parse_address, AT)
def get_account_info(rpc: RequestContext, account: Address, block: BlockId) -> Json:
    """Return an account's balance, nonce and code."""
    state = resolve_view(rpc, block).state
    return {
        "balance": hex(state.get_balance(account)),
        "nonce": hex(state.get_nonce(account)),
        "code": serializers.encode_data(state.get_code(account)),
    }


def parse_slots_by_account(value: object, name: str) -> dict[Address, list[int]]:
    """Parse storage slots by account."""
    form = parse_object(value, name)
    read = {
        parse_address(key, name): [number for _, number in parse_slot_keys(keys, f"{name}.{key}")]
        for key, keys in form.items()
    }
    if not any(read.values()):
        raise invalid_param_error(name, dict(form), "must have at least one slot")
    if sum(map(len, read.values())) > MAX_SLOTS:
        raise RpcError(INVALID_PARAMS, f"too many slots (max {MAX_SLOTS})")
    return read


@METHODS.method("eth_getStorageValues", parse_slots_by_account, AT)
def get_storage_values(
    rpc: RequestContext, requests: Mapping[Address, list[int]], block: BlockId
) -> dict[str, list[str]]:
    """Return storage slots of several accounts, 32 bytes each."""
    state = resolve_view(rpc, block).state
    return {
        to_hex(account): [serializers.encode_word(state.get_storage(account, key)) for key in slots]
        for account, slots in requests.items()
    }


def _prove(rpc: RequestContext, account: Address, slots: list[int], block: BlockId) -> AccountProof:
    require_ethereum_state(rpc, "Merkle proofs and storage roots")
    at = resolve_sealed_view(rpc, block)
    return prove(at.chain.rows, at.chain.state_root(at.header), account, slots)
