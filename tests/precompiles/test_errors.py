"""The typed reverts, against their Solidity declarations."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from eth_abi import decode, encode
from eth_utils import keccak

from precompiles.errors import (
    NUMERIC_REFUSALS,
    REFUSALS,
    NumericRefusal,
    Refusal,
    error_selector,
)

ARTIFACT = Path(__file__).parents[2] / "contracts/build/IAgentExecutorErrors.json"

# As js-sha3, which the Solidity build uses, hashes the signatures.
SELECTORS = {
    "ExecutorUnavailable": "a7924385",
    "ValueNotAccepted": "583718dd",
    "DelegateCallNotAllowed": "0d89438e",
    "UnknownSelector": "c2a825f5",
    "UnknownModel": "453151b3",
    "CalldataTooLarge": "06018a9f",
    "ReentrantMetadata": "f9c0bab4",
    "ContextTooLong": "1a35a2e9",
    "ModelsUnavailable": "e7e23a99",
    "InputLengthMismatch": "6b7f6f0e",
    "InputOutOfRange": "77b7e5e9",
}

EXAMPLES: dict[str, bytes | int | str] = {
    "address": bytes(19) + b"\x42",
    "bytes": b"reason",
    "bytes4": b"\x06\xfd\xde\x03",
    "string": "ünïcode",
    "uint256": 2**256 - 1,
    "int256": -(2**255),
}


def test_the_table_is_what_solidity_declares() -> None:
    entries = json.loads(ARTIFACT.read_text())["abi"]
    declared = {
        entry["name"]: tuple(parameter["type"] for parameter in entry["inputs"])
        for entry in entries
        if entry["type"] == "error"
    }
    assert declared == REFUSALS
    assert len(declared) == len(entries)


def test_errors_of_one_name_are_one_error() -> None:
    shared = REFUSALS.keys() & NUMERIC_REFUSALS.keys()
    assert len(shared) == 7
    assert {name: REFUSALS[name] for name in shared} == {
        name: NUMERIC_REFUSALS[name] for name in shared
    }


@pytest.mark.parametrize("name", REFUSALS | NUMERIC_REFUSALS)
def test_the_selector_is_the_hash_of_the_signature(name: str) -> None:
    signature = f"{name}({','.join((REFUSALS | NUMERIC_REFUSALS)[name])})"
    assert error_selector(name) == keccak(text=signature)[:4]


@pytest.mark.parametrize(("name", "selector"), SELECTORS.items())
def test_selectors_by_hand(name: str, selector: str) -> None:
    assert error_selector(name).hex() == selector


def test_selectors_differ() -> None:
    assert len({error_selector(name) for name in REFUSALS}) == len(REFUSALS) == 21


@pytest.mark.parametrize("name", REFUSALS)
def test_the_revert_data_decodes_again(name: str) -> None:
    types = REFUSALS[name]
    arguments = [EXAMPLES[abi_type] for abi_type in types]
    data = Refusal(name, *arguments).encode()
    assert data == error_selector(name) + encode(types, arguments)
    decoded = decode(types, data[4:])
    expected = ["0x" + "00" * 19 + "42" if t == "address" else EXAMPLES[t] for t in types]
    assert list(decoded) == expected


@pytest.mark.parametrize("name", NUMERIC_REFUSALS)
def test_the_revert_data_of_numeric_models_decodes_again(name: str) -> None:
    types = NUMERIC_REFUSALS[name]
    arguments = [EXAMPLES[abi_type] for abi_type in types]
    data = NumericRefusal(name, *arguments).encode()
    assert data == error_selector(name) + encode(types, arguments)
    assert list(decode(types, data[4:])) == arguments


def test_revert_data_word_by_word() -> None:
    data = Refusal("CalldataTooLarge", 65_537, 65_536).encode()
    assert data.hex() == "06018a9f" + f"{65_537:064x}" + f"{65_536:064x}"


def test_the_message_shows_name_and_arguments() -> None:
    refusal = Refusal("MalformedToolMetadata", b"\x42", b"\x06\xfd", "why")
    assert str(refusal) == "MalformedToolMetadata(0x42, 0x06fd, 'why')"
    assert (refusal.name, refusal.arguments) == (
        "MalformedToolMetadata",
        (b"\x42", b"\x06\xfd", "why"),
    )


@pytest.mark.parametrize(
    "arguments", [(), (1,), (1, 2, 3), (1, "2"), (-1, 0), (2**256, 0)], ids=str
)
def test_arguments_of_other_types_do_not_encode(arguments: tuple[int | str, ...]) -> None:
    with pytest.raises(Exception, match=r".+"):
        Refusal("CalldataTooLarge", *arguments).encode()


@pytest.mark.parametrize("name", REFUSALS)
@pytest.mark.parametrize("number", [0, 1, 65_537, 2**256 - 1])
def test_the_encoding_is_the_librarys_for_every_number(name: str, number: int) -> None:
    arguments = [number if kind == "uint256" else EXAMPLES[kind] for kind in REFUSALS[name]]
    expected = error_selector(name) + encode(REFUSALS[name], arguments)
    assert Refusal(name, *arguments).encode() == expected
