"""Parsers of transaction objects, and of overrides of state, block and texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import rlp
from eth.exceptions import UnrecognizedTransactionType
from eth.vm.forks.prague.transactions import Authorization
from eth_utils import ValidationError

from pyevm_agents.chain import transactions
from pyevm_agents.chain.blob_sidecar import strip_blobs
from pyevm_agents.chain.calls import AccountOverride, BlockOverride
from pyevm_agents.node.transaction_defaults import TransactionRequest
from pyevm_agents.rpc.errors import INVALID_PARAMS, RpcError
from pyevm_agents.rpc.params import (
    invalid_param_error,
    parse_address,
    parse_data,
    parse_hash32,
    parse_list,
    parse_object,
    parse_quantity,
    parse_slot,
    parse_text,
    parse_uint64,
)
from pyevm_agents.simulation import TextOverride
from pyevm_agents.tracing.error_messages import read_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from eth.abc import SignedTransactionAPI, TransactionBuilderAPI
    from eth_typing import Address

    Read = Callable[[object, str], Any]

BLOCK_FIELDS: Mapping[str, tuple[str, Read]] = {
    "number": ("number", parse_uint64),
    "time": ("timestamp_seconds", parse_uint64),
    "gasLimit": ("gas_limit", parse_uint64),
    "feeRecipient": ("coinbase", parse_address),
    "prevRandao": ("prev_randao", parse_hash32),
    "baseFeePerGas": ("base_fee_wei", parse_quantity),
    "blobBaseFee": ("blob_base_fee_wei", parse_quantity),
}
"""Block overrides. Source: execution-apis, `BlockOverrides`."""

MOVE = "movePrecompileToAddress"

UNREADABLE = (
    rlp.exceptions.RLPException,
    UnrecognizedTransactionType,
    ValidationError,
    ValueError,
    TypeError,
)
"""Errors of py-evm's decoders for bytes that are not a transaction."""

BLOCK_FIELD_ALIASES = {
    "coinbase": "feeRecipient",
    "random": "prevRandao",
    "baseFee": "baseFeePerGas",
}
"""Names of block overrides in anvil and older versions of geth."""


def parse_transaction_request(value: object, name: str) -> TransactionRequest:
    """Parse a transaction object."""
    form = parse_object(value, name)

    def parse_field(key: str, read: Read) -> Any:  # noqa: ANN401 - the parser's result
        return _parse_optional(form, key, read, name)

    data_field, input_field = parse_field("data", parse_data), parse_field("input", parse_data)
    if None not in (data_field, input_field) and data_field != input_field:
        raise invalid_param_error(name, dict(form), "data and input differ; give one of them")
    to = form.get("to")
    price = parse_field("gasPrice", parse_quantity)
    max_fee = parse_field("maxFeePerGas", parse_quantity)
    if price is not None and max_fee is not None:
        # Nodes answer transactions with both, and clients ask with these.
        if price > max_fee:
            raise invalid_param_error(name, dict(form), "gasPrice is more than maxFeePerGas")
        price = None
    return TransactionRequest(
        chain_id=parse_field("chainId", parse_quantity),
        sender=parse_field("from", parse_address),
        to=None if to in (None, "0x") else parse_address(to, f"{name}.to"),
        data=input_field or data_field or b"",
        value_wei=parse_field("value", parse_quantity) or 0,
        gas=parse_field("gas", parse_uint64),
        gas_price_wei=price,
        max_fee_wei=max_fee,
        max_priority_fee_wei=parse_field("maxPriorityFeePerGas", parse_quantity),
        nonce=parse_field("nonce", parse_uint64),
        access_list=parse_field("accessList", parse_access_list),
        kind=parse_field("type", parse_uint64),
        max_blob_fee_wei=parse_field("maxFeePerBlobGas", parse_quantity),
        blob_hashes=parse_field("blobVersionedHashes", parse_blob_hashes),
        authorizations=parse_field("authorizationList", parse_authorizations),
    )


def decode_transaction(raw: bytes, builder: type[TransactionBuilderAPI]) -> SignedTransactionAPI:
    """Decode a signed transaction, and recover the sender.

    Input:  the builder of the chain's transactions.
    Raises: RpcError: not a transaction of the fork. ConfigError: blobs without valid proofs.
    """
    if not raw:
        raise RpcError(INVALID_PARAMS, "empty transaction data")
    try:
        transaction: SignedTransactionAPI = transactions.decode_transaction(
            strip_blobs(raw), builder
        )
        transactions.recover_sender(transaction)
    except UNREADABLE as error:
        raise RpcError(
            INVALID_PARAMS, f"failed to decode signed transaction: {read_text(error)}"
        ) from error
    return transaction


def parse_access_list(value: object, name: str) -> tuple[tuple[Address, tuple[int, ...]], ...]:
    """Parse an access list (EIP-2930)."""
    entries = []
    for index, entry in enumerate(parse_list(value, name)):
        at = f"{name}[{index}]"
        form = parse_object(entry, at)
        keys = parse_list(form.get("storageKeys") or [], f"{at}.storageKeys")
        slots = tuple(parse_slot(key, f"{at}.storageKeys[{i}]") for i, key in enumerate(keys))
        entries.append((parse_address(form.get("address"), f"{at}.address"), slots))
    return tuple(entries)


