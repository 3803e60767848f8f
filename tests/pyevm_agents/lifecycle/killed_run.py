"""Runs in processes that kill themselves at given moments, on a chain and a store on disk.

    python -m tests.pyevm_agents.lifecycle.killed_run FOLDER < kills

Each line of the input is a list of moments, as JSON: the run is killed at the first one, continued
in another process and killed at the second one there, and so on; the last process ends the run. For
each line, a line of the output is what the run left: statuses, number, receipts, steps. Moments are
counted from the process' own beginning: events of the orchestrator, and steps of agents. A process
of its own is a fork of this one, which has loaded everything and opened nothing.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from dataclasses import dataclass, field
from pathlib import Path
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
    from pyevm_agents.lifecycle.context import AgentContext
    from pyevm_agents.lifecycle.host import RunEvent
    from pyevm_agents.lifecycle.plan import PlanStep
    from pyevm_agents.lifecycle.recorder import RunLogEntry
    from pyevm_agents.lifecycle.task import Task

RUN = "run-1"
NEVER = -1
"""The moment of a process that is not killed."""

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


def prepare(folder: Path) -> Address:
    """Create a chain with a counter in a folder."""
    chain = create_chain(LmdbRows(folder / "chain"))
    counter = deploy(chain, "Counter")
    chain.close()
    return counter


def continue_run(folder: Path, counter: Address, at: int) -> dict[str, object]:
    """Open everything, continue the run to its end, and describe what is left."""
    killer = KilledAgent.killer = Killer(at)
    chain = create_chain(LmdbRows(folder / "chain"))
    store = RunStore(folder / "runs.sqlite")
    agents = [KilledAgent(counter, ADDITIONS, slug=slug) for slug in ("adder", "other")]
    host = build_host(chain, store, *agents, listener=killer.listen, recorder=LogFile(folder))
    orchestrator = Orchestrator(host)
    killer.pass_moment("started")
    run = orchestrator.run(orchestrator.start(build_task(), RUN))
    left = {
        "run": run.status.value,
        "failure": run.failure,
        "task": store.get_task_status("task-1").value,
        "number": read_number(chain, counter),
        "blocks": chain.head.block_number,
        "receipts": [receipt.receipt_id for receipt in store.list_receipts(RUN)],
        "phases": [phase.value for phase, _ in store.list_phases(RUN)],
        "logs": [file.read_text() for file in sorted(folder.glob("*.log"))],
    }
    store.close()
    chain.close()
    return {"left": left, "moments": killer.moments}


def run_killed(
    template: Path, folder: Path, counter: Address, kills: list[int]
) -> dict[str, object]:
    """Run with kills at these moments; return what is left, or how it went wrong."""
    shutil.copytree(template, folder)
    for number, at in enumerate([*kills, NEVER]):
        output = folder / f"result-{number}"
        process = os.fork()
        if process == 0:
            try:
                output.write_text(json.dumps(continue_run(folder, counter, at)))
            except BaseException as error:  # noqa: BLE001 - written for the test
                output.write_text(json.dumps({"left": f"{type(error).__name__}: {error}"}))
            os._exit(0)
        _, status = os.waitpid(process, 0)
        if os.WIFEXITED(status):  # It ended before the moment of its kill, or is the last one.
            return {**json.loads(output.read_text()), "kills": number}
    return {"left": "the last process was killed"}


def main() -> None:
    """Run each line of the input."""
    folder = Path(sys.argv[1])
    template = folder / "template"
    process = os.fork()  # LMDB must not be open in a process that forks.
    if process == 0:
        (folder / "counter").write_bytes(prepare(template))
        os._exit(0)
    os.waitpid(process, 0)
    counter = Address((folder / "counter").read_bytes())
    for number, line in enumerate(sys.stdin):
        case = folder / f"case-{number}"
        result = run_killed(template, case, counter, json.loads(line))
        sys.stdout.write(json.dumps(result) + "\n")
        sys.stdout.flush()
        shutil.rmtree(case)


if __name__ == "__main__":
    main()
