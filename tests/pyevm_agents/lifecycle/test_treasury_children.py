"""Child runs whose writes go through their parent's treasury, within the parent's budget."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.lifecycle.budget import BudgetMeter
from pyevm_agents.lifecycle.execution import get_child_starter
from pyevm_agents.lifecycle.host import Moment
from pyevm_agents.lifecycle.orchestrator import Orchestrator
from pyevm_agents.lifecycle.records import ExecutionRecord
from pyevm_agents.lifecycle.run_trace import hash_id
from pyevm_agents.lifecycle.statuses import Phase, RunStatus
from pyevm_agents.lifecycle.treasury_refusals import NATIVE_ASSET
from tests.pyevm_agents.lifecycle.run_bench import Addition, build_task, narrow
from tests.pyevm_agents.lifecycle.spending import (
    CLOSED,
    NO_RUN,
    OnceListener,
    count_writes,
    get_status,
    take_picture,
)
from tests.pyevm_agents.lifecycle.test_child_runs import TWO_WRITES, install_pair
from tests.pyevm_agents.lifecycle.test_confirmations import forge
from tests.pyevm_agents.lifecycle.test_treasury_runs import (
    RECIPIENT,
    PayingAgent,
    Treasury,
    sign_pending,
)

if TYPE_CHECKING:
    from pyevm_agents.lifecycle.budget import ComputeBudget
    from pyevm_agents.lifecycle.context import AgentContext
    from pyevm_agents.lifecycle.records import PlanStep, Task
    from pyevm_agents.lifecycle.store import StoredRun
    from tests.pyevm_agents.lifecycle.run_bench import RunBench

pytestmark = pytest.mark.slow


@pytest.fixture
def treasury(bench: RunBench) -> Treasury:
    return Treasury(bench)


class DelegatingPayer(PayingAgent):
    """Pays, then gives the rest to the agent `child`, under a task and a budget of its own."""

    budget: ComputeBudget = narrow(max_onchain_writes=20, max_steps=50)

    def perform_step(self, task: Task, step: PlanStep, context: AgentContext) -> str:
        super().perform_step(task, step, context)
        part = replace(task, task_id="part-1", agent_slug="child", budget=self.budget)
        child = get_child_starter(context).run_child(part, context)
        if child.error is not None:
            raise ValueError(child.error)
        return "paid by two"


def install_payers(bench: RunBench, own: int, childs: tuple[int, ...]) -> None:
    """Install a parent that pays an amount, and its child that pays others."""
    bench.install(
        DelegatingPayer(bench.counter, {"step-1": Addition(amounts=(own,))}),
        PayingAgent(
            bench.counter, {"step-1": Addition(amounts=childs, agent="child")}, slug="child"
        ),
    )


def expect_unspent(
    treasury: Treasury, run: StoredRun, before: dict[str, object], words: str
) -> None:
    assert (run.status, run.failed_phase) == (RunStatus.FAILED, Phase.DRY_RUN)
    assert words in (run.failure or "")
    assert (take_picture(treasury), get_status(treasury, run.run_id)) == (before, NO_RUN)


def test_a_childs_writes_are_its_parents_run_in_the_treasury(
    bench: RunBench, treasury: Treasury
) -> None:
    install_payers(bench, 60, (30, 10))
    run = bench.run()
    assert (run.failure, bench.chain.balance(RECIPIENT)) == (None, 100)
    assert treasury.read("spentOf", hash_id("task-1"), NATIVE_ASSET) == 100
    assert treasury.read("spentOf", hash_id("part-1"), NATIVE_ASSET) == 0
    assert treasury.read("getTask", hash_id("task-1"))[2:4] == (2, 3), "steps and writes"
    assert (get_status(treasury, run.run_id), count_writes(treasury)) == (CLOSED, 3)


def test_a_child_that_makes_more_writes_than_its_parent_may(
    bench: RunBench, treasury: Treasury
) -> None:
    install_payers(bench, 1, (1, 1))
    before = take_picture(treasury)
    run = bench.run(budget=narrow(max_onchain_writes=2))
    expect_unspent(treasury, run, before, "maxOnchainWrites 2: 3 would be spent")


def test_a_child_that_makes_more_steps_than_its_parent_may(
    bench: RunBench, treasury: Treasury
) -> None:
    install_payers(bench, 1, (1,))
    before = take_picture(treasury)
    run = bench.run(budget=narrow(max_steps=1))
    expect_unspent(treasury, run, before, "maxSteps 1: 2 would be spent")


def test_a_child_that_uses_more_gas_than_its_parent_may(
    bench: RunBench, treasury: Treasury
) -> None:
    """Half of the gas that parent and child use together is not enough for both."""
    install_payers(bench, 1, (1,))
    used = bench.store.get_result(ExecutionRecord, bench.run().run_id, Phase.EXECUTE).use.gas_wei
    before = take_picture(treasury)
    run = bench.run(task_id="task-2", budget=narrow(max_gas_wei=str(used // 2)))
    expect_unspent(treasury, run, before, f"maxGasWei {used // 2:,}: ")


def test_a_child_that_spends_more_than_the_cap_of_its_parents_task(
    bench: RunBench, treasury: Treasury
) -> None:
    """Each alone is within the cap of 100 wei; the child's own task ID gives it no other cap."""
    install_payers(bench, 60, (60,))
    before = take_picture(treasury)
    expect_unspent(treasury, bench.run(), before, "AssetCapExceeded(")


