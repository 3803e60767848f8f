"""`debug_trace*` methods: geth's tracers on mined transactions, blocks and calls."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from eth.exceptions import HeaderNotFound
from eth_utils import ValidationError

from pyevm_agents.chain import BlockRecord
from pyevm_agents.chain.block_rlp import decode_block
from pyevm_agents.errors import BlockError
from pyevm_agents.rpc import serializers
from pyevm_agents.rpc.block_ids import BlockNotFoundError
from pyevm_agents.rpc.block_views import resolve_view
from pyevm_agents.rpc.errors import INVALID_PARAMS, SERVER_ERROR, RpcError
from pyevm_agents.rpc.method_table import MethodTable, optional
from pyevm_agents.rpc.methods.eth_state import require_record
from pyevm_agents.rpc.params import (
    LATEST,
    BlockId,
    accept_any,
    parse_block_id,
    parse_data,
    parse_hash32,
)
from pyevm_agents.rpc.replay import count_logs, find_mined, trace_at_index, trace_transactions
from pyevm_agents.rpc.transaction_params import (
    parse_block_override,
    parse_state_overrides,
    parse_transaction_request,
)
from pyevm_agents.tracing import (
    TransactionLocation,
    create_tracer,
    make_traced_vm,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eth.abc import BlockAPI

    from pyevm_agents.node.transaction_defaults import TransactionRequest
    from pyevm_agents.rpc.context import RequestContext
    from pyevm_agents.rpc.replay import TracerFactory
    from pyevm_agents.rpc.serializers import Json
    from pyevm_agents.tracing import Tracer

METHODS = MethodTable()


@METHODS.method("debug_traceTransaction", parse_hash32, optional(accept_any))
def trace_transaction(rpc: RequestContext, transaction_hash: bytes, options: object) -> object:
    """Trace a mined transaction with one of geth's tracers, by default the struct logger."""
    record, index = find_mined(rpc, transaction_hash)
    return trace_at_index(rpc, record, index, _build_tracer_factory(rpc, options)).result()


@METHODS.method("debug_traceBlockByNumber", parse_block_id, optional(accept_any))
def trace_block_by_number(rpc: RequestContext, number: BlockId, options: object) -> list[Json]:
    """Trace each transaction of a block with one of geth's tracers."""
    record = require_record(rpc, number)
    if record.block.header.block_number == 0:
        raise RpcError(SERVER_ERROR, "genesis is not traceable")
    return _collect_results(
        record, trace_transactions(rpc, record, _build_tracer_factory(rpc, options))
    )


@METHODS.method("debug_traceBlockByHash", parse_hash32, optional(accept_any))
def trace_block_by_hash(rpc: RequestContext, block_hash: bytes, options: object) -> list[Json]:
    """Trace each transaction of a block with one of geth's tracers."""
    return trace_block_by_number(rpc, BlockId(hash=block_hash), options)


@METHODS.method("debug_traceBlock", parse_data, optional(accept_any))
def trace_block(rpc: RequestContext, encoded: bytes, options: object) -> list[Json]:
    """Trace each transaction of a block given as RLP.

    The parent must be a block of the chain; the block itself need not be.
    """
    block = _parse_encoded_block(rpc, encoded)
    known = _find_known_record(rpc, block)
    if known is not None:
        return _collect_results(
            known, trace_transactions(rpc, known, _build_tracer_factory(rpc, options))
        )
    record = BlockRecord(block=block, receipts=())
    try:
        counts = count_logs(rpc, record)
        budget = rpc.open_trace_budget()

        def make_tracer(at: TransactionLocation, _: int) -> Tracer:
            before = sum(counts[: at.transaction_index])
            return create_tracer(options, place=at, first_log_index=before, budget=budget)

        return _collect_results(record, trace_transactions(rpc, record, make_tracer))
    except ValidationError as error:
        raise RpcError(SERVER_ERROR, f"err: {error}") from error


@METHODS.method(
    "debug_traceCall",
    parse_transaction_request,
    optional(parse_block_id, LATEST),
    optional(accept_any),
)
def trace_call(
    rpc: RequestContext, transaction: TransactionRequest, block: BlockId, options: object
) -> object:
    """Trace a simulated call with one of geth's tracers."""
    form = options if isinstance(options, dict) else {}
    accounts, block_fields = form.get("stateOverrides"), form.get("blockOverrides")
    tracer = create_tracer(options, budget=rpc.open_trace_budget())
    block_override = (
        None
        if block_fields is None
        else parse_block_override(block_fields, "options.blockOverrides")
    )
    at = resolve_view(rpc, block)
    try:
        at.chain.call(
            rpc.limit_call(transaction.to_call(), at, block_override),
            header=at.header,
            overrides=None
            if accounts is None
            else parse_state_overrides(accounts, "options.stateOverrides"),
            block=block_override,
            trace=partial(make_traced_vm, tracer=tracer),
        )
    except ValidationError as error:
        raise RpcError(SERVER_ERROR, f"err: {error}") from error
    return tracer.result()


def _parse_encoded_block(rpc: RequestContext, encoded: bytes) -> BlockAPI:
    """Decode a block whose parent is in the chain."""
    chain = rpc.node.chain
    try:
        block = decode_block(
            encoded, chain.get_vm_class_at(chain.head.block_number).get_block_class()
        )
        parent = chain.header_by_hash(block.header.parent_hash)
    except BlockError as error:
        raise RpcError(INVALID_PARAMS, f"invalid params: encoded: {error}") from error
    except HeaderNotFound as error:
        raise BlockNotFoundError(f"unknown parent 0x{block.header.parent_hash.hex()}") from error
    if block.header.block_number != parent.block_number + 1:
        raise RpcError(
            INVALID_PARAMS,
            f"invalid params: encoded: block {block.header.block_number} cannot follow "
            f"block {parent.block_number}",
        )
    return block


def _find_known_record(rpc: RequestContext, candidate: BlockAPI) -> BlockRecord | None:
    """Return a block of the chain, canonical or not, with receipts and impersonated senders."""
    try:
        record = rpc.node.chain.block_with_receipts(rpc.node.chain.header_by_hash(candidate.hash))
    except HeaderNotFound:
        return None
    hashes = [[tx.hash for tx in block.transactions] for block in (record.block, candidate)]
    return record if hashes[0] == hashes[1] else None


def _build_tracer_factory(rpc: RequestContext, options: object) -> TracerFactory[Tracer]:
    budget = rpc.open_trace_budget()
    return lambda at, before: create_tracer(
        options, place=at, first_log_index=before, budget=budget
    )


def _collect_results(record: BlockRecord, tracers: Sequence[Tracer]) -> list[Json]:
    return [
        {"txHash": serializers.encode_data(transaction.hash), "result": tracer.result()}
        for transaction, tracer in zip(record.block.transactions, tracers, strict=True)
    ]
