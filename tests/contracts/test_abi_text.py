"""AbiText: typed texts to ABI data and back, equal to eth_abi byte for byte; typed refusals."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from eth_abi import encode
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.contracts.plain_evm import Contract, RevertedError, plain_evm, reverts
from tests.contracts.typed_texts import abi_types, format_text, has_text, values

LOWER = "0x" + "ab" * 20
MIXED = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"
EXAMPLES = 12
SLOW_EXAMPLES = 80
MAX_DEPTH = 16
MAX_ITEMS = 64
MAX_TEXT_BYTES = 4_096


@cache
def texts() -> Contract:
    """Return the library behind a contract, on an EVM of its own."""
    return plain_evm().deploy("AbiTexts")


typed_values = abi_types.flatmap(lambda t: st.tuples(st.just(t), values(t)))


@given(typed_values)
@settings(max_examples=EXAMPLES, deadline=None)
def test_texts_and_data_are_those_of_eth_abi(typed_value: tuple[str, Any]) -> None:
    check_round_trip(typed_value)


@pytest.mark.slow
@given(typed_values)
@settings(max_examples=SLOW_EXAMPLES, deadline=None)
def test_more_texts_and_data_are_those_of_eth_abi(typed_value: tuple[str, Any]) -> None:
    check_round_trip(typed_value)


def check_round_trip(typed_value: tuple[str, Any]) -> None:
    abi_type, value = typed_value
    text, data = format_text(abi_type, value), encode([abi_type], [value])
    assert texts()("decode", abi_type, data) == text
    assert texts()("rewrite", abi_type) == abi_type
    assume(has_text(abi_type, value))
    assert texts()("encode", abi_type, text) == data


@pytest.mark.slow
@given(typed_values, st.data())
@settings(max_examples=SLOW_EXAMPLES, deadline=None)
def test_altered_texts_are_encoded_or_refused(
    typed_value: tuple[str, Any], data: st.DataObject
) -> None:
    abi_type, value = typed_value
    text = format_text(abi_type, value)
    place = data.draw(st.integers(0, len(text)))
    sign = data.draw(st.sampled_from("(),[]'\\ -0x9fFz\n") | st.just(""))
    altered = text[:place] + sign + text[place + data.draw(st.integers(0, 1)) :]
    try:
        encoded = texts()("encode", abi_type, altered)
    except RevertedError as refusal:
        assert refusal.error[0] in {"MalformedText", "ValueOutOfRange", "SignedValueOutOfRange"}  # noqa: PT017 - or no error
    else:
        again = texts()("decode", abi_type, encoded)
        assert again.lower() == altered.lower()  # digits of addresses have two cases


@pytest.mark.slow
@given(typed_values, st.data())
@settings(max_examples=SLOW_EXAMPLES, deadline=None)
def test_altered_data_are_decoded_or_refused(
    typed_value: tuple[str, Any], data: st.DataObject
) -> None:
    abi_type, value = typed_value
    whole = bytearray(encode([abi_type], [value]))
    place = data.draw(st.integers(0, len(whole) - 1))
    whole[place] = data.draw(st.sampled_from((0, 1, 0x20, 0x80, 0xFF)))
    cut = bytes(whole[: data.draw(st.integers(0, len(whole)))])
    for altered in (bytes(whole), cut):
        try:
            texts()("decode", abi_type, altered)
        except RevertedError as refusal:
            assert refusal.error == ("MalformedData", abi_type)  # noqa: PT017 - or no error


@pytest.mark.parametrize(
    ("abi_type", "text", "position", "reason"),
    [
        ("uint8", "", 0, "a whole number"),
        ("uint8", "01", 0, "no leading zero"),
        ("uint8", "+1", 0, "a whole number"),
        ("uint8", "1 ", 1, "the end"),
        ("uint256", str(2**256), 0, "a number in the range of the type"),
        ("int256", str(2**255), 0, "a number in the range of the type"),
        ("int256", str(-(2**255) - 1), 0, "a number in the range of the type"),
        ("int8", "-0", 0, "a number in the range of the type"),
        ("int8", "-", 1, "a whole number"),
        ("bool", "True", 0, "f"),
        ("bool", "tru", 3, "e"),
        ("address", "0x12", 0, "0x and 40 hexadecimal digits"),
        ("address", "0X" + "ab" * 20, 0, "0x and 40 hexadecimal digits"),
        ("address", "0x" + "zz" * 20, 0, "0x and 40 hexadecimal digits"),
        ("address", "1" + "ab" * 21, 0, "0x and 40 hexadecimal digits"),
        ("address", MIXED.replace("fB", "Fb"), 0, "a right checksum"),
        ("bytes2", "abc", 3, "a lower-case hexadecimal digit"),
        ("bytes2", "abcdef", 4, "the end"),
        ("bytes2", "ABCD", 0, "a lower-case hexadecimal digit"),
        ("bytes", "abc", 3, "two hexadecimal digits a byte"),
        ("bytes", "0xab", 1, "two hexadecimal digits a byte"),
        ("string", "plain", 0, "'"),
        ("string", "'open", 5, "'"),
        ("string", r"'\x'", 2, r"an escape: ' \ n r t"),
        ("string", "'a\nb'", 2, "no control character"),
        ("string", "'a\u2028b'", 2, "no control character"),
        ("string", "'a\u0085b'", 2, "no control character"),
        ("string", "'a'b", 3, "the end"),
        ("uint8[]", "1", 0, "["),
        ("uint8[]", "[1,2]", 3, " "),
        ("uint8[]", "[1, ]", 4, "a whole number"),
        ("uint8[2]", "[1]", 2, ","),
        ("uint8[2]", "[1, 2, 3]", 5, "]"),
        ("uint8[40]", "[1]", 0, "more values"),
        ("(uint8,bool)", "(1)", 2, ","),
        ("(uint8,bool)", "(1, true", 8, ")"),
        ("bytes[]", "[" + ", " * MAX_ITEMS + "]", 1 + 2 * (MAX_ITEMS - 1), "at most 64 items"),
    ],
)
def test_malformed_texts_are_refused(abi_type: str, text: str, position: int, reason: str) -> None:
    with pytest.raises(RevertedError) as caught:
        texts()("encode", abi_type, text)
    assert caught.value.error[0] == "MalformedText"
    assert caught.value.error[2:] == (position, reason)


@pytest.mark.parametrize(
    ("abi_type", "text", "error"),
    [
        ("uint8", "256", ("ValueOutOfRange", "", 256, 0, 255)),
        ("int8[]", "[1, 128]", ("SignedValueOutOfRange", "", 128, -128, 127)),
        ("int8", "-129", ("SignedValueOutOfRange", "", -129, -128, 127)),
    ],
)
def test_integers_outside_of_their_type_are_refused(
    abi_type: str, text: str, error: tuple[object, ...]
) -> None:
    with reverts(*error):
        texts()("encode", abi_type, text)


@pytest.mark.parametrize(
    ("abi_type", "position"),
    [
        ("", 0), ("uint", 4), ("uint7", 4), ("uint264", 4), ("int0", 3), ("uint08", 4),
        ("bytes33", 5), ("bytes0", 5), ("bool1", 4), ("fixed128x18", 0), ("()", 1), ("(uint8", 6),
        ("(uint8,)", 7),
        ("(uint8 )", 6), ("uint8]", 5), ("uint8[", 6), ("uint8[0]", 6), ("uint8[65535][2]", 15),
        ("uint8[100000]", 11), (" uint8", 0), ("uint8" + "[]" * (MAX_DEPTH + 1), 37),
        ("(" * 20 + "uint8" + ")" * 20, 17), ("(" + "bool," * 64 + "bool)", 321),
    ],
)  # fmt: skip
def test_malformed_types_are_refused(abi_type: str, position: int) -> None:
    with reverts("MalformedType", abi_type, position):
        texts()("rewrite", abi_type)


@pytest.mark.parametrize(
    "abi_type",
    ["uint8" + "[]" * MAX_DEPTH, "(" * MAX_DEPTH + "bool" + ")" * MAX_DEPTH, "bytes1[65535]"],
)
def test_types_at_the_limits_are_read(abi_type: str) -> None:
    assert texts()("rewrite", abi_type) == abi_type


@pytest.mark.parametrize("text", [LOWER, LOWER.upper().replace("X", "x"), MIXED])
def test_addresses_are_of_one_case_or_have_a_checksum(text: str) -> None:
    assert texts()("encode", "address", text) == encode(["address"], [text.lower()])


def test_an_array_has_as_many_items_as_the_executor_generates() -> None:
    items = [7] * MAX_ITEMS
    text = format_text("uint8[]", items)
    assert texts()("encode", "uint8[]", text) == encode(["uint8[]"], [items])


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"a\x00\x1f\x7fb", "'a???b'"),
        ("a\u0085b\u2028c\u2029d".encode(), "'a?b?c?d'"),
        (b"\xff\xc0\x80\xe2\x82", "'?????'"),
        (b"\xed\xa0\x80", "'???'"),  # a surrogate
        (b"\xf4\x90\x80\x80", "'????'"),  # above the last code point
        ("é\u20ac\U0001f600".encode(), "'é\u20ac\U0001f600'"),
    ],
)
def test_strings_of_strangers_are_one_line_of_utf_8(data: bytes, text: str) -> None:
    assert texts()("decode", "string", encode(["bytes"], [data])) == text


@pytest.mark.slow
def test_offsets_that_point_to_one_place_cost_no_more_than_the_limit() -> None:
    # Each level is a list of 200 offsets to the one below: 200**6 items, in 40 KB.
    count, levels = 200, 6
    data = (32).to_bytes(32)
    for _ in range(levels - 1):
        data += count.to_bytes(32) + (32 * count).to_bytes(32) * count
    data += count.to_bytes(32) + bytes(32 * count)
    with reverts("TextTooLong", "uint8" + "[]" * levels, MAX_TEXT_BYTES):
        texts()("decode", "uint8" + "[]" * levels, data)