@pytest.mark.parametrize("limit", ["writes", "steps"])
def test_the_treasury_refuses_a_child_that_no_meter_stops(
    bench: RunBench, treasury: Treasury, limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the orchestrator's meters, and without its count from the trace."""
    monkeypatch.setattr(BudgetMeter, "_require", lambda *_: None)
    monkeypatch.setattr("pyevm_agents.lifecycle.dry_run.describe_overspending", lambda *_: None)
    install_payers(bench, 1, (1, 1))
    before = take_picture(treasury)
    if limit == "writes":
        run = bench.run(budget=narrow(max_onchain_writes=2))
        expect_unspent(treasury, run, before, "TooManyWrites(")
    else:
        run = bench.run(budget=narrow(max_steps=1))
        expect_unspent(treasury, run, before, "TooManySteps(")


def test_a_confirmation_covers_the_childs_writes_and_no_more(
    bench: RunBench, treasury: Treasury
) -> None:
    """The child pays more once it is confirmed: nothing is spent, and the run fails."""
    treasury.limit(confirms=True)
    install_payers(bench, 1, (2,))
    orchestrator = Orchestrator(bench.host)
    run = orchestrator.run(orchestrator.start(build_task()))
    orchestrator.confirm(run.run_id, sign_pending(bench, run.run_id))
    before = take_picture(treasury)
    child = bench.host.modules["child"]
    assert isinstance(child, PayingAgent)
    child.additions = {"step-1": Addition(amounts=(3,), agent="child")}
    run = orchestrator.run(run.run_id)
    assert (run.status, run.failed_phase) == (RunStatus.FAILED, Phase.EXECUTE)
    assert "write 2: another target, value or data" in (run.failure or "")
    assert (take_picture(treasury), get_status(treasury, run.run_id)) == (before, NO_RUN)


@pytest.mark.parametrize("confirms", [True, False])
def test_a_retry_makes_no_write_of_a_child_again(
    bench: RunBench, treasury: Treasury, *, confirms: bool
) -> None:
    """The first run's block is mined, its verification fails: the retry skips the child's too."""
    treasury.limit(confirms=confirms)
    install_pair(bench, **TWO_WRITES)
    run_id = "task-1-run-1"
    bench.change(listener=OnceListener(Phase.EXECUTE, Moment.STORED, lambda: forge(bench, run_id)))
    first = run_confirmed(bench)
    assert (first.run_id, first.failed_phase, bench.number) == (run_id, Phase.VERIFY, 13)
    second = run_confirmed(bench)
    assert (second.run_id, second.failure, bench.number) == ("task-1-run-2", None, 13)
    assert (count_writes(treasury), treasury.read("getTask", hash_id("task-1"))[3]) == (3, 3)


def run_confirmed(bench: RunBench) -> StoredRun:
    """Run the task, and confirm it if it waits."""
    orchestrator = Orchestrator(bench.host)
    run = orchestrator.run(orchestrator.start(build_task()))
    if orchestrator.find_pending_confirmation(run.run_id) is not None:
        orchestrator.confirm(run.run_id, sign_pending(bench, run.run_id))
        run = orchestrator.run(run.run_id)
    return run
