"""A run is held to the manifest that it was started with; its agent may be registered meanwhile."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.lifecycle.budget import ComputeBudget
from pyevm_agents.lifecycle.host import Moment
from pyevm_agents.lifecycle.manifest import ManifestIdentity, is_registered_since
from pyevm_agents.lifecycle.orchestrator import Orchestrator
from pyevm_agents.lifecycle.statuses import Phase, RunStatus
from tests.pyevm_agents.lifecycle.run_bench import (
    OPERATOR,
    RUNNER,
    AddingAgent,
    Addition,
    build_manifest,
    build_task,
    deploy,
)
from tests.pyevm_agents.lifecycle.spending import OnceListener

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyevm_agents.lifecycle.context import AgentContext
    from pyevm_agents.lifecycle.manifest import AgentManifest
    from pyevm_agents.lifecycle.records import PlanStep, Task
    from tests.pyevm_agents.lifecycle.run_bench import RunBench

ENTRY = ManifestIdentity(agent_registry=b"\x80" * 20, agent_id=7, registration_tx_hash=b"\x01" * 32)
OTHER = replace(ENTRY, agent_id=8)

UNREGISTERED = build_manifest("adder", owner_wallet=b"", operator_wallet=b"")
NAMED = build_manifest("adder", owner_wallet=RUNNER)
REGISTERED = replace(NAMED, erc8004=ENTRY)

CHANGES = [
    ("registered", UNREGISTERED, {"erc8004": ENTRY}, True),
    ("named too", UNREGISTERED,
     {"erc8004": ENTRY, "owner_wallet": RUNNER, "operator_wallet": OPERATOR}, True),
    ("registered elsewhere", REGISTERED, {"erc8004": OTHER}, True),
    ("nothing", REGISTERED, {}, True),
    ("an entry is gone", REGISTERED, {"erc8004": None}, False),
    ("an owner without an entry", UNREGISTERED, {"owner_wallet": RUNNER}, False),
    ("another owner", NAMED, {"erc8004": ENTRY, "owner_wallet": OPERATOR}, False),
    ("another operator", NAMED, {"erc8004": ENTRY, "operator_wallet": RUNNER}, False),
    ("another text", NAMED, {"erc8004": ENTRY, "description": "Adds more"}, False),
    ("another limit", NAMED, {"compute_constraints": ComputeBudget(max_steps=11)}, False),
]  # fmt: skip


@pytest.mark.parametrize(
    ("before", "change", "is_allowed"),
    [each[1:] for each in CHANGES],
    ids=[each[0] for each in CHANGES],
)
def test_a_registration_alone_is_no_change(
    before: AgentManifest, change: dict[str, object], *, is_allowed: bool
) -> None:
    after = replace(before, **change)  # type: ignore[arg-type]
    assert is_registered_since(before, after) == is_allowed


BETWEEN = [phase for phase in Phase if phase not in {Phase.DISCOVER, Phase.RECORD}]


SOME = [CHANGES[number] for number in (1, 4, 6, 8)]


@pytest.mark.parametrize("phase", BETWEEN)
@pytest.mark.parametrize(
    ("before", "change", "is_allowed"),
    [each[1:] for each in SOME],
    ids=[each[0] for each in SOME],
)
def test_a_run_that_waits_before_a_phase(
    bench: RunBench,
    before: AgentManifest,
    change: dict[str, object],
    phase: Phase,
    *,
    is_allowed: bool,
) -> None:
    """It goes on after a registration, and fails after any other change."""
    agent = AddingAgent(bench.counter, {"step-1": Addition()})
    agent.manifest = before
    bench.install(agent)
    orchestrator = Orchestrator(bench.host)
    run_id = orchestrator.start(build_task())
    while bench.store.get_run(run_id).phase is not phase:
        orchestrator.advance(run_id)
    agent.manifest = replace(before, **change)  # type: ignore[arg-type]
    run = orchestrator.run(run_id)
    assert (run.status is RunStatus.COMPLETED) == is_allowed, run.failure
    if not is_allowed:
        assert "was changed during the run" in (run.failure or "")


class RegisteringAgent(AddingAgent):
    """Changes its own identity, or that of another agent, in its step."""

    victim: AddingAgent

    def perform_step(self, task: Task, step: PlanStep, context: AgentContext) -> str:
        said = super().perform_step(task, step, context)
        self.victim.manifest = replace(self.victim.manifest, erc8004=ENTRY)
        return said


@pytest.mark.parametrize("is_own", [True, False])
def test_no_step_registers_an_agent(bench: RunBench, *, is_own: bool) -> None:
    agent = RegisteringAgent(bench.counter, {"step-1": Addition(), "step-2": Addition(agent="b")})
    other = AddingAgent(bench.counter, {"step-2": Addition(agent="b")}, slug="b")
    agent.victim = agent if is_own else other
    bench.install(agent, other)
    run = bench.run()
    assert (run.status, run.failed_phase, bench.number) == (RunStatus.FAILED, Phase.DRY_RUN, 0)
    assert "was changed during the run" in (run.failure or "")


@pytest.mark.parametrize("moment", [Moment.PREPARED, Moment.MINED])
def test_a_run_that_was_killed_goes_on_after_a_registration(
    bench: RunBench, moment: Moment
) -> None:
    agent = AddingAgent(bench.counter, {"step-1": Addition()})
    agent.manifest = UNREGISTERED
    bench.install(agent)

    class KilledError(Exception):
        pass

    def kill() -> None:
        raise KilledError

    bench.change(listener=OnceListener(Phase.EXECUTE, moment, kill))
    orchestrator = Orchestrator(bench.host)
    run_id = orchestrator.start(build_task())
    with pytest.raises(KilledError):
        orchestrator.run(run_id)
    agent.manifest = replace(UNREGISTERED, erc8004=ENTRY, owner_wallet=RUNNER)
    (run,) = Orchestrator(bench.host).resume()
    assert (run.status, bench.number) == (RunStatus.COMPLETED, 1)


def test_the_trust_check_sees_an_identity_that_was_registered_meanwhile(bench: RunBench) -> None:
    """A run that stopped after its plan need not be started again."""
    agent = AddingAgent(deploy(bench.chain, "Counter"), {"step-1": Addition()})
    agent.manifest = UNREGISTERED
    bench.install(agent)
    asked: list[int | None] = []
    trusted = bench.host.trust
    take: Callable[[AgentManifest], object] = trusted.take_snapshot

    class Watching:
        contracts = trusted.contracts

        def take_snapshot(self, manifest: AgentManifest) -> object:
            asked.append(None if manifest.erc8004 is None else manifest.erc8004.agent_id)
            return take(manifest)

    bench.change(trust=Watching())
    orchestrator = Orchestrator(bench.host)
    run_id = orchestrator.start(build_task())
    while bench.store.get_run(run_id).phase is not Phase.TRUST_CHECK:
        orchestrator.advance(run_id)
    agent.manifest = replace(UNREGISTERED, erc8004=ENTRY)
    assert orchestrator.run(run_id).status is RunStatus.COMPLETED
    assert asked == [ENTRY.agent_id]
