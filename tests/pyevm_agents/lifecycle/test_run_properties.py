"""Random plans, budgets, failures and faults: a run does all or nothing, within limits."""

from __future__ import annotations

import itertools
import tempfile
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pytest
from eth_utils import keccak
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from pyevm_agents.errors import EngineFault
from pyevm_agents.lifecycle.budget import BudgetExceededError, BudgetMeter, ComputeBudget
from pyevm_agents.lifecycle.dry_run import DryRunRecord
from pyevm_agents.lifecycle.json_codec import from_json, to_json
from pyevm_agents.lifecycle.local_chain import LocalChainPort, LocalDraft
from pyevm_agents.lifecycle.orchestrator import Orchestrator
from pyevm_agents.lifecycle.records import (
    ExecutionRecord,
    PlanError,
    PlanStep,
    TaskPlan,
    order_steps,
)
from pyevm_agents.lifecycle.statuses import Phase, RunStatus
from pyevm_agents.lifecycle.store import RunStore
from tests.pyevm_agents.lifecycle.run_bench import (
    COUNTER,
    AddingAgent,
    Addition,
    build_host,
    build_task,
    create_chain,
    deploy,
    narrow,
)
from tests.pyevm_agents.lifecycle.run_bench import RunBench as Bench

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyevm_agents.lifecycle.context import AgentContext
    from pyevm_agents.lifecycle.records import ExecutionResult, Task
    from tests.samples import Sample

T = TypeVar("T")
STEPS = [f"step-{number}" for number in range(1, 5)]
AGENTS = ("adder", "other")


@dataclass(frozen=True, kw_only=True)
class Step(Addition):
    """A step that uses a tool, and may fail in a way of its own."""

    tool_uses: int = 0
    failure: str = ""


