"""`debug_trace*`: what happened, as geth's tracers tell it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from eth.exceptions import HeaderNotFound
from eth_utils import ValidationError

from pyevm_agents.chain import Record
from pyevm_agents.chain.block_rlp import decode_block
from pyevm_agents.errors import BlockError
from pyevm_agents.rpc import serializers
from pyevm_agents.rpc.block_ids import BlockNotFoundError
from pyevm_agents.rpc.block_views import view_of
from pyevm_agents.rpc.errors import INVALID_PARAMS, SERVER_ERROR, RpcError
from pyevm_agents.rpc.method_table import Table, optional
from pyevm_agents.rpc.methods.eth_state import record_of
from pyevm_agents.rpc.params import LATEST, BlockId, anything, block, data, hash32
from pyevm_agents.rpc.replay import kept_logs, mined, traced, traced_at
from pyevm_agents.rpc.transaction_params import asked, block_override, overrides
from pyevm_agents.tracing import Place, traced_vm, tracer_from

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eth.abc import BlockAPI

    from pyevm_agents.node.transaction_defaults import TransactionRequest
    from pyevm_agents.rpc.context import Rpc
    from pyevm_agents.rpc.replay import Make
    from pyevm_agents.rpc.serializers import Json
    from pyevm_agents.tracing import Tracer

METHODS = Table()


@METHODS.method("debug_traceTransaction", hash32, optional(anything))
def trace_transaction(rpc: Rpc, transaction_hash: bytes, options: object) -> object:
    """Return what a tracer tells of a mined transaction; struct logs where none is named."""
    record, index = mined(rpc, transaction_hash)
    return traced_at(rpc, record, index, _made_from(options)).result()


@METHODS.method("debug_traceBlockByNumber", block, optional(anything))
def trace_block_by_number(rpc: Rpc, number: BlockId, options: object) -> list[Json]:
    """Return what a tracer tells of each transaction of a block."""
    record = record_of(rpc, number)
    return _results(record, traced(rpc, record, _made_from(options)))


@METHODS.method("debug_traceBlockByHash", hash32, optional(anything))
def trace_block_by_hash(rpc: Rpc, block_hash: bytes, options: object) -> list[Json]:
    """Return what a tracer tells of each transaction of a block."""
    return trace_block_by_number(rpc, BlockId(hash=block_hash), options)


@METHODS.method("debug_traceBlock", data, optional(anything))
def trace_block(rpc: Rpc, encoded: bytes, options: object) -> list[Json]:
    """Return what a tracer tells of each transaction of a block given as RLP.

    The chain must have its parent; the block itself may be any.
    """
    given = _given_block(rpc, encoded)
    known = _known(rpc, given)
    if known is not None:
        return _results(known, traced(rpc, known, _made_from(options)))
    record = Record(block=given, receipts=())
    try:
        counts = kept_logs(rpc, record)

        def make(at: Place, _: int) -> Tracer:
            before = sum(counts[: at.transaction_index])
            return tracer_from(options, place=at, first_log_index=before)

        return _results(record, traced(rpc, record, make))
    except ValidationError as error:
        raise RpcError(SERVER_ERROR, f"err: {error}") from error


@METHODS.method("debug_traceCall", asked, optional(block, LATEST), optional(anything))
def trace_call(
    rpc: Rpc, transaction: TransactionRequest, block: BlockId, options: object
) -> object:
    """Return what a tracer tells of a call, of which nothing is kept."""
    told = options if isinstance(options, dict) else {}
    accounts, told_block = told.get("stateOverrides"), told.get("blockOverrides")
    tracer = tracer_from(options)
    at = view_of(rpc, block)
    try:
        at.chain.call(
            transaction.to_call(),
            header=at.header,
            overrides=None if accounts is None else overrides(accounts, "options.stateOverrides"),
            block=None
            if told_block is None
            else block_override(told_block, "options.blockOverrides"),
            trace=partial(traced_vm, tracer=tracer),
        )
    except ValidationError as error:
        raise RpcError(SERVER_ERROR, f"err: {error}") from error
    return tracer.result()


def _given_block(rpc: Rpc, encoded: bytes) -> BlockAPI:
    """Read a block that can follow on one that the chain has."""
    chain = rpc.node.chain
    try:
        given = decode_block(encoded, chain.vm_class_at(chain.head.block_number).get_block_class())
        parent = chain.header_of(given.header.parent_hash)
    except BlockError as error:
        raise RpcError(INVALID_PARAMS, f"invalid params: encoded: {error}") from error
    except HeaderNotFound as error:
        raise BlockNotFoundError(
            f"the chain has no parent 0x{given.header.parent_hash.hex()} of that block"
        ) from error
    if given.header.block_number != parent.block_number + 1:
        raise RpcError(
            INVALID_PARAMS,
            f"invalid params: encoded: block {given.header.block_number} can't follow on "
            f"block {parent.block_number}",
        )
    return given


def _known(rpc: Rpc, given: BlockAPI) -> Record | None:
    """Return a block as the chain has or had it: with receipts, and senders that signed nothing."""
    try:
        record = rpc.node.chain.record(rpc.node.chain.header_of(given.hash))
    except HeaderNotFound:
        return None
    hashes = [[one.hash for one in block.transactions] for block in (record.block, given)]
    return record if hashes[0] == hashes[1] else None


def _made_from(options: object) -> Make[Tracer]:
    return lambda at, before: tracer_from(options, place=at, first_log_index=before)


def _results(record: Record, tracers: Sequence[Tracer]) -> list[Json]:
    return [
        {"txHash": serializers.data(transaction.hash), "result": tracer.result()}
        for transaction, tracer in zip(record.block.transactions, tracers, strict=True)
    ]
