"""The nine phases of a run. Each reads the store and the chain, and returns values to store.

Nothing is kept in memory between two phases, so a run continues in another process after any phase.
A phase that is repeated after a kill gives the same outcome, or finds the effects of the first try.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pyevm_agents.errors import ConfigError, EngineFault, NotDoneError
from pyevm_agents.lifecycle.budget import RunCancelledError, RunStoppedError
from pyevm_agents.lifecycle.context import REHEARSE
from pyevm_agents.lifecycle.dry_run import (
    DryRunRecord,
    EnvelopeError,
    draft_execution,
    list_contradictions,
    make_dry_run,
)
from pyevm_agents.lifecycle.envelopes import Confirmation
from pyevm_agents.lifecycle.host import Moment, discover_agents, hash_manifest
from pyevm_agents.lifecycle.json_codec import compute_json_digest
from pyevm_agents.lifecycle.policy import list_violations
from pyevm_agents.lifecycle.recorder import build_log_entry
from pyevm_agents.lifecycle.records import (
    DiscoverResult,
    ExecutionRecord,
    ExecutionResult,
    PhaseOutcome,
    PolicyCheckResult,
    PreparedExecution,
    ReceiptType,
    RecordResult,
    RunReceipt,
    RunSummary,
    StartedManifests,
    TaskPlan,
    TrustCheckResult,
    VerificationCheck,
    VerificationResult,
    build_receipt_id,
    describe_failures,
    find_not_done_step,
    order_steps,
)
from pyevm_agents.lifecycle.run_block import DraftError, MovedStateError
from pyevm_agents.lifecycle.run_view import MANIFESTS
from pyevm_agents.lifecycle.statuses import Phase, RunStatus
from pyevm_agents.lifecycle.untrusted_agents import AgentFailedError, ask_agent, note_phase_faults
from pyevm_agents.lifecycle.verification import (
    VerifiedRun,
    compute_response,
    judge,
    list_checks,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyevm_agents.lifecycle.dry_run import DraftedRun
    from pyevm_agents.lifecycle.execution import ChildRun
    from pyevm_agents.lifecycle.module import AgentModule
    from pyevm_agents.lifecycle.records import StepResult
    from pyevm_agents.lifecycle.run_view import RunView
    from pyevm_agents.lifecycle.store import RunStore

UNTIMED = frozenset({Phase.DISCOVER, Phase.VERIFY, Phase.RECORD})
"""Phases that are performed when the time is over; in verification, the agent is not asked then."""

MAX_DRAFTS = 3
"""How often an execution is drafted when blocks come between the draft and its own block."""

PREPARED = "prepared"
CONFIRMATION = "confirmation"
VERIFICATION = "verification"
NOT_DONE = "not done"
"""Names of stored values."""


class ExpiredError(ConfigError):
    """A confirmation counts no more."""


def perform_phase(view: RunView, phase: Phase) -> PhaseOutcome:
    """Perform a phase.

    Raises: EngineFault: the host failed; the phase can be repeated. RunCancelledError: the operator
            cancelled the run. ConfigError: the run can't be recorded; the phase can be repeated.
    """
    try:
        with note_phase_faults():
            if phase not in UNTIMED:
                view.require_time()
            view.note_manifests()
            return PHASES[phase](view)
    except (EngineFault, RunCancelledError):
        raise
    except (RunStoppedError, AgentFailedError, EnvelopeError, DraftError, ConfigError) as error:
        if phase is Phase.RECORD:  # It ends every run, so it is no phase that a run fails in.
            raise
        return PhaseOutcome(failure=str(error), not_done=_find_not_done(error))


def _find_not_done(error: BaseException | None) -> str | None:
    """Return the answer of an agent that did not do the task, if that caused an error."""
    while error is not None and not isinstance(error, NotDoneError):
        error = error.__cause__
    return None if error is None else error.answer


# -- 1 to 4: nothing is executed -- #


def discover(view: RunView) -> PhaseOutcome:
    """Find the coordinator, and check whether that agent can handle the task."""
    slug, module = view.task.agent_slug, view.coordinator
    found = discover_agents(view.host.modules)
    if slug in found.rejected:
        return PhaseOutcome(failure=f"agent {slug}: {found.rejected[slug]}")
    if not ask_agent(slug, bool, lambda: module.can_handle(view.task)):
        return PhaseOutcome(failure=f"agent {slug}: can't handle the task; choose another one")
    stated = found.readable[slug]
    identity = stated.manifest.erc8004
    started = {each: one.manifest for each, one in found.readable.items()}
    with view.host.store.commit():
        view.host.store.set_value(view.run.run_id, MANIFESTS, StartedManifests(manifests=started))
    return PhaseOutcome(
        result=DiscoverResult(
            agent_slug=slug,
            version=stated.version,
            manifest_digests={each: hash_manifest(one) for each, one in started.items()},
            agent_id=None if identity is None else identity.agent_id,
            rejected_agents=found.rejected,
        )
    )


def make_plan(view: RunView) -> PhaseOutcome:
    """Get the coordinator's plan."""
    module = view.coordinator
    context = view.build_context().add_services(**{REHEARSE: view.rehearse})
    slug = view.task.agent_slug
    plan = ask_agent(slug, TaskPlan, lambda: module.plan(view.task, context))
    order_steps(plan)
    return PhaseOutcome(result=plan)


