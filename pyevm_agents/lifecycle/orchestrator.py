"""The orchestrator: a state machine of nine phases that reads and writes the store between them.

    host = LifecycleHost(port=…, store=RunStore(path), modules={…}, now=time.time)
    orchestrator = Orchestrator(host)
    run = orchestrator.run(orchestrator.start(task))

A run whose operator must confirm waits after the dry run: `run` returns, and `confirm` lets the run
go on. After a kill, `resume` continues every run that had not ended.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyevm_agents.errors import ConfigError
from pyevm_agents.lifecycle.budget import RunCancelledError
from pyevm_agents.lifecycle.host import Moment, RunEvent
from pyevm_agents.lifecycle.next_steps import (
    ADMITTED,
    Door,
    RunAction,
    RunState,
    RunStateError,
    describe_next_step,
    describe_refusal,
    find_final_state,
)
from pyevm_agents.lifecycle.phases import (
    CONFIRMATION,
    NOT_DONE,
    PREPARED,
    find_confirmation,
    perform_phase,
    require_unexpired,
)
from pyevm_agents.lifecycle.records import (
    ExecutionRecord,
    NotDone,
    PhaseOutcome,
    RecordResult,
)
from pyevm_agents.lifecycle.run_block import describe_lost_block
from pyevm_agents.lifecycle.run_view import RunView
from pyevm_agents.lifecycle.statuses import REJECTING_PHASES, Phase, RunStatus, TaskStatus
from pyevm_agents.lifecycle.store import MINING

if TYPE_CHECKING:
    from pyevm_agents.lifecycle.envelopes import Confirmation, DryRunDigests, RunEnvelope
    from pyevm_agents.lifecycle.host import LifecycleHost
    from pyevm_agents.lifecycle.records import Task
    from pyevm_agents.lifecycle.run_block import BlockPin
    from pyevm_agents.lifecycle.run_trace import RunWrite, WriteTrace
    from pyevm_agents.lifecycle.store import StoredRun
    from pyevm_agents.recordings.canonical_json import Json

MAX_DRY_RUNS = 3
"""How often a dry run is made, each with its confirmation, when the state moves after it."""

VERIFIED = frozenset({Phase.SUMMARIZE, Phase.RECORD})
"""Phases after the verification."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingConfirmation:
    """A dry run that waits for the operator."""

    run_id: str
    digests: DryRunDigests

    def __str__(self) -> str:
        """Return one line for people."""
        return f"run {self.run_id} waits for a confirmation of dry run 0x{self.digests.trace.hex()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedWrite:
    """A write of a dry run, with the account that calls the target: a treasury, or a key's."""

    write: RunWrite
    caller: bytes
    is_skipped: bool
    """Whether an earlier run of the task made the write, so that it is not made again."""


