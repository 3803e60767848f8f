"""Runs from their beginning to their end, and where they stop."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from pyevm_agents.errors import ConfigError, EngineFault
from pyevm_agents.lifecycle.budget import ComputeBudget
from pyevm_agents.lifecycle.dry_run import DryRunRecord
from pyevm_agents.lifecycle.envelopes import Confirmation, PlainRunEnvelope
from pyevm_agents.lifecycle.host import Moment, RunEvent
from pyevm_agents.lifecycle.next_steps import RunStateError
from pyevm_agents.lifecycle.orchestrator import MAX_DRY_RUNS, Orchestrator
from pyevm_agents.lifecycle.records import (
    ExecutionRecord,
    ReceiptType,
    RunSummary,
    StepStatus,
    VerificationResult,
)
from pyevm_agents.lifecycle.statuses import Phase, RunStatus, TaskStatus, TransitionError
from pyevm_agents.lifecycle.trust import TrustTable, TrustThreshold
from tests.pyevm_agents.lifecycle.run_bench import (
    BEGUN,
    COUNTER,
    OPERATOR_KEY,
    RUNNER_KEY,
    AddingAgent,
    Addition,
    build_manifest,
    build_task,
    narrow,
    send,
)

if TYPE_CHECKING:
    from eth_keys.datatypes import PrivateKey
    from eth_typing import Address

    from pyevm_agents.lifecycle.context import AgentContext
    from pyevm_agents.lifecycle.envelopes import RunTerms
    from pyevm_agents.lifecycle.recorder import RunLogEntry
    from pyevm_agents.lifecycle.records import PlanStep, Task, TaskPlan
    from tests.pyevm_agents.lifecycle.run_bench import RunBench


class MovingListener:
    """Mines a block of somebody else at a moment of a phase, some times."""

    def __init__(
        self, bench: RunBench, moment: Moment, phase: Phase, times: int, amount: int = 5
    ) -> None:
        self.bench, self.moment, self.phase = bench, moment, phase
        self.times, self.amount = times, amount

    def __call__(self, event: RunEvent) -> None:
        if (event.moment, event.phase) == (self.moment, self.phase) and self.times:
            self.times -= 1
            send(self.bench.chain, self.bench.counter, COUNTER.encode_call("add", self.amount))


class LogBook:
    """Keeps the entries of agents' logs, each once."""

    def __init__(self) -> None:
        self.entries: dict[tuple[str, str], RunLogEntry] = {}

    def record(self, agent_slug: str, entry: RunLogEntry) -> None:
        self.entries.setdefault((agent_slug, entry.run_id), entry)


def require_signatures(terms: RunTerms) -> PlainRunEnvelope:
    """Return an envelope whose operator must sign."""
    return PlainRunEnvelope(terms, 1, requires_confirmation=True)


def sign_dry_run(
    orchestrator: Orchestrator, run_id: str, expiry: int = 2**40, key: PrivateKey = OPERATOR_KEY
) -> Confirmation:
    """Return the confirmation of the dry run that waits."""
    pending = orchestrator.find_pending_confirmation(run_id)
    assert pending is not None
    signed = key.sign_msg_hash(orchestrator.hash_confirmation(run_id, expiry))
    return Confirmation(trace=pending.digests.trace, expiry=expiry, signature=signed.to_bytes())


# -- the nine phases -- #


def test_a_run_has_nine_phases_and_the_digest_of_its_dry_run(bench: RunBench) -> None:
    before = bench.chain.head.block_number
    run = bench.run()
    assert (run.status, run.failure) == (RunStatus.COMPLETED, None)
    assert bench.store.get_task_status(run.task_id) is TaskStatus.COMPLETED
    assert bench.store.list_phases(run.run_id) == [(phase, 1) for phase in Phase]
    assert bench.number == 3
    assert bench.chain.head.block_number == before + 1
    dry_run = bench.store.get_result(DryRunRecord, run.run_id, Phase.DRY_RUN)
    execution = bench.store.get_result(ExecutionRecord, run.run_id, Phase.EXECUTE)
    assert dry_run.digests.trace == execution.digest
    assert execution.block is not None
    assert execution.block.block_hash == bench.chain.head.hash
    assert dry_run.pin.parent_hash == bench.chain.head.parent_hash
    assert dry_run.pin.timestamp == bench.chain.head.timestamp
    verification = bench.store.get_result(VerificationResult, run.run_id, Phase.VERIFY)
    assert (verification.is_passed, verification.score) == (True, 1.0)


