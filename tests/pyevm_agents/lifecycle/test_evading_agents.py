"""Agents that go around limits, trust and confirmations: by child runs, time and kills."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from eth_typing import Address

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.lifecycle.budget import BudgetMeter
from pyevm_agents.lifecycle.execution import get_child_starter
from pyevm_agents.lifecycle.host import Moment
from pyevm_agents.lifecycle.orchestrator import Orchestrator
from pyevm_agents.lifecycle.records import VerificationResult
from pyevm_agents.lifecycle.statuses import Phase, RunStatus
from pyevm_agents.lifecycle.trust import TrustThreshold
from tests.pyevm_agents.lifecycle.run_bench import (
    BEGUN,
    COUNTER,
    AddingAgent,
    Addition,
    build_manifest,
    build_task,
    build_trust,
    deploy,
    narrow,
)
from tests.pyevm_agents.lifecycle.test_orchestrator import require_signatures, sign_dry_run

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyevm_agents.lifecycle.budget import ComputeBudget
    from pyevm_agents.lifecycle.context import AgentContext
    from pyevm_agents.lifecycle.host import RunEvent
    from pyevm_agents.lifecycle.manifest import AgentManifest
    from pyevm_agents.lifecycle.records import ExecutionResult, PlanStep, Task
    from pyevm_agents.lifecycle.store import StoredRun
    from tests.pyevm_agents.lifecycle.run_bench import RunBench

ONE_STEP = {"step-1": Addition()}
CAREFREE = TrustThreshold(requires_identity=False, requires_registration=False)


def refuse(run: StoredRun, bench: RunBench, phase: Phase, words: str) -> None:
    """Assert that a run failed in a phase, for a reason, and changed nothing."""
    assert (run.status, run.failed_phase, bench.number) == (RunStatus.FAILED, phase, 0)
    assert words in (run.failure or "")


# -- trust -- #


def test_a_task_does_not_lower_the_hosts_threshold(bench: RunBench) -> None:
    bench.change(trust=build_trust())
    run = bench.run(trust_threshold=CAREFREE)
    refuse(run, bench, Phase.TRUST_CHECK, "identity: the agent has no entry")


class DelegatingAgent(AddingAgent):
    """Gives its step to the agent `child`, with a task of its own making."""

    changes: dict[str, Any]
    seen: list[ComputeBudget]

    def perform_step(self, task: Task, step: PlanStep, context: AgentContext) -> str:
        del step
        part = replace(task, task_id="part-1", agent_slug="child", **self.changes)
        child = get_child_starter(context).run_child(part, context)
        if child.error is not None:
            raise ValueError(child.error)
        return "done"


class ChildAgent(AddingAgent):
    """Notes the budget of its context."""

    def perform_step(self, task: Task, step: PlanStep, context: AgentContext) -> str:
        self.seen = context.compute_budget
        return super().perform_step(task, step, context)


def install_pair(bench: RunBench, *known: str, agent: str = "child", **changes: Any) -> ChildAgent:  # noqa: ANN401
    """Install an agent and its child, of which some have an identity; return the child."""
    parent = DelegatingAgent(bench.counter, ONE_STEP)
    parent.changes = changes
    child = ChildAgent(bench.counter, {"part": Addition(agent=agent)}, slug="child")
    bench.install(parent, child, AddingAgent(bench.counter, child.additions, slug="other"))
    bench.change(trust=build_trust(*known))
    return child


def test_a_child_run_does_not_lower_the_threshold(bench: RunBench) -> None:
    install_pair(bench, "adder", trust_threshold=CAREFREE)
    refuse(bench.run(), bench, Phase.DRY_RUN, "identity: the agent has no entry")


def test_every_agent_of_a_child_runs_plan_must_be_trusted(bench: RunBench) -> None:
    install_pair(bench, "adder", "child", agent="other")
    refuse(bench.run(), bench, Phase.DRY_RUN, "identity: the agent has no entry")


def test_a_child_run_sees_its_own_budget_within_its_parents(bench: RunBench) -> None:
    child = install_pair(
        bench, "adder", "child", budget=narrow(max_onchain_writes=2, max_tool_calls=99)
    )
    assert bench.run(budget=narrow(max_steps=4)).failure is None
    assert child.seen == narrow(max_steps=4, max_onchain_writes=2)


class TwoFacedAgent(AddingAgent):
    """Shows another identity in the trust check than when its manifest is recorded."""

    shows: Callable[[], AgentManifest]
    slug = "adder"
    version = "0.1.0"

    @property
    def manifest(self) -> AgentManifest:
        return self.shows()

    @manifest.setter
    def manifest(self, manifest: AgentManifest) -> None:
        self.shows = lambda: manifest


def test_an_agent_does_not_show_another_manifest_to_the_trust_check(bench: RunBench) -> None:
    agent = TwoFacedAgent(bench.counter, ONE_STEP)
    bench.install(agent)

    def listen(event: RunEvent) -> None:
        if event.phase is Phase.TRUST_CHECK and event.moment is Moment.BEGUN:
            agent.manifest = build_manifest("adder", owner_wallet=bytes(20))
        if event.phase is Phase.TRUST_CHECK and event.moment is Moment.COMPUTED:
            agent.manifest = build_manifest("adder")

    bench.change(listener=listen)
    refuse(bench.run(), bench, Phase.TRUST_CHECK, "manifest of agent adder: was changed")


# -- limits -- #


def test_an_agent_is_held_to_its_own_manifest_in_the_plan_of_another(bench: RunBench) -> None:
    steps = {
        "one": Addition(agent="careful"),
        "two": Addition(amounts=(1, 1)),
        "three": Addition(agent="careful"),
    }
    careful = AddingAgent(bench.counter, steps, slug="careful")
    safety = replace(careful.manifest.safety, max_onchain_writes_per_run=1)
    careful.manifest = replace(careful.manifest, safety=safety)
    bench.install(AddingAgent(bench.counter, steps), careful)
    refuse(bench.run(), bench, Phase.DRY_RUN, "maxOnchainWrites 1: 2 would be spent")
    del steps["three"]
    bench.install(AddingAgent(bench.counter, steps), careful)
    assert (bench.run(task_id="task-2").failure, bench.number) == (None, 3)


def test_the_time_of_other_agents_is_not_an_agents_own() -> None:
    seconds = [0.0]
    meter = BudgetMeter(narrow(max_runtime_ms=2_000), now=lambda: seconds[0])
    seconds[0] = 1.0
    meter.pause()
    seconds[0] = 100.0
    meter.resume()
    seconds[0] = 100.5
    meter.spend()
    assert meter.spent_ms == 1_500


class MeterSwapper(AddingAgent):
    """Reaches into its session for a meter without limits."""

    def perform_step(self, task: Task, step: PlanStep, context: AgentContext) -> str:
        free = BudgetMeter(narrow(max_onchain_writes=99), now=lambda: 0.0)
        context.session._session.swap_meter(free)  # noqa: SLF001 - as an attacker does
        return super().perform_step(task, step, context)


def test_writes_are_counted_from_the_trace_as_well(bench: RunBench) -> None:
    bench.install(MeterSwapper(bench.counter, {"step-1": Addition(amounts=(1,) * 8)}))
    refuse(bench.run(), bench, Phase.DRY_RUN, "8 on-chain writes: the limit is 5")


class LateAgent(AddingAgent):
    """Takes ten minutes at the end of its last step, in the execution alone."""

    walks = 0
    seconds = 0

    def perform_step(self, task: Task, step: PlanStep, context: AgentContext) -> str:
        text = super().perform_step(task, step, context)
        self.walks += 1
        if self.walks == len(("dry run", "execution")):
            self.seconds += 600
        return text


def test_a_last_step_that_takes_too_long_is_not_mined(bench: RunBench) -> None:
    agent = LateAgent(bench.counter, ONE_STEP)
    bench.install(agent)
    bench.change(now=lambda: BEGUN + agent.seconds)
    refuse(bench.run(), bench, Phase.EXECUTE, "maxRuntimeMs 300,000: 600,000 ms have passed")


class ReadingAgent(AddingAgent):
    """Reads the chain until it is stopped."""

    reads = 0

    def perform_step(self, task: Task, step: PlanStep, context: AgentContext) -> str:
        del task, step
        while True:
            context.session.call(self.counter, COUNTER.encode_call("number"))
            self.reads += 1


def test_an_agent_that_reads_for_ever_is_stopped(bench: RunBench) -> None:
    agent = ReadingAgent(bench.counter, ONE_STEP)
    bench.install(agent)
    bench.change(now=lambda: BEGUN + 100 * agent.reads)
    refuse(bench.run(), bench, Phase.DRY_RUN, "maxRuntimeMs 300,000: 400,000 ms have passed")


class LateVerifier(AddingAgent):
    """Has no time left for its verification."""

    seconds = 0

    def verify(
        self, task: Task, execution_result: ExecutionResult, context: AgentContext
    ) -> VerificationResult:
        raise NotImplementedError


def test_a_run_without_time_left_is_verified_by_the_lifecycle_alone(bench: RunBench) -> None:
    agent = LateVerifier(bench.counter, ONE_STEP)
    bench.install(agent)

    def listen(event: RunEvent) -> None:
        if (event.phase, event.moment) == (Phase.EXECUTE, Moment.COMPUTED):
            agent.seconds = 600

    bench.change(now=lambda: BEGUN + agent.seconds, listener=listen)
    run = bench.run()
    assert run.failed_phase is Phase.VERIFY
    found = bench.store.get_result(VerificationResult, run.run_id, Phase.VERIFY)
    failed = {each.name: each.details for each in found.checks if not each.is_passed}
    assert [*failed] == ["verify"]
    assert "maxRuntimeMs" in (failed["verify"] or "")


# -- contracts that no run may change, reached by other instructions -- #

CREATE_FROM_CALLDATA = bytes.fromhex("3660006000373660006000f05f5260205ff3")
"""Copies its calldata to memory, creates a contract of them, and returns its address."""


class RawAgent(AddingAgent):
    """Sends given calldata to a contract."""

    target = Address(bytes(20))
    data = b""

    def perform_step(self, task: Task, step: PlanStep, context: AgentContext) -> str:
        del task, step
        outcome = context.session.write(self.target, self.data)
        assert outcome.is_success, outcome.failure
        return "done"


def build_creation(counter: Address) -> bytes:
    """Return creation code that adds 1 to a counter and leaves no code."""
    data = COUNTER.encode_call("add", 1)
    words = [data[at : at + 32].ljust(32, b"\0") for at in (0, 32)]
    stores = b"".join(
        b"\x7f" + word + b"\x60" + bytes([32 * at]) + b"\x52" for at, word in enumerate(words)
    )
    size = bytes([len(data)])
    call = bytes.fromhex("5f5f60") + size + bytes.fromhex("5f5f73") + counter
    return stores + call + bytes.fromhex("5af15f5ff3")


def test_a_constructor_does_not_change_a_protected_contract(bench: RunBench) -> None:
    factory = Address(b"\xfa" * 20)
    bench.chain.patch_state(lambda state: state.set_code(factory, CREATE_FROM_CALLDATA))
    agent = RawAgent(bench.counter, ONE_STEP)
    agent.target, agent.data = factory, build_creation(bench.counter)
    bench.install(agent)
    assert (bench.run().failure, bench.number) == (None, 1), "it would"
    bench.change(protected=frozenset({bench.counter}))
    run = bench.run(task_id="task-2")
    assert (run.failed_phase, bench.number) == (Phase.DRY_RUN, 1)
    assert "no run may change it" in (run.failure or "")


@pytest.mark.parametrize("kinds", [(2,), (2, 0), (0, 2, 0)])
def test_a_delegate_call_changes_no_protected_contract(
    bench: RunBench, kinds: tuple[int, ...]
) -> None:
    """By itself it changes its caller alone; a call inside of it is refused."""
    caller = load_artifact("Caller")
    first, second = (deploy(bench.chain, "Caller") for _ in range(2))
    agent = RawAgent(bench.counter, ONE_STEP)
    data, target = COUNTER.encode_call("add", 1), bench.counter
    for kind in reversed(kinds):
        data = caller.encode_call("forward", kind, target, 0, 0, data)
        target = second if target != second else first
    agent.target, agent.data = (first if target == second and len(kinds) > 1 else target), data
    bench.install(agent)
    bench.change(protected=frozenset({bench.counter}))
    run = bench.run()
    if kinds == (2,):
        assert (run.failure, bench.number) == (None, 0)
    else:
        refuse(run, bench, Phase.DRY_RUN, "no run may change it")


# -- between a kill and its continuation -- #


class KilledError(BaseException):
    """Ends an orchestrator at a moment, as a kill does."""


def kill_when_prepared(bench: RunBench, orchestrator: Orchestrator, run_id: str) -> None:
    """Run until the execution's block is stored and not mined."""

    def listen(event: RunEvent) -> None:
        if event.moment is Moment.PREPARED:
            raise KilledError

    orchestrator.host = replace(bench.host, listener=listen)
    with pytest.raises(KilledError):
        orchestrator.run(run_id)
    assert bench.number == 0


