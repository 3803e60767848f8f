"""`pyevm-agents demo --scenario run`: a task over two agents in nine phases, and stopped runs."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eth_utils import to_checksum_address

from pyevm_agents.cli.demo.output import print_title
from pyevm_agents.cli.demo.run_demo_texts import (
    ShownRun,
    describe_confirmation,
    describe_digests,
    describe_log,
    describe_state,
    describe_validation,
    list_changes,
)
from pyevm_agents.cli.errors import FAULT_STATUS
from pyevm_agents.cli.output import out
from pyevm_agents.cli.run_output import INDENT, RunPrinter
from pyevm_agents.control.run_views import serialize_run
from pyevm_agents.display import sanitize
from pyevm_agents.lifecycle.store import RunStore
from pyevm_agents.scenarios.run.demo import TASKS, RunDemo

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyevm_agents.cli.demo.job import DemoJob
    from pyevm_agents.lifecycle.frames import Confirmation
    from pyevm_agents.lifecycle.recorder import RunLogEntry
    from pyevm_agents.scenarios.run.world import ChainState, RunWorld

LOG_NAME = "agent_log.json"
LABEL_WIDTH = 12


class RunViews:
    """Runs of the demo as JSON, for the printer."""

    def __init__(self, demo: RunDemo) -> None:
        self._demo = demo

    def get_run(self, run_id: str) -> dict[str, Any]:
        """Return a run with the results of its phases."""
        return serialize_run(self._demo.orchestrator, run_id)


class DemoLogs:
    """The logs of the demo's agents, a folder for each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.world: RunWorld | None = None
        """Has the identities of agents; None before it is deployed."""

    def record(self, agent_slug: str, entry: RunLogEntry) -> None:
        """Append a run to the log of an agent."""
        from pyevm_agents.control.recorder import build_log_run  # noqa: PLC0415 - needs the extra
        from pyevm_agents.manifests.agent_log import append_run_to_file  # noqa: PLC0415 - as above

        path = self._folder / agent_slug / LOG_NAME
        path.parent.mkdir(exist_ok=True)
        append_run_to_file(path, build_log_run(entry), self._describe(agent_slug))

    def find_entry(self, agent_slug: str, run_id: str) -> dict[str, Any] | None:
        """Return a run's entry, read from the file; None if there is none."""
        path = self._folder / agent_slug / LOG_NAME
        log = json.loads(path.read_text()) if path.exists() else {"runs": []}
        return next((each for each in log["runs"] if each["runId"] == run_id), None)

    def _describe(self, slug: str) -> Any:  # noqa: ANN401 - a class of the extra's
        from pyevm_agents.manifests.agent_manifest import (  # noqa: PLC0415 - needs the extra
            PackageIdentity,
            PackageManifest,
        )
        from pyevm_agents.scenarios.run.demo import build_demo_manifest  # noqa: PLC0415

        manifest = build_demo_manifest(slug)
        identity = manifest.erc8004
        assert identity is not None and self.world is not None  # noqa: S101, PT018 - of the demo
        wallet = to_checksum_address(manifest.owner_wallet)
        return PackageManifest(
            name=manifest.name,
            slug=slug,
            version=manifest.version,
            description=manifest.description,
            owner_wallet=wallet,
            operator_wallet=wallet,
            identity=PackageIdentity(
                registry=to_checksum_address(identity.agent_registry),
                agent_id=identity.agent_id,
                registration_hash="0x" + self.world.registrations[slug].hex(),
            ),
        )


def run_run_demo(job: DemoJob) -> None:
    """Deploy everything, run the tasks, and print their phases as they end.

    Raises: EngineFault: the model failed. AgentsError: the page can't be written. SystemExit: a run
            ended otherwise than it should.
    """
    job.watch.show_status("deploying the treasury, the agents and their registries")
    printer = RunPrinter(job.watch, is_quiet=job.as_json)
    with tempfile.TemporaryDirectory() as folder:
        logs = DemoLogs(Path(folder))
        with closing(RunStore(Path(folder) / "runs.sqlite")) as store:
            demo = RunDemo.deploy(
                job.chain, store, now=time.time, recorder=logs, listener=printer.on_event
            )
            logs.world = demo.world
            job.watch.stop()
            if not job.as_json:
                print_title(job.model)
            shown = list(_run_tasks(job, demo, logs, printer))

    def build_page() -> str:
        from pyevm_agents.cli.demo import run_page  # noqa: PLC0415 - imports jinja2

        return run_page.build_page(shown, demo.world, model=job.model)

    job.finish(
        demo.world.chain,
        "the runs of --scenario run",
        serialize=lambda seconds: serialize_run_demo(shown, model=job.model, seconds=seconds),
        print_result=lambda seconds: _print_result(shown, seconds),
        build_page=build_page,
    )
    if any(each.outcome.differences for each in shown):
        sys.exit(FAULT_STATUS)


