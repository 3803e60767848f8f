"""Results of tasks and runs, read from a store: phases, dry runs, verifications."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.control.results import (
    DryRunReport,
    RunResult,
    TaskResult,
    VerificationReport,
)
from pyevm_agents.lifecycle.dry_run import DryRunRecord
from pyevm_agents.lifecycle.next_steps import Door, describe_next_step
from pyevm_agents.lifecycle.phases import NOT_DONE, read_results
from pyevm_agents.lifecycle.records import (
    ExecutionRecord,
    NotDone,
    VerificationResult,
)
from pyevm_agents.lifecycle.statuses import Phase

if TYPE_CHECKING:
    from pyevm_agents.lifecycle.next_steps import RunState
    from pyevm_agents.lifecycle.orchestrator import Orchestrator
    from pyevm_agents.lifecycle.store import RunStore


def build_task_result(store: RunStore, task_id: str) -> TaskResult:
    """Return a task with the status and the IDs of the runs.

    Raises: UnknownRunError: no such task.
    """
    return TaskResult.build(
        store.get_task(task_id),
        status=store.get_task_status(task_id),
        run_ids=[each.run_id for each in store.list_runs(task_id)],
    )


def build_run_result(
    orchestrator: Orchestrator,
    run_id: str,
    *,
    state: RunState | None = None,
    door: Door = Door.COMMAND_LINE,
    fault: str | None = None,
) -> RunResult:
    """Return a run with the results of the phases, the receipts and the summary.

    Input:
        state: where the run stands; None for what the store knows of it.
        door: where the result is read, for the next step.
        fault: the failure of the host that stopped the run; None without one.

    Raises: UnknownRunError: no such run.
    """
    store = orchestrator.host.store
    run = store.get_run(run_id)
    results = read_results(store, run_id)
    stands = orchestrator.find_state(run_id) if state is None else state
    not_done = store.find_value(NotDone, run_id, NOT_DONE)
    return RunResult.build(
        run,
        state=stands,
        next_step=describe_next_step(door, stands, run_id=run_id, task_id=run.task_id),
        not_done=None if not_done is None else not_done.answer,
        task_status=store.get_task_status(run.task_id),
        phases=[{"phase": phase, "result": result} for phase, result in results.items()],
        waits_for_confirmation=orchestrator.find_pending_confirmation(run_id) is not None,
        receipts=store.list_receipts(run_id),
        summary=results.get(Phase.SUMMARIZE),
        fault=fault,
    )


def build_dry_run_report(orchestrator: Orchestrator, run_id: str) -> DryRunReport:
    """Return the dry run of a run.

    Raises: UnknownRunError: no such run, or one without a dry run.
    """
    store = orchestrator.host.store
    store.get_run(run_id)
    record = store.get_result(DryRunRecord, run_id, Phase.DRY_RUN)
    return DryRunReport.build(record, run_id=run_id)


def verify_block(orchestrator: Orchestrator, run_id: str) -> VerificationReport:
    """Execute the block of a run again; return the difference, and both digests.

    Raises: UnknownRunError: no such run, or one that was not executed.
    """
    store = orchestrator.host.store
    store.get_run(run_id)
    execution = store.get_result(ExecutionRecord, run_id, Phase.EXECUTE)
    dry_run = store.get_result(DryRunRecord, run_id, Phase.DRY_RUN)
    difference = None
    if execution.block is not None:
        difference = orchestrator.host.port.reexecute(execution.block)
    return VerificationReport.build(
        execution,
        run_id=run_id,
        is_verified=dry_run.digests.trace == execution.digest and difference is None,
        dry_run_digest=dry_run.digests.trace,
        execution_digest=execution.digest,
        difference=difference,
        verification=store.find_result(VerificationResult, run_id, Phase.VERIFY),
    )
