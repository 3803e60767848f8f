"""Explanations for authors of scripts: why the grammar rejects a step, and the admitted steps.

llguidance decides (`ScriptedModel`); this module explains the decision in terms of the tools.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING

from precompiles.abi import ParamType
from precompiles.abi_types import Kind
from precompiles.escaping import ADDRESS, CONTROL_CLASS
from precompiles.spec import MAX_ARRAY_ITEMS, MAX_TEXT_CHARACTERS, MAX_THOUGHT_CHARACTERS
from precompiles.typed_texts import TypedTextError, read_typed_text
from pyevm_agents.models.fakes.parsed_request import parse_prompt, try_parse_grammar
from pyevm_agents.models.fakes.script_steps import (
    AnswerStep,
    RepeatedStep,
    ToolStep,
    replace_addresses,
    replace_typed_addresses,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from precompiles.abi_types import AbiType
    from precompiles.language_model import GenerationRequest
    from pyevm_agents.models.fakes.parsed_request import (
        AllowedParameter,
        AllowedSteps,
        AllowedTool,
    )
    from pyevm_agents.models.fakes.script_steps import Argument, Step

    Handles = tuple[tuple[str, str], ...]

SHOWN_LINES = 24
"""Tools or addresses that a message lists."""

_CONTROL = re.compile(f"[{CONTROL_CLASS}]")
_JSON_ESCAPES = str.maketrans("", "", "\n\r\t")
"""Control characters that a tool argument may contain, because the grammar has escapes for them."""

_RANGES = {
    ParamType.UINT: (0, 2**256 - 1, "0 to 2**256 - 1"),
    ParamType.INT: (-(2**255), 2**255 - 1, "-2**255 to 2**255 - 1"),
}


def find_step_errors(step: Step, request: GenerationRequest) -> tuple[str, ...]:
    """Return the errors of a step, one clause each; empty if the reason is unknown."""
    if isinstance(step, RepeatedStep):
        return find_step_errors(step.step, request)
    match step:
        case ToolStep():
            return (
                *_find_free_text_errors(
                    "the thought", step.thought, MAX_THOUGHT_CHARACTERS, request.handles
                ),
                *_find_tool_errors(step, request),
            )
        case AnswerStep():
            return (
                *_find_free_text_errors(
                    "the thought", step.thought, MAX_THOUGHT_CHARACTERS, request.handles
                ),
                *_find_free_text_errors(
                    "the answer",
                    step.answer.removesuffix("\n"),
                    MAX_TEXT_CHARACTERS,
                    request.handles,
                ),
            )
    return ()


def describe_allowed_steps(request: GenerationRequest) -> str:
    """Describe the steps that a request admits, in lines; empty for an unknown grammar."""
    known = try_parse_grammar(request.grammar)
    if known is None:
        return ""
    lines = ["The grammar admits:"]
    lines += _limit_lines([f"  {format_signature(tool)}" for tool in known.tools])
    lines.append("  or a final answer" if known.tools else "  a final answer")
    if request.handles:
        lines.append("with these addresses from the prompt:")
        lines += _limit_lines([f"  {handle} = {address}" for handle, address in request.handles])
    else:
        lines.append("and no address: the prompt contains none")
    return "\n".join(lines)


def format_signature(tool: AllowedTool) -> str:
    """Format a tool with parameters, such as `DeployTool(asset: address)`."""
    parameters = ", ".join(f"{parameter.name}: {parameter.words}" for parameter in tool.parameters)
    return f"{tool.name}({parameters})"


def _limit_lines(lines: list[str]) -> list[str]:
    left_out = len(lines) - SHOWN_LINES
    return lines if left_out <= 0 else [*lines[:SHOWN_LINES], f"  and {left_out} more"]


def _find_tool_errors(step: ToolStep, request: GenerationRequest) -> Iterator[str]:
    known = try_parse_grammar(request.grammar)
    if known is None:
        return
    tool = known.find_tool(step.tool)
    if tool is None:
        yield _describe_unknown_tool(step.tool, known, request)
        return
    parameters = {parameter.name: parameter for parameter in tool.parameters}
    for name in step.arguments:
        if name not in parameters:
            yield f"{step.tool} has no parameter {name!r}{_suggest_name(name, parameters)}"
    for name, parameter in parameters.items():
        if name not in step.arguments:
            yield f"the argument {name!r} is missing: {parameter.words}"
        else:
            yield from _find_value_errors(parameter, step.arguments[name], request.handles)


def _describe_unknown_tool(name: str, known: AllowedSteps, request: GenerationRequest) -> str:
    if f"\n- {name}: " in parse_prompt(request).text:
        return f"{name} takes an address, but the prompt contains none"
    return f"there is no tool {name!r}{_suggest_name(name, {t.name: t for t in known.tools})}"


def _suggest_name(name: str, names: Mapping[str, object]) -> str:
    close = get_close_matches(name, names, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _find_value_errors(
    parameter: AllowedParameter, value: Argument, handles: Handles
) -> Iterator[str]:
    name, param_type = parameter.name, parameter.param_type
    if param_type < ParamType.STRING_ARRAY:
        yield from _find_item_errors(name, parameter, value, handles)
    elif not isinstance(value, (list, tuple)):
        yield f"{name}={value!r}: must be of type {parameter.words}"
    else:
        if len(value) > MAX_ARRAY_ITEMS:
            yield f"{name} has {len(value)} items: must be at most {MAX_ARRAY_ITEMS}"
        item_type = ParamType(param_type - ParamType.STRING_ARRAY)
        of_item = replace(parameter, param_type=item_type)
        for index, item in enumerate(value):
            yield from _find_item_errors(f"{name}[{index}]", of_item, item, handles)


def _find_item_errors(
    name: str, parameter: AllowedParameter, value: object, handles: Handles
) -> Iterator[str]:
    param_type = parameter.param_type
    is_right = {
        ParamType.STRING: isinstance(value, str),
        ParamType.ADDRESS: isinstance(value, str),
        ParamType.BOOL: isinstance(value, bool),
    }.get(param_type, isinstance(value, int) and not isinstance(value, bool))
    if not is_right:
        yield f"{name}={value!r}: must be of type {parameter.words}"
    elif parameter.values is not None:
        known = parameter.values
        item = value if isinstance(known, range) else json.dumps(value, ensure_ascii=False)
        if item not in known:
            yield f"{name}={value!r}: must be of type {parameter.words}"
    elif isinstance(value, str) and parameter.text_type is not None:
        yield from _find_typed_text_errors(name, parameter.text_type, value, handles)
    elif isinstance(value, str) and param_type is ParamType.ADDRESS:
        yield from _find_address_errors(name, value, handles)
    elif isinstance(value, str):
        text = value.translate(_JSON_ESCAPES)
        most = MAX_TEXT_CHARACTERS - len(value) + len(text)
        yield from _find_text_errors(name, text, most, handles)
    elif isinstance(value, int):
        yield from _find_number_errors(name, param_type, value)


def _find_number_errors(name: str, param_type: ParamType, value: int) -> Iterator[str]:
    if param_type in _RANGES:
        least, most, words = _RANGES[param_type]
        if not least <= value <= most:
            yield f"{name}={value}: must be of type {param_type.words}: {words}"


def _find_typed_text_errors(name: str, of: AbiType, text: str, handles: Handles) -> Iterator[str]:
    known = {handle for handle, _ in handles}
    try:
        leaves = read_typed_text(of, replace_typed_addresses(text, handles))
    except TypedTextError as error:
        yield f"{name}={text[:80]!r}: must be a text of {of}: {error}"
        return
    for leaf in leaves:
        if leaf.abi_type.kind is Kind.ADDRESS and leaf.text not in known:
            yield from _find_address_errors(name, leaf.text, handles)


def _find_address_errors(name: str, value: str, handles: Handles) -> Iterator[str]:
    if replace_addresses(value, handles) in {handle for handle, _ in handles}:
        return
    if not ADDRESS.fullmatch(value):
        yield f"{name}={value!r}: not an address: must be 0x and 40 digits, or a prompt's handle"
    else:
        yield (
            f"{name}={value}: address unknown to the agent: the base prompt, the prompt or a "
            "tool result must contain it"
        )


def _find_free_text_errors(what: str, text: str, most: int, handles: Handles) -> Iterator[str]:
    if not text:
        yield f"{what} is empty"
    if text.startswith(" "):
        yield f"{what} starts with a space: {text[:40]!r}"
    yield from _find_text_errors(what, text, most, handles)


def _find_text_errors(what: str, text: str, most: int, handles: Handles) -> Iterator[str]:
    wording = replace_addresses(text, handles)
    if _CONTROL.search(wording):
        yield f"{what} contains a line break or another control character: {text[:80]!r}"
    if "0x" in wording.lower():
        at = wording.lower().index("0x")
        yield (
            f"{what} contains {wording[at : at + 42]!r}: a model can't write 0x, only handles of "
            "addresses in the prompt"
        )
    if len(wording) > most:
        yield f"{what} has {len(wording):,} characters: must be at most {most:,}"
