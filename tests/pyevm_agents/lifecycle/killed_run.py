"""A run without a treasury, in processes that `killed_processes` kills.

What the run leaves: statuses, number, receipts, steps. The moments are events of the orchestrator,
and steps of agents.
"""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eth_typing import Address

from pyevm_agents.chain.lmdb import LmdbRows
from pyevm_agents.lifecycle.orchestrator import Orchestrator
from pyevm_agents.lifecycle.store import RunStore
from tests.pyevm_agents.lifecycle.run_bench import (
    AddingAgent,
    Addition,
    build_host,
    build_task,
    create_chain,
    deploy,
    read_number,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pyevm_agents.lifecycle.context import AgentContext
    from pyevm_agents.lifecycle.host import RunEvent
    from pyevm_agents.lifecycle.recorder import RunLogEntry
    from pyevm_agents.lifecycle.records import PlanStep, Task

RUN = "run-1"
NEVER = -1
"""The moment of a process that is not killed."""

SLUGS = ("adder", "other")
ADDITIONS = {
    "last": Addition(amounts=(4,), agent="other", depends_on=("first",)),
    "first": Addition(amounts=(1, 2)),
}


@dataclass
class Killer:
    """Kills this process at its n-th moment, or notes how many there are."""

    at: int
    moments: list[str] = field(default_factory=list)

    def pass_moment(self, name: str) -> None:
        if len(self.moments) == self.at:
            os.kill(os.getpid(), signal.SIGKILL)
        self.moments.append(name)

    def listen(self, event: RunEvent) -> None:
        self.pass_moment(f"{event.phase.value} {event.moment.value}")


class KilledAgent(AddingAgent):
    """Is killed before and after what its steps do."""

    killer = Killer(NEVER)

    def perform_step(self, task: Task, step: PlanStep, context: AgentContext) -> str:
        self.killer.pass_moment(f"{step.step_id} begun")
        text = super().perform_step(task, step, context)
        self.killer.pass_moment(f"{step.step_id} done")
        return text


class LogFile:
    """An append-only log on disk: the entry of a run is written once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def record(self, agent_slug: str, entry: RunLogEntry) -> None:
        path = self.folder / f"{agent_slug}-{entry.run_id}.log"
        if not path.exists():
            path.write_text(entry.status)


def prepare(folder: Path) -> dict[str, str]:
    """Create a chain with a counter in a folder."""
    chain = create_chain(LmdbRows(folder / "chain"))
    counter = deploy(chain, "Counter")
    chain.close()
    return {"counter": counter.hex()}


def continue_run(folder: Path, prepared: dict[str, str], at: int) -> dict[str, object]:
    """Open everything, continue the run to its end, and describe what is left."""
    counter = Address(bytes.fromhex(prepared["counter"]))
    killer = KilledAgent.killer = Killer(at)
    chain = create_chain(LmdbRows(folder / "chain"))
    store = RunStore(folder / "runs.sqlite")
    agents = [KilledAgent(counter, ADDITIONS, slug=slug) for slug in SLUGS]
    host = build_host(chain, store, *agents, listener=killer.listen, recorder=LogFile(folder))
    orchestrator = Orchestrator(host)
    killer.pass_moment("started")
    orchestrator.run(orchestrator.start(build_task(), RUN))
    left = describe_stored(store, folder)
    left |= {"number": read_number(chain, counter), "blocks": chain.head.block_number}
    store.close()
    chain.close()
    return {"left": left, "moments": killer.moments}


def describe_stored(store: RunStore, folder: Path) -> dict[str, object]:
    """Return what the run left in its store and its log."""
    run = store.get_run(RUN)
    return {
        "run": run.status.value,
        "failure": run.failure,
        "task": store.get_task_status("task-1").value,
        "receipts": [receipt.receipt_id for receipt in store.list_receipts(RUN)],
        "phases": [phase.value for phase, _ in store.list_phases(RUN)],
        "logs": [file.read_text() for file in sorted(folder.glob("*.log"))],
    }
