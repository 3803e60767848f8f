"""Tasks in files: one as JSON on each line."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from precompiles.abi import ParamDescription, ParamType
from pyevm_agents.errors import ConfigError
from training.tasks import CATEGORIES, Task, TaskStep, TaskTool

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def read_tasks(path: Path) -> list[Task]:
    """Read tasks from a file.

    Raises: ConfigError: the file or a line of it is unfit.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"can't read tasks from {path}: {error}") from error
    tasks = []
    for number, line in enumerate(lines, 1):
        try:
            tasks.append(_task_of(json.loads(line)))
        except (KeyError, TypeError, ValueError) as error:
            raise ConfigError(
                f"line {number} of {path} is no task: {type(error).__name__}: {error}"
            ) from error
    return tasks


def write_tasks(path: Path, tasks: Iterable[Task]) -> None:
    """Write tasks to a file.

    Raises: ConfigError: it can't be written.
    """
    try:
        path.write_text("".join(json.dumps(asdict(task)) + "\n" for task in tasks))
    except OSError as error:
        raise ConfigError(f"can't write tasks to {path}: {error}") from error


def _task_of(form: dict[str, Any]) -> Task:
    if form["category"] not in CATEGORIES:
        raise ValueError(f"category {form['category']!r}; there are {', '.join(CATEGORIES)}")
    tools = tuple(_tool_of(tool) for tool in form["tools"])
    steps = tuple(_step_of(step) for step in form["steps"])
    known = {tool.name: [it.name for it in tool.parameters] for tool in tools}
    for step in steps:
        if [*step.arguments] != known[step.tool]:
            raise ValueError(
                f"a step uses {step.tool} with {[*step.arguments]}; it takes {known[step.tool]}"
            )
    return Task(**{**form, "tools": tools, "steps": steps, "facts": tuple(form["facts"])})


def _tool_of(form: dict[str, Any]) -> TaskTool:
    parameters = tuple(
        ParamDescription(**{**it, "param_type": ParamType(it["param_type"])})
        for it in form["parameters"]
    )
    return TaskTool(**{**form, "parameters": parameters})


def _step_of(form: dict[str, Any]) -> TaskStep:
    arguments = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in form["arguments"].items()
    }
    return TaskStep(**{**form, "arguments": arguments})
