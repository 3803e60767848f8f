"""`eth_*` and `personal_*` that sign with the node's keys, and send nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from eth_utils import keccak

from pyevm_agents.node import transaction_defaults
from pyevm_agents.rpc import serializers
from pyevm_agents.rpc.errors import INVALID_PARAMS, RpcError
from pyevm_agents.rpc.method_table import Table
from pyevm_agents.rpc.params import address, data, invalid, mapping
from pyevm_agents.rpc.transaction_params import asked

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eth.abc import SignedTransactionAPI
    from eth_keys.datatypes import PrivateKey
    from eth_typing import Address

    from pyevm_agents.node.transaction_defaults import TransactionRequest
    from pyevm_agents.rpc.context import Rpc
    from pyevm_agents.rpc.serializers import Json

METHODS = Table()

FIRST_V = 27
"""`v` of a signed message is this and the parity. Source: yellow paper, appendix F."""

MESSAGE_PREFIX = b"\x19Ethereum Signed Message:\n"
"""Stands before a signed text, so that it can't be a transaction. Source: EIP-191."""

TYPED_PARTS = ("types", "primaryType", "domain", "message")
"""Source: EIP-712."""


@METHODS.method("eth_sign", address, data)
def sign_data(rpc: Rpc, account: Address, message: bytes) -> str:
    """Sign a message as EIP-191 says; return the signature, 65 bytes."""
    key = rpc.node.keys.require_key(account)
    digest = keccak(MESSAGE_PREFIX + str(len(message)).encode() + message)
    return _signature(key, digest)


@METHODS.method("personal_sign", data, address)
def personal_sign(rpc: Rpc, message: bytes, account: Address) -> str:
    """Sign a message as `eth_sign` does; the message comes first."""
    return sign_data(rpc, account, message)


def typed_data(value: object, name: str) -> Mapping[str, Any]:
    """Read typed data: an object, or the text of one."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise invalid(name, value, f"want typed data: {error}") from error
    form = mapping(value, name)
    missing = [part for part in TYPED_PARTS if part not in form]
    if missing:
        raise invalid(name, dict(form), f"typed data has {', '.join(missing)} too (EIP-712)")
    return form


@METHODS.method(
    "eth_signTypedData", "eth_signTypedData_v3", "eth_signTypedData_v4", address, typed_data
)
def sign_typed_data(rpc: Rpc, account: Address, typed_data: Mapping[str, Any]) -> str:
    """Sign typed data as EIP-712 says, arrays included; return the signature, 65 bytes."""
    from eth_account.messages import encode_typed_data  # noqa: PLC0415 - slow, seldom needed

    key = rpc.node.keys.require_key(account)
    try:
        signable = encode_typed_data(full_message=dict(typed_data))
    except Exception as error:
        # eth_account and eth_abi check as they encode, with errors of many kinds.
        raise RpcError(INVALID_PARAMS, f"invalid params: typedData: {error}") from error
    return _signature(key, keccak(b"\x19" + signable.version + signable.header + signable.body))


@METHODS.method("eth_signTransaction", asked)
def sign_transaction(rpc: Rpc, transaction: TransactionRequest) -> Json:
    """Sign a transaction, with what it does not say filled in; return it as bytes and as JSON."""
    return _transaction_json(transaction_defaults.sign_transaction(rpc.node, transaction))


@METHODS.method("eth_fillTransaction", asked)
def fill_transaction(rpc: Rpc, transaction: TransactionRequest) -> Json:
    """Return a transaction with what it does not say filled in, without a signature."""
    return _transaction_json(transaction_defaults.fill_unsigned_transaction(rpc.node, transaction))


def _transaction_json(transaction: SignedTransactionAPI) -> Json:
    encoded = serializers.data(transaction.encode())
    return {"raw": encoded, "tx": serializers.transaction_json(transaction)}


def _signature(key: PrivateKey, digest: bytes) -> str:
    y_parity, r, s = key.sign_msg_hash(digest).vrs
    return serializers.data(
        r.to_bytes(32, "big") + s.to_bytes(32, "big") + bytes([FIRST_V + y_parity])
    )