def _run_tasks(
    job: DemoJob, demo: RunDemo, logs: DemoLogs, printer: RunPrinter
) -> Iterator[ShownRun]:
    views = RunViews(demo)
    for number, task in enumerate(TASKS, start=1):
        job.watch.stop()
        if not job.as_json:
            out.print(f"\n[bold]{number}  {task.title}[/]: {task.goal}", soft_wrap=True)
        printer.watch(views, f"{task.task_id}-run-1")
        outcome = demo.run(task, confirming=partial(_print_confirmation, demo, job.as_json))
        run_id = outcome.run.run_id
        found = ShownRun(
            outcome=outcome,
            form=views.get_run(run_id),
            log_entry=logs.find_entry(task.agent_slug, run_id),
        )
        job.watch.stop()
        if not job.as_json:
            _print_end(found)
        yield found


def _print_confirmation(demo: RunDemo, is_quiet: bool, confirmation: Confirmation) -> None:  # noqa: FBT001 - of a partial
    if not is_quiet:
        text = describe_confirmation(confirmation, demo.world.people["operator"])
        out.print(f"{INDENT}{text}", soft_wrap=True, markup=False)


def _print_end(shown: ShownRun) -> None:
    for label, text in _iter_lines(shown):
        out.print(f"  {label:<{LABEL_WIDTH}} {sanitize(text)}", soft_wrap=True, markup=False)
    for text in shown.outcome.differences:
        out.print(f"  {'Differs':<{LABEL_WIDTH}} {sanitize(text)}", soft_wrap=True, style="red")


def _iter_lines(shown: ShownRun) -> Iterator[tuple[str, str]]:
    outcome = shown.outcome
    if outcome.execution_digest is not None:
        yield "Digest", describe_digests(outcome)
        for receipt in shown.form["receipts"]:
            yield "Receipt", f"{receipt['type']}: {receipt['summary']}"
    if (validation := describe_validation(outcome)) is not None:
        yield "Validation", validation
    yield "Log", describe_log(shown.log_entry)
    changes = list_changes(outcome)
    for change in changes:
        yield "Changed", change
    if not changes:
        yield "Spent", f"nothing; before and after: {describe_state(outcome.after)}"


def _print_result(shown: list[ShownRun], seconds: float) -> None:
    expected = sum(not each.outcome.differences for each in shown)
    style = "bold green" if expected == len(shown) else "bold red"
    out.print(
        f"\n[{style}]{expected} of {len(shown)} runs ended as expected[/], after {seconds:.1f} s"
    )


def serialize_run_demo(
    shown: list[ShownRun], *, model: Mapping[str, str], seconds: float
) -> dict[str, object]:
    """Return the runs as a JSON object. Amounts are decimal strings of base units."""
    return {
        "scenario": "run",
        "model": dict(model),
        "runs": [_serialize(each) for each in shown],
        "endedAsExpected": not any(each.outcome.differences for each in shown),
        "seconds": round(seconds, 3),
    }


def _serialize(shown: ShownRun) -> dict[str, object]:
    outcome, found = shown.outcome, shown.outcome.validation
    stopped_in, confirmed = outcome.task.stopped_in, outcome.confirmation
    return {
        "title": outcome.task.title,
        "goal": outcome.task.goal,
        "expectedStop": None if stopped_in is None else stopped_in.value,
        "run": shown.form,
        "confirmation": None
        if confirmed is None
        else {
            "trace": "0x" + confirmed.trace.hex(),
            "expiry": confirmed.expiry,
            "signature": "0x" + confirmed.signature.hex(),
        },
        "validation": None
        if found is None
        else {
            "agentId": found.agent_id,
            "validator": to_checksum_address(found.validator),
            "response": found.response,
            "tag": found.tag,
        },
        "logEntry": shown.log_entry,
        "before": _serialize_state(outcome.before),
        "after": _serialize_state(outcome.after),
        "isUnchanged": outcome.before == outcome.after,
        "differences": list(outcome.differences),
    }


def _serialize_state(state: ChainState) -> dict[str, object]:
    form = asdict(state)
    return {
        "blockNumber": form["block_number"],
        "tokens": {name: str(amount) for name, amount in form["tokens"].items()},
        "wei": {name: str(amount) for name, amount in form["wei"].items()},
        "nonces": form["nonces"],
    }