def parse_blob_hashes(value: object, name: str) -> tuple[bytes, ...]:
    """Parse blob hashes (EIP-4844)."""
    return tuple(
        parse_hash32(blob_hash, f"{name}[{i}]")
        for i, blob_hash in enumerate(parse_list(value, name))
    )


def parse_authorizations(value: object, name: str) -> tuple[Authorization, ...]:
    """Parse signed authorizations (EIP-7702)."""
    read = []
    for index, entry in enumerate(parse_list(value, name)):
        at = f"{name}[{index}]"
        form = parse_object(entry, at)
        y_parity = form.get("yParity", form.get("v"))
        read.append(
            Authorization(
                chain_id=parse_quantity(form.get("chainId"), f"{at}.chainId"),
                address=parse_address(form.get("address"), f"{at}.address"),
                nonce=parse_uint64(form.get("nonce"), f"{at}.nonce"),
                y_parity=parse_quantity(y_parity, f"{at}.yParity", most=255),
                r=parse_slot(form.get("r"), f"{at}.r"),
                s=parse_slot(form.get("s"), f"{at}.s"),
            )
        )
    return tuple(read)


def parse_state_overrides(value: object, name: str) -> dict[Address, AccountOverride]:
    """Parse state overrides."""
    read = {}
    for key, override in parse_object(value, name).items():
        at = f"{name}.{key}"
        # Field names in geth are case-insensitive, and its tests spell this one in both ways.
        form = {
            MOVE if field.lower() == MOVE.lower() else field: entry
            for field, entry in parse_object(override, at).items()
        }
        _require_known(form, {"balance", "nonce", "code", "state", "stateDiff", MOVE}, at)
        if "state" in form and "stateDiff" in form:
            raise invalid_param_error(at, dict(form), "give state or stateDiff, not both")
        read[parse_address(key, at)] = AccountOverride(
            balance_wei=_parse_optional(form, "balance", parse_quantity, at),
            nonce=_parse_optional(form, "nonce", parse_uint64, at),
            code=_parse_optional(form, "code", parse_data, at),
            storage=_parse_optional(form, "state", _parse_slots, at),
            storage_diff=_parse_optional(form, "stateDiff", _parse_slots, at) or {},
            precompile_to=_parse_optional(form, MOVE, parse_address, at),
        )
    return read


def parse_text_overrides(value: object, name: str) -> dict[Address, TextOverride]:
    """Parse the texts that the executor is to read in a simulation."""
    read = {}
    for index, entry in enumerate(parse_list(value, name)):
        at = f"{name}[{index}]"
        form = parse_object(entry, at)
        _require_known(form, {"address", "basePrompt", "name", "description", "parameters"}, at)
        address = parse_address(form.get("address"), f"{at}.address")
        if address in read:
            raise invalid_param_error(at, dict(form), "address given twice; give it once")
        read[address] = TextOverride(
            base_prompt=_parse_optional(form, "basePrompt", _parse_unicode, at),
            name=_parse_optional(form, "name", _parse_unicode, at),
            description=_parse_optional(form, "description", _parse_unicode, at),
            parameters=_parse_optional(form, "parameters", _parse_texts, at) or {},
        )
    return read


def _require_known(form: Mapping[str, object], known: set[str], name: str) -> None:
    """Reject an override with other fields.

    Raises: RpcError: invalid parameters.
    """
    unknown = set(form) - known
    if unknown:
        raise invalid_param_error(
            name, dict(form), f"unknown override: {', '.join(sorted(unknown))}"
        )


def _parse_texts(value: object, name: str) -> dict[str, str]:
    form = parse_object(value, name)
    return {key: _parse_unicode(text, f"{name}.{key}") for key, text in form.items()}


def _parse_unicode(value: object, name: str) -> str:
    """Parse a text that has UTF-8."""
    text = parse_text(value, name)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise invalid_param_error(name, value, "must be text without lone surrogates") from error
    return text


def _parse_optional(form: Mapping[str, object], key: str, read: Read, at: str) -> Any:  # noqa: ANN401 - the parser's result
    return None if form.get(key) is None else read(form[key], f"{at}.{key}")


def _parse_slots(value: object, name: str) -> dict[int, int]:
    form = parse_object(value, name)
    return {parse_slot(key, name): parse_slot(word, f"{name}.{key}") for key, word in form.items()}


def parse_block_override(value: object, name: str) -> BlockOverride:
    """Parse block overrides."""
    form = {
        BLOCK_FIELD_ALIASES.get(key, key): item for key, item in parse_object(value, name).items()
    }
    return BlockOverride(**parse_block_fields(form, BLOCK_FIELDS, name))


def parse_block_fields(
    form: Mapping[str, object], fields: Mapping[str, tuple[str, Read]], name: str
) -> dict[str, Any]:
    """Parse the given block fields; return them by name in `BlockOverride`."""
    _require_known(form, set(fields), name)
    return {
        field: read(form[key], f"{name}.{key}")
        for key, (field, read) in fields.items()
        if form.get(key) is not None
    }