def test_a_confirmation_that_expired_since_the_kill_counts_no_more(bench: RunBench) -> None:
    seconds = [0]
    bench.change(open_envelope=require_signatures, now=lambda: BEGUN + seconds[0])
    orchestrator = Orchestrator(bench.host)
    run_id = orchestrator.run(orchestrator.start(build_task())).run_id
    orchestrator.confirm(run_id, sign_dry_run(orchestrator, run_id, expiry=int(BEGUN) + 60))
    kill_when_prepared(bench, orchestrator, run_id)
    seconds[0] = 61
    (run,) = Orchestrator(bench.host).resume()
    refuse(run, bench, Phase.EXECUTE, "has expired")


def test_a_manifest_that_was_changed_since_the_kill_stops_the_run(bench: RunBench) -> None:
    orchestrator = Orchestrator(bench.host)
    run_id = orchestrator.start(build_task())
    kill_when_prepared(bench, orchestrator, run_id)
    agent = AddingAgent(bench.counter, ONE_STEP)
    agent.manifest = replace(agent.manifest, description="Adds to another counter")
    bench.install(agent)
    (run,) = Orchestrator(bench.host).resume()
    refuse(run, bench, Phase.EXECUTE, "manifest of agent adder: was changed")


def test_a_run_is_cancelled_before_its_block_is_mined(bench: RunBench) -> None:
    def listen(event: RunEvent) -> None:
        if event.moment is Moment.PREPARED:
            bench.store.cancel(event.run_id)

    bench.change(listener=listen)
    run = bench.run()
    assert (run.status, run.failed_phase, bench.number) == (RunStatus.CANCELLED, None, 0)
