"""`debug_trace*` and `trace_*`: what happened, opcode by opcode or call by call.

Nothing is kept of a transaction's execution: it is executed again, behind those before it in its
block; what agents said is remembered, so no model is asked twice.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from eth_utils import ValidationError

from pyevm_agents.rpc import formats
from pyevm_agents.rpc.asked import Asked, asked, block_override, overrides
from pyevm_agents.rpc.blocks import header_of
from pyevm_agents.rpc.errors import RpcError
from pyevm_agents.rpc.eth_call import call_of
from pyevm_agents.rpc.failures import SERVER_ERROR
from pyevm_agents.rpc.parameters import LATEST, BlockId, anything, block, hash32
from pyevm_agents.rpc.table import Table, optional
from pyevm_agents.tracing import (
    PARITY,
    FlatCallTracer,
    Place,
    selectively_traced_vm,
    traced_vm,
    tracer_from,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from eth.abc import SignedTransactionAPI

    from pyevm_agents.chain import Record
    from pyevm_agents.rpc.context import Rpc
    from pyevm_agents.rpc.formats import Json
    from pyevm_agents.tracing import Tracer

    Make = Callable[[Place, int], Tracer]
    """Returns a tracer for a place, and how many logs its block wrote before."""

METHODS = Table()


@METHODS.method("debug_traceTransaction", hash32, optional(anything))
def trace_transaction(rpc: Rpc, transaction_hash: bytes, options: object) -> object:
    """Return what a tracer tells of a mined transaction; struct logs where none is named."""
    record, index = _mined(rpc, transaction_hash)
    return _traced(rpc, record, [index], _made_from(options))[0].result()


@METHODS.method("debug_traceBlockByNumber", block, optional(anything))
def trace_block_by_number(rpc: Rpc, number: BlockId, options: object) -> list[Json]:
    """Return what a tracer tells of each transaction of a block."""
    record = rpc.node.chain.record(header_of(rpc.node, number))
    transactions = record.block.transactions
    tracers = _traced(rpc, record, range(len(transactions)), _made_from(options))
    return [
        {"txHash": formats.data(transaction.hash), "result": tracer.result()}
        for transaction, tracer in zip(transactions, tracers, strict=True)
    ]


@METHODS.method("debug_traceBlockByHash", hash32, optional(anything))
def trace_block_by_hash(rpc: Rpc, block_hash: bytes, options: object) -> list[Json]:
    """Return what a tracer tells of each transaction of a block."""
    return trace_block_by_number(rpc, BlockId(hash=block_hash), options)


@METHODS.method("debug_traceCall", asked, optional(block, LATEST), optional(anything))
def trace_call(rpc: Rpc, transaction: Asked, block: BlockId, options: object) -> object:
    """Return what a tracer tells of a call, of which nothing is kept."""
    told = options if isinstance(options, dict) else {}
    accounts, told_block = told.get("stateOverrides"), told.get("blockOverrides")
    tracer = tracer_from(options)
    try:
        rpc.node.chain.call(
            call_of(transaction),
            header=header_of(rpc.node, block),
            overrides=None if accounts is None else overrides(accounts, "options.stateOverrides"),
            block=None
            if told_block is None
            else block_override(told_block, "options.blockOverrides"),
            trace=partial(traced_vm, tracer=tracer),
        )
    except ValidationError as error:
        raise RpcError(SERVER_ERROR, f"err: {error}") from error
    return tracer.result()


@METHODS.method("trace_transaction", hash32)
def flat_transaction(rpc: Rpc, transaction_hash: bytes) -> object:
    """Return the calls of a mined transaction in Parity's flat form."""
    record, index = _mined(rpc, transaction_hash)
    return _traced(rpc, record, [index], _parity)[0].result()


@METHODS.method("trace_block", block)
def flat_block(rpc: Rpc, number: BlockId) -> list[object]:
    """Return the calls of a block's transactions in Parity's flat form."""
    record = rpc.node.chain.record(header_of(rpc.node, number))
    tracers = _traced(rpc, record, range(len(record.block.transactions)), _parity)
    calls: list[object] = []
    for tracer in tracers:
        told = tracer.result()
        assert isinstance(told, list)  # noqa: S101 - what a flat tracer's result is
        calls += told
    return calls


def _made_from(options: object) -> Make:
    return lambda place, before: tracer_from(options, place=place, first_log_index=before)


def _parity(place: Place, before: int) -> Tracer:  # noqa: ARG001 - calls alone are listed
    return FlatCallTracer(PARITY, place)


def _mined(rpc: Rpc, transaction_hash: bytes) -> tuple[Record, int]:
    found = rpc.node.chain.find_transaction(transaction_hash)
    if found is None:
        raise RpcError(SERVER_ERROR, "transaction not found")
    return found


def _traced(rpc: Rpc, record: Record, indices: range | list[int], make: Make) -> list[Tracer]:
    """Execute a block up to the last of some transactions; return a tracer for each of them."""
    header, transactions = record.block.header, record.block.transactions
    before = 0
    tracers: dict[bytes, Tracer] = {}
    for index, (transaction, receipt) in enumerate(zip(transactions, record.receipts, strict=True)):
        if index in indices:
            place = Place(
                block_hash=header.hash,
                block_number=header.block_number,
                transaction_hash=transaction.hash,
                transaction_index=index,
            )
            tracers[transaction.hash] = make(place, before)
        before += len(receipt.logs)

    def choose(transaction: SignedTransactionAPI) -> Tracer | None:
        return tracers.get(transaction.hash)

    if tracers:
        trace = partial(selectively_traced_vm, choose=choose)
        rpc.node.chain.replay(record, max(indices), trace)
    return [*tracers.values()]
