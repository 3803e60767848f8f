"""`eth_*` methods that send transactions, some of which wait for the receipt.

Source: EIP-7966 for `eth_sendRawTransactionSync`.
"""

from __future__ import annotations

import threading
from concurrent.futures import Future
from concurrent.futures import TimeoutError as TooLate
from dataclasses import replace
from time import monotonic  # noqa: TID251 - how long a client waits; no block depends on it
from typing import TYPE_CHECKING, TypeVar

from pyevm_agents.chain.simulator import CHEAP_CALL_DATA_BYTES
from pyevm_agents.node.listeners import NodeListener
from pyevm_agents.node.transaction_defaults import (
    choose_gas_limit,
    prepare_transaction,
    resolve_signer,
)
from pyevm_agents.rpc import serializers
from pyevm_agents.rpc.errors import RpcError
from pyevm_agents.rpc.method_table import MethodTable, optional
from pyevm_agents.rpc.methods.eth_state import get_transaction_receipt
from pyevm_agents.rpc.params import parse_data, parse_seconds
from pyevm_agents.rpc.recent_faults import departure_error
from pyevm_agents.rpc.transaction_params import decode_transaction, parse_transaction_request
from pyevm_agents.vm.stack_depth import start_thread

if TYPE_CHECKING:
    from collections.abc import Callable

    from eth.abc import SignedTransactionAPI

    from pyevm_agents.chain import MinedBlock
    from pyevm_agents.node.transaction_defaults import TransactionFactory, TransactionRequest
    from pyevm_agents.node.txpool import Departure
    from pyevm_agents.rpc.context import RequestContext
    from pyevm_agents.rpc.serializers import Json


METHODS = MethodTable()

DEFAULT_MILLISECONDS, MAX_MILLISECONDS = 20_000, 60_000
"""Time to wait for the receipt. Source: geth's defaults."""

NO_RECEIPT_YET = 4
"""Error code: the transaction is in the pool, and not mined yet. Source: EIP-7966."""

T = TypeVar("T")

STACK_BYTES = 256 * 2**20
"""Stack size of the thread, that of the server's threads."""


@METHODS.method("eth_sendTransaction", parse_transaction_request, is_quick=True)
def send_transaction(rpc: RequestContext, transaction: TransactionRequest) -> str:
    """Sign and send a transaction, also for an impersonated account; return the hash.

    Without a gas limit, the gas is estimated. If the estimate fails, as in anvil, or takes longer
    than `send_seconds`, as for a long agent run, the transaction gets the block gas limit, or the
    fork's limit of a transaction's gas.
    """
    node = rpc.node
    sender = resolve_signer(node, transaction)
    if transaction.gas is None:
        rpc.require_blocking_allowed()
    if transaction.gas is None and node.chain.config.models:
        gas = run_with_timeout(
            rpc.send_seconds, lambda: choose_gas_limit(node, transaction, sender)
        )
        gas = node.max_transaction_gas if gas is None else gas
        transaction = replace(transaction, gas=gas)
    return serializers.encode_data(rpc.send(prepare_transaction(node, transaction, sender)))


@METHODS.method("eth_sendRawTransaction", parse_data, is_quick=True)
def send_raw_transaction(rpc: RequestContext, transaction: bytes) -> str:
    """Send a signed transaction; return the hash."""
    if len(transaction) > CHEAP_CALL_DATA_BYTES:
        rpc.require_blocking_allowed()
    signed = decode_transaction(transaction, rpc.node.chain.transaction_builder)
    return serializers.encode_data(rpc.send(lambda: signed))


@METHODS.method("eth_sendRawTransactionSync", parse_data, optional(parse_seconds))
def send_raw_transaction_sync(
    rpc: RequestContext, transaction: bytes, timeout_milliseconds: int | None
) -> Json:
    """Send a signed transaction; return the receipt."""
    signed = decode_transaction(transaction, rpc.node.chain.transaction_builder)
    return _await_receipt(rpc, lambda: signed, timeout_milliseconds)


@METHODS.method("eth_sendTransactionSync", parse_transaction_request, optional(parse_seconds))
def send_transaction_sync(
    rpc: RequestContext, transaction: TransactionRequest, timeout_milliseconds: int | None
) -> Json:
    """Sign and send a transaction, also for an impersonated account; return the receipt."""
    sender = resolve_signer(rpc.node, transaction)
    make = prepare_transaction(rpc.node, transaction, sender)
    return _await_receipt(rpc, make, timeout_milliseconds)


def _await_receipt(rpc: RequestContext, make: TransactionFactory, milliseconds: int | None) -> Json:
    """Send a transaction; return the receipt once mined.

    Raises: RpcError: not mined in time, or dropped.
    """
    end = monotonic() + min(milliseconds or DEFAULT_MILLISECONDS, MAX_MILLISECONDS) / 1_000
    sent = rpc.node.send(make)
    transaction = sent.transaction
    is_decided = threading.Event()

    def check_mined(mined: MinedBlock) -> None:
        if any(entry.hash == transaction.hash for entry in mined.block.transactions):
            is_decided.set()

    def check_dropped(dropped: SignedTransactionAPI, _: Departure) -> None:
        if dropped.hash == transaction.hash:
            is_decided.set()

    forget = rpc.node.listeners.add(NodeListener(on_mined=check_mined, on_dropped=check_dropped))
    try:
        sent.wait(max(end - monotonic(), 0))
        # It may have been mined or dropped before the listener was added.
        receipt = get_transaction_receipt(rpc, transaction.hash)
        is_waiting = receipt is None and transaction.hash in rpc.node.pool
        if is_waiting and is_decided.wait(max(end - monotonic(), 0)):
            receipt = get_transaction_receipt(rpc, transaction.hash)
    finally:
        forget()
    if receipt is not None:
        return receipt
    if (departure := rpc.node.find_departure(transaction.hash)) is not None:
        raise departure_error(departure)
    rpc.node.sync_pool(transaction.hash)
    raise RpcError(
        NO_RECEIPT_YET,
        "the transaction is pending: call eth_getTransactionReceipt for "
        f"{serializers.encode_data(transaction.hash)}",
        serializers.encode_data(transaction.hash),
    )


def run_with_timeout(seconds: float, work: Callable[[], T]) -> T | None:
    """Return the result of a function, or raise the exception; return None after a timeout.

    The function continues after the timeout, and the model's generations are cached.
    """
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - raised in the waiting thread
            future.set_exception(error)

    start_thread(run, name="pyevm-agents-patience", stack_bytes=STACK_BYTES)
    try:
        return future.result(seconds)
    except TooLate:
        if future.done():
            raise
        return None