def test_the_dry_run_changes_nothing(bench: RunBench) -> None:
    head, root = bench.chain.head.hash, bench.chain.state_root(bench.chain.head)
    orchestrator = Orchestrator(bench.host)
    run_id = orchestrator.start(build_task())
    while bench.store.get_run(run_id).phase is not Phase.EXECUTE:
        orchestrator.advance(run_id)
    assert bench.chain.head.hash == head
    assert bench.chain.state_root(bench.chain.head) == root


def test_every_transaction_has_a_receipt_with_its_hash(bench: RunBench) -> None:
    run = bench.run()
    receipts = bench.store.list_receipts(run.run_id)
    assert [receipt.type for receipt in receipts] == [
        ReceiptType.DRY_RUN,
        ReceiptType.TRANSACTION,
        ReceiptType.TRANSACTION,
        ReceiptType.VERIFICATION,
    ]
    block = bench.chain.block(bench.chain.head.block_number)
    mined = ["0x" + transaction.hash.hex() for transaction in block.transactions]
    assert [receipt.ref for receipt in receipts[1:3]] == mined
    summary = bench.store.get_result(RunSummary, run.run_id, Phase.SUMMARIZE)
    assert summary.key_actions == ("step-1: The number is 1", "step-2: The number is 3")
    assert summary.receipt_ids == ("task-1-run-1-transaction-1", "task-1-run-1-transaction-2")


def test_every_run_is_in_its_agents_log(bench: RunBench) -> None:
    book = LogBook()
    bench.change(recorder=book)
    bench.run()
    bench.run(task_id="task-2", budget=narrow(max_steps=1))
    first, second = book.entries.values()
    assert (first.status, first.failures, len(first.receipts)) == ("completed", (), 4)
    assert first.dry_run_digest == first.execution_digest is not None
    assert first.started_at.startswith("2027-01-15T08:00:00.")
    assert (second.status, second.steps) == ("failed", ())
    assert second.failures[0].phase == "policy_check"


class FullLog(LogBook):
    """Refuses entries until it is emptied."""

    is_full = True

    def record(self, agent_slug: str, entry: RunLogEntry) -> None:
        if self.is_full:
            raise ConfigError("agent_log.json: must have at most 1 byte")
        super().record(agent_slug, entry)


def test_a_run_that_can_not_be_recorded_ends_once_it_can(bench: RunBench) -> None:
    book = FullLog()
    bench.change(recorder=book)
    orchestrator = Orchestrator(bench.host)
    run_id = orchestrator.start(build_task())
    for _ in range(2):
        with pytest.raises(ConfigError, match="at most 1 byte"):
            orchestrator.run(run_id)
        assert bench.store.get_run(run_id).phase is Phase.RECORD
    book.is_full = False
    assert [run.status for run in orchestrator.resume()] == [RunStatus.COMPLETED]
    assert [entry.status for entry in book.entries.values()] == ["completed"]


# -- stopped before anything is executed -- #


def test_an_agent_that_is_not_installed_stops_the_run(bench: RunBench) -> None:
    run = bench.run(agent_slug="nobody")
    assert (run.status, run.failed_phase) == (RunStatus.FAILED, Phase.DISCOVER)
    assert run.failure == "agent nobody: not installed; there are adder"


def test_an_agent_that_cannot_handle_the_task_stops_the_run(bench: RunBench) -> None:
    run = bench.run(category="poetry")
    assert run.failed_phase is Phase.DISCOVER
    assert bench.store.get_task_status(run.task_id) is TaskStatus.FAILED


