"""The store of runs, JSON of dataclasses, plans and statuses."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.client.sqlite_store import StoreWriteError
from pyevm_agents.errors import ConfigError
from pyevm_agents.lifecycle.budget import ComputeBudget, RunCancelledError
from pyevm_agents.lifecycle.json_codec import from_json, to_json
from pyevm_agents.lifecycle.next_steps import CANCELLED, RunStateError
from pyevm_agents.lifecycle.records import (
    PlanError,
    PlanStep,
    ReceiptType,
    RunReceipt,
    Task,
    TaskPlan,
    order_steps,
)
from pyevm_agents.lifecycle.statuses import (
    RUN_TRANSITIONS,
    TASK_TRANSITIONS,
    Phase,
    RunStatus,
    TaskStatus,
    TransitionError,
    require_transition,
)
from pyevm_agents.lifecycle.store import RunStore, UnknownRunError
from tests.pyevm_agents.lifecycle.run_bench import build_manifest, build_task, narrow

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def store(tmp_path: Path) -> Iterator[RunStore]:
    with RunStore(tmp_path / "runs.sqlite") as opened:
        yield opened


# -- statuses of the standard -- #


def test_statuses_and_phases_are_those_of_the_standard() -> None:
    assert [status.value for status in RunStatus] == (
        ["pending", "planning", "running", "completed", "failed", "cancelled"]
    )
    assert [status.value for status in TaskStatus] == (
        ["pending", "assigned", "running", "completed", "failed", "cancelled", "rejected"]
    )
    assert [phase.value for phase in Phase] == (
        [
            "discover",
            "plan",
            "trust_check",
            "policy_check",
            "dry_run",
            "execute",
            "verify",
            "summarize",
            "record",
        ]
    )
    assert [phase.next for phase in list(Phase)[:-1]] == list(Phase)[1:]
    with pytest.raises(ValueError, match="no phase follows"):
        _ = Phase.RECORD.next


def test_the_default_budget_is_that_of_the_standard() -> None:
    assert to_json(ComputeBudget()) == {
        "maxSteps": 10,
        "maxToolCalls": 50,
        "maxRuntimeMs": 300_000,
        "maxOnchainWrites": 5,
        "maxGasWei": None,
    }


def test_a_completed_run_or_task_stays_completed() -> None:
    for status in RunStatus:
        if status is not RunStatus.COMPLETED:
            with pytest.raises(TransitionError):
                require_transition(RUN_TRANSITIONS, RunStatus.COMPLETED, status)
    require_transition(TASK_TRANSITIONS, TaskStatus.FAILED, TaskStatus.PENDING)
    with pytest.raises(TransitionError, match="status running after pending: must be assigned"):
        require_transition(TASK_TRANSITIONS, TaskStatus.PENDING, TaskStatus.RUNNING)


# -- plans -- #


def build_step(step_id: str, *depends_on: str, text: str = "") -> PlanStep:
    return PlanStep(step_id=step_id, description=text, agent_slug="a", depends_on=depends_on)


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ((), "at least one step"),
        ((build_step("a"), build_step("a")), "must be the only one"),
        ((build_step("a", "b"),), "depends on 'b', not a step"),
        ((build_step("a", "a"),), "in a circle"),
        ((build_step("a", "b"), build_step("b", "a")), "steps a, b: must not depend"),
        ((build_step("../etc"),), "must be 1 to 64 letters"),
        ((build_step("a", text="x" * 4_001),), "at most 4,000 characters"),
    ],
)
def test_a_plan_that_cannot_be_executed_is_refused(steps: tuple[PlanStep, ...], words: str) -> None:
    with pytest.raises((PlanError, ConfigError), match=words):
        order_steps(TaskPlan(steps=steps))


# -- JSON -- #


def test_json_has_the_names_of_the_standard() -> None:
    step = build_step("step-1", "step-0")
    assert to_json(step) == {
        "stepId": "step-1",
        "description": "",
        "agentSlug": "a",
        "dependsOn": ["step-0"],
    }
    manifest = build_manifest("adder")
    form = to_json(manifest)
    assert isinstance(form, dict)
    assert form["safety"] == {
        "requiresDryRun": True,
        "requiresVerification": True,
        "maxOnchainWritesPerRun": 5,
    }
    assert from_json(type(manifest), form) == manifest


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"taskId": 1}, "Task.taskId 1: must be of type str"),
        ({"goal": None}, "Task.goal None: must be of type str"),
        ({"extra": 1}, "Task.extra: must be one of"),
        ({"operatorWallet": "0xzz"}, "must be hexadecimal"),
        ({"budget": 3}, "Task.budget 3: must be an object"),
        ({"budget": {"maxSteps": "many"}}, "Task.budget.maxSteps 'many'"),
        ({"budget": {"maxGasWei": "many"}}, "maxGasWei 'many': must be a decimal"),
        ({"taskId": "a b"}, "task ID 'a b'"),
    ],
)
def test_json_of_another_form_is_refused(changes: dict[str, object], words: str) -> None:
    form = to_json(build_task())
    assert isinstance(form, dict)
    with pytest.raises(ConfigError) as caught:
        from_json(Task, {**form, **changes})
    assert words in str(caught.value)


def test_json_without_a_field_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"Task.taskId: is missing"):
        from_json(Task, {})


def test_other_values_are_no_json() -> None:
    @dataclass
    class Odd:
        value: object

    with pytest.raises(TypeError, match="a complex"):
        to_json(Odd(value=1j))


# -- the store -- #


def test_a_store_has_what_was_committed(tmp_path: Path) -> None:
    task = build_task(budget=narrow(max_gas_wei="7"))
    receipt = RunReceipt(receipt_id="r-1", type=ReceiptType.API, ref="x", summary="y")
    with RunStore(tmp_path / "runs.sqlite") as store, store.commit():
        store.add_task(task)
        store.add_run("run-1", task.task_id, 5.0)
        store.add_receipts("run-1", [receipt])
    with RunStore(tmp_path / "runs.sqlite") as store:
        assert store.get_task(task.task_id) == task
        assert [run.run_id for run in store.list_unfinished()] == ["run-1"]
        assert store.list_receipts("run-1") == [receipt]
        with store.commit():
            store.add_receipts("run-1", [receipt])
        assert store.list_receipts("run-1") == [receipt], "the same receipt is there once"


def test_a_failed_commit_leaves_nothing(store: RunStore) -> None:
    with store.commit():
        store.add_task(build_task("task-0"))
    with pytest.raises(ConfigError, match="another task has this ID"):
        add_both(store)
    with pytest.raises(UnknownRunError):
        store.get_task("task-1")


def test_a_store_that_cannot_be_written_says_so(store: RunStore) -> None:
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("DROP TABLE tasks")
    other.close()
    with pytest.raises(StoreWriteError, match="free some space"):
        add_both(store)


@pytest.mark.parametrize("trouble", ["locked", "full"])
def test_a_store_that_cannot_be_opened_now_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trouble: str
) -> None:
    path = tmp_path / "runs.sqlite"
    connect = sqlite3.connect

    def connect_to_full_disk(path: Path, **_: object) -> sqlite3.Connection:
        connection = connect(path, isolation_level=None)
        connection.execute("PRAGMA max_page_count = 2")
        return connection

    with closing(connect(path, isolation_level=None)) as other:
        if trouble == "locked":
            other.execute("BEGIN EXCLUSIVE")
            monkeypatch.setattr("pyevm_agents.client.sqlite_store.BUSY_SECONDS", 0)
        else:
            monkeypatch.setattr(sqlite3, "connect", connect_to_full_disk)
        with pytest.raises(StoreWriteError):
            RunStore(path)


def add_both(store: RunStore) -> None:
    """Add a task, then one whose ID may be taken, as a whole."""
    with store.commit():
        store.add_task(build_task())
        store.add_task(build_task("task-0", goal="Another one"))


def test_another_process_cancels_a_run(store: RunStore) -> None:
    with store.commit():
        store.add_task(build_task())
        store.add_run("run-1", "task-1", 0.0)
    with RunStore(store.path) as other:
        other.cancel("run-1")
        with pytest.raises(UnknownRunError):
            other.cancel("run-2")
    assert store.get_run("run-1").is_cancelled


def test_a_run_is_cancelled_or_mined_and_never_both(store: RunStore) -> None:
    with store.commit():
        for number in (1, 2):
            store.add_task(build_task(f"task-{number}"))
            store.add_run(f"run-{number}", f"task-{number}", 0.0)
    store.begin_mining("run-1")
    with RunStore(store.path) as other:
        with pytest.raises(RunStateError):
            other.cancel("run-1")
        store.end_mining("run-1")
        for _ in range(2):
            other.cancel("run-1")
    found = store.get_run("run-1")
    assert (found.status, found.phase, found.failure) == (
        RunStatus.CANCELLED,
        Phase.RECORD,
        CANCELLED,
    )
    with pytest.raises(RunCancelledError):
        store.begin_mining("run-1")
    assert [each.run_id for each in store.list_unfinished()] == ["run-1", "run-2"]


def test_another_file_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not a database, but long enough to look like a file of one" * 9)
    with pytest.raises(ConfigError, match="pass another file"):
        RunStore(tmp_path / "text")
    connection = sqlite3.connect(tmp_path / "other")
    connection.execute("CREATE TABLE people (name TEXT)")
    connection.close()
    with pytest.raises(ConfigError, match="not a store of this kind"):
        RunStore(tmp_path / "other")
