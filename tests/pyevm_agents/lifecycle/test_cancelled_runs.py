"""Runs in a treasury that are cancelled at any moment: nothing is spent after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pyevm_agents.errors import ConfigError
from pyevm_agents.lifecycle.host import Moment
from pyevm_agents.lifecycle.next_steps import CANCELLED, RunStateError
from pyevm_agents.lifecycle.orchestrator import Orchestrator
from pyevm_agents.lifecycle.run_trace import hash_id
from pyevm_agents.lifecycle.statuses import Phase, RunStatus, TaskStatus
from pyevm_agents.lifecycle.store import RunStore
from tests.pyevm_agents.lifecycle.run_bench import AddingAgent, Addition, build_task
from tests.pyevm_agents.lifecycle.spending import (
    CLOSED,
    NO_RUN,
    OnceListener,
    advance_to,
    count_writes,
    get_status,
    take_picture,
)
from tests.pyevm_agents.lifecycle.test_treasury_runs import Treasury, sign_pending

if TYPE_CHECKING:
    from pyevm_agents.lifecycle.context import AgentContext
    from pyevm_agents.lifecycle.records import PlanStep, Task
    from pyevm_agents.lifecycle.store import StoredRun
    from tests.pyevm_agents.lifecycle.run_bench import RunBench

pytestmark = pytest.mark.slow

BEFORE_THE_BLOCK = list(Phase)[:6]
AFTER_THE_BLOCK = list(Phase)[6:]


@pytest.fixture
def treasury(bench: RunBench) -> Treasury:
    """A treasury whose operator confirms every run."""
    treasury = Treasury(bench)
    treasury.limit(confirms=True)
    return treasury


def cancel(bench: RunBench, run_id: str) -> None:
    """Cancel a run as another process does."""
    with RunStore(bench.store.path) as store:
        store.cancel(run_id)


def expect_unspent(treasury: Treasury, run: StoredRun, before: dict[str, object]) -> None:
    bench = treasury.bench
    assert (run.status, run.failed_phase, run.failure) == (RunStatus.CANCELLED, None, CANCELLED)
    assert bench.store.get_task_status(run.task_id) is TaskStatus.CANCELLED
    assert (take_picture(treasury), get_status(treasury, run.run_id)) == (before, NO_RUN)
    assert Orchestrator(bench.host).resume() == [], "nothing is left to be done"
    assert take_picture(treasury) == before


def expect_spent_once(treasury: Treasury, run: StoredRun) -> None:
    assert (run.status, treasury.bench.number, count_writes(treasury)) == (
        RunStatus.COMPLETED,
        3,
        2,
    )
    assert get_status(treasury, run.run_id) == CLOSED
    assert treasury.read("getTask", hash_id(run.task_id))[1] == bytes(32), "no run is open"


@pytest.mark.parametrize("phase", BEFORE_THE_BLOCK)
def test_a_run_cancelled_before_a_phase_spends_nothing(
    bench: RunBench, treasury: Treasury, phase: Phase
) -> None:
    """Before the execution it waits for its confirmation, which then comes too late."""
    before = take_picture(treasury)
    orchestrator = Orchestrator(bench.host)
    run_id = orchestrator.start(build_task())
    advance_to(bench, run_id, phase, sign_pending)
    is_waiting = orchestrator.find_pending_confirmation(run_id) is not None
    assert is_waiting == (phase is Phase.EXECUTE)
    confirmation = sign_pending(bench, run_id) if is_waiting else None
    cancel(bench, run_id)
    if confirmation is not None:
        with pytest.raises(ConfigError, match="must be of the dry run"):
            orchestrator.confirm(run_id, confirmation)
    expect_unspent(treasury, orchestrator.run(run_id), before)


def test_a_run_cancelled_after_its_confirmation_spends_nothing(
    bench: RunBench, treasury: Treasury
) -> None:
    before = take_picture(treasury)
    orchestrator = Orchestrator(bench.host)
    run_id = orchestrator.run(orchestrator.start(build_task())).run_id
    orchestrator.confirm(run_id, sign_pending(bench, run_id))
    cancel(bench, run_id)
    expect_unspent(treasury, orchestrator.run(run_id), before)


@pytest.mark.parametrize("moment", [Moment.BEGUN, Moment.COMPUTED, Moment.STORED])
@pytest.mark.parametrize("phase", BEFORE_THE_BLOCK[:-1])
def test_a_run_cancelled_in_a_phase_spends_nothing(
    bench: RunBench, treasury: Treasury, phase: Phase, moment: Moment
) -> None:
    expect_cancellation(bench, treasury, phase, moment)


@pytest.mark.parametrize("moment", [Moment.BEGUN, Moment.PREPARED])
def test_a_run_cancelled_in_its_execution_spends_nothing(
    bench: RunBench, treasury: Treasury, moment: Moment
) -> None:
    expect_cancellation(bench, treasury, Phase.EXECUTE, moment)


def expect_cancellation(bench: RunBench, treasury: Treasury, phase: Phase, moment: Moment) -> None:
    """Cancel a run at a moment of a phase; check that nothing is spent."""
    before = take_picture(treasury)
    orchestrator = Orchestrator(bench.host)
    run_id = orchestrator.start(build_task())
    listener = OnceListener(phase, moment, lambda: cancel(bench, run_id))
    bench.change(listener=listener)
    orchestrator = Orchestrator(bench.host)
    run = orchestrator.run(run_id)
    if orchestrator.find_pending_confirmation(run_id) is not None:
        orchestrator.confirm(run_id, sign_pending(bench, run_id))
        run = orchestrator.run(run_id)
    assert listener.times == 0
    expect_unspent(treasury, run, before)


class CancelledAgent(AddingAgent):
    """Its run is cancelled in its first step, on a walk that a test chooses."""

    bench: RunBench
    walks = 0
    last = 0

    def perform_step(self, task: Task, step: PlanStep, context: AgentContext) -> str:
        self.walks += 1
        if self.walks == self.last:
            cancel(self.bench, context.run_id)
        return super().perform_step(task, step, context)


@pytest.mark.parametrize("walk", [1, 2, 3])
def test_a_run_cancelled_within_a_step_spends_nothing(
    bench: RunBench, treasury: Treasury, walk: int
) -> None:
    """The first walk finds the writes, the second is the dry run, the third the execution."""
    agent = CancelledAgent(bench.counter, {"step-1": Addition(amounts=(1, 2))})
    agent.bench, agent.last = bench, walk
    bench.install(agent)
    before = take_picture(treasury)
    orchestrator = Orchestrator(bench.host)
    run = orchestrator.run(orchestrator.start(build_task()))
    if walk == 3:
        orchestrator.confirm(run.run_id, sign_pending(bench, run.run_id))
        run = orchestrator.run(run.run_id)
    assert agent.walks == walk, "nothing is walked again"
    expect_unspent(treasury, run, before)


@pytest.mark.parametrize("phase", [None, *AFTER_THE_BLOCK])
def test_a_run_cancelled_after_its_block_spends_nothing_more(
    bench: RunBench, treasury: Treasury, phase: Phase | None
) -> None:
    """It can't be cancelled, as its block can't be undone; None is the moment when it is mined."""
    orchestrator = Orchestrator(bench.host)
    run_id = orchestrator.start(build_task())
    pictures = []

    def cancel_and_look() -> None:
        with pytest.raises(RunStateError):
            cancel(bench, run_id)
        pictures.append(take_picture(treasury))

    moment = (Phase.EXECUTE, Moment.MINED) if phase is None else (phase, Moment.BEGUN)
    bench.change(listener=OnceListener(*moment, cancel_and_look))
    advance_to(bench, run_id, Phase.EXECUTE, sign_pending)
    orchestrator = Orchestrator(bench.host)
    orchestrator.confirm(run_id, sign_pending(bench, run_id))
    expect_spent_once(treasury, orchestrator.run(run_id))
    assert pictures == [take_picture(treasury)]


def test_a_cancelled_task_is_run_again_with_a_confirmation_of_its_own(
    bench: RunBench, treasury: Treasury
) -> None:
    orchestrator = Orchestrator(bench.host)
    first = orchestrator.run(orchestrator.start(build_task())).run_id
    orchestrator.confirm(first, sign_pending(bench, first))
    cancel(bench, first)
    assert orchestrator.run(first).status is RunStatus.CANCELLED
    second = orchestrator.run(orchestrator.start(build_task())).run_id
    assert orchestrator.find_pending_confirmation(second) is not None
    orchestrator.confirm(second, sign_pending(bench, second))
    expect_spent_once(treasury, orchestrator.run(second))
    assert get_status(treasury, first) == NO_RUN
