"""Statuses of runs and tasks, their transitions, and the nine phases of a run.

Source: the agent standard of OpenFi, "Run lifecycle".
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

from pyevm_agents.errors import AgentsError

if TYPE_CHECKING:
    from collections.abc import Mapping


class Phase(StrEnum):
    """The phases of a run, in order."""

    DISCOVER = "discover"
    PLAN = "plan"
    TRUST_CHECK = "trust_check"
    POLICY_CHECK = "policy_check"
    DRY_RUN = "dry_run"
    EXECUTE = "execute"
    VERIFY = "verify"
    SUMMARIZE = "summarize"
    RECORD = "record"

    @property
    def next(self) -> Phase:
        """The phase after this one.

        Raises: ValueError: this is the last one.
        """
        phases = tuple(Phase)
        if self is Phase.RECORD:
            raise ValueError("phase record: must not be the last one; no phase follows it")
        return phases[phases.index(self) + 1]


REJECTING_PHASES = frozenset({Phase.TRUST_CHECK, Phase.POLICY_CHECK})
"""A task that is stopped in these phases is rejected; in others, it failed."""


class RunStatus(StrEnum):
    """The status of a run."""

    PENDING = "pending"
    PLANNING = "planning"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_final(self) -> bool:
        """Whether the run has ended."""
        return not RUN_TRANSITIONS[self]


class TaskStatus(StrEnum):
    """The status of a task."""

    PENDING = "pending"
    ASSIGNED = "assigned"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    REJECTED = "rejected"


RUN_TRANSITIONS: Mapping[RunStatus, frozenset[RunStatus]] = {
    RunStatus.PENDING: frozenset({RunStatus.PLANNING, RunStatus.FAILED, RunStatus.CANCELLED}),
    RunStatus.PLANNING: frozenset({RunStatus.RUNNING, RunStatus.FAILED, RunStatus.CANCELLED}),
    # Back to planning: the state moved after the dry run, which is repeated.
    RunStatus.RUNNING: frozenset(
        {RunStatus.PLANNING, RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELLED}
    ),
    RunStatus.COMPLETED: frozenset(),
    RunStatus.FAILED: frozenset(),
    RunStatus.CANCELLED: frozenset(),
}

TASK_TRANSITIONS: Mapping[TaskStatus, frozenset[TaskStatus]] = {
    TaskStatus.PENDING: frozenset(
        {TaskStatus.ASSIGNED, TaskStatus.FAILED, TaskStatus.CANCELLED, TaskStatus.REJECTED}
    ),
    TaskStatus.ASSIGNED: frozenset(
        {TaskStatus.RUNNING, TaskStatus.FAILED, TaskStatus.CANCELLED, TaskStatus.REJECTED}
    ),
    TaskStatus.RUNNING: frozenset(
        {TaskStatus.ASSIGNED, TaskStatus.COMPLETED, TaskStatus.FAILED, TaskStatus.CANCELLED}
    ),
    TaskStatus.COMPLETED: frozenset(),
    # A task whose run failed or was cancelled may be run again, under another run ID.
    TaskStatus.FAILED: frozenset({TaskStatus.PENDING}),
    TaskStatus.CANCELLED: frozenset({TaskStatus.PENDING}),
    TaskStatus.REJECTED: frozenset({TaskStatus.PENDING}),
}

StatusT = TypeVar("StatusT", RunStatus, TaskStatus)


class TransitionError(AgentsError):
    """A status can't follow another one."""


def require_transition(
    table: Mapping[StatusT, frozenset[StatusT]], before: StatusT, after: StatusT
) -> None:
    """Accept a transition, or no change.

    Raises: TransitionError: the status can't follow.
    """
    if after is not before and after not in table[before]:
        allowed = ", ".join(sorted(each.value for each in table[before])) or "no other"
        raise TransitionError(
            f"status {after.value} after {before.value}: must be {allowed}; start another run"
        )
