"""Round trip of grammars: building and parsing."""

from __future__ import annotations

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
from tests.pyevm_agents.models.conftest import GRAMMAR

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
