"""What clients send as a parameter: transactions, and what accounts and blocks are said to be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import rlp
from eth.exceptions import UnrecognizedTransactionType
from eth.vm.forks.prague.transactions import Authorization
from eth_utils import ValidationError

from pyevm_agents.chain.blob_sidecar import without_blobs
from pyevm_agents.chain.calls import AccountOverride, BlockOverride
from pyevm_agents.node.transaction_defaults import TransactionRequest
from pyevm_agents.rpc.errors import INVALID_PARAMS, RpcError, words
from pyevm_agents.rpc.params import (
    address,
    data,
    hash32,
    invalid,
    listed,
    mapping,
    quantity,
    slot,
    uint64,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from eth.abc import SignedTransactionAPI, TransactionBuilderAPI
    from eth_typing import Address

    Read = Callable[[object, str], Any]

BLOCK_FIELDS: Mapping[str, tuple[str, Read]] = {
    "number": ("number", uint64),
    "time": ("timestamp_seconds", uint64),
    "gasLimit": ("gas_limit", uint64),
    "feeRecipient": ("coinbase", address),
    "prevRandao": ("prev_randao", hash32),
    "baseFeePerGas": ("base_fee_wei", quantity),
    "blobBaseFee": ("blob_base_fee_wei", quantity),
}
"""What a block can be told. Source: execution-apis, `BlockOverrides`."""

UNREADABLE = (
    rlp.exceptions.RLPException,
    UnrecognizedTransactionType,
    ValidationError,
    ValueError,
    TypeError,
)
"""py-evm's errors about bytes that are not a transaction."""

OTHER_NAMES = {"coinbase": "feeRecipient", "random": "prevRandao", "baseFee": "baseFeePerGas"}
"""How anvil and older geths call some of them."""


def asked(value: object, name: str) -> TransactionRequest:
    """Read a transaction object."""
    form = mapping(value, name)

    def told(key: str, read: Read) -> Any:  # noqa: ANN401 - what the reader returns
        return _if_told(form, key, read, name)

    data_field, input_field = told("data", data), told("input", data)
    if None not in (data_field, input_field) and data_field != input_field:
        raise invalid(name, dict(form), "data and input differ; give one of them")
    to = form.get("to")
    if told("gasPrice", quantity) is not None and "maxFeePerGas" in form:
        raise invalid(name, dict(form), "give gasPrice or maxFeePerGas, not both")
    return TransactionRequest(
        chain_id=told("chainId", quantity),
        sender=told("from", address),
        to=None if to in (None, "0x") else address(to, f"{name}.to"),
        data=input_field or data_field or b"",
        value_wei=told("value", quantity) or 0,
        gas=told("gas", uint64),
        gas_price_wei=told("gasPrice", quantity),
        max_fee_wei=told("maxFeePerGas", quantity),
        max_priority_fee_wei=told("maxPriorityFeePerGas", quantity),
        nonce=told("nonce", uint64),
        access_list=told("accessList", access_list),
        kind=told("type", uint64),
        max_blob_fee_wei=told("maxFeePerBlobGas", quantity),
        blob_hashes=told("blobVersionedHashes", blob_hashes),
        authorizations=told("authorizationList", authorizations),
    )


def decode_transaction(raw: bytes, builder: type[TransactionBuilderAPI]) -> SignedTransactionAPI:
    """Decode a signed transaction, and recover its sender.

    Input:  the builder of the chain's transactions.
    Raises: RpcError: not a transaction of its fork. ConfigError: its blobs are not proved.
    """
    if not raw:
        raise RpcError(INVALID_PARAMS, "empty transaction data")
    try:
        transaction: SignedTransactionAPI = builder.decode(without_blobs(raw))
        transaction.sender  # noqa: B018 - recovers it
    except UNREADABLE as error:
        raise RpcError(
            INVALID_PARAMS, f"failed to decode signed transaction: {words(error)}"
        ) from error
    return transaction


def access_list(value: object, name: str) -> tuple[tuple[Address, tuple[int, ...]], ...]:
    """Read an access list (EIP-2930)."""
    entries = []
    for index, entry in enumerate(listed(value, name)):
        at = f"{name}[{index}]"
        form = mapping(entry, at)
        keys = listed(form.get("storageKeys") or [], f"{at}.storageKeys")
        slots = tuple(slot(key, f"{at}.storageKeys[{i}]") for i, key in enumerate(keys))
        entries.append((address(form.get("address"), f"{at}.address"), slots))
    return tuple(entries)


def blob_hashes(value: object, name: str) -> tuple[bytes, ...]:
    """Read the hashes of blobs (EIP-4844)."""
    return tuple(hash32(one, f"{name}[{i}]") for i, one in enumerate(listed(value, name)))


def authorizations(value: object, name: str) -> tuple[Authorization, ...]:
    """Read signed authorizations (EIP-7702)."""
    read = []
    for index, entry in enumerate(listed(value, name)):
        at = f"{name}[{index}]"
        form = mapping(entry, at)
        y_parity = form.get("yParity", form.get("v"))
        read.append(
            Authorization(
                chain_id=quantity(form.get("chainId"), f"{at}.chainId"),
                address=address(form.get("address"), f"{at}.address"),
                nonce=uint64(form.get("nonce"), f"{at}.nonce"),
                y_parity=quantity(y_parity, f"{at}.yParity", most=255),
                r=slot(form.get("r"), f"{at}.r"),
                s=slot(form.get("s"), f"{at}.s"),
            )
        )
    return tuple(read)


def overrides(value: object, name: str) -> dict[Address, AccountOverride]:
    """Read what accounts are said to be for a call."""
    read = {}
    for key, told in mapping(value, name).items():
        at = f"{name}.{key}"
        form = mapping(told, at)
        unknown = set(form) - {"balance", "nonce", "code", "state", "stateDiff"}
        if unknown:
            raise invalid(at, dict(form), f"no such override: {', '.join(sorted(unknown))}")
        if "state" in form and "stateDiff" in form:
            raise invalid(at, dict(form), "give state or stateDiff, not both")
        read[address(key, at)] = AccountOverride(
            balance_wei=_if_told(form, "balance", quantity, at),
            nonce=_if_told(form, "nonce", uint64, at),
            code=_if_told(form, "code", data, at),
            storage=_if_told(form, "state", _slots, at),
            storage_diff=_if_told(form, "stateDiff", _slots, at) or {},
        )
    return read


def _if_told(form: Mapping[str, object], key: str, read: Read, at: str) -> Any:  # noqa: ANN401 - what the reader returns
    return None if form.get(key) is None else read(form[key], f"{at}.{key}")


def _slots(value: object, name: str) -> dict[int, int]:
    form = mapping(value, name)
    return {slot(key, name): slot(told, f"{name}.{key}") for key, told in form.items()}


def block_override(value: object, name: str) -> BlockOverride:
    """Read what a call's block is said to be."""
    form = {OTHER_NAMES.get(key, key): told for key, told in mapping(value, name).items()}
    return BlockOverride(**block_fields(form, BLOCK_FIELDS, name))


def block_fields(
    form: Mapping[str, object], fields: Mapping[str, tuple[str, Read]], name: str
) -> dict[str, Any]:
    """Read those of a block's fields that are told, by the names that they have in Python."""
    unknown = set(form) - set(fields)
    if unknown:
        raise invalid(name, dict(form), f"no such override: {', '.join(sorted(unknown))}")
    return {
        field: read(form[key], f"{name}.{key}")
        for key, (field, read) in fields.items()
        if form.get(key) is not None
    }
