"""Runs as JSON: the results of their phases, dry runs with what is signed, verifications."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyevm_agents.lifecycle.dry_run import DryRunRecord
from pyevm_agents.lifecycle.json_codec import show_json
from pyevm_agents.lifecycle.phase_results import (
    DiscoverResult,
    ExecutionRecord,
    NotDone,
    PolicyCheckResult,
    RecordResult,
    TrustCheckResult,
)
from pyevm_agents.lifecycle.phases import NOT_DONE
from pyevm_agents.lifecycle.plan import TaskPlan
from pyevm_agents.lifecycle.results import RunSummary, VerificationResult
from pyevm_agents.lifecycle.statuses import Phase

if TYPE_CHECKING:
    from pyevm_agents.lifecycle.orchestrator import Orchestrator

    JsonForm = dict[str, Any]

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
"""What each phase stores."""

LARGE_MEMBERS = frozenset({"trace", "pin", "toolUses"})
"""Left out of a run: its dry run has them."""


def serialize_run(orchestrator: Orchestrator, run_id: str) -> JsonForm:
    """Return a run with the results of its phases, its receipts and its summary.

    Raises: UnknownRunError: no such run.
    """
    store = orchestrator.host.store
    run: Any = show_json(store.get_run(run_id))
    phases = {phase: store.find_result(kind, run_id, phase) for phase, kind in RESULT_KINDS.items()}
    pending = orchestrator.find_pending_confirmation(run_id)
    not_done = store.find_value(NotDone, run_id, NOT_DONE)
    return {
        **run,
        "notDone": None if not_done is None else not_done.answer,
        "taskStatus": store.get_task_status(run["taskId"]).value,
        "phases": [
            {"phase": phase.value, "result": _shorten(show_json(result))}
            for phase, result in phases.items()
            if result is not None
        ],
        "waitsForConfirmation": pending is not None,
        "receipts": [show_json(each) for each in store.list_receipts(run_id)],
        "summary": show_json(phases[Phase.SUMMARIZE]),
    }


def serialize_dry_run(orchestrator: Orchestrator, run_id: str) -> JsonForm:
    """Return the dry run of a run.

    Raises: UnknownRunError: no such run, or it has no dry run.
    """
    store = orchestrator.host.store
    store.get_run(run_id)
    form: Any = show_json(store.get_result(DryRunRecord, run_id, Phase.DRY_RUN))
    return {"runId": run_id, **form}


def serialize_verification(orchestrator: Orchestrator, run_id: str) -> JsonForm:
    """Execute the block of a run again; return how it differs, and both digests.

    Raises: UnknownRunError: no such run, or it was not executed.
    """
    store = orchestrator.host.store
    store.get_run(run_id)
    execution = store.get_result(ExecutionRecord, run_id, Phase.EXECUTE)
    dry_run = store.get_result(DryRunRecord, run_id, Phase.DRY_RUN)
    difference = None
    if execution.block is not None:
        difference = orchestrator.host.port.reexecute(execution.block)
    is_same = dry_run.digests.trace == execution.digest
    return {
        "runId": run_id,
        "isVerified": is_same and difference is None,
        "dryRunDigest": "0x" + dry_run.digests.trace.hex(),
        "executionDigest": "0x" + execution.digest.hex(),
        "block": show_json(execution.block),
        "difference": difference,
        "verification": show_json(store.find_result(VerificationResult, run_id, Phase.VERIFY)),
    }


def _shorten(result: Any) -> Any:  # noqa: ANN401 - JSON
    if not isinstance(result, dict):
        return result
    return {name: value for name, value in result.items() if name not in LARGE_MEMBERS}
