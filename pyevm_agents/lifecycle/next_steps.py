"""Where a run stands, which requests it admits there, and what comes next, by each door.

A run has a status by OpenFi's standard. Its state says more: whether it is being advanced, stopped
after a phase, or waits for its operator.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from pyevm_agents.errors import ConfigError
from pyevm_agents.lifecycle.statuses import (
    REJECTING_PHASES,
    Phase,
    RunStatus,
    TransitionError,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

CANCELLED = "cancelled by the operator"
"""The reason of a cancelled run."""


class RunState(StrEnum):
    """Where a run stands."""

    ADVANCING = "advancing"
    """Its phases are being performed."""

    STOPPED = "stopped"
    """After a phase, until somebody continues it."""

    WAITING = "waiting_for_confirmation"
    """After the dry run, for the operator's signature."""

    FAULTED = "faulted"
    """The host failed; the phase is tried again when somebody continues the run."""

    COMPLETED = "completed"
    FAILED = "failed"
    REJECTED = "rejected"
    """Failed in the trust or the policy check."""

    CANCELLED = "cancelled"


class Door(StrEnum):
    """How somebody reaches runs."""

    PYTHON = "python"
    COMMAND_LINE = "command line"
    REST = "REST"
    MCP = "MCP"


class RunAction(StrEnum):
    """What somebody asks of a run, or of its task."""

    START = "start"
    """Another run of the task."""

    CONTINUE = "continue"
    READ_CONFIRMATION = "read the confirmation"
    CONFIRM = "confirm"
    CANCEL = "cancel"


UNFINISHED = frozenset({
    RunState.ADVANCING, RunState.STOPPED, RunState.WAITING, RunState.FAULTED,
})  # fmt: skip

ADMITTED: Mapping[RunAction, frozenset[RunState]] = {
    RunAction.START: frozenset({RunState.FAILED, RunState.REJECTED, RunState.CANCELLED}),
    RunAction.CONTINUE: UNFINISHED,
    RunAction.READ_CONFIRMATION: frozenset({RunState.WAITING}),
    RunAction.CONFIRM: frozenset({RunState.WAITING}),
    # To cancel a cancelled run again changes nothing.
    RunAction.CANCEL: UNFINISHED | {RunState.CANCELLED},
}
"""The states in which a run admits a request. A run whose block is mined can't be cancelled."""

_KEPT = "with the same --agent and --data"
_AGAIN = "`pyevm-agents run GOAL` starts a run of a new task"

NEXT_STEPS: Mapping[Door, Mapping[RunState, str]] = {
    Door.PYTHON: {
        RunState.ADVANCING: "wait until it has stopped",
        RunState.STOPPED: "resume it by `run({run!r})`",
        RunState.WAITING: "sign `hash_confirmation({run!r}, expiry)`, and `confirm` it",
        RunState.FAULTED: "resume it by `run({run!r})`",
        RunState.COMPLETED: "start a run of another task",
        RunState.FAILED: "start another run of the task",
        RunState.REJECTED: "start another run of the task",
        RunState.CANCELLED: "start another run of the task",
    },
    Door.COMMAND_LINE: {
        RunState.ADVANCING: "wait until it has stopped",
        RunState.STOPPED: f"go on by `pyevm-agents run --continue {{run}}` {_KEPT}",
        RunState.WAITING: f"go on by `pyevm-agents run --continue {{run}} --confirm` {_KEPT}",
        RunState.FAULTED: f"go on by `pyevm-agents run --continue {{run}}` {_KEPT}",
        RunState.COMPLETED: _AGAIN,
        RunState.FAILED: _AGAIN,
        RunState.REJECTED: _AGAIN,
        RunState.CANCELLED: _AGAIN,
    },
    Door.REST: {
        RunState.ADVANCING: "GET /runs/{run}?wait=true answers when it has stopped",
        RunState.STOPPED: 'go on by POST /runs/{run}/continue {{"until": {until}}}',
        RunState.WAITING: "GET /runs/{run}/confirmation?expiry=SECONDS has what the operator signs "
        "for POST /runs/{run}/confirmation",
        RunState.FAULTED: 'try again by POST /runs/{run}/continue {{"until": {until}}}',
        RunState.COMPLETED: "GET /runs/{run}/receipts has what it did; POST /tasks makes another "
        "task",
        RunState.FAILED: "POST /tasks/{task}/runs starts another run of the task",
        RunState.REJECTED: "POST /tasks/{task}/runs starts another run of the task",
        RunState.CANCELLED: "POST /tasks/{task}/runs starts another run of the task",
    },
    Door.MCP: {
        RunState.ADVANCING: 'call openfi_get_run {{"runId": "{run}"}} until it has stopped',
        RunState.STOPPED: 'call openfi_continue_run {{"runId": "{run}", "until": {until}}}',
        RunState.WAITING: 'call openfi_get_confirmation {{"runId": "{run}", "expiry": SECONDS}}, '
        "whose data the operator signs for openfi_confirm_run",
        RunState.FAULTED: 'call openfi_continue_run {{"runId": "{run}", "until": {until}}}',
        RunState.COMPLETED: 'call openfi_get_receipts {{"runId": "{run}"}} for what it did, or '
        "openfi_create_task for another task",
        RunState.FAILED: 'call openfi_run_task {{"taskId": "{task}"}} for another run',
        RunState.REJECTED: 'call openfi_run_task {{"taskId": "{task}"}} for another run',
        RunState.CANCELLED: 'call openfi_run_task {{"taskId": "{task}"}} for another run',
    },
}
"""What comes next, by the door and the run's state."""


def describe_next_step(
    door: Door, state: RunState, *, run_id: str, task_id: str, until: Phase | None = None
) -> str:
    """Return what somebody at a door does next with a run.

    Input: the door; the run's state; the IDs; the phase up to which the run is wanted, if any.
    """
    wanted = "null" if until is None or until is Phase.RECORD else f'"{until.value}"'
    return NEXT_STEPS[door][state].format(run=run_id, task=task_id, until=wanted)


def find_final_state(status: RunStatus, failed_phase: Phase | None) -> RunState | None:
    """Return the state of a run that has ended; None for another run."""
    if not status.is_final:
        return None
    if status is RunStatus.FAILED and failed_phase in REJECTING_PHASES:
        return RunState.REJECTED
    return RunState(status.value)


class RunStateError(TransitionError, ConfigError):
    """A run does not admit a request in its state. The text ends with what comes next."""

    def __init__(self, problem: str, next_step: str) -> None:
        """Input: what the run refuses, and why; what comes next."""
        super().__init__(f"{problem}; {next_step}")
        self.problem = problem


def describe_refusal(request: RunAction, state: RunState, *, run_id: str, task_id: str) -> str:
    """Return that a run does not admit a request in a state."""
    stands = "has not ended" if state in UNFINISHED else f"has ended, {state.value}"
    match request:
        case RunAction.START:
            ends = "completed it" if state is RunState.COMPLETED else stands
            return f"task {task_id}: run {run_id} {ends}"
        case RunAction.CANCEL:
            return f"run {run_id}: {stands}, so it can't be cancelled"
        case RunAction.CONFIRM | RunAction.READ_CONFIRMATION:
            return f"run {run_id}: waits for no confirmation: it {stands}"
        case RunAction.CONTINUE:
            return f"run {run_id}: {stands}"
