"""Why a grammar does not admit a step, and what it would: for people who write scripts.

llguidance judges (`ScriptedModel`); what is said here explains its verdict in a tool's own words.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING

from precompiles.abi import ParamType
from precompiles.escaping import ADDRESS, CONTROL_CLASS
from precompiles.spec import MAX_ARRAY_ITEMS, MAX_TEXT_CHARACTERS, MAX_THOUGHT_CHARACTERS
from pyevm_agents.models.fakes.parsed_request import admitted_or_none, asked
from pyevm_agents.models.fakes.script_steps import AnswerStep, RepeatedStep, ToolStep, with_handles

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from precompiles.language_model import GenerationRequest
    from pyevm_agents.models.fakes.parsed_request import Admitted, AdmittedTool
    from pyevm_agents.models.fakes.script_steps import Argument, Step

    Handles = tuple[tuple[str, str], ...]

SHOWN_LINES = 24
"""Tools, and addresses, that a message lists."""

_CONTROL = re.compile(f"[{CONTROL_CLASS}]")
_JSON_ESCAPES = str.maketrans("", "", "\n\r\t")
"""Control characters that a tool's text may hold: the grammar has an escape for them."""

_RANGES = {
    ParamType.UINT: (0, 2**256 - 1, "0 to 2**256 - 1"),
    ParamType.INT: (-(2**255), 2**255 - 1, "-2**255 to 2**255 - 1"),
}


def reasons(step: Step, request: GenerationRequest) -> tuple[str, ...]:
    """Return what is wrong with a step, a clause each; nothing where it is not known."""
    if isinstance(step, RepeatedStep):
        return reasons(step.step, request)
    match step:
        case ToolStep():
            return (
                *_free("the thought", step.thought, MAX_THOUGHT_CHARACTERS, request.handles),
                *_tool_reasons(step, request),
            )
        case AnswerStep():
            return (
                *_free("the thought", step.thought, MAX_THOUGHT_CHARACTERS, request.handles),
                *_free(
                    "the answer",
                    step.answer.removesuffix("\n"),
                    MAX_TEXT_CHARACTERS,
                    request.handles,
                ),
            )
    return ()


def offer(request: GenerationRequest) -> str:
    """Return what a model may say to a prompt, in lines; empty where the grammar is not ours."""
    known = admitted_or_none(request.grammar)
    if known is None:
        return ""
    lines = ["It could have said:"]
    lines += _bounded([f"  {signature(tool)}" for tool in known.tools])
    lines.append("  or a final answer" if known.tools else "  a final answer")
    if request.handles:
        lines.append("with these addresses, which the prompt names:")
        lines += _bounded([f"  {handle} = {address}" for handle, address in request.handles])
    else:
        lines.append("and no address: the prompt names none")
    return "\n".join(lines)


def signature(tool: AdmittedTool) -> str:
    """Return a tool with its parameters, such as `DeployTool(asset: address)`."""
    parameters = ", ".join(f"{one.name}: {one.param_type.words}" for one in tool.parameters)
    return f"{tool.name}({parameters})"


def _bounded(lines: list[str]) -> list[str]:
    left_out = len(lines) - SHOWN_LINES
    return lines if left_out <= 0 else [*lines[:SHOWN_LINES], f"  and {left_out} more"]


def _tool_reasons(step: ToolStep, request: GenerationRequest) -> Iterator[str]:
    known = admitted_or_none(request.grammar)
    if known is None:
        return
    tool = known.tool(step.tool)
    if tool is None:
        yield _no_tool(step.tool, known, request)
        return
    types = {one.name: one.param_type for one in tool.parameters}
    for name in step.arguments:
        if name not in types:
            yield f"{step.tool} has no parameter {name!r}{_meant(name, types)}"
    for name, param_type in types.items():
        if name not in step.arguments:
            yield f"the argument {name!r} is missing: {param_type.words}"
        else:
            yield from _value_reasons(name, param_type, step.arguments[name], request.handles)


def _no_tool(name: str, known: Admitted, request: GenerationRequest) -> str:
    if f"\n- {name}: " in asked(request).text:
        return f"{name} takes an address, and the prompt names none"
    return f"there is no tool {name!r}{_meant(name, {one.name: one for one in known.tools})}"


def _meant(name: str, names: Mapping[str, object]) -> str:
    close = get_close_matches(name, names, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _value_reasons(
    name: str, param_type: ParamType, value: Argument, handles: Handles
) -> Iterator[str]:
    if param_type < ParamType.STRING_ARRAY:
        yield from _item_reasons(name, param_type, value, handles)
    elif not isinstance(value, (list, tuple)):
        yield f"{name}={value!r} is no {param_type.words}"
    else:
        if len(value) > MAX_ARRAY_ITEMS:
            yield f"{name} has {len(value)} items, at most {MAX_ARRAY_ITEMS}"
        item_type = ParamType(param_type - ParamType.STRING_ARRAY)
        for index, item in enumerate(value):
            yield from _item_reasons(f"{name}[{index}]", item_type, item, handles)


def _item_reasons(
    name: str, param_type: ParamType, value: object, handles: Handles
) -> Iterator[str]:
    is_right = {
        ParamType.STRING: isinstance(value, str),
        ParamType.ADDRESS: isinstance(value, str),
        ParamType.BOOL: isinstance(value, bool),
    }.get(param_type, isinstance(value, int) and not isinstance(value, bool))
    if not is_right:
        yield f"{name}={value!r} is no {param_type.words}"
    elif isinstance(value, str) and param_type is ParamType.ADDRESS:
        yield from _address_reasons(name, value, handles)
    elif isinstance(value, str):
        text = value.translate(_JSON_ESCAPES)
        yield from _text_reasons(name, text, MAX_TEXT_CHARACTERS - len(value) + len(text), handles)
    elif param_type in _RANGES and isinstance(value, int):
        least, most, words = _RANGES[param_type]
        if not least <= value <= most:
            yield f"{name}={value} is no {param_type.words}: {words}"


def _address_reasons(name: str, value: str, handles: Handles) -> Iterator[str]:
    if with_handles(value, handles) in {handle for handle, _ in handles}:
        return
    if not ADDRESS.fullmatch(value):
        yield f"{name}={value!r} is no address: 0x and 40 digits, or one of the prompt's names"
    else:
        yield (
            f"{name}={value} is no address that the agent knows: the base prompt, the prompt or a "
            "tool's result must have shown it"
        )


def _free(what: str, text: str, most: int, handles: Handles) -> Iterator[str]:
    if not text:
        yield f"{what} is empty"
    if text.startswith(" "):
        yield f"{what} begins with a space: {text[:40]!r}"
    yield from _text_reasons(what, text, most, handles)


def _text_reasons(what: str, text: str, most: int, handles: Handles) -> Iterator[str]:
    spoken = with_handles(text, handles)
    if _CONTROL.search(spoken):
        yield f"{what} holds a line break or another control character: {text[:80]!r}"
    if "0x" in spoken.lower():
        at = spoken.lower().index("0x")
        yield (
            f"{what} says {spoken[at : at + 42]!r}: a model can't write 0x, only name addresses "
            "that the prompt has shown"
        )
    if len(spoken) > most:
        yield f"{what} has {len(spoken):,} characters, at most {most:,}"