@pytest.mark.parametrize(
    ("phase", "changes", "words"),
    [
        (Phase.TRUST_CHECK, {"trust_threshold": TrustThreshold(min_score=0.5)}, "trust score"),
        (
            Phase.TRUST_CHECK,
            {"trust_threshold": TrustThreshold(requires_validation=True)},
            "no trusted validator",
        ),
        (Phase.POLICY_CHECK, {"budget": narrow(max_steps=51)}, "maxSteps 51: must be from 0"),
        (Phase.POLICY_CHECK, {"budget": narrow(max_tool_calls=501)}, "maxToolCalls 501"),
        (Phase.POLICY_CHECK, {"budget": narrow(max_runtime_ms=10**9)}, "maxRuntimeMs"),
        (Phase.POLICY_CHECK, {"budget": narrow(max_onchain_writes=21)}, "maxOnchainWrites"),
        (Phase.POLICY_CHECK, {"budget": narrow(max_steps=1)}, "2 steps"),
    ],
)
def test_trust_and_policy_reject_a_task(
    bench: RunBench, phase: Phase, changes: dict[str, Any], words: str
) -> None:
    head = bench.chain.head.hash
    run = bench.run(**changes)
    assert (run.status, run.failed_phase) == (RunStatus.FAILED, phase)
    assert words in (run.failure or "")
    assert bench.store.get_task_status(run.task_id) is TaskStatus.REJECTED
    assert bench.chain.head.hash == head


def test_an_agent_without_an_identity_is_rejected(bench: RunBench) -> None:
    bench.change(trust=TrustTable())
    run = bench.run()
    assert run.failed_phase is Phase.TRUST_CHECK
    assert "identity: the agent has no entry" in (run.failure or "")


def test_every_agent_of_the_plan_must_be_trusted(bench: RunBench) -> None:
    other = AddingAgent(bench.counter, {}, slug="other")
    own = AddingAgent(bench.counter, {"step-1": Addition(agent="other")})
    bench.change(modules={"adder": own, "other": other})
    run = bench.run()
    assert (run.failed_phase, bench.number) == (Phase.TRUST_CHECK, 0)
    assert "agent other: identity" in (run.failure or "")


# -- several agents -- #


def test_steps_of_several_agents_follow_their_dependencies(bench: RunBench) -> None:
    additions = {
        "last": Addition(amounts=(4,), agent="other", depends_on=("first",)),
        "first": Addition(amounts=(1, 2)),
    }
    bench.install(
        AddingAgent(bench.counter, additions), AddingAgent(bench.counter, additions, slug="other")
    )
    run = bench.run()
    assert run.failure is None
    record = bench.store.get_result(ExecutionRecord, run.run_id, Phase.EXECUTE)
    assert [step.step_id for step in record.result.steps] == ["last", "first"]
    assert [trace.write.step_id for trace in record.trace.writes] == ["first", "first", "last"]
    assert [trace.write.number for trace in record.trace.writes] == [0, 1, 0]
    assert bench.number == 7


# -- failures -- #


class RaisingAgent(AddingAgent):
    """Raises an exception in a method."""

    def __init__(self, counter: Address, method: str) -> None:
        second = Addition(depends_on=("step-1",))
        super().__init__(counter, {"step-1": Addition(), "step-2": second})
        self.method = method

    def _fail(self, method: str) -> None:
        if method == self.method:
            raise LookupError("no such book")

    def can_handle(self, task: Task) -> bool:
        self._fail("can_handle")
        return super().can_handle(task)

    def plan(self, task: Task, context: AgentContext) -> TaskPlan:
        self._fail("plan")
        return super().plan(task, context)

    def perform_step(self, task: Task, step: PlanStep, context: AgentContext) -> str:
        text = super().perform_step(task, step, context)
        self._fail("perform_step")
        return text

    def verify(self, *arguments: Any) -> VerificationResult:  # noqa: ANN401 - as its base
        self._fail("verify")
        return super().verify(*arguments)

    def summarize(self, *arguments: Any) -> RunSummary:  # noqa: ANN401 - as its base
        self._fail("summarize")
        return super().summarize(*arguments)