def check_trust(view: RunView) -> PhaseOutcome:
    """Check the trust in every agent of the plan."""
    slugs = dict.fromkeys((view.task.agent_slug, *view.plan.agent_slugs))
    agents = tuple(view.evaluate(slug, view.task) for slug in slugs)
    failures = [f"agent {each.agent_slug}: {one}" for each in agents for one in each.failures]
    return PhaseOutcome(result=TrustCheckResult(agents=agents), failure="; ".join(failures) or None)


def check_policy(view: RunView) -> PhaseOutcome:
    """Check budget and plan."""
    host = view.host
    violations = list_violations(view.task, view.plan, host.modules, host.limits)
    return PhaseOutcome(
        result=PolicyCheckResult(violations=violations), failure="; ".join(violations) or None
    )


# -- 5 and 6: on drafts of the run's block -- #


def dry_run(view: RunView) -> PhaseOutcome:
    """Execute the plan on a draft that is dropped."""
    pin = view.host.port.pin_next_block()
    record = make_dry_run(view.build_parts(pin), pin)
    receipt = RunReceipt(
        receipt_id=build_receipt_id(view.run.run_id, ReceiptType.DRY_RUN),
        type=ReceiptType.DRY_RUN,
        ref="0x" + record.digests.trace.hex(),
        summary=f"{len(record.trace.writes)} writes, {record.result.estimated_gas:,} gas",
    )
    problems = (
        *record.result.policy_violations,
        describe_failures(record.result.steps),
        view.describe_changed_manifests(record.children),
    )
    failure = "; ".join(each for each in problems if each is not None)
    return PhaseOutcome(
        result=record,
        failure=failure or None,
        not_done=_find_not_done_step(record.result.steps, record.children) if failure else None,
        receipts=(receipt,),
    )


def _find_not_done_step(steps: Sequence[StepResult], children: Sequence[ChildRun]) -> str | None:
    """Return the answer of the first step that is not done, of the run or of a child run."""
    return find_not_done_step([*steps, *(step for child in children for step in child.steps)])


def execute(view: RunView) -> PhaseOutcome:
    """Execute the plan on a draft, and mine a draft that gives the dry run's digest."""
    record, store, run_id = view.dry_run, view.host.store, view.run.run_id
    for _ in range(MAX_DRAFTS):
        prepared = store.find_value(PreparedExecution, run_id, PREPARED)
        outcome = prepared or _prepare(view, record)
        if isinstance(outcome, PhaseOutcome):
            return outcome
        try:
            return _commit(view, outcome, record)
        except MovedStateError:
            store.drop_value(run_id, PREPARED)
    return PhaseOutcome(is_moved=True, failure="blocks of others came before the run's own")


def find_confirmation(view: RunView, record: DryRunRecord) -> Confirmation | None:
    """Return the operator's confirmation of a dry run; None if none is there or required."""
    found = view.host.store.find_value(Confirmation, view.run.run_id, CONFIRMATION)
    return found if found is not None and found.trace == record.digests.trace else None


def require_unexpired(view: RunView, confirmation: Confirmation, timestamp: int) -> None:
    """Accept a confirmation that counts at a time, by the rule of a treasury (`confirmRun`).

    A confirmation counts up to the whole second of the expiry: in a block with that timestamp, and
    while the host's clock, rounded down to seconds, shows that second.

    Input: the run; the confirmation; the timestamp of the run's block.
    Raises: ExpiredError: the block or the host's clock is later.
    """
    latest = max(timestamp, int(view.host.now()))
    if latest > confirmation.expiry:
        raise ExpiredError(
            f"confirmation of run {view.run.run_id}: has expired at {confirmation.expiry}, it is "
            f"{latest} now; sign with a later expiry"
        )


