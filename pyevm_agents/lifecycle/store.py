"""The store of runs: tasks, runs, a row for each phase, receipts, and blocks to be mined.

Any process of the owner may open the file, so that a run is cancelled or confirmed from outside.
One process at a time advances runs.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from pyevm_agents.client.sqlite_store import SqliteStore
from pyevm_agents.errors import ConfigError
from pyevm_agents.lifecycle.budget import RunCancelledError
from pyevm_agents.lifecycle.json_codec import from_json, to_json
from pyevm_agents.lifecycle.next_steps import (
    CANCELLED,
    Door,
    RunState,
    RunStateError,
    describe_next_step,
    find_final_state,
)
from pyevm_agents.lifecycle.records import RunReceipt, Task, require_id
from pyevm_agents.lifecycle.statuses import (
    RUN_TRANSITIONS,
    TASK_TRANSITIONS,
    Phase,
    RunStatus,
    TaskStatus,
    require_transition,
)
from pyevm_agents.recordings.canonical_json import encode_canonical
from pyevm_agents.strict_json import parse_stored_json

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

T = TypeVar("T")

FORMAT = "1"

MINING = "mining"
"""Name of a run's value: whether its block is mined, or about to be."""

MINED_PHASES = frozenset({Phase.VERIFY, Phase.SUMMARIZE})
"""Phases before which the block is mined."""

SCHEMA = """
CREATE TABLE format (version TEXT NOT NULL);
CREATE TABLE tasks (
  task_id TEXT PRIMARY KEY, task TEXT NOT NULL, status TEXT NOT NULL
);
CREATE TABLE runs (
  run_id TEXT PRIMARY KEY, task_id TEXT NOT NULL, parent_run_id TEXT, status TEXT NOT NULL,
  phase TEXT, attempt INTEGER NOT NULL, failed_phase TEXT, failure TEXT,
  is_cancelled INTEGER NOT NULL DEFAULT 0, spent_ms INTEGER NOT NULL DEFAULT 0,
  started_at REAL NOT NULL, ended_at REAL
);
CREATE TABLE phases (
  run_id TEXT NOT NULL, phase TEXT NOT NULL, attempt INTEGER NOT NULL, result TEXT NOT NULL,
  PRIMARY KEY (run_id, phase, attempt)
);
CREATE TABLE receipts (
  run_id TEXT NOT NULL, position INTEGER NOT NULL, receipt_id TEXT NOT NULL, receipt TEXT NOT NULL,
  PRIMARY KEY (run_id, receipt_id)
);
CREATE TABLE blobs (
  run_id TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (run_id, name)
);
"""


