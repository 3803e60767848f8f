"""Revert data in the words of Foundry and Hardhat, which test suites match."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from eth_abi import encode
from eth_utils import keccak, to_checksum_address
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.abi.artifacts import describe_contract
from pyevm_agents.abi.known_contracts import KnownContracts
from pyevm_agents.abi.revert_reasons import decode_revert, format_revert, quote_revert

if TYPE_CHECKING:
    from eth_typing import ABIComponent

ADDRESS = "0x" + "f3" * 20
CHECKSUMMED = to_checksum_address(ADDRESS)


def error(signature: str, *values: object) -> bytes:
    types = signature.partition("(")[2].removesuffix(")")
    parts = [types] if types.startswith("(") else [part for part in types.split(",") if part]
    return keccak(text=signature)[:4] + encode(parts, values)


def knowing(name: str, *types: str) -> KnownContracts:
    inputs: list[ABIComponent] = [
        {"name": f"parameter{at}", "type": text} for at, text in enumerate(types)
    ]
    known = KnownContracts()
    known.add(describe_contract("Suite", [{"type": "error", "name": name, "inputs": inputs}]))
    return known


@pytest.mark.parametrize(
    ("types", "value", "foundry", "hardhat"),
    [
        ("uint256", 10**18, "1000000000000000000", None),
        ("int8", -5, "-5", None),
        ("bool", True, "true", None),
        ("address", ADDRESS, CHECKSUMMED, f'"{CHECKSUMMED}"'),
        ("string", "AA24 signature error", '"AA24 signature error"', None),
        ("string", 'a "b"\nü', '"a \\"b\\"\\nü"', None),
        ("bytes", b"\xde\xad\xbe\xef\x01", "0xdeadbeef01", '"0xdeadbeef01"'),
        ("bytes", b"", "0x", '"0x"'),
        ("bytes4", b"\xa9\x05\x9c\xbb", "0xa9059cbb", '"0xa9059cbb"'),
        ("bytes32", b"\x01" * 32, "0x" + "01" * 32, f'"0x{"01" * 32}"'),
        ("uint8[]", [1, 2], "[1, 2]", None),
        ("string[2]", ["a", "b"], '["a", "b"]', None),
        ("address[]", [ADDRESS], f"[{CHECKSUMMED}]", f'["{CHECKSUMMED}"]'),
        ("bytes", error("Error(string)", "no"), 'Error("no")', None),
        ("bytes", error("Panic(uint256)", 1), "panic: assertion failed (0x01)", None),
    ],
)
def test_values_of_a_known_error_stand_alone(
    types: str, value: object, foundry: str, hardhat: str | None
) -> None:
    known = knowing("FailedOp", "uint256", types)
    data = keccak(text=f"FailedOp(uint256,{types})")[:4] + encode(["uint256", types], [0, value])
    assert format_revert(data, known) == f"FailedOp(0, {foundry})"
    assert quote_revert(data, known) == f"FailedOp(0, {hardhat or foundry})"


def test_a_tuple_has_parentheses_in_foundry_and_is_a_list_in_hardhat() -> None:
    known = KnownContracts()
    parts = [{"name": "a", "type": "address"}, {"name": "b", "type": "bool[]"}]
    entry = {"type": "error", "name": "Bad", "inputs": [{"type": "tuple", "components": parts}]}
    known.add(describe_contract("Suite", [entry]))
    data = keccak(text="Bad((address,bool[]))")[:4]
    data += encode(["(address,bool[])"], [(ADDRESS, [True, False])])
    assert format_revert(data, known) == f"Bad(({CHECKSUMMED}, [true, false]))"
    assert quote_revert(data, known) == f'Bad(["{CHECKSUMMED}", [true, false]])'


UNKNOWN = bytes.fromhex("220266b6")


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "no reason given"),
        (error("Error(string)", "not today"), "not today"),
        (error("Error(string)", ""), ""),
        (error("Panic(uint256)", 1), "panic: assertion failed (0x01)"),
        (error("Panic(uint256)", 0x99), "panic: unknown code (0x99)"),
        (UNKNOWN, "custom error 0x220266b6"),
        (UNKNOWN + encode(["uint256"], [7]), f"custom error 0x220266b6: {7:064x}"),
        (
            UNKNOWN + encode(["uint256", "string"], [0, "AA24 signature error"]),
            "custom error 0x220266b6: AA24 signature error",
        ),
        (
            UNKNOWN + encode(["address", "string", "string"], [ADDRESS, "one", "zwölf"]),
            "custom error 0x220266b6: one, zwölf",
        ),
        (UNKNOWN + b"plain text", "custom error 0x220266b6: plain text"),
        (UNKNOWN + b"\xff\xfe", "custom error 0x220266b6: fffe"),
        (b"hello world", "hello world"),
        (b"hello world".ljust(32, b"\0"), "hello world"),
        ("grüezi".encode(), "grüezi"),
        (b"hi", "hi"),
        (encode(["string"], ["no selector"]), "no selector"),
        (b"\xff\xfe", "custom error bytes 0xfffe"),
        (b"NOPE" + bytes(32), "custom error 0x4e4f5045: " + "00" * 32),
        (
            error("Error(string)", "not today")[:30],
            "custom error 0x08c379a0: " + "00" * 26,
        ),
    ],
)
def test_other_data_are_told_as_anvil_does(data: bytes, text: str) -> None:
    assert format_revert(data) == quote_revert(data) == text


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"hello world", "'hello world'"),
        (
            UNKNOWN + encode(["uint256", "string"], [0, "AA24 signature error"]),
            "custom error 0x220266b6: 'AA24 signature error'",
        ),
        (UNKNOWN + encode(["uint256"], [7]), f"0x220266b6{7:064x}"),
        (UNKNOWN, "0x220266b6"),
    ],
)
def test_reports_quote_the_texts_of_unknown_data(data: bytes, text: str) -> None:
    assert decode_revert(data) == text
    wrapped = decode_revert(error("ToolCallFailed(address,bytes)", ADDRESS, data))
    assert wrapped == f"ToolCallFailed(tool={CHECKSUMMED}, reason={text})"


@given(data=st.binary(max_size=300), selector=st.sampled_from([b"", UNKNOWN, b"\x08\xc3\x79\xa0"]))
def test_any_data_have_a_text(data: bytes, selector: bytes) -> None:
    for write in (decode_revert, format_revert, quote_revert):
        assert isinstance(write(selector + data), str)


@pytest.mark.parametrize("write", [decode_revert, format_revert, quote_revert])
def test_errors_that_nest_deep_are_written_as_bytes(write: object) -> None:
    data = b""
    for _ in range(3_000):
        data = error("ToolCallFailed(address,bytes)", ADDRESS, data)
    text = write(data)  # type: ignore[operator]
    assert 10 < text.count("ToolCallFailed") < 100
