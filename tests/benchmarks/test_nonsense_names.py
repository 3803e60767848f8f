"""Nonsense names: unique, deterministic, and nothing else of a task is changed."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from benchmarks import nonsense_names
from benchmarks.nonsense_names import rename_tools
from benchmarks.task_marks import right_ledger
from tests.benchmarks.sample_tasks import ACTS, INJECTED, LOOKS, TASKS, UNSERVED
from training.sample import held_out

if TYPE_CHECKING:
    from training.tasks import Task

WORD = re.compile(r"([bdfgklmnprstvz][aiou]){3}[bkvz]")
"""A pronounceable word, which is an identifier of Solidity."""


def named(task: Task, names: dict[str, str]) -> Task:
    """Return a task with its tools' names replaced."""
    return replace(
        task,
        tools=tuple(replace(tool, name=names[tool.name]) for tool in task.tools),
        steps=tuple(replace(step, tool=names[step.tool]) for step in task.steps),
        injected=None if task.injected is None else names[task.injected],
    )


@pytest.mark.parametrize("task", TASKS, ids=lambda task: f"{task.category}: {task.question}")
def test_only_names_are_replaced(task: Task) -> None:
    renamed = rename_tools(task, 1)
    back = {new.name: old.name for new, old in zip(renamed.tools, task.tools, strict=True)}
    assert named(renamed, back) == task
    assert not {tool.name for tool in renamed.tools} & {tool.name for tool in task.tools}


def test_names_are_pronounceable_and_unique() -> None:
    for task in (*TASKS, *held_out(60, 2)):
        names = [tool.name for tool in rename_tools(task, 1).tools]
        assert all(WORD.fullmatch(name) for name in names)
        assert len({*names}) == len(names)


def test_names_are_a_function_of_the_seed_and_the_task() -> None:
    first = [tool.name for tool in rename_tools(ACTS, 1).tools]
    assert [tool.name for tool in rename_tools(ACTS, 1).tools] == first
    assert [tool.name for tool in rename_tools(ACTS, 2).tools] != first
    assert [tool.name for tool in rename_tools(UNSERVED, 1).tools] != first


def test_a_name_is_neither_a_word_of_the_question_nor_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = iter(["mofiruk", "basuvok", "dirulaz", "dirulaz", "kopumiv"])
    monkeypatch.setattr(nonsense_names, "_make_word", lambda _: next(words))
    asked = replace(ACTS, question="Mofiruk the pool", tools=ACTS.tools[:3])
    assert [tool.name for tool in rename_tools(asked, 1).tools] == ["basuvok", "dirulaz", "kopumiv"]


def test_the_right_run_acts_by_the_new_names() -> None:
    renamed = rename_tools(INJECTED, 1)
    ((name, digest),) = right_ledger(renamed)
    assert name == renamed.tools[0].name
    assert digest == right_ledger(INJECTED)[0][1]
    assert renamed.injected == renamed.tools[1].name
    assert rename_tools(LOOKS, 1).injected is None
