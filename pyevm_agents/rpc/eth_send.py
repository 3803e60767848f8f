"""`eth_*` that send."""

from __future__ import annotations

from concurrent.futures import TimeoutError as TooLate
from dataclasses import replace
from typing import TYPE_CHECKING

import rlp
from eth.exceptions import UnrecognizedTransactionType
from eth_utils import ValidationError

from pyevm_agents.blobs import without_blobs
from pyevm_agents.node.admission import most_wei
from pyevm_agents.rpc import formats
from pyevm_agents.rpc.asked import Asked, asked
from pyevm_agents.rpc.blocks import next_view
from pyevm_agents.rpc.errors import INVALID_PARAMS, RpcError
from pyevm_agents.rpc.eth_call import call_of, least_gas_of, require_chain
from pyevm_agents.rpc.failures import ExecutionFailedError, words
from pyevm_agents.rpc.parameters import data
from pyevm_agents.rpc.patience import done_within
from pyevm_agents.rpc.table import Table
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
    from collections.abc import Callable

    from eth.abc import SignedTransactionAPI
    from eth_typing import Address

    from pyevm_agents.rpc.context import Rpc

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


@METHODS.method("eth_sendTransaction", asked)
def send_transaction(rpc: Rpc, transaction: Asked) -> str:
    """Sign a transaction, or send it for an impersonated account; return its hash.

    Where it says no gas limit, it gets what it needs; a block's gas where it fails with all of
    that, as anvil does, or where an agent thinks for so long that the client would give up before
    that is known.
    """
    sender = sender_of(rpc, transaction)
    if transaction.gas is None and rpc.node.chain.config.models:
        gas = done_within(rpc.send_seconds, lambda: _gas_to_send(rpc, transaction, sender))
        gas = rpc.node.next_block.header().gas_limit if gas is None else gas
        transaction = replace(transaction, gas=gas)
    return submitted(rpc, ready(rpc, transaction, sender))


def sender_of(rpc: Rpc, asked: Asked) -> Address:
    """Return who sends, the node's first account where that is not told.

    Raises: RpcError: the node does not send in their name, or not to that chain.
    """
    require_chain(rpc, asked)
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
        raise RpcError(
            INVALID_PARAMS, f"failed to decode signed transaction: {words(error)}"
        ) from error
    return transaction


def ready(rpc: Rpc, asked: Asked, sender: Address, *, may_sign: bool = True) -> Make:
    """Return what makes a transaction of what was asked for, in no time: see `Node.send`."""
    with_gas = replace(asked, gas=_gas_to_send(rpc, asked, sender))
    return lambda: filled(rpc, with_gas, sender, may_sign=may_sign)


def filled(
    rpc: Rpc, asked: Asked, sender: Address, *, may_sign: bool = True
) -> SignedTransactionAPI:
    """Make a transaction of what was asked for, with what was not told filled in."""
    fields = fields_of(rpc, asked, sender)
    key = rpc.node.keys.key_of(sender) if may_sign else None
    chain = rpc.node.chain
    chain_id, builder = chain.config.chain_id, chain.fork.builder
    if key is None:
        return send_as(fields, sender, chain_id, builder)
    return sign(fields, key, chain_id, builder)


def fields_of(rpc: Rpc, asked: Asked, sender: Address) -> Fields:
    """Fill in what a transaction does not say."""
    node = rpc.node
    header = node.next_block.header()
    base_fee = int(header.base_fee_per_gas or 0)
    tip = asked.max_priority_fee_wei
    if tip is None:
        tip = DEFAULT_PRIORITY_FEE_WEI
        if asked.max_fee_wei is not None:
            tip = min(tip, asked.max_fee_wei)
    price = asked.gas_price_wei
    blob_fee = asked.max_blob_fee_wei
    if blob_fee is None:
        blob_fee = 2 * node.chain.fork.blob_base_fee(header) if asked.blob_hashes else 0
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
        max_blob_fee_wei=blob_fee,
        blob_hashes=asked.blob_hashes or (),
        authorizations=asked.authorizations or (),
    )


def _gas_to_send(rpc: Rpc, asked: Asked, sender: Address) -> int:
    """Return the same; a block's gas where it fails with that, and a block can hold it then.

    Raises: RpcError: it fails, and its sender can't pay for a block's gas.
    """
    try:
        return _gas(rpc, asked, sender)
    except ExecutionFailedError:
        limit = int(rpc.node.next_block.header().gas_limit)
        made = filled(rpc, replace(asked, gas=limit), sender)
        if rpc.node.chain.balance(sender) < most_wei(made):
            raise
        return limit


def _gas(rpc: Rpc, asked: Asked, sender: Address) -> int:
    """Return a transaction's gas limit, what it needs where that is not told."""
    if asked.gas is not None:
        return asked.gas
    at = next_view(rpc, None, sender, asked.nonce)
    return least_gas_of(rpc, call_of(replace(asked, sender=sender)), at)


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
