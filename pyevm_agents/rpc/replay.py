"""Replays of mined transactions, for tracers.

Executions are not stored: a transaction is executed again, after the earlier ones of the block. The
models' generations are stored with the block and replayed, whichever model is loaded now.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.rpc.errors import SERVER_ERROR, RpcError
from pyevm_agents.tracing import (
    CallTree,
    FlatCallTracer,
    TouchedStateTracer,
    TraceBudget,
    TransactionLocation,
    make_selectively_traced_vm,
)
from pyevm_agents.tracing.flat_call_tracer import PARITY
from pyevm_agents.vm import change_fork

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import TypeVar

    from eth.abc import SignedTransactionAPI

    from pyevm_agents.chain import BlockRecord
    from pyevm_agents.rpc.context import RequestContext
    from pyevm_agents.rpc.serializers import Json
    from pyevm_agents.tracing import Tracer
    from pyevm_agents.vm import AgentVM, Fork

    TracerT = TypeVar("TracerT", bound="Tracer")
    TracerFactory = Callable[[TransactionLocation, int], TracerT]
    """Returns a tracer, given the transaction's location and the number of logs before it."""


def find_mined(rpc: RequestContext, transaction_hash: bytes) -> tuple[BlockRecord, int]:
    """Return the block of a transaction, and the index there.

    Raises: RpcError: the transaction is not mined.
    """
    match = rpc.node.chain.find_transaction(transaction_hash)
    if match is None:
        raise RpcError(SERVER_ERROR, "transaction not found")
    return match


def trace_transactions(
    rpc: RequestContext,
    record: BlockRecord,
    make: TracerFactory[TracerT],
    indices: Iterable[int] | None = None,
    fork: Fork | None = None,
) -> list[TracerT]:
    """Replay a block up to the last of some transactions; return a tracer for each.

    Input: a factory of tracers; the transactions' indices in the block, None for all; the fork by
           whose rules, None for the block's own.
    """
    count = len(record.block.transactions)
    chosen = range(count) if indices is None else sorted(set(indices))
    logs = [len(receipt.logs) for receipt in record.receipts]
    tracers = {
        index: make(locate_transaction(record, index), sum(logs[:index])) for index in chosen
    }
    _replay(rpc, record, tracers, fork)
    return [*tracers.values()]


def trace_at_index(
    rpc: RequestContext,
    record: BlockRecord,
    index: int,
    make: TracerFactory[TracerT],
    fork: Fork | None = None,
) -> TracerT:
    """Replay one transaction of a block, after the earlier ones; return the tracer."""
    return trace_transactions(rpc, record, make, [index], fork)[0]


def count_logs(rpc: RequestContext, record: BlockRecord) -> list[int]:
    """Return the number of logs of each transaction of a block that has no receipts yet."""
    with TraceBudget(pool=rpc.trace_pool) as budget:
        trees = {index: CallTree(budget) for index in range(len(record.block.transactions))}
        _replay(rpc, record, trees)
        return [
            sum(len(node.logs) for node, failed in tree.walk_nodes() if not failed)
            for tree in trees.values()
        ]


def locate_transaction(record: BlockRecord, index: int) -> TransactionLocation:
    """Return the location of a transaction."""
    return TransactionLocation(
        block_hash=record.block.header.hash,
        block_number=record.block.header.block_number,
        transaction_hash=record.block.transactions[index].hash,
        transaction_index=index,
    )


def make_touched_state_tracer(at: TransactionLocation, logs_before: int) -> TouchedStateTracer:
    """Return a tracer of the accounts and slots that a transaction touches."""
    del at, logs_before
    return TouchedStateTracer()


def parity_tracers(budget: TraceBudget) -> TracerFactory[FlatCallTracer]:
    """Return a factory of flat call tracers that share a budget, in Parity's format."""
    return lambda at, _: FlatCallTracer(PARITY, at, budget)


def flatten_calls(tracers: Sequence[FlatCallTracer]) -> list[Json]:
    """Return the calls of flat tracers in one list."""
    calls: list[Json] = []
    for tracer in tracers:
        result = tracer.result()
        assert isinstance(result, list)  # noqa: S101 - a flat tracer's result
        calls += result
    return calls


def _replay(
    rpc: RequestContext,
    record: BlockRecord,
    tracers: dict[int, TracerT],
    fork: Fork | None = None,
) -> None:
    if not tracers:
        return
    by_hash = {record.block.transactions[index].hash: tracer for index, tracer in tracers.items()}

    def choose_tracer(transaction: SignedTransactionAPI) -> Tracer | None:
        return by_hash.get(transaction.hash)

    def make_vm(vm_class: type[AgentVM]) -> type[AgentVM]:
        ruled = vm_class if fork is None else change_fork(vm_class, fork)
        return make_selectively_traced_vm(ruled, choose_tracer)

    rpc.node.chain.replay(record, max(tracers), make_vm, rpc.watch_execution())
