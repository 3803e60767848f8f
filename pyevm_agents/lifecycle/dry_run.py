"""Drafts of a run's block: the dry run, and the execution that must give the same digest.

Both open the run's envelope, walk the plan, and close the envelope, on a draft of the next block
with the dry run's number, timestamp, base fee, PREVRANDAO and coinbase. Inference is a pure
function, so on the same state an honest agent's execution equals the dry run. On another state the
digests may differ; then the dry run is repeated.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyevm_agents.errors import AgentsError
from pyevm_agents.lifecycle.budget import (
    BudgetExceededError,
    BudgetMeter,
    BudgetUse,
    describe_overspending,
)
from pyevm_agents.lifecycle.envelopes import DryRunDigests
from pyevm_agents.lifecycle.execution import ChildRun, PlanWalker, WalkResult, WalkRules
from pyevm_agents.lifecycle.records import DryRunResult, StepStatus
from pyevm_agents.lifecycle.run_block import BlockPin  # noqa: TC001 - read by the JSON codec
from pyevm_agents.lifecycle.run_trace import RunTrace  # noqa: TC001 - read by the JSON codec
from pyevm_agents.lifecycle.session import HostToolUse, RunSession, SessionLimits

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyevm_agents.lifecycle.budget import ComputeBudget
    from pyevm_agents.lifecycle.chain_tools import HostTool
    from pyevm_agents.lifecycle.context import AgentContext
    from pyevm_agents.lifecycle.envelopes import Confirmation, RunEnvelope, WriteEnvelope
    from pyevm_agents.lifecycle.local_chain import LocalChainPort, LocalDraft
    from pyevm_agents.lifecycle.manifest import AgentManifest
    from pyevm_agents.lifecycle.module import AgentModule
    from pyevm_agents.lifecycle.records import RunReceipt, Task, TaskPlan
    from pyevm_agents.lifecycle.run_block import EnvelopeCall
    from pyevm_agents.lifecycle.run_trace import RunWrite


ADVICE = {
    "RunExists": "the treasury has had a run with this ID, of this store or another one; run the "
    "task under another run ID",
    "TaskOfAnother": "another operator has a task with this ID there; choose another task ID",
}
"""What to do about an error of a treasury's opening, by its name."""


