"""Agents that lie, or exceed what they may: each is caught, and nothing of its run is mined."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from eth_typing import Address

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.lifecycle.budget import RunStoppedError
from pyevm_agents.lifecycle.host import Moment
from pyevm_agents.lifecycle.records import (
    DryRunResult,
    ExecutionRecord,
    ExecutionResult,
    StepResult,
    StepStatus,
    VerificationCheck,
    VerificationResult,
)
from pyevm_agents.lifecycle.statuses import Phase, RunStatus
from tests.pyevm_agents.lifecycle.run_bench import (
    COUNTER,
    AddingAgent,
    Addition,
    deploy,
    narrow,
)
from tests.run_answers import REFUSALS

if TYPE_CHECKING:
    from pyevm_agents.lifecycle.context import AgentContext
    from pyevm_agents.lifecycle.host import RunEvent
    from pyevm_agents.lifecycle.records import PlanStep, Task, TaskPlan
    from pyevm_agents.lifecycle.store import StoredRun
    from tests.pyevm_agents.lifecycle.run_bench import RunBench

ONE_STEP = {"step-1": Addition()}


def run_caught(bench: RunBench, agent: AddingAgent, **task: Any) -> StoredRun:  # noqa: ANN401
    """Run an agent; return the run, which must have failed and changed nothing."""
    head = bench.chain.head.hash
    bench.install(agent)
    run = bench.run(**task)
    assert run.status is RunStatus.FAILED
    assert bench.chain.head.hash == head
    return run


# -- in the dry run -- #


class SafePathAgent(AddingAgent):
    """Simulates a small amount and adds a large one."""

    def dry_run(self, task: Task, plan: TaskPlan, context: AgentContext) -> DryRunResult:
        self.additions = {"step-1": Addition(amounts=(1,))}
        return super().dry_run(task, plan, context)

    def execute(self, task: Task, plan: TaskPlan, context: AgentContext) -> ExecutionResult:
        self.additions = {"step-1": Addition(amounts=(1_000,))}
        return super().execute(task, plan, context)


def test_lie_in_the_dry_run_another_path(bench: RunBench) -> None:
    run = run_caught(bench, SafePathAgent(bench.counter, ONE_STEP))
    assert run.failed_phase is Phase.EXECUTE
    assert run.failure == (
        "write 1: another target, value or data; the execution is not that of the dry run"
    )


class DecliningAgent(AddingAgent):
    """Adds, and says that it did not."""

    said = ""

    def perform_step(self, task: Task, step: PlanStep, context: AgentContext) -> str:
        super().perform_step(task, step, context)
        return self.said


def test_lie_in_the_dry_run_a_step_that_is_not_done(bench: RunBench) -> None:
    agent = DecliningAgent(bench.counter, ONE_STEP)
    for number, agent.said in enumerate(REFUSALS):
        run = run_caught(bench, agent, task_id=f"task-{number}")
        assert run.failed_phase is Phase.DRY_RUN
        assert run.failure == f"step step-1: not done: {agent.said}"


class SilentDryRunAgent(AddingAgent):
    """States a dry run without simulating anything."""

    def dry_run(self, task: Task, plan: TaskPlan, context: AgentContext) -> DryRunResult:
        del task, context
        (step,) = plan.steps
        completed = StepResult(
            step_id=step.step_id, status=StepStatus.COMPLETED, result="The number is 1"
        )
        return DryRunResult(steps=(completed,))


def test_lie_in_the_dry_run_nothing_simulated(bench: RunBench) -> None:
    run = run_caught(bench, SilentDryRunAgent(bench.counter, ONE_STEP))
    assert run.failed_phase is Phase.EXECUTE
    assert "write 1: the dry run made 0" in (run.failure or "")


class ShorterExecutionAgent(AddingAgent):
    """Leaves out in the execution what it simulated."""

    def execute(self, task: Task, plan: TaskPlan, context: AgentContext) -> ExecutionResult:
        self.additions = {"step-1": Addition(amounts=(1,))}
        return super().execute(task, plan, context)


def test_lie_in_the_dry_run_less_is_executed(bench: RunBench) -> None:
    run = run_caught(
        bench, ShorterExecutionAgent(bench.counter, {"step-1": Addition(amounts=(1, 2))})
    )
    assert run.failed_phase is Phase.EXECUTE
    assert "read 1 of" in (run.failure or "")


class RevertedWriteAgent(AddingAgent):
    """Calls a step completed whose only write reverted."""

    def perform_step(self, task: Task, step: PlanStep, context: AgentContext) -> str:
        del task, step
        context.session.write(self.counter, COUNTER.encode_call("addThenFail", 7))
        return "Seven was added"


def test_lie_in_the_dry_run_a_reverted_write_is_called_completed(bench: RunBench) -> None:
    run = run_caught(bench, RevertedWriteAgent(bench.counter, ONE_STEP))
    assert run.failed_phase is Phase.DRY_RUN
    lie = "step step-1: is called completed, but a write of it failed: "
    assert run.failure == lie + "Failed(number=7)"


class HonestViolationAgent(AddingAgent):
    """States a policy violation in its dry run."""

    def dry_run(self, task: Task, plan: TaskPlan, context: AgentContext) -> DryRunResult:
        result = super().dry_run(task, plan, context)
        return replace(result, policy_violations=("the counter is closed today",))


def test_a_policy_violation_of_the_dry_run_stops_the_run(bench: RunBench) -> None:
    run = run_caught(bench, HonestViolationAgent(bench.counter, ONE_STEP))
    assert (run.failed_phase, run.failure) == (Phase.DRY_RUN, "the counter is closed today")


# -- in verification -- #


class HidingAgent(AddingAgent):
    """Hides the receipt of its write, and passes its own run."""

    def execute(self, task: Task, plan: TaskPlan, context: AgentContext) -> ExecutionResult:
        return replace(super().execute(task, plan, context), receipt_ids=())


def run_unverified(bench: RunBench, agent: AddingAgent) -> StoredRun:
    """Run an agent whose verification must fail."""
    bench.install(agent)
    run = bench.run()
    assert (run.status, run.failed_phase) == (RunStatus.FAILED, Phase.VERIFY)
    found = bench.store.get_result(VerificationResult, run.run_id, Phase.VERIFY)
    assert not found.is_passed
    return run


def test_lie_in_verification_a_hidden_receipt(bench: RunBench) -> None:
    run = run_unverified(bench, HidingAgent(bench.counter, ONE_STEP))
    assert run.failure == "lifecycle:receipts: 1 missing: task-1-run-1-transaction-1"


class InventingAgent(AddingAgent):
    """Has a receipt of something that it did not do."""

    def execute(self, task: Task, plan: TaskPlan, context: AgentContext) -> ExecutionResult:
        result = super().execute(task, plan, context)
        return replace(result, receipt_ids=(*result.receipt_ids, "task-1-run-1-api-1"))


def test_lie_in_verification_an_invented_receipt(bench: RunBench) -> None:
    run = run_unverified(bench, InventingAgent(bench.counter, ONE_STEP))
    assert "1 of nothing that happened: task-1-run-1-api-1" in (run.failure or "")


class StatingAgent(AddingAgent):
    """States a verification whatever happened."""

    stated = VerificationResult(is_passed=True, checks=(), score=1.0)

    def verify(
        self, task: Task, execution_result: ExecutionResult, context: AgentContext
    ) -> VerificationResult:
        del task, execution_result, context
        return self.stated


def check(name: str, *, is_passed: bool = True) -> VerificationCheck:
    return VerificationCheck(name=name, is_passed=is_passed)


@pytest.mark.parametrize(
    ("stated", "words"),
    [
        (VerificationResult(is_passed=True, checks=(), score=1.0), "made no check"),
        (VerificationResult(is_passed=True, checks=(check("sum"),), score=7.0), "from 0 to 1"),
        (
            VerificationResult(is_passed=True, checks=(check("sum", is_passed=False),), score=1.0),
            "its check sum failed",
        ),
        (
            VerificationResult(is_passed=True, checks=(check("lifecycle:steps"),), score=1.0),
            "a check that is not its own",
        ),
        (VerificationResult(is_passed=False, checks=(check("sum"),), score=1.0), "did not pass"),
    ],
)
def test_lie_in_verification_an_unconditional_pass(
    bench: RunBench, stated: VerificationResult, words: str
) -> None:
    agent = StatingAgent(bench.counter, ONE_STEP)
    agent.stated = stated
    assert words in (run_unverified(bench, agent).failure or "")


def test_lie_in_verification_another_block_than_its_execution(bench: RunBench) -> None:
    """The stored block is executed again: a record of another one does not verify."""

    def listen(event: RunEvent) -> None:
        if (event.phase, event.moment) == (Phase.EXECUTE, Moment.STORED):
            record = bench.store.get_result(ExecutionRecord, event.run_id, Phase.EXECUTE)
            forged = replace(record, digest=bytes(32))
            bench.store.set_result(event.run_id, Phase.EXECUTE, 1, forged)

    bench.change(listener=listen)
    run = run_unverified(bench, AddingAgent(bench.counter, ONE_STEP))
    assert "lifecycle:dry-run-digest" in (run.failure or "")


# -- in its plan -- #


class OtherStepAgent(AddingAgent):
    """Returns the result of a step that its plan does not have."""

    def dry_run(self, task: Task, plan: TaskPlan, context: AgentContext) -> DryRunResult:
        result = super().dry_run(task, plan, context)
        return replace(result, steps=(replace(result.steps[0], step_id="step-9"),))


def test_lie_in_the_plan_results_of_another_step(bench: RunBench) -> None:
    run = run_caught(bench, OtherStepAgent(bench.counter, ONE_STEP))
    assert run.failed_phase is Phase.DRY_RUN
    assert "returned results of steps step-9; must be step-1" in (run.failure or "")


class MoreStepsAgent(AddingAgent):
    """Does in one step what its plan gives to two."""

    def dry_run(self, task: Task, plan: TaskPlan, context: AgentContext) -> DryRunResult:
        del plan
        return super().dry_run(task, self.plan(task, context), context)


def test_lie_in_the_plan_more_than_one_step_at_once(bench: RunBench) -> None:
    agent = MoreStepsAgent(bench.counter, {"step-1": Addition(), "step-2": Addition()})
    run = run_caught(bench, agent)
    assert "returned results of steps step-1, step-2; must be step-1" in (run.failure or "")


class SecondPlanAgent(AddingAgent):
    """Would return another plan when it is asked again: the stored one holds."""

    asked = 0

    def plan(self, task: Task, context: AgentContext) -> TaskPlan:
        self.asked += 1
        return super().plan(task, context)


def test_an_agent_is_asked_for_its_plan_once(bench: RunBench) -> None:
    agent = SecondPlanAgent(bench.counter, ONE_STEP)
    bench.install(agent)
    assert bench.run().status is RunStatus.COMPLETED
    assert agent.asked == 1


class KeepingAgent(AddingAgent):
    """Keeps the session of its first step, and acts with it outside of any step."""

    def verify(
        self, task: Task, execution_result: ExecutionResult, context: AgentContext
    ) -> VerificationResult:
        self.kept.session.write(self.counter, COUNTER.encode_call("add", 99))
        return super().verify(task, execution_result, context)

    def perform_step(self, task: Task, step: PlanStep, context: AgentContext) -> str:
        self.kept = context
        return super().perform_step(task, step, context)


def test_an_agent_does_nothing_outside_of_a_step(bench: RunBench) -> None:
    bench.install(KeepingAgent(bench.counter, ONE_STEP))
    run = bench.run()
    assert (run.failed_phase, bench.number) == (Phase.VERIFY, 1)
    assert "acts outside of a step of the plan" in (run.failure or "")


# -- limits -- #


def test_a_sixth_write(bench: RunBench) -> None:
    run = run_caught(bench, AddingAgent(bench.counter, {"step-1": Addition(amounts=(1,) * 6)}))
    assert run.failed_phase is Phase.DRY_RUN
    assert "maxOnchainWrites 5: 6 would be spent" in (run.failure or "")


class StubbornAgent(AddingAgent):
    """Catches what stops it, and goes on."""

    def perform_step(self, task: Task, step: PlanStep, context: AgentContext) -> str:
        del task, step
        for _ in range(9):
            with suppress(RunStoppedError):
                context.session.write(self.counter, COUNTER.encode_call("add", 1))
        return "Nine were added"


def test_a_sixth_write_of_an_agent_that_catches_the_refusal(bench: RunBench) -> None:
    run = run_caught(bench, StubbornAgent(bench.counter, ONE_STEP))
    assert "maxOnchainWrites 5: 6 would be spent" in (run.failure or "")


def test_an_eleventh_step(bench: RunBench) -> None:
    eleven = {f"step-{number}": Addition(amounts=()) for number in range(1, 12)}
    run = run_caught(bench, AddingAgent(bench.counter, eleven))
    assert run.failed_phase is Phase.POLICY_CHECK
    assert run.failure == "plan: 11 steps; the budget's maxSteps is 10"


class SlowAgent(AddingAgent):
    """Takes ten minutes for a step."""

    def perform_step(self, task: Task, step: PlanStep, context: AgentContext) -> str:
        text = super().perform_step(task, step, context)
        self.seconds += 600
        return text

    seconds = 0


def test_runtime_above_the_limit(bench: RunBench) -> None:
    agent = SlowAgent(bench.counter, {"step-1": Addition(), "step-2": Addition()})
    bench.change(now=lambda: 1_800_000_000.0 + agent.seconds)
    run = run_caught(bench, agent)
    assert run.failed_phase is Phase.DRY_RUN
    assert "maxRuntimeMs 300,000: 600,000 ms have passed" in (run.failure or "")


def test_gas_above_the_limit(bench: RunBench) -> None:
    agent = AddingAgent(bench.counter, ONE_STEP)
    run = run_caught(bench, agent, budget=narrow(max_gas_wei="1000"))
    assert run.failed_phase is Phase.DRY_RUN
    assert (run.failure or "").startswith("maxGasWei 1,000: ")


class ToolAgent(AddingAgent):
    """Uses a tool of the host as often as it is told."""

    def perform_step(self, task: Task, step: PlanStep, context: AgentContext) -> str:
        del task
        for number in self.additions[step.step_id].amounts:
            context.session.use_tool("square", number=number)
        return "done"


def test_tool_calls_above_the_limit(bench: RunBench) -> None:
    bench.change(tools={"square": lambda given: given["number"]})
    agent = ToolAgent(bench.counter, {"step-1": Addition(amounts=(1, 2, 3))})
    run = run_caught(bench, agent, budget=narrow(max_tool_calls=2))
    assert "maxToolCalls 2: 3 would be spent" in (run.failure or "")


# -- what must not change -- #


class RewritingAgent(AddingAgent):
    """Raises its own limits during the run."""

    at = "dry_run"

    def _rewrite(self, method: str) -> None:
        if method == self.at:
            safety = replace(self.manifest.safety, max_onchain_writes_per_run=500)
            self.manifest = replace(self.manifest, safety=safety)

    def dry_run(self, task: Task, plan: TaskPlan, context: AgentContext) -> DryRunResult:
        self._rewrite("dry_run")
        return super().dry_run(task, plan, context)

    def execute(self, task: Task, plan: TaskPlan, context: AgentContext) -> ExecutionResult:
        self._rewrite("execute")
        return super().execute(task, plan, context)

    def verify(
        self, task: Task, execution_result: ExecutionResult, context: AgentContext
    ) -> VerificationResult:
        self._rewrite("verify")
        return super().verify(task, execution_result, context)


@pytest.mark.parametrize("phase", [Phase.DRY_RUN, Phase.EXECUTE])
def test_a_changed_manifest(bench: RunBench, phase: Phase) -> None:
    agent = RewritingAgent(bench.counter, ONE_STEP)
    agent.at = phase.value
    run = run_caught(bench, agent)
    assert run.failed_phase is phase
    assert run.failure == "manifest of agent adder: was changed during the run"


def test_a_manifest_that_is_changed_in_verification(bench: RunBench) -> None:
    agent = RewritingAgent(bench.counter, ONE_STEP)
    agent.at = "verify"
    run = run_unverified(bench, agent)
    assert "lifecycle:manifests: manifest of agent adder" in (run.failure or "")


def test_a_write_to_a_protected_contract(bench: RunBench) -> None:
    bench.change(protected=frozenset({bench.counter}))
    run = run_caught(bench, AddingAgent(bench.counter, ONE_STEP))
    assert run.failed_phase is Phase.DRY_RUN
    assert "no run may change it" in (run.failure or "")


class ForwardingAgent(AddingAgent):
    """Calls a contract by another one."""

    CALL, STATICCALL = 0, 1
    kind = CALL
    caller = Address(bytes(20))

    def perform_step(self, task: Task, step: PlanStep, context: AgentContext) -> str:
        del task, step
        data = COUNTER.encode_call("number" if self.kind else "add", *([] if self.kind else [1]))
        call = load_artifact("Caller").encode_call("forward", self.kind, self.counter, 0, 0, data)
        context.session.write(self.caller, call)
        return "done"


def test_a_write_to_a_protected_contract_through_another_one(bench: RunBench) -> None:
    agent = ForwardingAgent(bench.counter, ONE_STEP)
    agent.caller = deploy(bench.chain, "Caller")
    bench.change(protected=frozenset({bench.counter}))
    run = run_caught(bench, agent)
    assert "no run may change it" in (run.failure or "")


def test_a_protected_contract_may_be_read(bench: RunBench) -> None:
    agent = ForwardingAgent(bench.counter, ONE_STEP)
    agent.caller, agent.kind = deploy(bench.chain, "Caller"), agent.STATICCALL
    bench.change(protected=frozenset({bench.counter}))
    bench.install(agent)
    assert bench.run().failure is None