class UnreliableAgent(AddingAgent):
    """Fails as its steps say, after their writes; one that lies writes once more if executed."""

    is_executed = False

    def execute(self, task: Task, plan: TaskPlan, context: AgentContext) -> ExecutionResult:
        self.is_executed = True
        try:
            return super().execute(task, plan, context)
        finally:
            self.is_executed = False

    def perform_step(self, task: Task, step: PlanStep, context: AgentContext) -> str:
        text = super().perform_step(task, step, context)
        addition = self.additions[step.step_id]
        assert isinstance(addition, Step)
        for number in range(addition.tool_uses):
            context.session.use_tool("price", number=number)
        failure = addition.failure
        if failure == "raise":
            raise ArithmeticError("it does not add up")
        if failure == "lie" and self.is_executed:
            context.session.write(self.counter, COUNTER.encode_call("add", 1))
        if failure == "revert":
            context.session.write(self.counter, COUNTER.encode_call("addThenFail", 1))
        return text


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One fault of the chain: at an operation, counted from 0, before or after it is done."""

    operation: str
    number: int
    is_after: bool


@st.composite
def draw_steps(draw: st.DrawFn) -> dict[str, Step]:
    """Draw the steps of a plan. In few of them, dependencies may form circles."""
    names = STEPS[: draw(st.integers(1, len(STEPS)))]
    is_free = draw(often(False, st.just(True)))  # noqa: FBT003 - a value
    return {
        name: Step(
            amounts=tuple(draw(st.lists(st.integers(0, 9), max_size=draw(sizes)))),
            agent=draw(st.sampled_from(AGENTS)),
            depends_on=tuple(
                draw(st.lists(st.sampled_from(before), max_size=2, unique=True)) if before else ()
            ),
            tool_uses=draw(often(0, st.integers(1, 3))),
            failure=draw(failures),
        )
        for at, name in enumerate(names)
        for before in [names if is_free else names[:at]]
    }


def often(value: T, others: st.SearchStrategy[T]) -> st.SearchStrategy[T]:
    """Return a strategy that gives a value in most draws, and others else."""
    return st.sampled_from([False, False, False, True]).flatmap(
        lambda is_other: others if is_other else st.just(value)
    )


sizes = st.sampled_from([0, 1, 1, 1, 2, 3])
failures = st.sampled_from([*[""] * 20, "raise", "revert", "lie", "lie"])
budgets = st.builds(
    narrow,
    max_steps=often(10, st.integers(0, 6)),
    max_tool_calls=often(50, st.integers(0, 6)),
    max_runtime_ms=often(300_000, st.just(0)),
    max_onchain_writes=often(5, st.integers(0, 8)),
    max_gas_wei=often(None, st.sampled_from(["0", str(10**18)])),
)
OPERATIONS = {
    "pin_next_block": LocalChainPort,
    "begin_draft": LocalChainPort,  # of the dry run, and of the execution
    "_append": LocalDraft,  # each transaction
    "commit": LocalChainPort,
    "reexecute": LocalChainPort,
}
TIMES = {"begin_draft": 2, "_append": 6}
"""How often a run does an operation; once if it is not here."""

FAULTS = [
    Fault(operation=name, number=number, is_after=is_after)
    for name in OPERATIONS
    for number in range(TIMES.get(name, 1))
    for is_after in (False, True)
    for _ in range(6 // TIMES.get(name, 1))  # each operation as often as others
]


def choose_fault(steps: dict[str, Step], budget: ComputeBudget) -> Fault:
    """Return a fault by the hash of a plan: Hypothesis draws a few of them most of the time."""
    return FAULTS[int.from_bytes(keccak(text=repr((steps, budget)))) % len(FAULTS)]


@contextmanager
def meet_fault(fault: Fault) -> Iterator[None]:
    """Let an operation of the chain fail once inside a context."""
    kind, done = OPERATIONS[fault.operation], itertools.count()
    operation = getattr(kind, fault.operation)

    def perform(*arguments: object, **options: object) -> object:
        is_faulty = next(done) == fault.number
        if is_faulty and not fault.is_after:
            raise EngineFault("the engine died")
        result = operation(*arguments, **options)
        if is_faulty:
            raise EngineFault("the engine died")
        return result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kind, fault.operation, perform)
        yield


@pytest.fixture(scope="module")
def shared() -> Iterator[Bench]:
    """One chain and one store for all examples."""
    with tempfile.TemporaryDirectory() as folder:
        chain = create_chain()
        store = RunStore(Path(folder) / "runs.sqlite")
        host = build_host(chain, store, tools={"price": lambda _: 7})
        yield Bench(chain=chain, counter=deploy(chain, "Counter"), host=host)
        store.close()
        chain.close()


numbers = itertools.count()


@pytest.mark.slow
@pytest.mark.sample(count=100, seed=26)
def test_a_run_does_all_of_its_plan_or_nothing(shared: Bench, sample: Sample) -> None:
    outcomes: Counter[str] = Counter()

    @seed(sample.seed)
    @settings(max_examples=sample.count, database=None)
    @given(steps=draw_steps(), budget=budgets)
    def check(steps: dict[str, Step], budget: ComputeBudget) -> None:
        outcomes.update(run_plan(shared, steps, budget))

    check()
    sample.figures.update(sorted(outcomes.items()))
    assert outcomes["runs"] >= sample.count
    assert outcomes["completed"] > sample.count // 20, "hardly any plan was executed"
    assert all(outcomes[f"faults of {name}"] for name in OPERATIONS), outcomes
    assert outcomes["failed in execute"], "no lie was told"


def run_plan(bench: Bench, steps: dict[str, Step], budget: ComputeBudget) -> Counter[str]:
    """Run a plan; check that it did all, or nothing. Return what happened."""
    fault = choose_fault(steps, budget)
    before, head = bench.number, bench.chain.head.block_number
    bench.install(*(UnreliableAgent(bench.counter, steps, slug=slug) for slug in AGENTS))
    orchestrator = Orchestrator(bench.host)
    run_id = orchestrator.start(build_task(f"task-{next(numbers)}", budget=budget))
    met = 0
    with meet_fault(fault):
        try:
            run = orchestrator.run(run_id)
        except EngineFault:
            met = 1
            run = orchestrator.run(run_id)
    writes = sum(len(step.amounts) for step in steps.values())
    uses = sum(step.tool_uses for step in steps.values())
    if run.status is RunStatus.COMPLETED:
        record = bench.store.get_result(ExecutionRecord, run.run_id, Phase.EXECUTE)
        dry_run = bench.store.get_result(DryRunRecord, run.run_id, Phase.DRY_RUN)
        assert record.digest == dry_run.digests.trace
        use = record.use
        assert (use.steps, use.tool_calls, use.onchain_writes) == (len(steps), uses, writes)
        assert bench.number - before == sum(sum(step.amounts) for step in steps.values())
        assert bench.chain.head.block_number - head == (1 if writes else 0)
        receipts = [each.receipt_id for each in bench.store.list_receipts(run.run_id)]
        assert len({*receipts}) == len(receipts) == writes + uses + 2  # dry run, verification
    else:
        assert run.failure
        assert (bench.number, bench.chain.head.block_number) == (before, head)
    fits = len(steps) <= budget.max_steps and writes <= min(5, budget.max_onchain_writes)
    fits = fits and uses <= budget.max_tool_calls and budget.max_runtime_ms > 0
    is_free = budget.max_gas_wei != "0" or not writes
    has_failure = any(step.failure for step in steps.values())
    should_end_well = fits and is_free and not has_failure and is_orderable(steps)
    assert (run.status is RunStatus.COMPLETED) == should_end_well, run.failure
    assert bench.store.list_phases(run.run_id)[-1] == (Phase.RECORD, 1)
    failed = "" if run.failed_phase is None else f" in {run.failed_phase.value}"
    return Counter(
        {
            "runs": 1,
            f"{run.status.value}{failed}": 1,
            "faults met": met,
            f"faults of {fault.operation}": met,
        }
    )


def is_orderable(steps: dict[str, Step]) -> bool:
    """Return whether steps can be ordered: whether removing free ones leaves none."""
    left = {name: {*step.depends_on} for name, step in steps.items()}
    while left:
        ready = [name for name, needed in left.items() if not needed & left.keys()]
        if not ready:
            return False
        for name in ready:
            del left[name]
    return True


@given(steps=draw_steps())
def test_an_order_has_each_step_after_its_dependencies(steps: dict[str, Step]) -> None:
    plan = TaskPlan(
        steps=tuple(
            PlanStep(step_id=name, description="", agent_slug="a", depends_on=step.depends_on)
            for name, step in steps.items()
        )
    )
    if not is_orderable(steps):
        with pytest.raises(PlanError, match="in a circle"):
            order_steps(plan)
        return
    order = [step.step_id for step in order_steps(plan)]
    assert sorted(order) == sorted(steps)
    for at, name in enumerate(order):
        assert {*steps[name].depends_on} <= {*order[:at]}
    assert from_json(TaskPlan, to_json(plan)) == plan


@given(
    limits=st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)),
    parent=st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)),
    spending=st.lists(
        st.tuples(st.booleans(), st.integers(0, 3), st.integers(0, 3), st.integers(0, 3))
    ),
)
def test_no_sequence_of_spending_exceeds_a_limit(
    limits: tuple[int, int, int],
    parent: tuple[int, int, int],
    spending: list[tuple[bool, int, int, int]],
) -> None:
    own = BudgetMeter(build_budget(*parent), now=lambda: 0.0)
    child = own.create_child(build_budget(*limits))
    for is_own, steps, calls, writes in spending:
        before = (own.use, child.use)
        try:
            (own if is_own else child).spend(steps=steps, tool_calls=calls, onchain_writes=writes)
        except BudgetExceededError:
            assert (own.use, child.use) == before
    for meter in (own, child):
        use, budget = meter.use, meter.budget
        assert use.steps <= budget.max_steps
        assert use.tool_calls <= budget.max_tool_calls
        assert use.onchain_writes <= budget.max_onchain_writes
    assert child.use.steps <= own.use.steps


def build_budget(steps: int, calls: int, writes: int) -> ComputeBudget:
    """Return a budget with these limits."""
    return narrow(max_steps=steps, max_tool_calls=calls, max_onchain_writes=writes)
