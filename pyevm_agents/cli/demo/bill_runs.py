"""The tasks of the run demo on a host of this process, with logs in a folder."""

from __future__ import annotations

import json
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eth_utils import to_checksum_address

from pyevm_agents.lifecycle.phase_texts import describe_phase
from pyevm_agents.lifecycle.phases import read_results
from pyevm_agents.lifecycle.statuses import Phase
from pyevm_agents.lifecycle.store import RunStore
from pyevm_agents.scenarios.run.demo import TASKS, RunDemo, build_demo_manifest
from pyevm_agents.scenarios.run.report import (
    RunForms,
    build_run_report,
    follow_ideal,
    list_run_entries,
)

if TYPE_CHECKING:
    from pyevm_agents.lifecycle.recorder import RunLogEntry
    from pyevm_agents.scenarios.report import ScenarioReport
    from pyevm_agents.scenarios.run.demo import DemoTask
    from pyevm_agents.scenarios.run.world import RunWorld
    from pyevm_agents.scenarios.setting import ScenarioSetting

LOG_NAME = "agent_log.json"


class DemoLogs:
    """The logs of the demo's agents, a folder for each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.world: RunWorld | None = None
        """Has the identities of agents; None before the world is deployed."""

    def record(self, agent_slug: str, entry: RunLogEntry) -> None:
        """Append a run to the log of an agent."""
        from pyevm_agents.control.recorder import build_log_run  # noqa: PLC0415 - needs the extra
        from pyevm_agents.manifests.agent_log import append_run_to_file  # noqa: PLC0415 - as above

        path = self._folder / agent_slug / LOG_NAME
        path.parent.mkdir(exist_ok=True)
        append_run_to_file(path, build_log_run(entry), self._describe(agent_slug))

    def find_entry(self, agent_slug: str, run_id: str) -> dict[str, Any] | None:
        """Return a run's entry, read from the file, or None."""
        path = self._folder / agent_slug / LOG_NAME
        log = json.loads(path.read_text()) if path.exists() else {"runs": []}
        return next((each for each in log["runs"] if each["runId"] == run_id), None)

    def _describe(self, slug: str) -> Any:  # noqa: ANN401 - a class of the extra's
        from pyevm_agents.manifests.agent_manifest import (  # noqa: PLC0415 - needs the extra
            PackageIdentity,
            PackageManifest,
        )

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


def run_bills(setting: ScenarioSetting) -> ScenarioReport:
    """Deploy everything, run the tasks, and return the report.

    Raises: EngineFault: the model failed.
    """
    setting.show_status("deploying the treasury, the agents and their registries")
    runs, lists = [], []
    with tempfile.TemporaryDirectory() as folder:
        logs = DemoLogs(Path(folder))
        with closing(RunStore(Path(folder) / "runs.sqlite")) as store:
            demo = RunDemo.deploy(
                setting.open_chain(),
                store,
                now=time.time,
                recorder=logs,
            )
            logs.world = demo.world
            with setting.follow_ideal(demo.world.chain, follow_ideal):
                for number, task in enumerate(TASKS, start=1):
                    setting.show_status(f"run {number}: {task.title}")
                    runs.append(_run_task(demo, task, logs))
                    operator = demo.world.people["operator"]
                    lists.append(list_run_entries(runs[-1], number, operator))
                    setting.show(lists[-1])
                report = build_run_report(setting, demo.world, runs, lists)
    setting.keep(demo.world.chain)
    return report


def _run_task(demo: RunDemo, task: DemoTask, logs: DemoLogs) -> RunForms:
    from pyevm_agents.control.run_results import build_run_result  # noqa: PLC0415 - needs the extra

    outcome = demo.run(task)
    run, results = outcome.run, read_results(demo.orchestrator.host.store, outcome.run.run_id)
    performed = {run.failed_phase, *results}
    return RunForms(
        outcome=outcome,
        form=build_run_result(demo.orchestrator, run.run_id).model_dump(mode="json", by_alias=True),
        log_entry=logs.find_entry(task.agent_slug, run.run_id),
        phases={
            phase: describe_phase(run, phase, results.get(phase))
            for phase in Phase
            if phase in performed
        },
    )
