"""Human-readable ABIs: the forms of ethers and viem, and texts that are none."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.abi.values import ErrorDefinition, EventDefinition, parse_abi_entry
from pyevm_agents.contract_intelligence.human_readable_abi import (
    MAX_CHARACTERS,
    MAX_NESTING,
    expand_entry,
)


def parameter(kind: str, name: str = "", **more: object) -> dict[str, Any]:
    return {"type": kind, "name": name, **more}


FUNCTION = {"type": "function", "name": "f", "stateMutability": "nonpayable", "outputs": []}


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("function f()", {**FUNCTION, "inputs": []}),
        (" function f ( ) external ; ", {**FUNCTION, "inputs": []}),
        (
            "function f(address payable to, uint256[] calldata x) pure returns (bool ok, int8)",
            {
                **FUNCTION,
                "inputs": [parameter("address", "to"), parameter("uint256[]", "x")],
                "outputs": [parameter("bool", "ok"), parameter("int8")],
                "stateMutability": "pure",
            },
        ),
        (
            "function f((uint8 a, tuple(bool b)[2] c)[] d)",
            {
                **FUNCTION,
                "inputs": [
                    parameter(
                        "tuple[]",
                        "d",
                        components=[
                            parameter("uint8", "a"),
                            parameter("tuple[2]", "c", components=[parameter("bool", "b")]),
                        ],
                    )
                ],
            },
        ),
        ("error E(uint a)", {"type": "error", "name": "E", "inputs": [parameter("uint", "a")]}),
        (
            "event V(address indexed a, uint256 b) anonymous",
            {
                "type": "event",
                "name": "V",
                "inputs": [parameter("address", "a", indexed=True), parameter("uint256", "b")],
                "anonymous": True,
            },
        ),
    ],
)
def test_forms_of_entries(text: str, form: dict[str, Any]) -> None:
    assert expand_entry(text) == form


@pytest.mark.parametrize(
    "text",
    [
        "",
        "function",
        "function f",
        "function f(",
        "function f(uint256,)",
        "function f(uint256 a b)",
        "function f() virtual",
        "function f() returns",
        "function f(uint256[)",
        "function f(1)",
        "constructor()",
        "f()",
        "function f() -> bool",
        "function f(" + "(" * (MAX_NESTING + 2) + ")" * (MAX_NESTING + 2) + ")",
        "function f(" + " " * MAX_CHARACTERS + ")",
    ],
)
def test_other_texts_are_no_entries(text: str) -> None:
    assert expand_entry(text) is None
    assert parse_abi_entry(expand_entry(text)) is None


def test_definitions_of_texts() -> None:
    error = parse_abi_entry(expand_entry("error TooMuch(uint most, address who)"))
    assert isinstance(error, ErrorDefinition)
    assert (error.signature, error.argument_names) == ("TooMuch(uint256,address)", ("most", "who"))
    event = parse_abi_entry(expand_entry("event Paid(address indexed to)"))
    assert isinstance(event, EventDefinition)
    assert event.indexed == (True,)


@given(st.text("function error(),[] tuple;ab1$_\n\u202e", max_size=60) | st.text(max_size=20))
def test_every_text_has_a_clear_outcome(text: str) -> None:
    form = expand_entry(text)
    assert form is None or isinstance(form, dict)
    parse_abi_entry(expand_entry(text))
