"""`debug_trace*` methods: geth's tracers on mined transactions, blocks and calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth.exceptions import HeaderNotFound

from pyevm_agents.chain import BlockRecord
from pyevm_agents.chain.block_rlp import decode_block
from pyevm_agents.errors import BlockError
from pyevm_agents.node.state_view import StateView
from pyevm_agents.rpc import serializers
from pyevm_agents.rpc.block_ids import BlockNotFoundError
from pyevm_agents.rpc.block_views import resolve_view
from pyevm_agents.rpc.call_sequence import apply_touched, lay_over
from pyevm_agents.rpc.errors import INVALID_PARAMS, SERVER_ERROR, RpcError
from pyevm_agents.rpc.method_table import MethodTable, optional
from pyevm_agents.rpc.methods.eth_state import require_record
from pyevm_agents.rpc.params import (
    LATEST,
    BlockId,
    parse_block_id,
    parse_data,
    parse_hash32,
    parse_uint64,
)
from pyevm_agents.rpc.replay import (
    count_logs,
    find_mined,
    make_touched_state_tracer,
    trace_at_index,
    trace_transactions,
)
from pyevm_agents.rpc.trace_options import (
    choose_fork,
    parse_call_trace_options,
    parse_trace_options,
)
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
from pyevm_agents.vm import change_fork

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eth.abc import BlockAPI

    from pyevm_agents.chain.calls import AccountOverrides
    from pyevm_agents.node.transaction_defaults import TransactionRequest
    from pyevm_agents.rpc.context import RequestContext
    from pyevm_agents.rpc.replay import TracerFactory
    from pyevm_agents.rpc.serializers import Json
    from pyevm_agents.tracing import Tracer
    from pyevm_agents.vm import AgentVM, Fork

METHODS = MethodTable()


@METHODS.method("debug_traceTransaction", parse_hash32, optional(parse_trace_options, {}))
def trace_transaction(
    rpc: RequestContext, transaction_hash: bytes, options: Mapping[str, object]
) -> object:
    """Trace a mined transaction with one of geth's tracers, by default the struct logger."""
    record, index = find_mined(rpc, transaction_hash)
    fork = _choose_fork(rpc, options, record)
    return trace_at_index(rpc, record, index, _build_tracer_factory(rpc, options), fork).result()


@METHODS.method("debug_traceBlockByNumber", parse_block_id, optional(parse_trace_options, {}))
def trace_block_by_number(
    rpc: RequestContext, number: BlockId, options: Mapping[str, object]
) -> list[Json]:
    """Trace each transaction of a block with one of geth's tracers."""
    record = require_record(rpc, number)
    if record.block.header.block_number == 0:
        raise RpcError(SERVER_ERROR, "genesis is not traceable")
    return _trace_record(rpc, record, options)


@METHODS.method("debug_traceBlockByHash", parse_hash32, optional(parse_trace_options, {}))
def trace_block_by_hash(
    rpc: RequestContext, block_hash: bytes, options: Mapping[str, object]
) -> list[Json]:
    """Trace each transaction of a block with one of geth's tracers."""
    return trace_block_by_number(rpc, BlockId(hash=block_hash), options)


@METHODS.method("debug_traceBlock", parse_data, optional(parse_trace_options, {}))
def trace_block(rpc: RequestContext, encoded: bytes, options: Mapping[str, object]) -> list[Json]:
    """Trace each transaction of a block given as RLP.

    The parent must be a block of the chain; the block itself need not be.
    """
    block = _parse_encoded_block(rpc, encoded)
    known = _find_known_record(rpc, block)
    if known is not None:
        return _trace_record(rpc, known, options)
    record = BlockRecord(block=block, receipts=())
    counts = count_logs(rpc, record)
    budget = rpc.open_trace_budget()

    def make_tracer(at: TransactionLocation, _: int) -> Tracer:
        before = sum(counts[: at.transaction_index])
        return create_tracer(options, place=at, first_log_index=before, budget=budget)

    fork = _choose_fork(rpc, options, record)
    return _collect_results(record, trace_transactions(rpc, record, make_tracer, fork=fork))


@METHODS.method(
    "debug_traceCall",
    parse_transaction_request,
    optional(parse_block_id, LATEST),
    optional(parse_call_trace_options, {}),
)
def trace_call(
    rpc: RequestContext,
    transaction: TransactionRequest,
    block: BlockId,
    options: Mapping[str, object],
) -> object:
    """Trace a simulated call with one of geth's tracers."""
    overrides = parse_state_overrides(options.get("stateOverrides", {}), "options.stateOverrides")
    fields = options.get("blockOverrides", {})
    block_override = parse_block_override(fields, "options.blockOverrides")
    tracer = create_tracer(options, budget=rpc.open_trace_budget())
    at = resolve_view(rpc, block)
    if "txIndex" in options:
        index = parse_uint64(options["txIndex"], "options.txIndex")
        at, changes = _go_before(rpc, block, index)
        overrides = lay_over(changes, overrides)
    fork = choose_fork(options, rpc.node.chain.config.fork, at.header.timestamp)

    def make_vm(vm_class: type[AgentVM]) -> type[AgentVM]:
        return make_traced_vm(vm_class if fork is None else change_fork(vm_class, fork), tracer)

    at.chain.call(
        rpc.limit_call(transaction.to_call(), at, block_override),
        header=at.header,
        overrides=overrides,
        block=block_override,
        trace=make_vm,
    )
    return tracer.result()


def _go_before(
    rpc: RequestContext, block: BlockId, index: int
) -> tuple[StateView, AccountOverrides]:
    """Return the state before a block, and the changes by its transactions before an index.

    Source: geth, `StateAtTransaction`.
    Raises: RpcError: the block has no transaction with this index.
    """
    record = require_record(rpc, block)
    if record.block.number == 0:
        raise RpcError(SERVER_ERROR, "no transaction in genesis")
    count = len(record.block.transactions)
    if index >= max(count, 1):
        raise RpcError(
            SERVER_ERROR,
            f"transaction index {index} out of range for block "
            f"{serializers.encode_data(record.block.header.hash)}: it has {count}",
        )
    changes: AccountOverrides = {}
    for touched in trace_transactions(rpc, record, make_touched_state_tracer, range(index)):
        changes = apply_touched(changes, touched)
    chain = rpc.node.chain
    return StateView(chain, chain.build_first_header(record)), changes


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


def _build_tracer_factory(
    rpc: RequestContext, options: Mapping[str, object]
) -> TracerFactory[Tracer]:
    budget = rpc.open_trace_budget()
    return lambda at, before: create_tracer(
        options, place=at, first_log_index=before, budget=budget
    )


def _choose_fork(
    rpc: RequestContext, options: Mapping[str, object], record: BlockRecord
) -> Fork | None:
    """Return the fork by whose rules a block is traced; None for its own."""
    return choose_fork(options, rpc.node.chain.config.fork, record.block.header.timestamp)


def _trace_record(
    rpc: RequestContext, record: BlockRecord, options: Mapping[str, object]
) -> list[Json]:
    """Trace the transactions of a block of the chain."""
    fork = _choose_fork(rpc, options, record)
    make = _build_tracer_factory(rpc, options)
    return _collect_results(record, trace_transactions(rpc, record, make, fork=fork))


def _collect_results(record: BlockRecord, tracers: Sequence[Tracer]) -> list[Json]:
    return [
        {"txHash": serializers.encode_data(transaction.hash), "result": tracer.result()}
        for transaction, tracer in zip(record.block.transactions, tracers, strict=True)
    ]