@pytest.mark.parametrize(
    ("method", "phase"),
    [
        ("can_handle", Phase.DISCOVER),
        ("plan", Phase.PLAN),
        ("perform_step", Phase.DRY_RUN),
        ("verify", Phase.VERIFY),
        ("summarize", Phase.SUMMARIZE),
    ],
)
def test_an_exception_of_an_agent_is_a_failed_result(
    bench: RunBench, method: str, phase: Phase
) -> None:
    bench.install(RaisingAgent(bench.counter, method))
    run = bench.run()
    assert (run.status, run.failed_phase) == (RunStatus.FAILED, phase)
    assert "no such book" in (run.failure or "")
    assert bench.number == (0 if phase in {Phase.DISCOVER, Phase.PLAN, Phase.DRY_RUN} else 2)


def test_steps_after_a_failed_one_are_skipped(bench: RunBench) -> None:
    bench.install(RaisingAgent(bench.counter, "perform_step"))
    run = bench.run()
    record = bench.store.get_result(DryRunRecord, run.run_id, Phase.DRY_RUN)
    assert [step.status for step in record.result.steps] == [StepStatus.FAILED, StepStatus.SKIPPED]


def test_a_fault_of_the_host_leaves_the_run_to_be_continued(bench: RunBench) -> None:
    class FaultyPort:
        def __getattr__(self, name: str) -> object:
            raise EngineFault(f"{name}: the engine died")

    port = bench.host.port
    bench.change(port=FaultyPort())
    orchestrator = Orchestrator(bench.host)
    run_id = orchestrator.start(build_task())
    with pytest.raises(EngineFault):
        orchestrator.run(run_id)
    assert bench.store.get_run(run_id).phase is Phase.DRY_RUN
    bench.change(port=port)
    (run,) = Orchestrator(bench.host).resume()
    assert (run.status, bench.number) == (RunStatus.COMPLETED, 3)


# -- tasks and IDs -- #


def test_a_failed_task_can_be_run_again_and_a_completed_one_cannot(bench: RunBench) -> None:
    task = build_task()
    trust = bench.host.trust
    bench.change(trust=TrustTable())
    assert bench.run(task).status is RunStatus.FAILED
    bench.change(trust=trust)
    run = bench.run(task)
    assert (run.run_id, run.status) == ("task-1-run-2", RunStatus.COMPLETED)
    with pytest.raises(TransitionError):
        bench.run(task)
    assert bench.number == 3


def test_a_task_has_one_run_at_a_time(bench: RunBench) -> None:
    orchestrator = Orchestrator(bench.host)
    first = orchestrator.start(build_task(), "run-a")
    assert orchestrator.start(build_task(), "run-a") == first
    with pytest.raises(ConfigError, match="run-a has not ended"):
        orchestrator.start(build_task(), "run-b")
    with pytest.raises(ConfigError, match="another task has this ID"):
        orchestrator.start(build_task(goal="Another one"))


def test_a_phase_counts_once_if_two_orchestrators_perform_it(bench: RunBench) -> None:
    quiet = bench.host

    def overtake(event: RunEvent) -> None:
        if event.moment is Moment.COMPUTED:
            Orchestrator(quiet).advance(event.run_id)

    bench.change(listener=overtake)
    run = bench.run()
    assert (run.status, bench.number) == (RunStatus.COMPLETED, 3)
    assert bench.store.list_phases(run.run_id) == [(phase, 1) for phase in Phase]
    assert len(bench.store.list_receipts(run.run_id)) == 4


# -- agents without a dry run of their own -- #


class PlainAgent:
    """An agent that has the standard's members, without `dry_run` and without a base class."""

    def __init__(self, agent: AddingAgent) -> None:
        self.slug, self.display_name, self.version = agent.slug, agent.display_name, agent.version
        self.manifest, self.identity_mode = agent.manifest, agent.identity_mode
        self.can_handle, self.plan, self.execute = agent.can_handle, agent.plan, agent.execute
        self.verify, self.summarize = agent.verify, agent.summarize


