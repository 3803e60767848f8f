"""The grammar of a step: a thought, then a final answer or one of the tools.

The grammar is Lark in llguidance's dialect, and admits exactly the texts that
`precompiles.react.parse` accepts. Hence every generation ABI-encodes: integers are in the exact
range of `uint256` and `int256`, addresses are handles, typed texts have the form of the type, and
free text has no `0x`.

Source: docs/architecture.md#constrained-output.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from precompiles.abi import ParamType
from precompiles.escaping import CONTROL_CLASS
from precompiles.integer_patterns import build_range_pattern
from precompiles.spec import MAX_ARRAY_ITEMS, MAX_TEXT_CHARACTERS, MAX_THOUGHT_CHARACTERS
from precompiles.typed_texts import NO_HEX, TypedRules, needs_address

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TypeAlias

    from precompiles.abi import ParamDescription
    from precompiles.tool_metadata import Tool

    Values: TypeAlias = range | tuple[str, ...]

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

    Input:  the agent's tools, and the handles of the addresses in the prompt. A tool with a
            parameter that needs an address is left out if there is no handle.
    Output: Lark text for llguidance, start rule `start`.
    """
    usable = [tool for tool in tools if handles or not _needs_address(tool)]
    parameters = [parameter for tool in usable for parameter in tool.parameters]
    limits = dict.fromkeys(one.limits for one in parameters if one.limits is not None)
    stated = {values: f"STATED{index}" for index, values in enumerate(limits)}
    typed = TypedRules(handles)
    rules = ['start: " " THOUGHT "\\n" step', "step: answer | use" if usable else "step: answer"]
    rules.append('answer: "Final Answer: " ANSWER "\\n"?')
    if usable:
        rules.append('use: "Action: " (' + " | ".join(f"tool{i}" for i in range(len(usable))) + ")")
    rules += [
        f"tool{index}: {_build_call_rule(tool, stated, typed, has_handles=bool(handles))}"
        for index, tool in enumerate(usable)
    ]
    if handles:
        rules.append(
            "address: " + " | ".join(_quote_literal(json.dumps(handle)) for handle in handles)
        )
    free = {one.param_type for one in parameters if one.limits is None and one.text_type is None}
    symbols = {"THOUGHT", "ANSWER", *map(_ITEM_RULE.__getitem__, free)}
    rules += [f"{name}: {body}" for name, body in _TERMINALS.items() if name in symbols]
    rules += [f"{name}: {_build_values(values)}" for values, name in stated.items()]
    rules += typed.lines
    return "\n".join(rules) + "\n"


def _needs_address(tool: Tool) -> bool:
    return any(map(_is_or_has_address, tool.parameters))


def _is_or_has_address(parameter: ParamDescription) -> bool:
    if parameter.param_type is ParamType.STRING and parameter.text_type is not None:
        return needs_address(parameter.text_type)
    return parameter.param_type is ParamType.ADDRESS


def _build_call_rule(
    tool: Tool, stated: Mapping[Values, str], typed: TypedRules, *, has_handles: bool
) -> str:
    parts: list[str] = []
    literal = f"{tool.name}\nAction Input: {{"
    for index, parameter in enumerate(tool.parameters):
        literal += ", " * (index > 0) + json.dumps(parameter.name, ensure_ascii=False) + ": "
        value = _build_value_rule(parameter, stated, typed, has_handles=has_handles)
        parts += [_quote_literal(literal), value]
        literal = ""
    return " ".join([*parts, _quote_literal(literal + "}")])


def _build_values(values: Values) -> str:
    """Return the body of a terminal of stated values."""
    if isinstance(values, range):
        return f"/{build_range_pattern(values)}/"
    return " | ".join(map(_quote_literal, values))


def _build_value_rule(
    parameter: ParamDescription,
    stated: Mapping[Values, str],
    typed: TypedRules,
    *,
    has_handles: bool,
) -> str:
    of, is_list = parameter.text_type, parameter.param_type >= ParamType.STRING_ARRAY
    needs_handle = parameter.kind is ParamType.ADDRESS or (of is not None and needs_address(of))
    if is_list and needs_handle and not has_handles:
        return '"[]"'
    if of is not None:
        item = typed.add(of)
    elif parameter.limits is not None:
        item = stated[parameter.limits]
    else:
        item = _ITEM_RULE[parameter.param_type]
    return f'"[" ({item} (", " {item}){{0,{MAX_ARRAY_ITEMS - 1}}})? "]"' if is_list else item


def _quote_literal(text: str) -> str:
    """Return a text as a Lark string literal, with JSON's escapes."""
    return json.dumps(text, ensure_ascii=False)


_FREE = rf"[^{CONTROL_CLASS}]"
_FREE_FIRST = rf"[^ {CONTROL_CLASS}]"
_STRING_CHARACTER = rf'([^"\\{CONTROL_CLASS}]|\\["\\nrt])'
_TERMINALS = {
    "THOUGHT": f"/{_FREE_FIRST}{_FREE}{{0,{MAX_THOUGHT_CHARACTERS - 1}}}/ & {NO_HEX}",
    "ANSWER": f"/{_FREE_FIRST}{_FREE}{{0,{MAX_TEXT_CHARACTERS - 1}}}/ & {NO_HEX}",
    "STRING": f'/"{_STRING_CHARACTER}{{0,{MAX_TEXT_CHARACTERS}}}"/ & {NO_HEX}',
    "BOOL": "/true|false/",
    "UINT": f"/{build_range_pattern(range(2**256))}/",
    "INT": f"/{build_range_pattern(range(-(2**255), 2**255))}/",
}