class Orchestrator:
    """Runs tasks on a host. For one thread, and one process at a time."""

    def __init__(self, host: LifecycleHost) -> None:
        self.host = host

    def start(self, task: Task, run_id: str | None = None) -> str:
        """Add a run of a task; return the ID. The same call again adds nothing.

        Input:  the task; the run's ID, None for the next one of the task.
        Raises: RunStateError: the task has been completed, or has a run that has not ended.
                ConfigError: an ID is taken.
        """
        store = self.host.store
        with store.commit():
            store.add_task(task)
            runs = store.list_runs(task.task_id)
            chosen = run_id or f"{task.task_id}-run-{len(runs) + 1}"
            if any(run.run_id == chosen for run in runs):
                return chosen
            for run in runs:
                self._require_startable(run)
            store.set_task_status(task.task_id, TaskStatus.PENDING)
            store.add_run(chosen, task.task_id, self.host.now())
        return chosen

    def run(self, run_id: str) -> StoredRun:
        """Advance a run to the end, or to a wait for a confirmation; return the run.

        Raises: EngineFault: the host failed; calling this again continues the run. ConfigError: the
                recorder refuses the entry; once that is mended, this ends the run.
        """
        while True:
            if not self.advance(run_id):
                return self.host.store.get_run(run_id)

    def resume(self) -> list[StoredRun]:
        """Advance and return all runs that have not ended, such as after a kill.

        Raises: see `run`; all others were advanced before.
        """
        runs, errors = [], []
        for run in self.host.store.list_unfinished():
            try:
                runs.append(self.run(run.run_id))
            except Exception as error:  # noqa: BLE001 - raised after the last run
                error.add_note(f"run {run.run_id}: can be resumed")
                errors.append(error)
        if errors:
            raise errors[0]
        return runs

    def advance(self, run_id: str) -> bool:
        """Perform the next phase of a run; return False for a run that has ended, or waits.

        Raises: see `run`.
        """
        run = self.host.store.get_run(run_id)
        if run.phase is None:
            return False
        if (lost := self._describe_lost_block(run)) is not None:
            with self.host.store.commit():
                self._fail(run, Phase.VERIFY, PhaseOutcome(failure=lost))
            return True
        if self.find_pending_confirmation(run_id) is not None:
            return False
        if not self._begin(run, run.phase):
            return True
        view = RunView(self.host, self.host.store.get_run(run_id))
        try:
            outcome = perform_phase(view, run.phase)
        except RunCancelledError as error:
            if self.host.store.get_run(run_id).is_cancelled:
                return True
            outcome = PhaseOutcome(failure=f"{error}; its operator did not cancel it")
        self._announce(run, run.phase, Moment.COMPUTED)
        if self._store(view, run.phase, outcome):
            stored = self.host.store.get_run(run_id)
            self._announce(stored, run.phase, Moment.STORED, outcome.result)
        return True

    def cancel(self, run_id: str) -> None:
        """Cancel a run at once; `run` then records it.

        Another process may call `RunStore.cancel` meanwhile, with the same effect.

        Raises: RunStateError: the run has ended otherwise, or its block is mined.
        """
        self.host.store.cancel(run_id)

    def find_state(self, run_id: str) -> RunState:
        """Return where a run stands.

        Raises: UnknownRunError: no such run.
        """
        run = self.host.store.get_run(run_id)
        final = find_final_state(run.status, run.failed_phase)
        if final is not None:
            return final
        is_waiting = self.find_pending_confirmation(run_id) is not None
        return RunState.WAITING if is_waiting else RunState.STOPPED

    # -- confirmations -- #

    def list_planned_writes(self, run_id: str) -> tuple[BlockPin, tuple[PlannedWrite, ...]]:
        """Return the pinned block and the writes of the last dry run.

        Raises: UnknownRunError: no such run, or one without a dry run.
        """
        view = RunView(self.host, self.host.store.get_run(run_id))
        record = view.dry_run
        envelope = view.open_envelope(record.pin)
        return record.pin, tuple(self._plan_write(each, envelope) for each in record.trace.writes)

    def _plan_write(self, trace: WriteTrace, envelope: RunEnvelope) -> PlannedWrite:
        discovery = envelope.get_discovery()
        call = None if discovery is None else discovery.wrap(trace.write)
        caller = None if call is None else call.sender
        return PlannedWrite(
            write=trace.write,
            caller=caller or self.host.port.address,
            is_skipped=trace.is_success and envelope.read_output(trace.output).is_skipped,
        )

    def find_pending_confirmation(self, run_id: str) -> PendingConfirmation | None:
        """Return the dry run that waits for the operator; None if none does."""
        run = self.host.store.get_run(run_id)
        if run.phase is not Phase.EXECUTE:
            return None
        view = RunView(self.host, run)
        record = view.dry_run
        if not record.needs_confirmation or find_confirmation(view, record) is not None:
            return None
        return PendingConfirmation(run_id=run_id, digests=record.digests)

    def hash_confirmation(self, run_id: str, expiry: int) -> bytes:
        """Return the 32 bytes that the operator signs to confirm the dry run.

        Input: the run; until when the confirmation counts, in Unix seconds.
        """
        view = RunView(self.host, self.host.store.get_run(run_id))
        record = view.dry_run
        return view.open_envelope(record.pin).hash_confirmation(record.digests, expiry)

    def build_typed_data(self, run_id: str, expiry: int) -> dict[str, Json]:
        """Return the EIP-712 typed data of that hash. Input: see `hash_confirmation`."""
        view = RunView(self.host, self.host.store.get_run(run_id))
        record = view.dry_run
        return view.open_envelope(record.pin).build_typed_data(record.digests, expiry)

    def confirm(self, run_id: str, confirmation: Confirmation) -> None:
        """Store the operator's confirmation; `run` then goes on.

        Raises: ConfigError: no waiting dry run, an expired confirmation, or another signer's.
        """
        pending = self.find_pending_confirmation(run_id)
        if pending is None or pending.digests.trace != confirmation.trace:
            raise ConfigError(
                f"confirmation of 0x{confirmation.trace.hex()}: must be of the dry run that run "
                f"{run_id} waits with"
            )
        view = RunView(self.host, self.host.store.get_run(run_id))
        pin = view.dry_run.pin
        view.open_envelope(pin).require_confirmation(pending.digests, confirmation)
        require_unexpired(view, confirmation, pin.timestamp)
        with self.host.store.commit():
            self.host.store.set_value(run_id, CONFIRMATION, confirmation)

    # -- inside -- #

    def _require_startable(self, run: StoredRun) -> None:
        """Accept another run of the task of a run."""
        state = self.find_state(run.run_id)
        if state in ADMITTED[RunAction.START]:
            return
        run_id, task_id = run.run_id, run.task_id
        raise RunStateError(
            describe_refusal(RunAction.START, state, run_id=run_id, task_id=task_id),
            describe_next_step(Door.PYTHON, state, run_id=run_id, task_id=task_id),
        )

    def _begin(self, run: StoredRun, phase: Phase) -> bool:
        """Set the statuses of a phase in progress.

        Output: False if the phase is not the next one any more, such as of a cancelled run.
        """
        store = self.host.store
        with store.commit():
            current = store.get_run(run.run_id)
            if (current.phase, current.attempt) != (phase, run.attempt):
                return False
            if phase is Phase.PLAN:
                store.set_run_status(run.run_id, RunStatus.PLANNING)
            if phase is Phase.EXECUTE:
                store.set_run_status(run.run_id, RunStatus.RUNNING)
                store.set_task_status(run.task_id, TaskStatus.RUNNING)
        self._announce(run, phase, Moment.BEGUN)
        return True

    def _store(self, view: RunView, phase: Phase, outcome: PhaseOutcome) -> bool:
        """Store the outcome of a phase with the consequences, as a whole.

        Output: False for an outcome that is dropped: another caller has stored the phase's
            meanwhile, or the run was cancelled.
        """
        store, run = self.host.store, view.run
        with store.commit():
            current = store.get_run(run.run_id)
            if (current.phase, current.attempt) != (phase, run.attempt):
                return False
            if outcome.result is not None:
                store.set_result(run.run_id, phase, run.attempt, outcome.result)
            store.add_receipts(run.run_id, outcome.receipts)
            store.set_spent(run.run_id, view.spent_ms)
            if phase is Phase.RECORD:
                self._end(run, outcome)
            elif outcome.is_moved and run.attempt < MAX_DRY_RUNS:
                self._repeat_dry_run(run)
            elif outcome.failure is not None:
                self._fail(run, phase, outcome)
            else:
                if phase is Phase.DISCOVER:
                    store.set_task_status(run.task_id, TaskStatus.ASSIGNED)
                store.set_next_phase(run.run_id, phase.next, attempt=run.attempt)
        return True

    def _repeat_dry_run(self, run: StoredRun) -> None:
        store = self.host.store
        store.drop_value(run.run_id, CONFIRMATION)
        store.drop_value(run.run_id, PREPARED)
        store.drop_value(run.run_id, MINING)
        store.set_run_status(run.run_id, RunStatus.PLANNING)
        store.set_task_status(run.task_id, TaskStatus.ASSIGNED)
        store.set_next_phase(run.run_id, Phase.DRY_RUN, attempt=run.attempt + 1)

    def _fail(self, run: StoredRun, phase: Phase, outcome: PhaseOutcome) -> None:
        failure = outcome.failure or "no reason given"
        if outcome.is_moved:
            failure = f"the state moved after each of {MAX_DRY_RUNS} dry runs: {failure}"
        self.host.store.set_failure(run.run_id, phase, failure)
        if outcome.not_done is not None:
            self.host.store.set_value(run.run_id, NOT_DONE, NotDone(answer=outcome.not_done))
        self.host.store.set_next_phase(run.run_id, Phase.RECORD, attempt=run.attempt)

    def _end(self, run: StoredRun, outcome: PhaseOutcome) -> None:
        store = self.host.store
        assert isinstance(outcome.result, RecordResult)  # noqa: S101 - of phase record
        status = outcome.result.status
        if status is not RunStatus.CANCELLED:  # Its task may have another run by now.
            store.set_run_status(run.run_id, status)
            rejected = run.failed_phase in REJECTING_PHASES and status is RunStatus.FAILED
            store.set_task_status(
                run.task_id, TaskStatus.REJECTED if rejected else TaskStatus(status.value)
            )
        store.set_ended(run.run_id, self.host.now())
        store.set_next_phase(run.run_id, None, attempt=run.attempt)
        if status is RunStatus.COMPLETED:
            self._add_children(run)

    def _add_children(self, run: StoredRun) -> None:
        """Store the child runs, which ended with their parent."""
        store, view = self.host.store, RunView(self.host, run)
        for child in view.dry_run.children:
            store.add_child(child.run_id, run, RunStatus.COMPLETED)
            store.set_result(child.run_id, Phase.PLAN, 1, child.plan)
            store.set_result(child.run_id, Phase.RECORD, 1, child)

    def _describe_lost_block(self, run: StoredRun) -> str | None:
        """Return that the block of a verified run was reverted; None if not.

        The verification itself looks as well; this is for the phases afterwards.
        """
        if run.phase not in VERIFIED or run.failure is not None:
            return None
        execution = self.host.store.get_result(ExecutionRecord, run.run_id, Phase.EXECUTE)
        block = execution.block
        if block is None or self.host.port.find_block(block.transaction_hashes) == block:
            return None
        return describe_lost_block(block)

    def _announce(
        self, run: StoredRun, phase: Phase, moment: Moment, result: object = None
    ) -> None:
        self.host.listener(RunEvent(run=run, phase=phase, moment=moment, result=result))
