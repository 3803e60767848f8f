"""Agents that return or raise anything: each run ends, with the reason, and the host goes on."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from precompiles.numeric_model import NumericFaultError
from precompiles.react import GrammarViolationError
from pyevm_agents.errors import EngineFault
from pyevm_agents.lifecycle.budget import RunCancelledError
from pyevm_agents.lifecycle.local_chain import LocalDraft
from pyevm_agents.lifecycle.orchestrator import Orchestrator
from pyevm_agents.lifecycle.records import (
    DryRunResult,
    ExecutionResult,
    PlanStep,
    ReceiptType,
    RunSummary,
    StepResult,
    StepStatus,
    TaskPlan,
    VerificationCheck,
    VerificationResult,
)
from pyevm_agents.lifecycle.statuses import Phase, RunStatus
from pyevm_agents.lifecycle.untrusted_agents import MAX_ANSWER_CHARACTERS
from tests.pyevm_agents.lifecycle.run_bench import COUNTER, AddingAgent, Addition, build_task

if TYPE_CHECKING:
    from collections.abc import Callable

    from eth_typing import Address

    from pyevm_agents.lifecycle.context import AgentContext
    from pyevm_agents.lifecycle.recorder import RunLogEntry
    from pyevm_agents.lifecycle.records import Task
    from tests.pyevm_agents.lifecycle.run_bench import RunBench

ANYTHING: Any = None
"""Agents are not checked by mypy."""

STEP = PlanStep(step_id="step-1", description="", agent_slug="adder")
DONE = StepResult(step_id="step-1", status=StepStatus.COMPLETED)
PASSED = VerificationCheck(name="sum", is_passed=True)


class AnsweringAgent(AddingAgent):
    """Returns a given answer from one of its methods."""

    def __init__(self, counter: Address, method: str, answer: Callable[[], object]) -> None:
        super().__init__(counter, {"step-1": Addition()})
        setattr(self, method, lambda *_: answer())


def raise_(error: BaseException) -> Callable[[], object]:
    """Return a function that raises an exception."""

    def fail() -> object:
        raise error

    return fail


class NamelessError(Exception):
    """An exception without a text."""

    def __str__(self) -> str:
        raise ValueError("no text")


def build_plan(**changes: object) -> TaskPlan:
    return TaskPlan(steps=(replace(STEP, **changes),))  # type: ignore[arg-type]


def build_verification(**changes: object) -> VerificationResult:
    passed = VerificationResult(is_passed=True, checks=(PASSED,), score=1.0)
    return replace(passed, **changes)  # type: ignore[arg-type]


ANSWERS: list[tuple[str, object, Phase, str]] = [
    ("can_handle", None, Phase.DISCOVER, "returned a NoneType; must be a bool"),
    ("plan", None, Phase.PLAN, "returned a NoneType; must be a TaskPlan"),
    ("plan", TaskPlan(steps=ANYTHING), Phase.PLAN, "TaskPlan.steps None: must be a list"),
    ("plan", build_plan(step_id=5), Phase.PLAN, "steps[0].stepId 5: must be of type str"),
    ("plan", build_plan(description=None), Phase.PLAN, "steps[0].description None"),
    ("plan", build_plan(depends_on="step-1"), Phase.PLAN, "steps[0].dependsOn 'step-1'"),
    ("plan", build_plan(description="x" * MAX_ANSWER_CHARACTERS), Phase.PLAN, "of JSON; must be"),
    ("perform_step", 5, Phase.DRY_RUN, "steps[0].result 5: must be of type str"),
    ("dry_run", None, Phase.DRY_RUN, "returned a NoneType; must be a DryRunResult"),
    ("dry_run", DryRunResult(steps=ANYTHING), Phase.DRY_RUN, "steps None: must be a list"),
    (
        "dry_run",
        DryRunResult(steps=(DONE,), policy_violations=(ANYTHING,)),
        Phase.DRY_RUN,
        "policyViolations[0] None: must be of type str",
    ),
    ("execute", None, Phase.EXECUTE, "returned a NoneType; must be a ExecutionResult: 0 writes"),
    (
        "execute",
        ExecutionResult(is_success=True, steps=(DONE,), receipt_ids=ANYTHING),
        Phase.EXECUTE,
        "receiptIds None: must be a list: 0 writes and 0 reads: the dry run made 1",
    ),
    ("verify", None, Phase.VERIFY, "returned a NoneType; must be a VerificationResult"),
    ("verify", build_verification(score=math.nan), Phase.VERIFY, "not JSON compliant"),
    ("verify", build_verification(score="1"), Phase.VERIFY, "score '1': must be of type float"),
    ("verify", build_verification(checks=(5,)), Phase.VERIFY, "checks[0] 5: must be an object"),
    ("verify", build_verification(is_passed=1), Phase.VERIFY, "isPassed 1: must be of type bool"),
    ("summarize", None, Phase.SUMMARIZE, "returned a NoneType; must be a RunSummary"),
    ("summarize", RunSummary(text=ANYTHING), Phase.SUMMARIZE, "text None: must be of type str"),
]


@pytest.mark.parametrize(
    ("method", "answer", "phase", "words"),
    ANSWERS,
    ids=[f"{each[0]}-{n}" for n, each in enumerate(ANSWERS)],
)
def test_an_answer_of_another_type_is_a_failed_result(
    bench: RunBench, method: str, answer: object, phase: Phase, words: str
) -> None:
    bench.install(AnsweringAgent(bench.counter, method, lambda: answer))
    run = bench.run()
    assert (run.status, run.failed_phase) == (RunStatus.FAILED, phase)
    assert words in (run.failure or "")
    is_mined = phase in {Phase.VERIFY, Phase.SUMMARIZE}
    assert bench.number == (1 if is_mined else 0)


@pytest.mark.parametrize("error", [SystemExit(3), NamelessError()])
@pytest.mark.parametrize(
    ("method", "phase"),
    [
        ("plan", Phase.PLAN),
        ("perform_step", Phase.DRY_RUN),
        ("dry_run", Phase.DRY_RUN),
        ("verify", Phase.VERIFY),
    ],
)
def test_an_agent_does_not_end_the_host(
    bench: RunBench, method: str, phase: Phase, error: BaseException
) -> None:
    bench.install(AnsweringAgent(bench.counter, method, raise_(error)))
    run = bench.run()
    assert (run.status, run.failed_phase) == (RunStatus.FAILED, phase)


@pytest.mark.parametrize(("method", "phase"), [("plan", Phase.PLAN), ("verify", Phase.VERIFY)])
def test_an_agent_does_not_cancel_its_run(bench: RunBench, method: str, phase: Phase) -> None:
    """A cancelled run is the operator's wish, and would have no verification."""
    bench.install(AnsweringAgent(bench.counter, method, raise_(RunCancelledError("enough"))))
    run = bench.run()
    assert (run.status, run.failed_phase) == (RunStatus.FAILED, phase)
    assert "enough" in (run.failure or "")


