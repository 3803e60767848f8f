"""Values of Solidity types as texts: what is drawn is written and read alike."""

from __future__ import annotations

import random

import pytest

from benchmarks.contract_values import draw_value, read_value, write_text
from precompiles.abi_types import parse_type
from precompiles.typed_texts import TypedTextError

ADDRESS = "0x5FbDB2315678afecb367f032d93F642f64180aa3"
NESTED = "((address,string)[],bytes[2],int24,(bool,bytes4)[3])"


@pytest.mark.parametrize(
    ("abi_type", "value", "text"),
    [
        ("bool", True, "true"),
        ("int24", -5, "-5"),
        ("bytes4", b"\x01\x02\x03\x04", "01020304"),
        ("bytes", b"", ""),
        ("string", "it's", r"'it\'s'"),
        ("address[]", (ADDRESS,), f"[{ADDRESS}]"),
        ("uint8[2]", (1, 2), "[1, 2]"),
        ("(bool,bytes)[]", ((False, b"\xff"),), "[(false, ff)]"),
    ],
)
def test_a_value_has_one_text(abi_type: str, value: object, text: str) -> None:
    of = parse_type(abi_type)
    assert of is not None
    assert write_text(of, value) == text


def test_nested_values_are_read_as_they_were_written() -> None:
    of = parse_type(NESTED)
    assert of is not None
    chance = random.Random(1)  # noqa: S311 - a seed
    names = ["WETH", "addr1"]
    for _ in range(300):
        value = draw_value(of, chance, names)
        assert read_value(of, write_text(of, value)) == value


def test_a_text_of_another_type_is_refused() -> None:
    of = parse_type("uint8[]")
    assert of is not None
    with pytest.raises(TypedTextError):
        read_value(of, "[256]")
