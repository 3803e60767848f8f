"""Random plans, budgets and failures: a run does all of its plan or nothing, within limits."""

from __future__ import annotations

import itertools
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyevm_agents.lifecycle.budget import BudgetExceededError, BudgetMeter, ComputeBudget
from pyevm_agents.lifecycle.dry_run import DryRunRecord
from pyevm_agents.lifecycle.json_codec import from_json, to_json
from pyevm_agents.lifecycle.phase_results import ExecutionRecord
from pyevm_agents.lifecycle.plan import PlanError, PlanStep, TaskPlan, order_steps
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
    from pyevm_agents.lifecycle.task import Task

STEPS = [f"step-{number}" for number in range(1, 5)]
AGENTS = ("adder", "other")


@dataclass(frozen=True, kw_only=True)
class Step(Addition):
    """A step that may fail in a way of its own."""

    failure: str = ""


class UnreliableAgent(AddingAgent):
    """Fails as its steps say, after their writes."""

    def perform_step(self, task: Task, step: PlanStep, context: AgentContext) -> str:
        text = super().perform_step(task, step, context)
        failure = getattr(self.additions[step.step_id], "failure", "")
        if failure == "raise":
            raise ArithmeticError("it does not add up")
        if failure == "revert":
            context.session.write(self.counter, COUNTER.encode_call("addThenFail", 1))
        return text


@st.composite
def draw_steps(draw: st.DrawFn) -> dict[str, Step]:
    """Draw the steps of a plan; dependencies may form circles."""
    names = STEPS[: draw(st.integers(1, len(STEPS)))]
    return {
        name: Step(
            amounts=tuple(draw(st.lists(st.integers(0, 9), max_size=3))),
            agent=draw(st.sampled_from(AGENTS)),
            depends_on=tuple(
                draw(st.lists(st.sampled_from(names), max_size=2, unique=True))
                if draw(st.booleans())
                else names[max(0, at - 1) : at]
            ),
            failure=draw(st.sampled_from(["", "", "", "raise", "revert"])),
        )
        for at, name in enumerate(names)
    }


budgets = st.builds(
    narrow,
    max_steps=st.integers(0, 6),
    max_onchain_writes=st.integers(0, 8),
    max_gas_wei=st.sampled_from([None, "0", str(10**18)]),
)


@pytest.fixture(scope="module")
def shared() -> Iterator[Bench]:
    """One chain and one store for all examples."""
    with tempfile.TemporaryDirectory() as folder:
        chain = create_chain()
        store = RunStore(Path(folder) / "runs.sqlite")
        yield Bench(chain=chain, counter=deploy(chain, "Counter"), host=build_host(chain, store))
        store.close()
        chain.close()


numbers = itertools.count()


@pytest.mark.slow
@settings(max_examples=100)
@given(steps=draw_steps(), budget=budgets)
def test_a_run_does_all_of_its_plan_or_nothing(
    shared: Bench, steps: dict[str, Step], budget: ComputeBudget
) -> None:
    before, head = shared.number, shared.chain.head.block_number
    shared.install(*(UnreliableAgent(shared.counter, steps, slug=slug) for slug in AGENTS))
    run = shared.run(build_task(f"task-{next(numbers)}", budget=budget))
    writes = sum(len(step.amounts) for step in steps.values())
    if run.status is RunStatus.COMPLETED:
        record = shared.store.get_result(ExecutionRecord, run.run_id, Phase.EXECUTE)
        dry_run = shared.store.get_result(DryRunRecord, run.run_id, Phase.DRY_RUN)
        assert record.digest == dry_run.digests.trace
        assert (record.use.steps, record.use.onchain_writes) == (len(steps), writes)
        assert shared.number - before == sum(sum(step.amounts) for step in steps.values())
        assert shared.chain.head.block_number - head == (1 if writes else 0)
        assert not any(step.failure for step in steps.values())
    else:
        assert run.failure
        assert (shared.number, shared.chain.head.block_number) == (before, head)
    fits = len(steps) <= budget.max_steps and writes <= min(5, budget.max_onchain_writes)
    is_free = budget.max_gas_wei != "0" or not writes
    has_failure = any(step.failure for step in steps.values())
    should_end_well = fits and is_free and not has_failure and is_orderable(steps)
    assert (run.status is RunStatus.COMPLETED) == should_end_well, run.failure
    assert shared.store.list_phases(run.run_id)[-1] == (Phase.RECORD, 1)


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
