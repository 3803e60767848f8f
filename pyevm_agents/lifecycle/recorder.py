"""The record of a run: an entry of the agent's append-only log, and the rows of child runs.

Source: the agent standard of OpenFi, `agent_log.json`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime  # noqa: TID251 - formats times that are given
from typing import TYPE_CHECKING, Protocol

from pyevm_agents.lifecycle.budget import ComputeBudget  # noqa: TC001 - read by the JSON codec
from pyevm_agents.lifecycle.dry_run import DryRunRecord
from pyevm_agents.lifecycle.records import (
    ExecutionRecord,
    PlanStep,
    RunReceipt,
    RunSummary,
    StepResult,
    TaskPlan,
)
from pyevm_agents.lifecycle.statuses import Phase

if TYPE_CHECKING:
    from pyevm_agents.lifecycle.store import RunStore


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFailure:
    """Why and in which phase a run was stopped."""

    phase: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLogEntry:
    """A run in an agent's log."""

    run_id: str
    started_at: str
    """ISO 8601, in UTC."""

    ended_at: str
    goal: str
    status: str
    budget: ComputeBudget
    plan: tuple[PlanStep, ...]
    steps: tuple[StepResult, ...]
    retries: tuple[str, ...]
    """Why dry runs were repeated."""

    failures: tuple[RunFailure, ...]
    receipts: tuple[RunReceipt, ...]
    dry_run_digest: bytes | None
    execution_digest: bytes | None
    summary: str


class RunRecorder(Protocol):
    """Keeps the logs of agents."""

    def record(self, agent_slug: str, entry: RunLogEntry) -> None:
        """Append an entry to an agent's log. An entry with the same run ID does nothing."""
        ...


def build_log_entry(store: RunStore, run_id: str, *, status: str, ended_at: float) -> RunLogEntry:
    """Return the entry of a run from the stored phases.

    Input: the store; the run; the final status; the end in Unix seconds.
    """
    run = store.get_run(run_id)
    task = store.get_task(run.task_id)
    plan = store.find_result(TaskPlan, run_id, Phase.PLAN)
    dry_run = store.find_result(DryRunRecord, run_id, Phase.DRY_RUN)
    execution = store.find_result(ExecutionRecord, run_id, Phase.EXECUTE)
    summary = store.find_result(RunSummary, run_id, Phase.SUMMARIZE)
    failure = None if run.failed_phase is None else run.failure
    return RunLogEntry(
        run_id=run_id,
        started_at=format_time(run.started_at),
        ended_at=format_time(ended_at),
        goal=task.goal,
        status=status,
        budget=task.budget,
        plan=() if plan is None else plan.steps,
        steps=() if execution is None else execution.result.steps,
        retries=tuple(f"dry run {number}: the state moved" for number in range(1, run.attempt)),
        failures=()
        if failure is None or run.failed_phase is None
        else (RunFailure(phase=run.failed_phase.value, reason=failure),),
        receipts=tuple(store.list_receipts(run_id)),
        dry_run_digest=None if dry_run is None else dry_run.digests.trace,
        execution_digest=None if execution is None else execution.digest,
        summary=failure or ("" if summary is None else summary.text),
    )


def format_time(unix_seconds: float) -> str:
    """Return a time as ISO 8601 in UTC, with milliseconds."""
    moment = datetime.fromtimestamp(unix_seconds, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
