"""The grammar of a step: a thought, then a final answer or one of the tools.

It is Lark in llguidance's dialect, and admits exactly the texts that `precompiles.react.parse`
accepts. So every generation ABI-encodes: integers are in the exact range of `uint256` and `int256`,
addresses are handles, and free text has no `0x`.

Source: docs/architecture.md#constrained-output.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from precompiles.abi import ParamType
from precompiles.escaping import CONTROL_CLASS
from precompiles.spec import MAX_ARRAY_ITEMS, MAX_TEXT_CHARACTERS, MAX_THOUGHT_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from precompiles.abi import ParamDescription
    from precompiles.tool_metadata import Tool

# Without a complement: llguidance fails (`too many expressions`) on `~/.*0[xX].*/` in the first
# mask after a zero, if the text also has a length limit.
_NO_HEX = "/([^0]|0+[^0xX])*0*/"

_ITEM_RULE = {
    ParamType.STRING: "STRING",
    ParamType.ADDRESS: "address",
    ParamType.BOOL: "BOOL",
    ParamType.INT: "INT",
    ParamType.UINT: "UINT",
    ParamType.STRING_ARRAY: "STRING",
    ParamType.ADDRESS_ARRAY: "address",
    ParamType.BOOL_ARRAY: "BOOL",
    ParamType.INT_ARRAY: "INT",
    ParamType.UINT_ARRAY: "UINT",
}


def build_grammar(tools: Sequence[Tool], handles: Sequence[str]) -> str:
    """Return the grammar of one step of an agent.

    Input:  the agent's tools, and the handles of the addresses in its prompt. A tool with an
            `ADDRESS` parameter is left out if there is no handle.
    Output: Lark text for llguidance, start rule `start`.
    """
    usable = [tool for tool in tools if handles or not _needs_address(tool)]
    rules = ['start: " " THOUGHT "\\n" step', "step: answer | use" if usable else "step: answer"]
    rules.append('answer: "Final Answer: " ANSWER "\\n"?')
    if usable:
        rules.append('use: "Action: " (' + " | ".join(f"tool{i}" for i in range(len(usable))) + ")")
    rules += [
        f"tool{index}: {_build_call_rule(tool, has_handles=bool(handles))}"
        for index, tool in enumerate(usable)
    ]
    if handles:
        rules.append(
            "address: " + " | ".join(_quote_literal(json.dumps(handle)) for handle in handles)
        )
    symbols = {_ITEM_RULE[parameter.param_type] for tool in usable for parameter in tool.parameters}
    symbols |= {"THOUGHT", "ANSWER"}
    rules += [f"{name}: {body}" for name, body in _TERMINALS.items() if name in symbols]
    return "\n".join(rules) + "\n"


def _needs_address(tool: Tool) -> bool:
    return any(parameter.param_type is ParamType.ADDRESS for parameter in tool.parameters)


def _build_call_rule(tool: Tool, *, has_handles: bool) -> str:
    parts: list[str] = []
    literal = f"{tool.name}\nAction Input: {{"
    for index, parameter in enumerate(tool.parameters):
        literal += ", " * (index > 0) + json.dumps(parameter.name, ensure_ascii=False) + ": "
        parts += [_quote_literal(literal), _build_value_rule(parameter, has_handles=has_handles)]
        literal = ""
    return " ".join([*parts, _quote_literal(literal + "}")])


def _build_value_rule(parameter: ParamDescription, *, has_handles: bool) -> str:
    item = _ITEM_RULE[parameter.param_type]
    if parameter.param_type < ParamType.STRING_ARRAY:
        return item
    if parameter.param_type is ParamType.ADDRESS_ARRAY and not has_handles:
        return '"[]"'
    return f'"[" ({item} (", " {item}){{0,{MAX_ARRAY_ITEMS - 1}}})? "]"'


def _quote_literal(text: str) -> str:
    """Return a text as a Lark string literal, with JSON's escapes."""
    return json.dumps(text, ensure_ascii=False)


def _build_digits_pattern(count: int) -> str:
    return f"[0-9]{{{count}}}" if count else ""


def _build_range_pattern(maximum: int) -> str:
    """Return a regular expression of the decimals from 1 to `maximum`, without leading zeros."""
    digits = str(maximum)
    branches = [f"[1-9][0-9]{{0,{len(digits) - 2}}}"]
    for position, digit in enumerate(digits):
        lowest = "1" if position == 0 else "0"
        if digit > lowest:
            below = f"[{lowest}-{int(digit) - 1}]"
            branches.append(
                digits[:position] + below + _build_digits_pattern(len(digits) - position - 1)
            )
    return "|".join([*branches, digits])


_FREE = rf"[^{CONTROL_CLASS}]"
_FREE_FIRST = rf"[^ {CONTROL_CLASS}]"
_STRING_CHARACTER = rf'([^"\\{CONTROL_CLASS}]|\\["\\nrt])'
_TERMINALS = {
    "THOUGHT": f"/{_FREE_FIRST}{_FREE}{{0,{MAX_THOUGHT_CHARACTERS - 1}}}/ & {_NO_HEX}",
    "ANSWER": f"/{_FREE_FIRST}{_FREE}{{0,{MAX_TEXT_CHARACTERS - 1}}}/ & {_NO_HEX}",
    "STRING": f'/"{_STRING_CHARACTER}{{0,{MAX_TEXT_CHARACTERS}}}"/ & {_NO_HEX}',
    "BOOL": "/true|false/",
    "UINT": f"/0|{_build_range_pattern(2**256 - 1)}/",
    "INT": f"/0|{_build_range_pattern(2**255 - 1)}|-({_build_range_pattern(2**255)})/",
}
