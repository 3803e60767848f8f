"""Results of phases in words: lines for a terminal or a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.display import pluralize, sanitize
from pyevm_agents.lifecycle.dry_run import DryRunRecord
from pyevm_agents.lifecycle.records import (
    DiscoverResult,
    ExecutionRecord,
    PolicyCheckResult,
    TaskPlan,
    TrustCheckResult,
    VerificationResult,
)
from pyevm_agents.lifecycle.statuses import REJECTING_PHASES, Phase, RunStatus

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyevm_agents.lifecycle.store import StoredRun

SHOWN_BYTES = 8
"""Of a digest."""


def describe_phase(run: StoredRun, phase: Phase, result: object) -> list[str]:
    """Return lines about the result of a phase, or the reason of a run that stopped in the phase.

    Input: the run after the phase; the phase; the result, None for a phase without one.
    """
    if run.failed_phase is phase:
        return [sanitize(run.failure or "")]
    if result is None and phase is Phase.EXECUTE:
        return ["the state moved; the dry run is made again"]
    if phase is Phase.RECORD:
        return [f"{describe_status(run)}, in the agent's log"]
    return [*describe_result(result)]


def describe_status(run: StoredRun) -> str:
    """Return the status of a run; `rejected` for a run that failed in a check before any step."""
    is_rejected = run.status is RunStatus.FAILED and run.failed_phase in REJECTING_PHASES
    return "rejected" if is_rejected else run.status.value


def describe_result(result: object) -> Iterator[str]:
    """Yield lines about the result of a phase."""
    match result:
        case DiscoverResult():
            yield f"{result.agent_slug} {result.version}"
        case TaskPlan():
            yield from _describe_plan(result)
        case TrustCheckResult():
            yield ", ".join(f"{each.agent_slug}: score {each.score:.2f}" for each in result.agents)
        case PolicyCheckResult():
            yield "within the limits"
        case DryRunRecord():
            yield from _describe_dry_run(result)
        case ExecutionRecord():
            yield from _describe_execution(result)
        case VerificationResult():
            passed = sum(each.is_passed for each in result.checks)
            yield f"{passed} of {len(result.checks)} checks, score {result.score:.2f}"


def _describe_plan(plan: TaskPlan) -> Iterator[str]:
    yield pluralize(len(plan.steps), "step")
    for step in plan.steps:
        after = f", after {', '.join(step.depends_on)}" if step.depends_on else ""
        yield f"{step.step_id} ({step.agent_slug}{after}): {sanitize(step.description)}"


def _describe_dry_run(record: DryRunRecord) -> Iterator[str]:
    use = record.use
    yield (
        f"{pluralize(use.onchain_writes, 'write')}, {pluralize(use.tool_calls, 'tool call')}, "
        f"{record.result.estimated_gas:,} gas, digest {_shorten(record.digests.trace)}"
    )
    yield from map(sanitize, record.result.warnings)


def _describe_execution(record: ExecutionRecord) -> Iterator[str]:
    where = "no transaction" if record.block is None else f"block {record.block.number}"
    yield f"{where}, digest {_shorten(record.digest)}, that of the dry run"
    for step in record.result.steps:
        yield f"{step.step_id}: {sanitize(step.result or step.error or step.status.value)}"


def _shorten(digest: bytes) -> str:
    return f"0x{digest[:SHOWN_BYTES].hex()}…"
