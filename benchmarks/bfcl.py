"""First calls, marked by the published method of the Berkeley Function Calling Leaderboard (BFCL).

BFCL parses a call and compares it with possible answers ("AST evaluation"):

- one call, to the right function;
- all required parameters, and no unknown one;
- values of the described types; an integer is no boolean;
- values among the possible answers. Strings are compared in lower case, without spaces and
  `,./-_*^`, and with one kind of quotation mark; lists item by item, in order.

Covered: its categories *simple* (one function), *multiple* (several), *irrelevance* (no function
fits: no call is right) and *relevance* (one fits: any call is right), on our own tasks' first
calls. Not covered: its data, parallel calls, Java and JavaScript, executed calls, several turns,
agents, and its overall score, which needs all of them.

Differences: the prompt is the executor's, and a grammar admits calls of existing tools with all
parameters in their types alone, so that only names and values can be wrong. Each parameter is
required and has one possible answer. An address is a string. A call that the gate withheld is none.

Source: S. G. Patil et al., "The Berkeley Function Calling Leaderboard (BFCL)", ICML 2025;
    https://gorilla.cs.berkeley.edu/blogs/8_berkeley_function_calling_leaderboard.html.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from rich.table import Table

from benchmarks.shares import share_of
from precompiles.abi import ParamType

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.accuracy_tables import Result
    from benchmarks.agent_runs import AgentRun
    from benchmarks.shares import Share
    from training.tasks import Task, TaskTool

Fault: TypeAlias = Literal[
    "no call",
    "wrong function",
    "missing parameter",
    "unknown parameter",
    "wrong type",
    "wrong value",
]
"""The first rule that a call breaks, in BFCL's order."""

ROWS = ("simple", "multiple", "irrelevance", "relevance", "other first calls")
"""BFCL's categories, and first calls of tasks that it has none for: more steps, failures, injected
instructions."""

_IGNORED = re.compile(r"[ ,./\-_*^]")

_TYPES: Mapping[ParamType, type] = {
    ParamType.STRING: str,
    ParamType.ADDRESS: str,
    ParamType.BOOL: bool,
    ParamType.INT: int,
    ParamType.UINT: int,
    ParamType.STRING_ARRAY: str,
    ParamType.ADDRESS_ARRAY: str,
    ParamType.BOOL_ARRAY: bool,
    ParamType.INT_ARRAY: int,
    ParamType.UINT_ARRAY: int,
}
"""Type of a parameter's value, or of a list's items."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A function and its arguments by parameter name."""

    function: str
    arguments: Mapping[str, object]


def standardize(text: str) -> str:
    """Return a string as BFCL compares it."""
    return _IGNORED.sub("", text).lower().replace("'", '"')


def check_call(
    call: Call | None, tool: TaskTool, possible: Mapping[str, Sequence[object]]
) -> Fault | None:
    """Return the first rule that a call breaks; None for a right call.

    Input:
        call: None if the model made none.
        tool: the right function; all of its parameters are required.
        possible: the possible answers of each parameter.
    """
    if call is None:
        return "no call"
    if call.function != tool.name:
        return "wrong function"
    types = {parameter.name: parameter.param_type for parameter in tool.parameters}
    if not types.keys() <= call.arguments.keys():
        return "missing parameter"
    if not call.arguments.keys() <= types.keys():
        return "unknown parameter"
    faults = (
        _check_value(value, types[name], possible[name]) for name, value in call.arguments.items()
    )
    return next((fault for fault in faults if fault is not None), None)


def _check_value(value: object, param_type: ParamType, possible: Sequence[object]) -> Fault | None:
    if not _has_type(value, param_type):
        return "wrong type"
    is_possible = _comparable(value) in [_comparable(answer) for answer in possible]
    return None if is_possible else "wrong value"


def _has_type(value: object, param_type: ParamType) -> bool:
    """Return whether a value has exactly its parameter's type, lists one level deep."""
    wanted = _TYPES[param_type]
    if not param_type.name.endswith("_ARRAY"):
        return type(value) is wanted
    return isinstance(value, list) and all(type(item) is wanted for item in value)


def _comparable(value: object) -> object:
    """Return a value in the form in which values are compared."""
    if isinstance(value, (list, tuple)):
        return [_comparable(item) for item in value]
    return standardize(value) if isinstance(value, str) else value


def first_call(run: AgentRun) -> Call | None:
    """Return a run's first call; None if it made none, or one that can't be read."""
    if not run.uses or not run.uses[0].tool:
        return None
    try:
        arguments = json.loads(run.uses[0].shown)
    except ValueError:
        return None
    return Call(function=run.uses[0].tool, arguments=arguments)


def check_first_call(task: Task, run: AgentRun) -> Fault | None:
    """Return the first rule that a run's first call breaks, of a task that needs a tool."""
    step = task.steps[0]
    tool = next(tool for tool in task.tools if tool.name == step.tool)
    possible = {name: [value] for name, value in step.arguments.items()}
    return check_call(first_call(run), tool, possible)


def marks_by_category(results: Sequence[Result]) -> dict[str, Share]:
    """Return the share of right first calls in each of `ROWS`."""
    marks: dict[str, list[bool]] = {row: [] for row in ROWS}
    for result in results:
        task, run = result.task, result.done.run
        if not task.steps:
            marks["irrelevance"].append(first_call(run) is None)
            continue
        is_right = check_first_call(task, run) is None
        if task.category != "one step":
            marks["other first calls"].append(is_right)
            continue
        marks["simple" if len(task.tools) == 1 else "multiple"].append(is_right)
        marks["relevance"].append(first_call(run) is not None)
    return {row: share_of(found) for row, found in marks.items()}


def table_of(results: Mapping[str, Sequence[Result]]) -> Table:
    """Return the shares by BFCL's categories, contenders side by side."""
    table = Table("category", *results, title="first calls, marked by BFCL's method")
    shares = [marks_by_category(group) for group in results.values()]
    for row in ROWS:
        table.add_row(row, *(str(share[row]) for share in shares))
    return table


def as_json(results: Sequence[Result]) -> dict[str, object]:
    """Return a contender's shares as an object for JSON."""
    return {
        row: {"count": share.count, "total": share.total, "interval": share.interval}
        for row, share in marks_by_category(results).items()
    }
