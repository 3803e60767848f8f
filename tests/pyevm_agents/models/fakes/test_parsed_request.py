"""Round trip of grammars: building and parsing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from eth_typing import Address
from hypothesis import given
from hypothesis import strategies as st

from precompiles.abi import ParamDescription, ParamType
from precompiles.escaping import escape_line
from precompiles.grammar import build_grammar
from precompiles.spec import MAX_PARAMETERS, MAX_TOOLS
from precompiles.tool_metadata import Tool
from pyevm_agents.errors import ConfigError
from pyevm_agents.models.fakes.parsed_request import (
    AllowedParameter,
    AllowedSteps,
    AllowedTool,
    parse_grammar,
)
from tests.precompiles.typed_values import TYPES, marked
from tests.pyevm_agents.models.conftest import GRAMMAR

if TYPE_CHECKING:
    from precompiles.abi_types import AbiType

NAMES = st.one_of(
    st.text(min_size=1, max_size=16),
    st.sampled_from(['"', '": ', '", "x": ', " | ", "UINT", '"[]"', "}", "\\", ": ", "tool1", "é"]),
).filter(lambda name: escape_line(name) == name and name.strip(" \t") == name)
"""Names that `precompiles.tool_metadata` accepts and that resemble the grammar's syntax."""

HANDLES = st.lists(
    st.from_regex(r"[0-9A-Za-z](?:[0-9A-Za-z_.\-]{0,5}[0-9A-Za-z])?", fullmatch=True),
    unique=True,
    max_size=4,
)

PARAMETERS = st.lists(
    st.tuples(NAMES, st.sampled_from(ParamType)), unique_by=lambda one: one[0], max_size=5
)
TOOLS = st.lists(st.tuples(NAMES, PARAMETERS), unique_by=lambda one: one[0], max_size=4)


def made(tools: list[tuple[str, list[tuple[str, ParamType]]]]) -> list[Tool]:
    return [
        Tool(
            address=Address(bytes(20)),
            name=name,
            description="",
            parameters=tuple(
                ParamDescription(param_type=param_type, name=parameter, description="")
                for parameter, param_type in parameters
            ),
        )
        for name, parameters in tools
    ]


@given(tools=TOOLS, handles=HANDLES)
def test_what_was_written_is_read(
    tools: list[tuple[str, list[tuple[str, ParamType]]]], handles: list[str]
) -> None:
    usable = [
        (name, parameters)
        for name, parameters in tools
        if handles or ParamType.ADDRESS not in [param_type for _, param_type in parameters]
    ]
    assert parse_grammar(build_grammar(made(tools), handles)) == AllowedSteps(
        tools=tuple(
            AllowedTool(
                name=name,
                parameters=tuple(
                    AllowedParameter(name=parameter, param_type=param_type)
                    for parameter, param_type in parameters
                ),
            )
            for name, parameters in usable
        ),
        handles=tuple(handles),
        may_answer=True,
    )


def test_the_largest_grammar_is_read() -> None:
    types = list(ParamType)
    parameters = [(f"p {index}", types[index % 10]) for index in range(MAX_PARAMETERS)]
    largest = [(f"tool {index}", parameters) for index in range(MAX_TOOLS)]
    read = parse_grammar(build_grammar(made(largest), ["addr1"]))
    assert len(read.tools) == MAX_TOOLS
    assert {len(tool.parameters) for tool in read.tools} == {MAX_PARAMETERS}


def test_a_tool_is_found_by_its_name() -> None:
    read = parse_grammar(build_grammar(made([("pay", []), ("wait", [])]), []))
    assert read.find_tool("wait") == AllowedTool(name="wait", parameters=())
    assert read.find_tool("burn") is None


@given(st.lists(TYPES, min_size=1, max_size=3), st.booleans())
def test_types_of_typed_texts_are_read(types: list[AbiType], is_list: bool) -> None:
    kind = ParamType.STRING_ARRAY if is_list else ParamType.STRING
    read = parse_grammar(build_grammar([marked(*map(str, types), kind=kind)], ["cafe", "aa"]))
    (found,) = read.tools
    assert [one.text_type for one in found.parameters] == types
    assert {one.param_type for one in found.parameters} == {kind}
    assert found.typed_names == {one.name for one in found.parameters}
    assert read.handles == ("cafe", "aa")


def test_without_handles_lists_of_what_needs_an_address_are_lists_of_addresses() -> None:
    tools = [marked("((address,bool)[],bytes)")]
    (found,) = parse_grammar(build_grammar(tools, [])).tools
    assert str(found.parameters[0].text_type) == "(address[],bytes)"


BOUNDS = st.integers(-(2**255), 2**256 - 1) | st.integers(-300, 300)


@given(BOUNDS, BOUNDS, st.booleans())
def test_stated_ranges_are_read(first: int, second: int, is_list: bool) -> None:
    values = range(min(first, second), max(first, second) + 1)
    is_signed = values.start < 0
    kind = ParamType.INT if is_signed else ParamType.UINT
    stated = ParamType(kind + 5) if is_list else kind
    parameter = ParamDescription(param_type=stated, name="v", description="", values=values)
    tools = [replace(marked("bytes"), parameters=(parameter,))]
    (found,) = parse_grammar(build_grammar(tools, [])).tools
    assert found.parameters == (AllowedParameter(name="v", param_type=stated, values=values),)


def test_stated_texts_and_ranges_of_markers_are_read() -> None:
    texts = ('"buy"', '"so\\"\'s | /"')
    parameter = ParamDescription(
        param_type=ParamType.STRING, name="v", description="", values=texts
    )
    vote = marked("uint8", kind=ParamType.UINT).parameters[0]
    tools = [replace(marked("bytes"), parameters=(parameter, replace(vote, name="w")))]
    (found,) = parse_grammar(build_grammar(tools, [])).tools
    assert [one.values for one in found.parameters] == [texts, range(256)]
    assert [one.words for one in found.parameters] == [
        'text, one of "buy", "so\\"\'s | /"',
        "positive integer from 0 to 255",
    ]


@pytest.mark.parametrize(
    "grammar",
    [
        pytest.param("", id="empty"),
        pytest.param(GRAMMAR, id="another one"),
        pytest.param('start: "a"\nuse: tool0\nstep: answer | use\n', id="no rule of its tool"),
        pytest.param("use: tool0\ntool0: UINT\nstep: answer\n", id="no name"),
        pytest.param('use: tool0\ntool0: "t" OTHER "}"\nstep: answer\n', id="no value"),
    ],
)
def test_another_grammar_is_refused(grammar: str) -> None:
    with pytest.raises(
        ConfigError, match=r"not a grammar of `precompiles\.grammar\.build_grammar`"
    ):
        parse_grammar(grammar)
