"""`eth_*` that send, call and estimate."""

from __future__ import annotations

from concurrent.futures import TimeoutError as TooLate
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import rlp
from eth.exceptions import UnrecognizedTransactionType, VMError
from eth.vm.forks.prague.transactions import Authorization
from eth_utils import ValidationError

from pyevm_agents.blobs import without_blobs
from pyevm_agents.calls import AccountOverride, Call
from pyevm_agents.rpc import formats
from pyevm_agents.rpc.blocks import header_of
from pyevm_agents.rpc.errors import INVALID_PARAMS, RpcError
from pyevm_agents.rpc.eth_funds import affordable, require_funds
from pyevm_agents.rpc.failures import SERVER_ERROR, execution_failed
from pyevm_agents.rpc.parameters import (
    LATEST,
    PENDING,
    BlockId,
    address,
    block,
    data,
    hash32,
    invalid,
    listed,
    mapping,
    quantity,
    slot,
    uint64,
)
from pyevm_agents.rpc.table import Table, optional
from pyevm_agents.transactions import (
    ACCESS_LIST_TYPE,
    BLOB_TYPE,
    DYNAMIC_FEE_TYPE,
    LEGACY_TYPE,
    SET_CODE_TYPE,
    Fields,
    send_as,
    sign,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from eth.abc import SignedTransactionAPI
    from eth_typing import Address

    from pyevm_agents.rpc.context import Rpc

    Read = Callable[[object, str], object]
    Make = Callable[[], SignedTransactionAPI]

METHODS = Table()

UNREADABLE = (
    rlp.exceptions.RLPException,
    UnrecognizedTransactionType,
    ValidationError,
    ValueError,
    TypeError,
)
"""What py-evm raises of bytes that are no transaction."""

DEFAULT_PRIORITY_FEE_WEI = 1_000_000_000
"""What a miner is offered where a transaction does not say: as anvil and geth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A transaction or a call as it is asked for; None for what is not told."""

    sender: Address | None
    to: Address | None
    data: bytes
    value_wei: int
    gas: int | None
    gas_price_wei: int | None
    max_fee_wei: int | None
    max_priority_fee_wei: int | None
    nonce: int | None
    access_list: tuple[tuple[Address, tuple[int, ...]], ...] | None
    kind: int | None
    max_blob_fee_wei: int | None
    blob_hashes: tuple[bytes, ...] | None
    authorizations: tuple[Authorization, ...] | None


def asked(value: object, name: str) -> Asked:
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
    return Asked(
        sender=told("from", address),
        to=None if to in (None, "", "0x") else address(to, f"{name}.to"),
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


# -- trying -- #


@METHODS.method("eth_call", asked, optional(block, LATEST), optional(overrides))
def call(
    rpc: Rpc,
    transaction: Asked,
    block: BlockId,
    state_overrides: Mapping[Address, AccountOverride] | None,
) -> str:
    """Execute a message in a block's context, and keep nothing; return its output."""
    header = header_of(rpc.node, block)
    sent = call_of(transaction)
    require_funds(rpc.node, sent, header, state_overrides or {})
    try:
        result = rpc.node.chain.call(sent, header=header, overrides=state_overrides)
    except ValidationError as error:
        raise RpcError(SERVER_ERROR, f"err: {error}") from error
    rpc.node.tell_printed(result.computation)
    if result.error is not None:
        raise execution_failed(result.error, result.output)
    return formats.data(result.output)


@METHODS.method("eth_estimateGas", asked, optional(block, PENDING), optional(overrides))
def estimate_gas(
    rpc: Rpc,
    transaction: Asked,
    block: BlockId,
    state_overrides: Mapping[Address, AccountOverride] | None,
) -> str:
    """Return the least gas limit with which a transaction succeeds, exactly."""
    header = header_of(rpc.node, block)
    wanted = affordable(rpc.node, call_of(transaction), header, state_overrides or {})
    try:
        return hex(rpc.node.chain.estimate_gas(wanted, header=header, overrides=state_overrides))
    except ValidationError as error:
        raise RpcError(SERVER_ERROR, f"err: {error}") from error
    except VMError as error:
        result = rpc.node.chain.call(wanted, header=header, overrides=state_overrides)
        raise execution_failed(error, result.output) from error


def call_of(asked: Asked) -> Call:
    """Return what was asked for as a message."""
    fee = asked.gas_price_wei if asked.gas_price_wei is not None else asked.max_fee_wei
    return Call(
        to=asked.to,
        sender=asked.sender or bytes(20),  # type: ignore[arg-type]
        data=asked.data,
        value_wei=asked.value_wei,
        gas=asked.gas,
        gas_price_wei=fee or 0,
        access_list=asked.access_list or (),
        authorizations=asked.authorizations or (),
    )


# -- sending -- #


@METHODS.method("eth_sendTransaction", asked)
def send_transaction(rpc: Rpc, transaction: Asked) -> str:
    """Sign a transaction, or send it for an impersonated account; return its hash."""
    return submitted(rpc, ready(rpc, transaction, sender_of(rpc, transaction)))


def sender_of(rpc: Rpc, asked: Asked) -> Address:
    """Return who sends, the node's first account where that is not told.

    Raises: RpcError: the node does not send in their name.
    """
    sender = asked.sender
    if sender is None:
        addresses = rpc.node.keys.addresses
        if not addresses:
            raise RpcError(INVALID_PARAMS, "from is missing, and the node has no account")
        sender = addresses[0]
    if not rpc.node.keys.may_send(sender):
        raise RpcError(
            INVALID_PARAMS,
            f"No Signer available: {formats.data(sender)} is none of the node's accounts; "
            "anvil_impersonateAccount sends without a key",
        )
    return sender


@METHODS.method("eth_sendRawTransaction", data)
def send_raw_transaction(rpc: Rpc, transaction: bytes) -> str:
    """Send a transaction that was signed elsewhere; return its hash."""
    signed = decoded(rpc, transaction)
    return submitted(rpc, lambda: signed)


def decoded(rpc: Rpc, raw: bytes) -> SignedTransactionAPI:
    """Read a signed transaction.

    Raises: RpcError: it is none.
    """
    if not raw:
        raise RpcError(INVALID_PARAMS, "empty transaction data")
    try:
        builder = rpc.node.chain.transaction_builder
        transaction: SignedTransactionAPI = builder.decode(without_blobs(raw))
        transaction.sender  # noqa: B018 - recovers it
    except UNREADABLE as error:
        raise RpcError(INVALID_PARAMS, f"failed to decode signed transaction: {error}") from error
    return transaction


def ready(rpc: Rpc, asked: Asked, sender: Address, *, may_sign: bool = True) -> Make:
    """Return what makes a transaction of what was asked for, in no time: see `Node.send`."""
    with_gas = replace(asked, gas=_gas(rpc, asked, sender))
    return lambda: filled(rpc, with_gas, sender, may_sign=may_sign)


def filled(
    rpc: Rpc, asked: Asked, sender: Address, *, may_sign: bool = True
) -> SignedTransactionAPI:
    """Make a transaction of what was asked for, with what was not told filled in."""
    fields = fields_of(rpc, asked, sender)
    key = rpc.node.keys.key_of(sender) if may_sign else None
    chain_id = rpc.node.chain.config.chain_id
    return send_as(fields, sender, chain_id) if key is None else sign(fields, key, chain_id)


def fields_of(rpc: Rpc, asked: Asked, sender: Address) -> Fields:
    """Fill in what a transaction does not say."""
    node = rpc.node
    base_fee = int(node.next_header().base_fee_per_gas or 0)
    tip = asked.max_priority_fee_wei
    if tip is None:
        tip = DEFAULT_PRIORITY_FEE_WEI
        if asked.max_fee_wei is not None:
            tip = min(tip, asked.max_fee_wei)
    price = asked.gas_price_wei
    return Fields(
        kind=_kind(asked),
        nonce=node.next_nonce(sender) if asked.nonce is None else asked.nonce,
        gas=_gas(rpc, asked, sender),
        to=asked.to,
        value_wei=asked.value_wei,
        data=asked.data,
        gas_price_wei=base_fee + tip if price is None else price,
        max_fee_wei=2 * base_fee + tip if asked.max_fee_wei is None else asked.max_fee_wei,
        max_priority_fee_wei=tip,
        access_list=asked.access_list or (),
        max_blob_fee_wei=asked.max_blob_fee_wei or 0,
        blob_hashes=asked.blob_hashes or (),
        authorizations=asked.authorizations or (),
    )


def _gas(rpc: Rpc, asked: Asked, sender: Address) -> int:
    """Return a transaction's gas limit, what it needs where that is not told."""
    if asked.gas is not None:
        return asked.gas
    return int(estimate_gas(rpc, replace(asked, sender=sender), PENDING, None), 16)


def _kind(asked: Asked) -> int:
    """Return a transaction's type, by what it says where that is not told."""
    if asked.kind is not None:
        return asked.kind
    if asked.authorizations is not None:
        return SET_CODE_TYPE
    if asked.blob_hashes is not None:
        return BLOB_TYPE
    if asked.gas_price_wei is None:
        return DYNAMIC_FEE_TYPE
    return LEGACY_TYPE if asked.access_list is None else ACCESS_LIST_TYPE


def submitted(rpc: Rpc, make: Make) -> str:
    """Send a transaction; return its hash when it is mined, or after a set time."""
    sent = rpc.node.send(make)
    try:
        sent.mined.result(rpc.send_seconds)
    except TooLate:
        if sent.mined.done():
            raise
    return formats.data(sent.transaction.hash)