@pytest.mark.parametrize("requires_dry_run", [True, False])
def test_an_agent_without_a_dry_run_is_executed_on_the_draft(
    bench: RunBench, *, requires_dry_run: bool
) -> None:
    agent = AddingAgent(bench.counter, {"step-1": Addition()})
    safety = replace(agent.manifest.safety, requires_dry_run=requires_dry_run)
    agent.manifest = replace(agent.manifest, safety=safety)
    bench.install(PlainAgent(agent))
    run = bench.run()
    if requires_dry_run:
        assert run.failed_phase is Phase.POLICY_CHECK
        assert "its manifest requires a dry run, and it has none" in (run.failure or "")
    else:
        assert (run.status, bench.number) == (RunStatus.COMPLETED, 1)


# -- the state moves -- #


def test_a_dry_run_is_repeated_when_the_state_moved(bench: RunBench) -> None:
    book = LogBook()
    listener = MovingListener(bench, Moment.STORED, Phase.DRY_RUN, times=1)
    bench.change(listener=listener, recorder=book)
    run = bench.run()
    assert (run.status, run.attempt) == (RunStatus.COMPLETED, 2)
    assert [entry.retries for entry in book.entries.values()] == [("dry run 1: the state moved",)]
    assert bench.number == 5 + 3
    assert (Phase.DRY_RUN, 2) in bench.store.list_phases(run.run_id)


def test_a_dry_run_is_made_three_times_at_most(bench: RunBench) -> None:
    bench.change(listener=MovingListener(bench, Moment.STORED, Phase.DRY_RUN, times=9))
    run = bench.run()
    assert (run.status, run.failed_phase) == (RunStatus.FAILED, Phase.EXECUTE)
    assert (run.attempt, bench.number) == (MAX_DRY_RUNS, 5 * MAX_DRY_RUNS)
    assert "the state moved after each of 3 dry runs: write 1: another " in (run.failure or "")


def test_blocks_that_change_nothing_of_the_run_do_not_repeat_it(bench: RunBench) -> None:
    bench.change(listener=MovingListener(bench, Moment.STORED, Phase.DRY_RUN, times=1, amount=0))
    run = bench.run()
    assert (run.status, run.attempt, bench.number) == (RunStatus.COMPLETED, 1, 3)


def test_a_block_between_draft_and_mining_leads_to_another_draft(bench: RunBench) -> None:
    bench.change(listener=MovingListener(bench, Moment.PREPARED, Phase.EXECUTE, 2, amount=0))
    run = bench.run()
    assert (run.status, run.attempt, bench.number) == (RunStatus.COMPLETED, 1, 3)


# -- confirmations -- #


def test_a_run_waits_for_its_operator(bench: RunBench) -> None:
    bench.change(open_envelope=require_signatures)
    orchestrator = Orchestrator(bench.host)
    run = orchestrator.run(orchestrator.start(build_task()))
    assert (run.phase, run.status, bench.number) == (Phase.EXECUTE, RunStatus.PLANNING, 0)
    orchestrator.confirm(run.run_id, sign_dry_run(orchestrator, run.run_id))
    assert orchestrator.find_pending_confirmation(run.run_id) is None
    assert orchestrator.run(run.run_id).status is RunStatus.COMPLETED
    assert bench.number == 3


def test_a_repeated_dry_run_needs_its_own_confirmation(bench: RunBench) -> None:
    bench.change(open_envelope=require_signatures)
    orchestrator = Orchestrator(bench.host)
    run_id = orchestrator.run(orchestrator.start(build_task())).run_id
    first = sign_dry_run(orchestrator, run_id)
    orchestrator.confirm(run_id, first)
    send(bench.chain, bench.counter, COUNTER.encode_call("add", 5))
    assert orchestrator.run(run_id).phase is Phase.EXECUTE
    assert bench.number == 5
    with pytest.raises(ConfigError, match="must be of the dry run"):
        orchestrator.confirm(run_id, first)
    orchestrator.confirm(run_id, sign_dry_run(orchestrator, run_id))
    assert (orchestrator.run(run_id).status, bench.number) == (RunStatus.COMPLETED, 8)


def test_a_confirmation_must_be_the_operators(bench: RunBench) -> None:
    bench.change(open_envelope=require_signatures)
    orchestrator = Orchestrator(bench.host)
    run_id = orchestrator.run(orchestrator.start(build_task())).run_id
    with pytest.raises(ConfigError, match="must be signed by the operator"):
        orchestrator.confirm(run_id, sign_dry_run(orchestrator, run_id, key=RUNNER_KEY))


