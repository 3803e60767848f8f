"""`eth_*` and `personal_*` methods that sign with the node's keys without sending."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eth_utils import keccak

from precompiles.spec import FIRST_V
from pyevm_agents.errors import ConfigError
from pyevm_agents.node import transaction_defaults
from pyevm_agents.rpc import serializers
from pyevm_agents.rpc.errors import INVALID_PARAMS, RpcError
from pyevm_agents.rpc.method_table import MethodTable
from pyevm_agents.rpc.params import invalid_param_error, parse_address, parse_data, parse_object
from pyevm_agents.rpc.transaction_params import parse_transaction_request
from pyevm_agents.strict_json import parse_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eth.abc import SignedTransactionAPI
    from eth_keys.datatypes import PrivateKey
    from eth_typing import Address

    from pyevm_agents.node.transaction_defaults import TransactionRequest
    from pyevm_agents.rpc.context import RequestContext
    from pyevm_agents.rpc.serializers import Json

METHODS = MethodTable()


MESSAGE_PREFIX = b"\x19Ethereum Signed Message:\n"
"""Prefix of a signed message, which cannot start a transaction. Source: EIP-191."""

TYPED_PARTS = ("types", "primaryType", "domain", "message")
"""Source: EIP-712."""


@METHODS.method("eth_sign", parse_address, parse_data)
def sign_data(rpc: RequestContext, account: Address, message: bytes) -> str:
    """Sign a message (EIP-191); return the signature, 65 bytes."""
    key = rpc.node.keys.require_key(account)
    digest = keccak(MESSAGE_PREFIX + str(len(message)).encode() + message)
    return _sign_digest(key, digest)


@METHODS.method("personal_sign", parse_data, parse_address)
def personal_sign(rpc: RequestContext, message: bytes, account: Address) -> str:
    """Sign a message as `eth_sign` does, with the message as first parameter."""
    return sign_data(rpc, account, message)


def parse_typed_data(value: object, name: str) -> Mapping[str, Any]:
    """Parse typed data: an object, or a JSON string."""
    if isinstance(value, str):
        try:
            value = parse_json(value)
        except ConfigError as error:
            raise invalid_param_error(name, value, f"must be typed data: {error}") from error
    form = parse_object(value, name)
    missing = [part for part in TYPED_PARTS if part not in form]
    if missing:
        raise invalid_param_error(
            name, dict(form), f"missing {', '.join(missing)} of typed data (EIP-712)"
        )
    return form


@METHODS.method(
    "eth_signTypedData",
    "eth_signTypedData_v3",
    "eth_signTypedData_v4",
    parse_address,
    parse_typed_data,
)
def sign_typed_data(rpc: RequestContext, account: Address, typed_data: Mapping[str, Any]) -> str:
    """Sign typed data (EIP-712), arrays included; return the signature, 65 bytes."""
    from eth_account.messages import encode_typed_data  # noqa: PLC0415 - slow, seldom needed

    key = rpc.node.keys.require_key(account)
    try:
        signable = encode_typed_data(full_message=dict(typed_data))
    except Exception as error:
        # eth_account and eth_abi check as they encode, with errors of many kinds.
        raise RpcError(INVALID_PARAMS, f"invalid params: typedData: {error}") from error
    return _sign_digest(key, keccak(b"\x19" + signable.version + signable.header + signable.body))


@METHODS.method("eth_signTransaction", parse_transaction_request)
def sign_transaction(rpc: RequestContext, transaction: TransactionRequest) -> Json:
    """Fill in and sign a transaction; return bytes and JSON."""
    return _serialize_signed_transaction(
        transaction_defaults.sign_transaction(rpc.node, transaction)
    )


@METHODS.method("eth_fillTransaction", parse_transaction_request)
def fill_transaction(rpc: RequestContext, transaction: TransactionRequest) -> Json:
    """Fill in a transaction without signing; return bytes and JSON."""
    return _serialize_signed_transaction(
        transaction_defaults.fill_unsigned_transaction(rpc.node, transaction)
    )


def _serialize_signed_transaction(transaction: SignedTransactionAPI) -> Json:
    encoded = serializers.encode_data(transaction.encode())
    return {"raw": encoded, "tx": serializers.serialize_transaction(transaction)}


def _sign_digest(key: PrivateKey, digest: bytes) -> str:
    y_parity, r, s = key.sign_msg_hash(digest).vrs
    return serializers.encode_data(
        r.to_bytes(32, "big") + s.to_bytes(32, "big") + bytes([FIRST_V + y_parity])
    )
