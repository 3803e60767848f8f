"""A model's steps as Python code for a test: `model.script(use("Pay", to=accounts[1]), …)`."""

from __future__ import annotations

import json
import keyword
from typing import TYPE_CHECKING

from precompiles.escaping import ADDRESS
from pyevm_agents.models.fakes.script_steps import (
    DEFAULT_ANSWER_THOUGHT,
    DEFAULT_TOOL_THOUGHT,
    AnswerStep,
    Step,
    ToolStep,
)

if TYPE_CHECKING:
    import re
    from collections.abc import Mapping, Sequence

    from pyevm_agents.models.fakes.script_steps import Argument

LINE_CHARACTERS = 88
"""A longer call gets a line for each step."""

OWN_NAMES = frozenset({"tool", "thought", "arguments"})
"""Parameters of `use` itself: tool parameters of these names go into `arguments`."""

LARGE = 2**64
"""Integers from here on that are next to a power of two are written as that power."""


def format_script(call: str, steps: Sequence[Step], names: Mapping[str, str]) -> str:
    """Return a call with steps, such as `model.script(use(…), answer(…))`.

    Input:
        call: the function, such as `model.script`.
        names: expressions for addresses in the test, by lower-case address.
    """
    calls = [_format_step(step, names) for step in steps]
    line = f"{call}({', '.join(calls)})"
    if len(line) <= LINE_CHARACTERS:
        return line
    return "\n".join([f"{call}(", *(f"    {call}," for call in calls), ")"])


def _format_step(step: Step, names: Mapping[str, str]) -> str:
    match step:
        case ToolStep():
            return _format_use(step, names)
        case AnswerStep():
            has_own = step.thought != DEFAULT_ANSWER_THOUGHT
            thought = f", thought={_format_text(step.thought, names)}" if has_own else ""
            return f"answer({_format_text(step.answer, names)}{thought})"
        case str():
            return _format_text(step, names)
        case _:
            return str(step)


def _format_use(step: ToolStep, names: Mapping[str, str]) -> str:
    parts = [_quote(step.tool)]
    if step.thought != DEFAULT_TOOL_THOUGHT.format(tool=step.tool):
        parts.append(f"thought={_format_text(step.thought, names)}")
    values = {name: _format_value(value, names) for name, value in step.arguments.items()}
    if all(_is_plain(name) for name in values):
        parts += [f"{name}={value}" for name, value in values.items()]
    else:
        items = ", ".join(f"{_quote(name)}: {value}" for name, value in values.items())
        parts.append(f"arguments={{{items}}}")
    return f"use({', '.join(parts)})"


def _is_plain(name: str) -> bool:
    # Python normalizes identifiers (NFKC): `º` would become `o`.
    is_identifier = name.isascii() and name.isidentifier()
    return is_identifier and not keyword.iskeyword(name) and name not in OWN_NAMES


def _format_value(value: Argument, names: Mapping[str, str]) -> str:
    match value:
        case bool():
            return repr(value)
        case int():
            return _format_integer(value)
        case str():
            return _format_text(value, names)
        case _:
            return f"[{', '.join(_format_value(item, names) for item in value)}]"


def _format_text(text: str, names: Mapping[str, str]) -> str:
    """Write a text, as an f-string around addresses with names."""
    if text.lower() in names:
        return names[text.lower()]
    if not any(match[0].lower() in names for match in ADDRESS.finditer(text)):
        return _quote(text)
    doubled = text.replace("{", "{{").replace("}", "}}")

    def replace_address(match: re.Match[str]) -> str:
        name = names.get(match[0].lower())
        return match[0] if name is None else f"{{{name}}}"

    return f"f{_quote(ADDRESS.sub(replace_address, doubled))}"


def _quote(text: str) -> str:
    """Return a literal of a text, with the quotation marks that formatters prefer."""
    return json.dumps(text, ensure_ascii=False) if text.isprintable() else repr(text)


def _format_integer(value: int) -> str:
    """Return a literal of an integer; a large one next to a power of two as that power."""
    size = abs(value)
    if size < LARGE:
        return repr(value)
    for power in (size.bit_length() - 1, size.bit_length()):
        off = size - 2**power
        if -1 <= off <= 1:
            text = f"2**{power}" + {-1: " - 1", 0: "", 1: " + 1"}[off]
            return text if value > 0 else f"-({text})"
    return repr(value)
