"""What a run could spend: balances, nonces, logs and a treasury's books, as the chain has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.lifecycle.orchestrator import Orchestrator
from pyevm_agents.lifecycle.run_trace import hash_id
from pyevm_agents.lifecycle.treasury_refusals import NATIVE_ASSET
from tests.pyevm_agents.lifecycle.run_bench import OPERATOR, RUNNER
from tests.pyevm_agents.lifecycle.test_treasury_runs import (
    RECIPIENT,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from eth.abc import LogAPI

    from pyevm_agents.chain import Chain
    from pyevm_agents.lifecycle.envelopes import Confirmation
    from pyevm_agents.lifecycle.host import Moment, RunEvent
    from pyevm_agents.lifecycle.statuses import Phase
    from tests.pyevm_agents.lifecycle.run_bench import RunBench
    from tests.pyevm_agents.lifecycle.test_treasury_runs import Treasury

NO_RUN, CLOSED = 0, 2
"""Statuses of a treasury's run that is not open."""

TASKS = ("task-1", "task-2")
"""Tasks whose books are read."""


def list_logs(chain: Chain) -> list[LogAPI]:
    """Return the logs of all blocks."""
    headers = [chain.block(height).header for height in range(1, chain.head.block_number + 1)]
    receipts = [each for header in headers for each in chain.block_with_receipts(header).receipts]
    return [log for receipt in receipts for log in receipt.logs]


def count_writes(treasury: Treasury) -> int:
    """Return how many writes of all runs a treasury has logged as executed."""
    name = "WriteExecuted(bytes32,bytes32,bytes32,uint256,address,uint256,bytes32,bytes32)"
    topic = int.from_bytes(hash_id(name))
    logs = list_logs(treasury.bench.chain)
    return sum(log.address == treasury.address and log.topics[0] == topic for log in logs)


def take_picture(treasury: Treasury) -> dict[str, object]:
    """Return balances, nonces, the number of logs, the counter, and what the tasks spent."""
    bench = treasury.bench
    chain, state = bench.chain, bench.chain.state()
    accounts = (treasury.address, RECIPIENT, RUNNER, OPERATOR, bench.counter)
    tasks = [hash_id(task_id) for task_id in TASKS]
    return {
        "wei": [chain.balance(each) for each in accounts],
        "tokens": [treasury.get_tokens(each) for each in accounts],
        "nonces": [state.get_nonce(each) for each in accounts],
        "logs": len(list_logs(chain)),
        "number": bench.number,
        "spent": [treasury.read("spentOf", task, NATIVE_ASSET) for task in tasks],
        "writes": [treasury.read("getTask", task)[2:4] for task in tasks],
    }


def get_status(treasury: Treasury, run_id: str) -> int:
    """Return the status of a run in its treasury."""
    status: int = treasury.read("getRun", hash_id(run_id))[0]
    return status


def advance_to(
    bench: RunBench, run_id: str, phase: Phase, sign: Callable[[RunBench, str], Confirmation]
) -> None:
    """Advance a run until a phase is its next one; confirm it where it waits."""
    orchestrator = Orchestrator(bench.host)
    while bench.store.get_run(run_id).phase is not phase:
        if orchestrator.find_pending_confirmation(run_id) is not None:
            orchestrator.confirm(run_id, sign(bench, run_id))
        assert orchestrator.advance(run_id), "the run ended"


class OnceListener:
    """Does something once, or some times, at a moment of a phase."""

    def __init__(
        self, phase: Phase, moment: Moment, action: Callable[[], object], times: int = 1
    ) -> None:
        self.phase, self.moment, self.action, self.times = phase, moment, action, times

    def __call__(self, event: RunEvent) -> None:
        if (event.phase, event.moment) == (self.phase, self.moment) and self.times:
            self.times -= 1
            self.action()
