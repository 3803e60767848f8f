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
from precompiles.integer_patterns import build_range_pattern
from precompiles.spec import MAX_ARRAY_ITEMS, MAX_TEXT_CHARACTERS, MAX_THOUGHT_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TypeAlias

    from precompiles.tool_metadata import Tool

    Values: TypeAlias = range | tuple[str, ...]

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
    parameters = [parameter for tool in usable for parameter in tool.parameters]
    limits = dict.fromkeys(one.values for one in parameters if one.values is not None)
    stated = {values: f"STATED{index}" for index, values in enumerate(limits)}
    rules = ['start: " " THOUGHT "\\n" step', "step: answer | use" if usable else "step: answer"]
    rules.append('answer: "Final Answer: " ANSWER "\\n"?')
    if usable:
        rules.append('use: "Action: " (' + " | ".join(f"tool{i}" for i in range(len(usable))) + ")")
    rules += [
        f"tool{index}: {_build_call_rule(tool, stated, has_handles=bool(handles))}"
        for index, tool in enumerate(usable)
    ]
    if handles:
        rules.append(
            "address: " + " | ".join(_quote_literal(json.dumps(handle)) for handle in handles)
        )
    free = {one.param_type for one in parameters if one.values is None}
    symbols = {"THOUGHT", "ANSWER", *map(_ITEM_RULE.__getitem__, free)}
    rules += [f"{name}: {body}" for name, body in _TERMINALS.items() if name in symbols]
    rules += [f"{name}: {_build_values(values)}" for values, name in stated.items()]
    return "\n".join(rules) + "\n"


def _needs_address(tool: Tool) -> bool:
    return any(parameter.param_type is ParamType.ADDRESS for parameter in tool.parameters)


def _build_call_rule(tool: Tool, stated: Mapping[Values, str], *, has_handles: bool) -> str:
    parts: list[str] = []
    literal = f"{tool.name}\nAction Input: {{"
    for index, parameter in enumerate(tool.parameters):
        literal += ", " * (index > 0) + json.dumps(parameter.name, ensure_ascii=False) + ": "
        item = _ITEM_RULE[parameter.param_type]
        if parameter.values is not None:
            item = stated[parameter.values]
        value = _build_value_rule(parameter.param_type, item, has_handles=has_handles)
        parts += [_quote_literal(literal), value]
        literal = ""
    return " ".join([*parts, _quote_literal(literal + "}")])


def _build_values(values: Values) -> str:
    """Return the body of a terminal of stated values."""
    if isinstance(values, range):
        return f"/{build_range_pattern(values)}/"
    return " | ".join(map(_quote_literal, values))


def _build_value_rule(param_type: ParamType, item: str, *, has_handles: bool) -> str:
    if param_type < ParamType.STRING_ARRAY:
        return item
    if param_type is ParamType.ADDRESS_ARRAY and not has_handles:
        return '"[]"'
    return f'"[" ({item} (", " {item}){{0,{MAX_ARRAY_ITEMS - 1}}})? "]"'


def _quote_literal(text: str) -> str:
    """Return a text as a Lark string literal, with JSON's escapes."""
    return json.dumps(text, ensure_ascii=False)


_FREE = rf"[^{CONTROL_CLASS}]"
_FREE_FIRST = rf"[^ {CONTROL_CLASS}]"
_STRING_CHARACTER = rf'([^"\\{CONTROL_CLASS}]|\\["\\nrt])'
_TERMINALS = {
    "THOUGHT": f"/{_FREE_FIRST}{_FREE}{{0,{MAX_THOUGHT_CHARACTERS - 1}}}/ & {_NO_HEX}",
    "ANSWER": f"/{_FREE_FIRST}{_FREE}{{0,{MAX_TEXT_CHARACTERS - 1}}}/ & {_NO_HEX}",
    "STRING": f'/"{_STRING_CHARACTER}{{0,{MAX_TEXT_CHARACTERS}}}"/ & {_NO_HEX}',
    "BOOL": "/true|false/",
    "UINT": f"/{build_range_pattern(range(2**256))}/",
    "INT": f"/{build_range_pattern(range(-(2**255), 2**255))}/",
}