class EnvelopeError(AgentsError):
    """The opening or the closing of a run failed, such as at a treasury's limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRunRecord:
    """A dry run as stored."""

    result: DryRunResult
    pin: BlockPin
    trace: RunTrace
    digests: DryRunDigests
    tool_uses: tuple[HostToolUse, ...]
    use: BudgetUse
    children: tuple[ChildRun, ...]
    needs_confirmation: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RunParts:
    """The parts of a draft of a run."""

    port: LocalChainPort
    modules: Mapping[str, AgentModule]
    tools: Mapping[str, HostTool]
    protected: frozenset[bytes]
    limits: ComputeBudget
    """Of the host."""

    task: Task
    plan: TaskPlan
    context: AgentContext
    envelope: RunEnvelope
    get_manifest: Callable[[str], AgentManifest]
    """Returns the manifest of an agent by its slug."""

    create_meter: Callable[[], BudgetMeter]
    is_cancelled: Callable[[], bool]
    check_trust: Callable[[str, Task], tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftedRun:
    """A run on a draft."""

    draft: LocalDraft
    stated: WalkResult
    trace: RunTrace
    tool_uses: tuple[HostToolUse, ...]
    receipts: tuple[RunReceipt, ...]
    use: BudgetUse


def make_dry_run(parts: RunParts, pin: BlockPin) -> DryRunRecord:
    """Execute a plan on a draft of the next block.

    Raises: RunStoppedError: a limit, the operator or a lie stopped the run. EnvelopeError: the
        envelope refused the run. EngineFault: the host failed.
    """
    needs_confirmation = parts.envelope.requires_confirmation
    drafted = None if needs_confirmation else _draft_unconfirmed(parts, pin)
    if drafted is None:
        drafted, needs_confirmation = _draft_confirmed(parts, pin), True
    trace = drafted.trace
    result = DryRunResult(
        steps=drafted.stated.steps,
        warnings=(*drafted.stated.warnings, *_list_warnings(trace)),
        policy_violations=(*drafted.stated.violations, *list_contradictions(drafted)),
        estimated_gas=sum(each.gas_used for each in trace.writes),
    )
    return DryRunRecord(
        result=result,
        pin=pin,
        trace=trace,
        digests=DryRunDigests(writes=trace.compute_writes_digest(), trace=trace.compute_digest()),
        tool_uses=drafted.tool_uses,
        use=drafted.use,
        children=drafted.stated.children,
        needs_confirmation=needs_confirmation,
    )


def draft_execution(
    parts: RunParts, record: DryRunRecord, draft: LocalDraft, confirmation: Confirmation | None
) -> DraftedRun:
    """Execute a plan as the dry run did.

    Input: a draft that begins with the pinned values of the dry run.
    Raises: see `make_dry_run`; `DivergenceError`: a difference from the dry run.
    """
    limits = replace(_build_limits(parts), expected=record.trace, recorded=record.tool_uses)
    writes = None
    if record.needs_confirmation:
        writes = tuple(each.write for each in record.trace.writes)
    opening = parts.envelope.build_opening(writes, record.digests.trace, confirmation)
    return _run_enveloped(parts, draft, limits, opening, is_dry_run=False)


def _draft_unconfirmed(parts: RunParts, pin: BlockPin) -> DraftedRun | None:
    """Draft a run that needs no confirmation; return None if one of the writes needs one."""
    opening = parts.envelope.build_opening(None, None, None)
    draft = parts.port.begin_draft(pin)
    drafted = _run_enveloped(parts, draft, _build_limits(parts), opening)
    if any(parts.envelope.is_unconfirmed(trace) for trace in drafted.trace.writes):
        return None
    return drafted


def _draft_confirmed(parts: RunParts, pin: BlockPin) -> DraftedRun:
    """Draft a run whose writes are confirmed: a separate draft finds the writes first."""
    discovery, writes = parts.envelope.get_discovery(), None
    if discovery is not None:
        free = parts.port.begin_draft(pin, is_free=True)
        writes = _list_writes(_walk(parts, free, _build_limits(parts), discovery))
    opening = parts.envelope.build_opening(writes, None, None)
    draft = parts.port.begin_draft(pin)
    drafted = _run_enveloped(parts, draft, _build_limits(parts), opening)
    if drafted.stated.error is not None:  # A failed write leaves nothing, so later ones differ.
        return drafted
    if writes is not None and _list_writes(drafted) != writes:
        raise EnvelopeError("writes: must not depend on whether the run is open in its treasury")
    return drafted


def list_contradictions(drafted: DraftedRun) -> tuple[str, ...]:
    """Return the steps that their agents call completed although a write of theirs failed."""
    failed: dict[str, str | None] = {}
    for each in drafted.trace.writes:
        if not each.is_success:
            failed.setdefault(each.write.step_id, each.failure)
    steps = [(step.step_id, step.status) for step in drafted.stated.steps]
    for child in drafted.stated.children:
        steps += [(f"{child.prefix}{step.step_id}", step.status) for step in child.steps]
    return tuple(
        f"step {step_id}: is called completed, but a write of it failed: {failed[step_id]}"
        for step_id, status in steps
        if step_id in failed and status is StepStatus.COMPLETED
    )


def _run_enveloped(
    parts: RunParts,
    draft: LocalDraft,
    limits: SessionLimits,
    opening: Sequence[EnvelopeCall],
    *,
    is_dry_run: bool = True,
) -> DraftedRun:
    _send_envelope(draft, opening, "opening")
    drafted = _walk(parts, draft, limits, parts.envelope, is_dry_run=is_dry_run)
    if drafted.stated.error is None:
        _send_envelope(draft, parts.envelope.build_closing(), "closing")
    return drafted


def _send_envelope(draft: LocalDraft, calls: Sequence[EnvelopeCall], name: str) -> None:
    for call in calls:
        failure = draft.send_envelope(call)
        if failure is not None:
            advice = ADVICE.get(failure.partition("(")[0])
            words = failure if advice is None else f"{failure}; {advice}"
            raise EnvelopeError(f"{name} of the run: {words}")


def _walk(
    parts: RunParts,
    draft: LocalDraft,
    limits: SessionLimits,
    envelope: WriteEnvelope,
    *,
    is_dry_run: bool = True,
) -> DraftedRun:
    session = RunSession(
        draft,
        parts.create_meter(),
        run_id=parts.context.run_id,
        limits=limits,
        tools=parts.tools,
        envelope=envelope,
        is_cancelled=parts.is_cancelled,
    )
    walker = PlanWalker(
        parts.modules,
        session,
        is_dry_run=is_dry_run,
        rules=WalkRules(
            limits=parts.limits, get_manifest=parts.get_manifest, check_trust=parts.check_trust
        ),
    )
    stated = walker.walk(parts.task, parts.plan, parts.context)
    use = count_use(stated, session)
    # The meters refuse what is above a limit; this counts from the trace, which nobody swaps.
    if (problem := describe_overspending(parts.context.compute_budget, use)) is not None:
        raise BudgetExceededError(problem)
    return DraftedRun(
        draft=draft,
        stated=stated,
        trace=session.trace,
        tool_uses=session.tool_uses,
        receipts=session.receipts,
        use=use,
    )


def count_use(stated: WalkResult, session: RunSession) -> BudgetUse:
    """Return the use of a walk, counted from the walk's acts."""
    steps = [*stated.steps, *(step for child in stated.children for step in child.steps)]
    writes = session.trace.writes
    return BudgetUse(
        steps=sum(step.status is not StepStatus.SKIPPED for step in steps),
        tool_calls=len(session.tool_uses) + sum(len(each.tool_uses) for each in writes),
        onchain_writes=len(writes),
        gas_wei=session.trace.gas_wei,
    )


def _build_limits(parts: RunParts) -> SessionLimits:
    return SessionLimits(protected=parts.protected, refused_targets=parts.envelope.refused_targets)


def _list_writes(drafted: DraftedRun) -> tuple[RunWrite, ...]:
    return tuple(each.write for each in drafted.trace.writes)


def _list_warnings(trace: RunTrace) -> tuple[str, ...]:
    return tuple(
        f"write {number} of {each.write.step_id}: {each.failure}"
        for number, each in enumerate(trace.writes, 1)
        if not each.is_success
    )