def _require_confirmation(
    view: RunView, record: DryRunRecord, timestamp: int
) -> Confirmation | None:
    """Return the confirmation of a dry run; None if not needed.

    Input: the run; the dry run; the timestamp of the block.
    Raises: ConfigError: missing or expired.
    """
    if not record.needs_confirmation:
        return None
    found = find_confirmation(view, record)
    if found is None:
        raise ConfigError(f"run {view.run.run_id}: its operator must confirm the dry run")
    require_unexpired(view, found, timestamp)
    return found


def _prepare(view: RunView, record: DryRunRecord) -> PreparedExecution | PhaseOutcome:
    """Draft the execution and store the block; return a failure if the block may not be mined."""
    parts = view.build_parts(record.pin)
    draft = view.host.port.begin_draft(record.pin)
    try:
        confirmation = _require_confirmation(view, record, draft.prepare().pin.timestamp)
        drafted = draft_execution(parts, record, draft, confirmation)
    except RunCancelledError:
        raise
    except (RunStoppedError, EnvelopeError, DraftError, ExpiredError) as error:
        return PhaseOutcome(failure=str(error), is_moved=draft.is_moved)
    problems = (*list_contradictions(drafted), drafted.stated.error)
    failure = next((each for each in problems if each is not None), None)
    if failure is not None:
        not_done = _find_not_done_step(drafted.stated.steps, drafted.stated.children)
        return PhaseOutcome(failure=failure, not_done=not_done, is_moved=draft.is_moved)
    changed = view.describe_changed_manifests(drafted.stated.children)
    if changed is not None:
        return PhaseOutcome(failure=changed)
    prepared = _build_prepared(view, drafted)
    with view.host.store.commit():
        view.host.store.set_value(view.run.run_id, PREPARED, prepared)
    view.announce(Moment.PREPARED)
    return prepared


def _build_prepared(view: RunView, drafted: DraftedRun) -> PreparedExecution:
    return PreparedExecution(
        block=drafted.draft.prepare(),
        record=ExecutionRecord(
            result=ExecutionResult(
                is_success=True,
                steps=drafted.stated.steps,
                receipt_ids=drafted.stated.receipt_ids,
                started_at=view.began,
                ended_at=view.host.now(),
            ),
            trace=drafted.trace,
            digest=drafted.trace.compute_digest(),
            use=drafted.use,
            block=None,
        ),
        receipts=drafted.receipts,
    )


def _commit(view: RunView, prepared: PreparedExecution, dry_run: DryRunRecord) -> PhaseOutcome:
    """Mine the block of an execution, maybe prepared long ago, before a kill."""
    block, port = None, view.host.port
    if port.find_block(prepared.block.hashes) is None:
        _require_confirmation(view, dry_run, prepared.block.pin.timestamp)
        changed = view.describe_changed_manifests(dry_run.children)
        if changed is not None:
            return PhaseOutcome(failure=changed)
        view.host.store.begin_mining(view.run.run_id)
    if prepared.block.transactions:
        try:
            block = port.commit(prepared.block)
        except BaseException:  # Nothing is mined, so the run may be cancelled again.
            view.host.store.end_mining(view.run.run_id)
            raise
        view.announce(Moment.MINED)
    return PhaseOutcome(result=replace(prepared.record, block=block), receipts=prepared.receipts)


# -- 7 to 9: nothing of the run is executed any more -- #


def verify(view: RunView) -> PhaseOutcome:
    """Let the coordinator verify, add the lifecycle's own checks, and post the response.

    The verification is stored before posting: after a kill in between the coordinator is not called
    again.
    """
    store, run_id, module = view.host.store, view.run.run_id, view.coordinator
    execution = store.get_result(ExecutionRecord, run_id, Phase.EXECUTE)
    verification = store.find_value(VerificationResult, run_id, VERIFICATION)
    if verification is None:
        verification = _judge_execution(view, module, execution)
        with store.commit():
            store.set_value(run_id, VERIFICATION, verification)
    failed = [each for each in verification.checks if not each.is_passed]
    reasons = "; ".join(f"{each.name}: {each.details or 'failed'}" for each in failed)
    if not verification.is_passed:
        reasons = reasons or f"agent {view.task.agent_slug}: did not pass the run"
    receipt = RunReceipt(
        receipt_id=build_receipt_id(run_id, ReceiptType.VERIFICATION),
        type=ReceiptType.VERIFICATION,
        ref=_respond(view, verification, execution.digest),
        summary=f"{len(verification.checks)} checks, score {verification.score:.2f}",
    )
    return PhaseOutcome(result=verification, failure=reasons or None, receipts=(receipt,))


