"""Tasks in files and from the generator."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import pytest

from benchmarks.task_files import read_tasks, write_tasks
from pyevm_agents.errors import ConfigError
from tests.benchmarks.sample_tasks import ACTS, TASKS

if TYPE_CHECKING:
    from pathlib import Path


def test_tasks_come_back_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    write_tasks(path, TASKS)
    assert tuple(read_tasks(path)) == TASKS


def edited(**changes: object) -> str:
    return json.dumps({**json.loads(json.dumps(asdict(ACTS))), **changes})


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("", "JSONDecodeError"),
        ("{", "JSONDecodeError"),
        ("[]", "TypeError"),
        ("{}", "KeyError: 'category'"),
        (edited(category="two steps"), "category 'two steps'; there are one step, several"),
        (edited(colour="red"), "colour"),
        (edited(tools=[]), "KeyError: 'deposit'"),
        (edited(steps=[{**asdict(ACTS.steps[0]), "arguments": {"amount": 1}}]), "it takes"),
    ],
)
def test_a_line_that_is_no_task_is_named(tmp_path: Path, line: str, reason: str) -> None:
    path = tmp_path / "tasks.jsonl"
    write_tasks(path, [ACTS])
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(ConfigError, match=f"line 2 of .*{reason}"):
        read_tasks(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"can't read tasks from .*nowhere"):
        read_tasks(tmp_path / "nowhere")
    with pytest.raises(ConfigError, match=r"can't write tasks to .*nowhere"):
        write_tasks(tmp_path / "nowhere" / "tasks.jsonl", TASKS)
