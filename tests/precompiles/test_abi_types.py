"""Markers and Solidity types: what is read, and what stays plain text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precompiles.abi_types import AbiType, Kind, parse_type, read_marker, strip_marker
from tests.precompiles.typed_values import ANY_TYPES

UINT8 = AbiType(Kind.UINT, 8)


@given(ANY_TYPES)
def test_a_type_is_read_as_it_is_written(of: AbiType) -> None:
    assert parse_type(str(of)) == of
    assert read_marker(f"x [abi:{of}]") == of


@pytest.mark.parametrize(
    ("text", "of"),
    [
        ("uint8", UINT8),
        ("uint256", AbiType(Kind.UINT, 256)),
        ("int8", AbiType(Kind.INT, 8)),
        ("bytes1", AbiType(Kind.FIXED_BYTES, 1)),
        ("bytes32", AbiType(Kind.FIXED_BYTES, 32)),
        ("bytes", AbiType(Kind.BYTES)),
        ("string[]", AbiType(Kind.ARRAY, parts=(AbiType(Kind.STRING),))),
        (
            "uint8[2][]",
            AbiType(Kind.ARRAY, parts=(AbiType(Kind.FIXED_ARRAY, 2, (UINT8,)),)),
        ),
        ("(bool)", AbiType(Kind.TUPLE, parts=(AbiType(Kind.BOOL),))),
        (
            "(address,(uint8)[])",
            AbiType(
                Kind.TUPLE,
                parts=(
                    AbiType(Kind.ADDRESS),
                    AbiType(Kind.ARRAY, parts=(AbiType(Kind.TUPLE, parts=(UINT8,)),)),
                ),
            ),
        ),
    ],
)
def test_examples(text: str, of: AbiType) -> None:
    assert parse_type(text) == of
    assert str(of) == text


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "uint", "int", "uint7", "uint0", "uint08", "uint264", "int257", "Uint8",
        "UINT8", "bytes0", "bytes33", "bytes032", "bytes321", "byte", "fixed128x18", "function",
        "tuple", "()", "(,)", "(uint8,)", "(,uint8)", "(uint8", "uint8)", "(uint8))", "((uint8)",
        "(uint8, bool)", "(uint8;bool)", "uint8 a", " uint8", "uint8 ", "uint8[0]", "uint8[65]",
        "uint8[01]", "uint8[-1]", "uint8[1", "uint8]", "[]", "uint8[ ]", "uint8[]x", "uint8[[]]",
        "uint8[100]", "address payable", "uint8\n", "uint\uff18", "uint8\u200b", "bool[][]]", "u",
        "(uint8)(uint8)", "0", "string,string",
    ],
)  # fmt: skip
def test_other_texts_are_no_types(text: str) -> None:
    assert parse_type(text) is None


@given(st.text(st.sampled_from("()[],1248uintbytes"), max_size=30) | st.text(max_size=20))
def test_what_is_read_is_canonical(text: str) -> None:
    of = parse_type(text)
    assert of is None or str(of) == text


# -- limits -- #


def test_a_type_has_at_most_256_characters() -> None:
    longest = "(" + ",".join(["bytes10"] * 31) + "," + "int8[]" + ")"
    assert len(longest) == 256
    assert parse_type(longest) is not None
    assert read_marker(f"[abi:{longest}]") is not None
    assert parse_type(longest.replace("int8", "int16")) is None
    assert read_marker(f"[abi:{longest.replace('int8', 'int16')}]") is None


def test_a_type_has_at_most_32_leaves() -> None:
    assert parse_type(f"({','.join(['bool'] * 32)})") is not None
    assert parse_type(f"({','.join(['bool'] * 33)})") is None
    assert parse_type(f"(({','.join(['bool'] * 31)})[],bool)") is not None
    assert parse_type(f"(({','.join(['bool'] * 32)})[],bool)") is None


@pytest.mark.parametrize(
    ("deepest", "deeper"),
    [
        ("bool" + "[]" * 8, "bool" + "[]" * 9),
        ("bool" + "[3]" * 8, "bool" + "[3]" * 9),
        ("(" * 8 + "bool" + ")" * 8, "(" * 9 + "bool" + ")" * 9),
        ("(" * 4 + "bool" + "[])" * 4, "(" * 4 + "bool" + "[])" * 4 + "[]"),
        ("(" * 4 + "bool[]" + "[])" * 3 + ")", "((" * 4 + "bool" + "))" * 4 + "[]"),
        ("(bool,(" + "bool" + "[]" * 6 + "))", "(bool,(" + "bool" + "[]" * 7 + "))"),
    ],
)
def test_a_type_has_at_most_8_levels(deepest: str, deeper: str) -> None:
    assert parse_type(deepest) is not None
    assert parse_type(deeper) is None


def test_a_fixed_array_has_1_to_64_items() -> None:
    assert parse_type("uint8[64]") == AbiType(Kind.FIXED_ARRAY, 64, (UINT8,))
    assert parse_type("uint8[1]") == AbiType(Kind.FIXED_ARRAY, 1, (UINT8,))
    assert parse_type("uint8[65]") is None
    assert parse_type("uint8[0]") is None


# -- markers -- #


@pytest.mark.parametrize(
    ("description", "of"),
    [
        ("[abi:uint8]", "uint8"),
        ("the vote [abi:uint8]", "uint8"),
        ("the vote[abi:uint8[]]", "uint8[]"),
        ("[abi:bytes] then [abi:uint8]", "uint8"),
        ("[abi:[abi:uint8]", "uint8"),
        ("[abi:" * 3_000 + "uint8]", "uint8"),
        ("é\u2028[abi:(address,uint24)[]]", "(address,uint24)[]"),
        ("x" * 65_536 + "[abi:uint8]", "uint8"),
        ("", None),
        ("the vote", None),
        ("[abi:uint8] ", None),
        ("[abi:uint8]\n", None),
        ("[abi:uint8].", None),
        ("[abi:uint8", None),
        ("[abi:uint8[]", None),
        ("[abi:", None),
        ("[abi:]", None),
        ("[abi: uint8]", None),
        ("[ABI:uint8]", None),
        ("[abi:uint8]]", None),
        ("abi:uint8]", None),
        ("[abi:uint\u200b8]", None),
        ("[abi:" + "(" * 10_000 + "bool" + ")" * 10_000 + "]", None),
        ("[abi:" + "(" * 65_536, None),
        ("[abi:bool" + "[]" * 10_000 + "]", None),
        ("[abi:" * 13_000 + "]", None),
        ("[abi:" + "]" * 65_536, None),
        ("[abi:" + "uint8" * 10_000 + "]", None),
        ("]" * 65_536, None),
    ],
    ids=lambda value: f"{ascii(value)[:30]}{len(value or '')}",
)
def test_a_marker_is_at_the_end_and_nothing_else_is_one(description: str, of: str | None) -> None:
    found = read_marker(description)
    assert (None if found is None else str(found)) == of


@pytest.mark.parametrize(
    ("description", "plain"),
    [
        ("the vote [abi:uint8]", "the vote"),
        ("[abi:uint8]", ""),
        ("a [abi:bytes]  [abi:uint8]", "a [abi:bytes]"),
    ],
)
def test_the_description_without_its_marker(description: str, plain: str) -> None:
    assert strip_marker(description) == plain