class UnknownRunError(ConfigError):
    """The store has no such run or task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    """A run as stored."""

    run_id: str
    task_id: str
    parent_run_id: str | None
    status: RunStatus
    phase: Phase | None
    """The next phase; None after the last one."""

    attempt: int
    """Number of the dry run, from 1 on."""

    failed_phase: Phase | None
    failure: str | None
    is_cancelled: bool
    """Whether the operator ended the run."""

    spent_ms: int
    started_at: float
    """Unix seconds."""

    ended_at: float | None


class RunStore(SqliteStore):
    """The store of an orchestrator's runs. For one thread."""

    table = "format"

    def __init__(self, path: Path) -> None:
        """Open or create the file.

        Raises:
            StoreWriteError: the file is locked, or the disk is full.
            ConfigError: not a store of runs.
        """
        super().__init__(path, SCHEMA, {(): FORMAT}, is_shared=True)
        self._connection.row_factory = sqlite3.Row

    # -- tasks -- #

    def add_task(self, task: Task) -> None:
        """Add a task. Adding the same one again does nothing.

        Raises: ConfigError: another task has the ID.
        """
        row = self._find("SELECT task FROM tasks WHERE task_id = ?", task.task_id)
        text = _encode(task)
        # A text of an older version is read with a replacement.
        if row is not None and _encode(self.get_task(task.task_id)) != text:
            raise ConfigError(f"task {task.task_id}: another task has this ID; choose another one")
        self._connection.execute(
            "INSERT OR IGNORE INTO tasks VALUES (?, ?, ?)",
            (task.task_id, text, TaskStatus.PENDING.value),
        )

    def get_task(self, task_id: str) -> Task:
        """Return a task.

        Raises: UnknownRunError: no such task.
        """
        row = self._find("SELECT task FROM tasks WHERE task_id = ?", task_id)
        if row is None:
            raise UnknownRunError(f"task {task_id!r:.80}: not in {self.path}; list its tasks")
        return from_json(Task, parse_stored_json(row["task"]))

    def list_task_ids(self) -> list[str]:
        """Return the IDs of all tasks, in the order of their creation."""
        rows = self._connection.execute("SELECT task_id FROM tasks ORDER BY rowid").fetchall()
        return [row["task_id"] for row in rows]

    def get_task_status(self, task_id: str) -> TaskStatus:
        """Return the status of a task.

        Raises: UnknownRunError: no such task.
        """
        row = self._find("SELECT status FROM tasks WHERE task_id = ?", task_id)
        if row is None:
            raise UnknownRunError(f"task {task_id!r:.80}: not in {self.path}; list its tasks")
        return TaskStatus(row["status"])

    def set_task_status(self, task_id: str, status: TaskStatus) -> None:
        """Change the status of a task.

        Raises: TransitionError: the status can't follow the present one.
        """
        require_transition(TASK_TRANSITIONS, self.get_task_status(task_id), status)
        self._connection.execute(
            "UPDATE tasks SET status = ? WHERE task_id = ?", (status.value, task_id)
        )

    # -- runs -- #

    def add_run(self, run_id: str, task_id: str, started_at: float) -> None:
        """Add a run. Adding the same one again does nothing.

        Raises: ConfigError: another run has the ID, or the text is no ID.
        """
        require_id("run ID", run_id)
        row = self._find("SELECT task_id FROM runs WHERE run_id = ?", run_id)
        if row is not None and row["task_id"] != task_id:
            raise ConfigError(f"run {run_id}: is of another task; choose another ID")
        self._connection.execute(
            "INSERT OR IGNORE INTO runs (run_id, task_id, status, phase, attempt, started_at) "
            "VALUES (?, ?, ?, ?, 1, ?)",
            (
                run_id,
                task_id,
                RunStatus.PENDING.value,
                Phase.DISCOVER.value,
                started_at,
            ),
        )

    def get_run(self, run_id: str) -> StoredRun:
        """Return a run.

        Raises: UnknownRunError: no such run.
        """
        row = self._find("SELECT * FROM runs WHERE run_id = ?", run_id)
        if row is None:
            raise UnknownRunError(f"run {run_id!r:.80}: not in {self.path}; list its runs")
        return _read_run(row)

    def list_runs(self, task_id: str | None = None) -> list[StoredRun]:
        """Return all runs, or those of a task, in the order of their beginning."""
        rows = self._connection.execute(
            "SELECT * FROM runs WHERE ? IS NULL OR task_id = ? ORDER BY rowid", (task_id, task_id)
        )
        return [_read_run(row) for row in rows]

    def list_unfinished(self) -> list[StoredRun]:
        """Return the runs that are not recorded yet, child runs excluded."""
        return [
            run for run in self.list_runs() if run.phase is not None and run.parent_run_id is None
        ]

    def set_run_status(self, run_id: str, status: RunStatus) -> None:
        """Change the status of a run.

        Raises: TransitionError: the status can't follow the present one.
        """
        require_transition(RUN_TRANSITIONS, self.get_run(run_id).status, status)
        self._connection.execute(
            "UPDATE runs SET status = ? WHERE run_id = ?", (status.value, run_id)
        )

    def set_next_phase(self, run_id: str, phase: Phase | None, *, attempt: int) -> None:
        """Set the phase that comes next, and the number of the dry run."""
        self._connection.execute(
            "UPDATE runs SET phase = ?, attempt = ? WHERE run_id = ?",
            (None if phase is None else phase.value, attempt, run_id),
        )

    def set_failure(self, run_id: str, phase: Phase, failure: str) -> None:
        """Note why and in which phase a run was stopped."""
        self._connection.execute(
            "UPDATE runs SET failed_phase = ?, failure = ? WHERE run_id = ?",
            (phase.value, failure, run_id),
        )

    def add_child(self, run_id: str, parent: StoredRun, status: RunStatus) -> None:
        """Add a child run that has ended with the parent."""
        self._connection.execute(
            "INSERT OR REPLACE INTO runs (run_id, task_id, parent_run_id, status, phase, attempt, "
            "started_at, ended_at) VALUES (?, ?, ?, ?, NULL, 1, ?, ?)",
            (
                run_id,
                parent.task_id,
                parent.run_id,
                status.value,
                parent.started_at,
                parent.ended_at or parent.started_at,
            ),
        )

    def set_spent(self, run_id: str, spent_ms: int) -> None:
        """Note the runtime so far."""
        self._connection.execute(
            "UPDATE runs SET spent_ms = ? WHERE run_id = ?", (spent_ms, run_id)
        )

    def set_ended(self, run_id: str, ended_at: float) -> None:
        """Note the end of a run, in Unix seconds."""
        self._connection.execute(
            "UPDATE runs SET ended_at = ? WHERE run_id = ?", (ended_at, run_id)
        )

    def cancel(self, run_id: str) -> None:
        """Cancel a run at once; what is left is to record it. Nothing of it is mined afterwards.

        To cancel a cancelled run changes nothing. Any process may call this.

        Raises: UnknownRunError: no such run. RunStateError: the run has ended otherwise, or its
                block is mined or about to be.
        """
        with self.commit():
            run = self.get_run(run_id)
            if run.status is RunStatus.CANCELLED:
                return
            self._require_cancellable(run)
            self.set_run_status(run_id, RunStatus.CANCELLED)
            self.set_task_status(run.task_id, TaskStatus.CANCELLED)
            self._connection.execute(
                "UPDATE runs SET is_cancelled = 1, failed_phase = NULL, failure = ?, phase = ? "
                "WHERE run_id = ?",
                (CANCELLED, Phase.RECORD.value, run_id),
            )

    def _require_cancellable(self, run: StoredRun) -> None:
        state = find_final_state(run.status, run.failed_phase)
        if state is not None:
            problem = f"has ended, {state.value}"
        elif run.phase is Phase.RECORD:
            state, problem = RunState.STOPPED, "has ended, and is about to be recorded"
        elif run.phase in MINED_PHASES or self.find_value(bool, run.run_id, MINING):
            state, problem = RunState.STOPPED, "its block is mined, or about to be"
        else:
            return
        after = describe_next_step(Door.PYTHON, state, run_id=run.run_id, task_id=run.task_id)
        raise RunStateError(f"run {run.run_id}: {problem}, so it can't be cancelled", after)

    def begin_mining(self, run_id: str) -> None:
        """Let a run's block be mined; from now on the run can't be cancelled.

        Raises: RunCancelledError: the run was cancelled before.
        """
        with self.commit():
            if self.get_run(run_id).is_cancelled:
                raise RunCancelledError(f"run {run_id}: was cancelled")
            self.set_value(run_id, MINING, True)  # noqa: FBT003 - a stored value

    def end_mining(self, run_id: str) -> None:
        """Note that a run's block was not mined."""
        with self.commit():
            self.drop_value(run_id, MINING)

    # -- phases -- #

    def set_result(self, run_id: str, phase: Phase, attempt: int, result: object) -> None:
        """Store the result of a phase."""
        self._connection.execute(
            "INSERT OR REPLACE INTO phases VALUES (?, ?, ?, ?)",
            (run_id, phase.value, attempt, _encode(result)),
        )

    def find_result(self, kind: type[T], run_id: str, phase: Phase) -> T | None:
        """Return the result of a phase, of the last attempt, or None."""
        row = self._find(
            "SELECT result FROM phases WHERE run_id = ? AND phase = ? ORDER BY attempt DESC",
            run_id,
            phase.value,
        )
        return None if row is None else from_json(kind, parse_stored_json(row["result"]))

    def get_result(self, kind: type[T], run_id: str, phase: Phase) -> T:
        """Return the result of a phase, of the last attempt.

        Raises: UnknownRunError: no such result.
        """
        found = self.find_result(kind, run_id, phase)
        if found is None:
            raise UnknownRunError(f"run {run_id}: has no result of phase {phase.value}")
        return found

    def list_phases(self, run_id: str) -> list[tuple[Phase, int]]:
        """Return the finished phases with their attempts, in the order of their end."""
        rows = self._connection.execute(
            "SELECT phase, attempt FROM phases WHERE run_id = ? ORDER BY rowid", (run_id,)
        )
        return [(Phase(row["phase"]), row["attempt"]) for row in rows]

    # -- receipts -- #

    def add_receipts(self, run_id: str, receipts: Iterable[RunReceipt]) -> None:
        """Store receipts after those that are there; one with the same ID replaces the old one."""
        row = self._find(
            "SELECT coalesce(max(position), 0) AS last FROM receipts WHERE run_id = ?", run_id
        )
        last = 0 if row is None else int(row["last"])
        self._connection.executemany(
            "INSERT OR REPLACE INTO receipts VALUES (?, ?, ?, ?)",
            [
                (run_id, last + place, receipt.receipt_id, _encode(receipt))
                for place, receipt in enumerate(receipts, 1)
            ],
        )

    def list_receipts(self, run_id: str) -> list[RunReceipt]:
        """Return the receipts of a run, in order."""
        rows = self._connection.execute(
            "SELECT receipt FROM receipts WHERE run_id = ? ORDER BY position", (run_id,)
        )
        return [from_json(RunReceipt, parse_stored_json(row["receipt"])) for row in rows]

    # -- values that belong to a phase that has not ended -- #

    def set_value(self, run_id: str, name: str, value: object) -> None:
        """Store a value under a name."""
        self._connection.execute(
            "INSERT OR REPLACE INTO blobs VALUES (?, ?, ?)", (run_id, name, _encode(value))
        )

    def find_value(self, kind: type[T], run_id: str, name: str) -> T | None:
        """Return a value by name, or None."""
        row = self._find("SELECT value FROM blobs WHERE run_id = ? AND name = ?", run_id, name)
        return None if row is None else from_json(kind, parse_stored_json(row["value"]))

    def drop_value(self, run_id: str, name: str) -> None:
        """Remove a value."""
        self._connection.execute("DELETE FROM blobs WHERE run_id = ? AND name = ?", (run_id, name))

    # -- the file -- #

    def _find(self, query: str, *values: object) -> sqlite3.Row | None:
        row: sqlite3.Row | None = self._connection.execute(query, values).fetchone()
        return row


def _encode(value: object) -> str:
    return encode_canonical(to_json(value))


def _read_run(row: sqlite3.Row) -> StoredRun:
    return StoredRun(
        run_id=row["run_id"],
        task_id=row["task_id"],
        parent_run_id=row["parent_run_id"],
        status=RunStatus(row["status"]),
        phase=None if row["phase"] is None else Phase(row["phase"]),
        attempt=row["attempt"],
        failed_phase=None if row["failed_phase"] is None else Phase(row["failed_phase"]),
        failure=row["failure"],
        is_cancelled=bool(row["is_cancelled"]),
        spent_ms=row["spent_ms"],
        started_at=row["started_at"],
        ended_at=row["ended_at"],
    )