def test_an_expired_confirmation_is_refused_and_the_run_waits(bench: RunBench) -> None:
    bench.change(open_envelope=require_signatures)
    orchestrator = Orchestrator(bench.host)
    run_id = orchestrator.run(orchestrator.start(build_task())).run_id
    with pytest.raises(
        ConfigError, match=f"has expired at 1, it is {int(BEGUN)} now; sign with a lat"
    ):
        orchestrator.confirm(run_id, sign_dry_run(orchestrator, run_id, expiry=1))
    assert orchestrator.find_pending_confirmation(run_id) is not None
    orchestrator.confirm(run_id, sign_dry_run(orchestrator, run_id, expiry=2**40))
    assert orchestrator.run(run_id).status is RunStatus.COMPLETED


def test_a_confirmation_that_expires_before_the_execution_fails_the_run(bench: RunBench) -> None:
    bench.change(open_envelope=require_signatures)
    orchestrator = Orchestrator(bench.host)
    run_id = orchestrator.run(orchestrator.start(build_task())).run_id
    orchestrator.confirm(run_id, sign_dry_run(orchestrator, run_id, expiry=int(BEGUN) + 60))
    bench.change(now=lambda: BEGUN + 61)
    run = Orchestrator(bench.host).run(run_id)
    assert (run.status, run.failed_phase, bench.number) == (RunStatus.FAILED, Phase.EXECUTE, 0)
    assert "has expired" in (run.failure or "")


# -- cancellation -- #


@pytest.mark.parametrize("phase", list(Phase)[:6])
def test_a_run_is_cancelled_between_phases(bench: RunBench, phase: Phase) -> None:
    orchestrator = Orchestrator(bench.host)
    run_id = orchestrator.start(build_task())
    while bench.store.get_run(run_id).phase is not phase:
        orchestrator.advance(run_id)
    bench.store.cancel(run_id)
    run = orchestrator.run(run_id)
    assert (run.status, run.failed_phase) == (RunStatus.CANCELLED, None)
    assert bench.store.get_task_status(run.task_id) is TaskStatus.CANCELLED
    assert bench.number == 0


class CancellingAgent(AddingAgent):
    """Is cancelled by its operator during a step of its dry run or execution."""

    walks = 0

    def perform_step(self, task: Task, step: PlanStep, context: AgentContext) -> str:
        text = super().perform_step(task, step, context)
        self.walks += 1
        if self.walks == self.cancelled_at:
            self.cancel(context.run_id)
        return text

    cancelled_at = 0
    cancel = staticmethod(lambda run_id: None)  # noqa: ARG005 - set by the test


@pytest.mark.parametrize("at", [1, 3])
def test_a_run_is_cancelled_within_a_walk(bench: RunBench, at: int) -> None:
    additions = {"step-1": Addition(), "step-2": Addition()}
    agent = CancellingAgent(bench.counter, additions)
    agent.cancelled_at, agent.cancel = at, bench.store.cancel
    bench.install(agent)
    run = bench.run()
    assert (run.status, bench.number) == (RunStatus.CANCELLED, 0)


def test_cancelling_is_refused_once_the_block_is_mined(bench: RunBench) -> None:
    def listen(event: RunEvent) -> None:
        if event.moment is Moment.MINED:
            with pytest.raises(RunStateError):
                bench.store.cancel(event.run_id)

    bench.change(listener=listen)
    assert (bench.run().status, bench.number) == (RunStatus.COMPLETED, 3)


def test_the_budget_is_that_of_the_manifest_where_it_is_lower(bench: RunBench) -> None:
    agent = AddingAgent(bench.counter, {"step-1": Addition(amounts=(1, 1, 1))})
    constraints = ComputeBudget(max_onchain_writes=2)
    agent.manifest = replace(build_manifest("adder"), compute_constraints=constraints)
    bench.install(agent)
    run = bench.run()
    assert (run.failed_phase, bench.number) == (Phase.DRY_RUN, 0)
    assert "maxOnchainWrites 2: 3 would be spent" in (run.failure or "")
