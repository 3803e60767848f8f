"""Replays of mined transactions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from eth_utils import to_hex

from pyevm_agents.chain import BlockRecord
from pyevm_agents.rpc.context import RequestContext
from pyevm_agents.rpc.errors import RpcError
from pyevm_agents.rpc.filters import EventSystem
from pyevm_agents.rpc.replay import (
    count_logs,
    find_mined,
    locate_transaction,
    parity_tracers,
    trace_at_index,
    trace_transactions,
)
from pyevm_agents.tracing import TraceBudget
from tests.pyevm_agents.rpc.contracts_to_trace import CODES, COUNTER, send
from tests.pyevm_agents.tracing.assembler import asm, calling

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyevm_agents.tracing import FlatCallTracer, TransactionLocation
    from tests.pyevm_agents.rpc.served import Served

    Serve = Callable[..., Served]

LOGGER, UNDOER = bytes.fromhex("a3" * 20), bytes.fromhex("a4" * 20)
LOG = "PUSH0 PUSH0 LOG0"
LOGS = {
    LOGGER: asm(f"{LOG} {LOG}"),
    # Calls the logger, logs, and reverts.
    UNDOER: asm(calling("CALL", LOGGER) + f" POP {LOG} PUSH0 PUSH0 REVERT"),
}


@pytest.fixture
def served(serve: Serve) -> Served:
    """Return a node whose first block has four transactions, with 2, 0, 0 and 2 logs."""
    served = serve(codes={**CODES, **LOGS}, is_automatic=False)
    for to in (to_hex(LOGGER), COUNTER, to_hex(UNDOER), to_hex(LOGGER)):
        send(served, to)
    served.ask("evm_mine")
    return served


def rpc_and_record(served: Served) -> tuple[RequestContext, BlockRecord]:
    rpc = RequestContext(node=served.node, events=EventSystem(served.node))
    return rpc, rpc.node.chain.block_with_receipts(rpc.node.chain.head)


def test_tracers_know_where_they_are_and_how_many_logs_come_before(served: Served) -> None:
    rpc, record = rpc_and_record(served)
    made: list[tuple[TransactionLocation, int]] = []

    def make(at: TransactionLocation, logs_before: int) -> FlatCallTracer:
        made.append((at, logs_before))
        return parity_tracers(TraceBudget())(at, logs_before)

    tracers = trace_transactions(rpc, record, make)
    assert [at for at, _ in made] == [locate_transaction(record, index) for index in range(4)]
    assert [before for _, before in made] == [0, 2, 2, 2]
    for index, tracer in enumerate(tracers):
        again = trace_at_index(rpc, record, index, parity_tracers(TraceBudget()))
        assert again.result() == tracer.result()
    chosen = trace_transactions(rpc, record, parity_tracers(TraceBudget()), [3, 1, 3])
    assert [one.result() for one in chosen] == [tracers[1].result(), tracers[3].result()]
    assert trace_transactions(rpc, record, parity_tracers(TraceBudget()), []) == []


def test_logs_that_were_not_undone_are_counted_without_receipts(served: Served) -> None:
    rpc, record = rpc_and_record(served)
    assert [len(receipt.logs) for receipt in record.receipts] == [2, 0, 0, 2]
    assert count_logs(rpc, BlockRecord(block=record.block, receipts=())) == [2, 0, 0, 2]


def test_a_transaction_is_found_where_it_is(served: Served) -> None:
    rpc, record = rpc_and_record(served)
    assert find_mined(rpc, record.block.transactions[2].hash) == (record, 2)
    with pytest.raises(RpcError, match="transaction not found"):
        find_mined(rpc, b"\x11" * 32)
