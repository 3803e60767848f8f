"""Definitions and values of contract ABIs."""

from __future__ import annotations

from typing import Any

import pytest
from eth_abi import encode
from eth_utils import keccak
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.abi.values import (
    EventDefinition,
    FunctionDefinition,
    compute_topic,
    decode_event,
    decode_values,
    format_arguments,
    format_number,
    format_value,
    parse_abi_entry,
)

ADDRESS = "0x5FbDB2315678afecb367f032d93F642f64180aa3"


def parameter(name: str, kind: str, *, indexed: bool = False) -> dict[str, Any]:
    return {"name": name, "type": kind, "indexed": indexed}


TRANSFER = {
    "type": "event",
    "name": "Transfer",
    "inputs": [
        parameter("from", "address", indexed=True),
        parameter("", "string", indexed=True),
        parameter("value", "uint256"),
    ],
}


def test_a_function_has_its_outputs() -> None:
    entry = {
        "type": "function",
        "name": "get",
        "inputs": [parameter("at", "uint8")],
        "outputs": [parameter("", "bool"), {"name": "pair", "type": "tuple", "components": [
            parameter("a", "int8"), parameter("b", "bytes")]}],
    }  # fmt: skip
    assert parse_abi_entry(entry) == FunctionDefinition(
        name="get",
        types=("uint8",),
        argument_names=("at",),
        output_types=("bool", "(int8,bytes)"),
        output_names=("", "pair"),
        output_members=((), (("a", ()), ("b", ()))),
    )


@pytest.mark.parametrize(
    "change",
    [
        {"anonymous": True},
        {"inputs": [parameter("a", "uint8", indexed=True)] * 4},
        {"inputs": [parameter("a", "uint7")]},
        {"name": "no name"},
        {"inputs": None},
    ],
)
def test_an_event_without_a_definition_is_left_out(change: dict[str, Any]) -> None:
    assert parse_abi_entry(TRANSFER) is not None
    assert parse_abi_entry(TRANSFER | change) is None


def test_an_events_topics_and_data_are_its_arguments() -> None:
    event = parse_abi_entry(TRANSFER)
    assert isinstance(event, EventDefinition)
    topics = [compute_topic("Transfer(address,string,uint256)"), encode(["address"], [ADDRESS])]
    hashed, data = keccak(text="text"), encode(["uint256"], [7])
    values = decode_event(event, [*topics, hashed], data)
    assert values == (ADDRESS.lower(), hashed, 7)
    text = f"from: {ADDRESS}, 0x{hashed.hex()}, value: 7"
    assert format_arguments(event.types, event.argument_names, values) == text
    assert decode_event(event, topics, data) is None
    assert decode_event(event, [*topics, hashed], data[:-1]) is None


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (9_999, "9999"),
        (10_000, "10000 [1e4]"),
        (1_234_567, "1234567 [1.234e6]"),
        (-1_500_000, "-1500000 [-1.5e6]"),
    ],
)
def test_large_numbers_have_an_exponent(number: int, text: str) -> None:
    assert format_number(number) == text


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("address", ADDRESS.lower(), ADDRESS),
        ("bool", True, "true"),
        ("bytes4", b"\x01\x02\x03\x04", "0x01020304"),
        ("bytes", b"\xff" * 65, f"0x{'ff' * 64}… (65 bytes)"),
        ("string", 'a "b"\n', '"a \\"b\\"\\n"'),
        ("string", "é" * 301, f'"{"é" * 300}…"'),
        ("uint8[]", tuple(range(18)), f"[{', '.join(map(str, range(16)))}, … 2 more]"),
        ("(address,bool[2])[1]", ((ADDRESS, (True, False)),), f"[({ADDRESS}, [true, false])]"),
    ],
)
def test_values_are_short_texts(kind: str, value: object, text: str) -> None:
    assert format_value(kind, value) == text


@given(
    st.lists(st.sampled_from(["uint256", "string", "bytes[]", "(address,int8[2])[]"]), max_size=3),
    st.binary(max_size=300),
)
def test_foreign_data_have_no_values_and_are_no_failure(kinds: list[str], data: bytes) -> None:
    values = decode_values(kinds, data)
    if values is not None:
        assert isinstance(format_arguments(kinds, [""] * len(kinds), values), str)