def _judge_execution(
    view: RunView, module: AgentModule, execution: ExecutionRecord
) -> VerificationResult:
    store, run_id = view.host.store, view.run.run_id
    try:
        budget = view.budget
    except (AgentFailedError, ConfigError):  # The manifest was changed: a failed check.
        budget = view.task.budget
    stated = _ask_for_verification(view, module, execution.result)
    verified = VerifiedRun(
        dry_run=view.dry_run,
        execution=execution,
        receipts=store.list_receipts(run_id),
        budget=budget,
        changed_manifests=view.describe_changed_manifests(view.dry_run.children),
    )
    return judge(stated, list_checks(verified, view.host.port))


def _ask_for_verification(
    view: RunView, module: AgentModule, execution: ExecutionResult
) -> VerificationResult:
    """Return the agent's verification; a failed check without one, or without time left.

    So the lifecycle's own checks, the receipt and the response do not depend on the agent.
    """
    try:
        view.require_time()
        context = view.build_context()
        return ask_agent(
            view.task.agent_slug,
            VerificationResult,
            lambda: module.verify(view.task, execution, context),
        )
    except (AgentFailedError, RunStoppedError, ConfigError) as error:
        check = VerificationCheck(name="verify", is_passed=False, details=str(error))
        return VerificationResult(is_passed=False, checks=(check,), score=0.0)


def _respond(view: RunView, verification: VerificationResult, digest: bytes) -> str:
    """Post the validator's response about the discovered agent; return the reference."""
    run_id = view.run.run_id
    agent_id = view.agent_id
    if view.host.validator is None or agent_id is None:
        return "0x" + compute_json_digest(verification).hex()
    response = compute_response(verification)
    return view.host.validator.respond(agent_id, run_id, response, digest)


def summarize(view: RunView) -> PhaseOutcome:
    """Get the coordinator's summary."""
    store, run_id, module = view.host.store, view.run.run_id, view.coordinator
    execution = store.get_result(ExecutionRecord, run_id, Phase.EXECUTE).result
    verification = store.get_result(VerificationResult, run_id, Phase.VERIFY)
    context = view.build_context()
    summary = ask_agent(
        view.task.agent_slug,
        RunSummary,
        lambda: module.summarize(view.task, execution, verification, context),
    )
    return PhaseOutcome(result=summary)


def record_run(view: RunView) -> PhaseOutcome:
    """Append the run to the agent's log, with any outcome."""
    run, host = view.run, view.host
    status = RunStatus.COMPLETED if run.failure is None else RunStatus.FAILED
    if run.failed_phase is None and run.failure is not None:
        status = RunStatus.CANCELLED
    if host.recorder is not None:
        entry = build_log_entry(host.store, run.run_id, status=status.value, ended_at=host.now())
        host.recorder.record(view.task.agent_slug, entry)
    return PhaseOutcome(result=RecordResult(status=status))


PHASES: Mapping[Phase, Callable[[RunView], PhaseOutcome]] = {
    Phase.DISCOVER: discover,
    Phase.PLAN: make_plan,
    Phase.TRUST_CHECK: check_trust,
    Phase.POLICY_CHECK: check_policy,
    Phase.DRY_RUN: dry_run,
    Phase.EXECUTE: execute,
    Phase.VERIFY: verify,
    Phase.SUMMARIZE: summarize,
    Phase.RECORD: record_run,
}

RESULT_KINDS: dict[Phase, type[Any]] = {
    Phase.DISCOVER: DiscoverResult,
    Phase.PLAN: TaskPlan,
    Phase.TRUST_CHECK: TrustCheckResult,
    Phase.POLICY_CHECK: PolicyCheckResult,
    Phase.DRY_RUN: DryRunRecord,
    Phase.EXECUTE: ExecutionRecord,
    Phase.VERIFY: VerificationResult,
    Phase.SUMMARIZE: RunSummary,
    Phase.RECORD: RecordResult,
}
"""The class of the result that each phase stores."""


def read_results(store: RunStore, run_id: str) -> dict[Phase, Any]:
    """Return the results of the phases of a run that were performed, in order."""
    found = {phase: store.find_result(kind, run_id, phase) for phase, kind in RESULT_KINDS.items()}
    return {phase: result for phase, result in found.items() if result is not None}
