"""A run with the host: values that the phases read from the store, and parts of the phases."""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

from pyevm_agents.errors import ConfigError
from pyevm_agents.lifecycle.budget import MILLISECONDS, BudgetMeter
from pyevm_agents.lifecycle.context import AgentContext, RunLogger
from pyevm_agents.lifecycle.dry_run import DryRunRecord, RunParts
from pyevm_agents.lifecycle.envelopes import PlainRunEnvelope, RunTerms
from pyevm_agents.lifecycle.host import Moment, RunEvent, hash_manifest
from pyevm_agents.lifecycle.manifest import is_registered_since
from pyevm_agents.lifecycle.policy import select_budget
from pyevm_agents.lifecycle.records import DiscoverResult, StartedManifests, TaskPlan
from pyevm_agents.lifecycle.statuses import Phase
from pyevm_agents.lifecycle.trust import TrustResult, evaluate_trust
from pyevm_agents.lifecycle.untrusted_agents import AgentFailedError, read_agent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyevm_agents.lifecycle.budget import ComputeBudget
    from pyevm_agents.lifecycle.envelopes import RunEnvelope
    from pyevm_agents.lifecycle.execution import ChildRun
    from pyevm_agents.lifecycle.host import LifecycleHost
    from pyevm_agents.lifecycle.manifest import AgentManifest
    from pyevm_agents.lifecycle.module import AgentModule
    from pyevm_agents.lifecycle.records import Task
    from pyevm_agents.lifecycle.run_block import BlockPin
    from pyevm_agents.lifecycle.run_trace import WriteTrace
    from pyevm_agents.lifecycle.store import StoredRun
    from pyevm_agents.lifecycle.trust import TrustThreshold


MANIFESTS = "manifests"
"""Name of a run's value: the manifests of its beginning."""