def test_a_verification_that_raises_has_a_receipt_and_the_lifecycles_checks(
    bench: RunBench,
) -> None:
    bench.install(AnsweringAgent(bench.counter, "verify", raise_(LookupError("no such book"))))
    run = bench.run()
    found = bench.store.get_result(VerificationResult, run.run_id, Phase.VERIFY)
    failed = [each.name for each in found.checks if not each.is_passed]
    assert (failed, found.is_passed, found.score) == (["verify"], False, 0.0)
    assert "lifecycle:reexecution" in [each.name for each in found.checks]
    kinds = [receipt.type for receipt in bench.store.list_receipts(run.run_id)]
    assert kinds[-1] is ReceiptType.VERIFICATION


# -- what agents pass to their session -- #


class CallingAgent(AddingAgent):
    """Does something with its session in its only step."""

    act: Callable[[AgentContext], object]

    def perform_step(self, task: Task, step: PlanStep, context: AgentContext) -> str:
        del task, step
        return str(self.act(context))


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda context: context.session.write(b"", b"\x00"), "target b'': must be an address"),
        (lambda context: context.session.call("0x12", b""), "target '0x12': must be an address"),
        (lambda context: context.session.write(bytes(20), "0x"), "data of a str: must be bytes"),
        (lambda context: context.session.write(bytes(20), value_wei=-1), "value -1: must be wei"),
        (lambda context: context.session.use_tool("price", of={1}), "a dict: must be JSON"),
        (lambda context: context.session.begin_step("step-2"), "no attribute 'begin_step'"),
        (lambda context: context.session.swap_meter(None), "no attribute 'swap_meter'"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_a_session_can_not_do_is_a_failed_step(
    bench: RunBench, act: Callable[[AgentContext], object], words: str
) -> None:
    agent = CallingAgent(bench.counter, {"step-1": Addition()})
    agent.act = act
    bench.install(agent)
    run = bench.run()
    assert (run.failed_phase, bench.number) == (Phase.DRY_RUN, 0)
    assert words in (run.failure or "")


@pytest.mark.parametrize("answer", [{1}, b"\x01", math.inf])
def test_a_tool_that_answers_no_json_is_a_failed_step(bench: RunBench, answer: object) -> None:
    agent = CallingAgent(bench.counter, {"step-1": Addition()})
    agent.act = lambda context: context.session.use_tool("price")
    bench.change(tools={"price": lambda _: answer})
    bench.install(agent)
    run = bench.run()
    assert (run.failed_phase, run.status) == (Phase.DRY_RUN, RunStatus.FAILED)
    assert "must be JSON" in (run.failure or "")


def test_an_agent_does_not_change_what_a_tool_answered(bench: RunBench) -> None:
    """The stored result is the tool's, so that the execution reads the same one back."""
    seen: list[object] = []

    def act(context: AgentContext) -> object:
        price: Any = context.session.use_tool("price")
        seen.append(dict(price))
        price["amount"] = 99
        data = COUNTER.encode_call("add", seen[-1]["amount"])  # type: ignore[index]
        return context.session.write(bench.counter, data).is_success

    agent = CallingAgent(bench.counter, {"step-1": Addition()})
    agent.act = act
    bench.change(tools={"price": lambda _: {"amount": 2}})
    bench.install(agent)
    assert (bench.run().failure, bench.number) == (None, 2)
    assert seen == [{"amount": 2}] * 2


def test_an_execution_that_uses_fewer_tools_than_its_dry_run_is_refused(bench: RunBench) -> None:
    """Every external call has a receipt: one of the dry run alone would have none."""
    times: list[int] = [2, 1]

    def act(context: AgentContext) -> object:
        return [context.session.use_tool("price") for _ in range(times.pop(0))]

    agent = CallingAgent(bench.counter, {"step-1": Addition()})
    agent.act = act
    bench.change(tools={"price": lambda _: 1})
    bench.install(agent)
    run = bench.run()
    assert (run.failed_phase, run.status) == (Phase.EXECUTE, RunStatus.FAILED)
    assert "1 uses of tools: the dry run made 2" in (run.failure or "")


# -- faults of the host, and exceptions that look like one -- #

FAULTS = (EngineFault("mine"), GrammarViolationError("mine"), NumericFaultError("mine"))


@pytest.mark.parametrize("error", FAULTS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize(
    ("method", "phase"),
    [
        ("can_handle", Phase.DISCOVER),
        ("plan", Phase.PLAN),
        ("perform_step", Phase.DRY_RUN),
        ("dry_run", Phase.DRY_RUN),
        ("verify", Phase.VERIFY),
        ("summarize", Phase.SUMMARIZE),
    ],
)
def test_a_fault_that_an_agent_raises_itself_is_its_failure(
    bench: RunBench, method: str, phase: Phase, error: Exception
) -> None:
    bench.install(AnsweringAgent(bench.counter, method, raise_(error)))
    run = bench.run()
    assert (run.status, run.failed_phase) == (RunStatus.FAILED, phase)
    assert "mine" in (run.failure or "")


class CatchingAgent(AddingAgent):
    """Goes on whatever its write raises."""

    def perform_step(self, task: Task, step: PlanStep, context: AgentContext) -> str:
        try:
            return super().perform_step(task, step, context)
        except Exception:  # noqa: BLE001 - as such an agent does
            return "done"


@pytest.mark.parametrize("kind", [AddingAgent, CatchingAgent])
def test_a_fault_of_the_chain_is_the_hosts_whatever_the_agent_catches(
    bench: RunBench, kind: type[AddingAgent], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise EngineFault("the engine died")

    bench.install(kind(bench.counter, {"step-1": Addition()}))
    orchestrator = Orchestrator(bench.host)
    run_id = orchestrator.start(build_task())
    with monkeypatch.context() as patch:
        patch.setattr(LocalDraft, "_append", fail)
        with pytest.raises(EngineFault, match="the engine died"):
            orchestrator.run(run_id)
    assert bench.store.get_run(run_id).phase is Phase.DRY_RUN
    assert (orchestrator.run(run_id).status, bench.number) == (RunStatus.COMPLETED, 1)


def test_other_runs_are_resumed_past_one_that_meets_a_fault(bench: RunBench) -> None:
    class FaultyRecorder:
        def record(self, agent_slug: str, entry: RunLogEntry) -> None:
            del agent_slug
            if entry.run_id.startswith("task-1"):
                raise EngineFault("the disk is full")

    bench.change(recorder=FaultyRecorder())
    orchestrator = Orchestrator(bench.host)
    first, second = (orchestrator.start(build_task(name)) for name in ("task-1", "task-2"))
    with pytest.raises(EngineFault, match="the disk is full") as caught:
        orchestrator.resume()
    assert caught.value.__notes__ == [f"run {first}: can be resumed"]
    assert bench.store.get_run(first).phase is Phase.RECORD
    assert bench.store.get_run(second).status is RunStatus.COMPLETED
    bench.change(recorder=None)
    (run,) = Orchestrator(bench.host).resume()
    assert (run.run_id, run.status) == (first, RunStatus.COMPLETED)