class RunView:
    """A run with the host, during one phase."""

    def __init__(self, host: LifecycleHost, run: StoredRun) -> None:
        """Input: the host; the run as stored."""
        self.host = host
        self.run = run
        self.began = host.now()
        self._manifests: dict[str, AgentManifest] = {}

    @cached_property
    def task(self) -> Task:
        """The run's task."""
        return self.host.store.get_task(self.run.task_id)

    @property
    def coordinator(self) -> AgentModule:
        """The agent that plans.

        Raises: ConfigError: not installed.
        """
        return self.get_module(self.task.agent_slug)

    @property
    def plan(self) -> TaskPlan:
        """The plan as stored; no agent is called again."""
        return self.host.store.get_result(TaskPlan, self.run.run_id, Phase.PLAN)

    @property
    def dry_run(self) -> DryRunRecord:
        """The last dry run."""
        return self.host.store.get_result(DryRunRecord, self.run.run_id, Phase.DRY_RUN)

    @cached_property
    def budget(self) -> ComputeBudget:
        """The limits that hold: the task's, within the coordinator's manifest."""
        return select_budget(self.task, self.get_manifest(self.task.agent_slug))

    @property
    def threshold(self) -> TrustThreshold:
        """Requirements for the run's agents: the host's, and the task's."""
        return self.host.threshold.restrict(self.task.trust_threshold)

    @property
    def spent_ms(self) -> int:
        """The runtime of the run's phases so far."""
        return self.run.spent_ms + int((self.host.now() - self.began) * MILLISECONDS)

    def get_module(self, slug: str) -> AgentModule:
        """Return an installed agent.

        Raises: ConfigError: not installed.
        """
        if slug not in self.host.modules:
            names = ", ".join(sorted(self.host.modules)) or "none"
            raise ConfigError(f"agent {slug}: not installed; there are {names}")
        return self.host.modules[slug]

    def get_manifest(self, slug: str) -> AgentManifest:
        """Return an agent's manifest, which must be that of the run's beginning.

        Between two phases the agent may be registered. Within a phase nothing may change.

        Raises: ConfigError: another manifest, or discovery rejected the agent. AgentFailedError:
            not readable.
        """
        first = self.host.store.find_result(DiscoverResult, self.run.run_id, Phase.DISCOVER)
        if first is not None and slug in first.rejected_agents:
            reason = first.rejected_agents[slug]
            raise ConfigError(f"agent {slug}: was rejected in discovery: {reason}")
        self.get_module(slug)
        manifest = read_agent(self.host.modules, slug).manifest
        noted = self._manifests.setdefault(slug, manifest)
        is_kept = noted == manifest and (first is None or self._is_as_started(first, manifest))
        if not is_kept:
            raise ConfigError(f"manifest of agent {slug}: was changed during the run")
        return manifest

    def note_manifests(self) -> None:
        """Read the manifests of all agents before a phase, in which none of them may change."""
        for slug in self._started:
            with suppress(AgentFailedError, ConfigError):  # Whoever needs it meets the same.
                self.get_manifest(slug)

    @property
    def agent_id(self) -> int | None:
        """The coordinator's ID in the identity registry, maybe registered since the beginning."""
        slug = self.task.agent_slug
        try:
            identity = self.get_manifest(slug).erc8004
        except (AgentFailedError, ConfigError):
            stored = self.host.store.get_result(DiscoverResult, self.run.run_id, Phase.DISCOVER)
            return stored.agent_id
        return None if identity is None else identity.agent_id

    @cached_property
    def _started(self) -> Mapping[str, AgentManifest]:
        """The manifests of the run's beginning; empty before discovery."""
        found = self.host.store.find_value(StartedManifests, self.run.run_id, MANIFESTS)
        return {} if found is None else found.manifests

    def _is_as_started(self, first: DiscoverResult, manifest: AgentManifest) -> bool:
        started = self._started.get(manifest.slug)
        if started is not None and is_registered_since(started, manifest):
            return True
        return hash_manifest(manifest) == first.manifest_digests.get(manifest.slug)

    def create_meter(self) -> BudgetMeter:
        """Return a meter of one dry run or execution, with the run's time so far."""
        return BudgetMeter(self.budget, now=self.host.now, spent_ms=self.spent_ms)

    def require_time(self) -> None:
        """Accept that the run goes on.

        Raises: BudgetExceededError: the time is over.
        """
        self.create_meter().spend()

    def build_context(self) -> AgentContext:
        """Return the context of the coordinator's methods."""
        return AgentContext(
            run_id=self.run.run_id,
            task_id=self.run.task_id,
            parent_run_id=self.run.parent_run_id,
            operator_wallet=self.task.operator_wallet,
            compute_budget=self.budget,
            trust_threshold=self.threshold,
            logger=RunLogger(self.run.run_id),
        )

    def open_envelope(self, pin: BlockPin) -> RunEnvelope:
        """Return the envelope of the run's writes."""
        terms = RunTerms(
            task_id=self.run.task_id,
            run_id=self.run.run_id,
            agent=self.host.port.address,
            operator=self.task.operator_wallet,
            budget=self.budget,
            timestamp=pin.timestamp,
        )
        if self.host.open_envelope is None:
            return PlainRunEnvelope(terms, self.host.port.chain_id)
        return self.host.open_envelope(terms)

    def rehearse(self, target: bytes, data: bytes, sender: bytes | None = None) -> WriteTrace:
        """Return what a call would do in the next block, on a draft that is dropped.

        Input: the call; the caller, None for the run's own account.
        """
        port = self.host.port
        return port.begin_draft(port.pin_next_block()).rehearse(target, data, sender)

    def build_parts(self, pin: BlockPin) -> RunParts:
        """Return the parts of a draft of the run."""
        host = self.host
        return RunParts(
            port=host.port,
            modules=host.modules,
            tools=host.tools,
            protected=host.protected | host.trust.contracts,
            limits=host.limits,
            task=self.task,
            plan=self.plan,
            context=self.build_context(),
            envelope=self.open_envelope(pin),
            create_meter=self.create_meter,
            is_cancelled=self.is_cancelled,
            get_manifest=self.get_manifest,
            check_trust=lambda slug, task: self.evaluate(slug, task).failures,
        )

    def is_cancelled(self) -> bool:
        """Whether the operator has cancelled the run, by now."""
        return self.host.store.get_run(self.run.run_id).is_cancelled

    def evaluate(self, slug: str, task: Task) -> TrustResult:
        """Check the trust in an agent of this run, or of a child run with a separate task."""
        snapshot = self.host.trust.take_snapshot(self.get_manifest(slug))
        threshold = self.threshold.restrict(task.trust_threshold)
        return evaluate_trust(snapshot, threshold, self.host.sources)

    def describe_changed_manifests(self, children: Sequence[ChildRun]) -> str | None:
        """Return which manifests were changed since the run began; None if none was.

        Input: the child runs, whose agents count as those of the plan do.
        """
        slugs = {self.task.agent_slug, *self.plan.agent_slugs}
        for child in children:
            slugs |= {child.agent_slug, *child.plan.agent_slugs}
        problems = []
        for slug in sorted(slugs):
            try:
                self.get_manifest(slug)
            except (AgentFailedError, ConfigError) as error:
                problems.append(str(error))
        return "; ".join(problems) or None

    def announce(self, moment: Moment) -> None:
        """Pass a moment of the execution to the listener."""
        self.host.listener(RunEvent(run=self.run, phase=Phase.EXECUTE, moment=moment))
