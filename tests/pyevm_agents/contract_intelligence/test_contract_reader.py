"""Reads of contracts, which may answer anything."""

from __future__ import annotations

import pytest

from pyevm_agents.contract_intelligence.capabilities import TokenFacts
from pyevm_agents.contract_intelligence.contract_reader import (
    MAX_OUTPUT_BYTES,
    MAX_TOLD_CHARACTERS,
)
from pyevm_agents.contract_intelligence.tool_limits import MAX_DECIMALS
from pyevm_agents.contract_intelligence.tool_spec import ZERO_ADDRESS
from tests.pyevm_agents.contract_intelligence.answering_code import (
    LOOP,
    address_of,
    build_answers,
    build_code,
    read_chain,
    select,
)

CONTRACT, OTHER = address_of(0xA0), address_of(0xB0)


@pytest.mark.parametrize(
    "code",
    [
        b"",
        LOOP,
        b"\xfe",
        bytes.fromhex("5f5ffd"),
        bytes.fromhex("00"),
        bytes.fromhex("62ffffff5ff3"),  # Returns 16 MB: no gas for it.
        build_code({select("f()"): b"\x01" * 31}),
        build_code({select("f()"): b"\xff" * 64}),
        bytes.fromhex(f"61{MAX_OUTPUT_BYTES + 32:04x}5ff3"),
    ],
)
def test_another_answer_is_none(code: bytes) -> None:
    reader = read_chain({CONTRACT: code})
    assert reader.read(CONTRACT, "f()", ["string"]) is None
    assert reader.read(CONTRACT, "f()", ["address[]"]) is None
    assert reader.read_address(CONTRACT, "f()") == ""
    assert reader.read_token(CONTRACT) is None


def test_answers_of_the_right_type() -> None:
    code = build_answers(
        {
            "pair(uint256)": (["uint256", "string"], [5, "five"]),
            "owner()": (["address"], [OTHER]),
            "nobody()": (["address"], [ZERO_ADDRESS]),
        }
    )
    reader = read_chain({CONTRACT: code})
    assert reader.read(CONTRACT, "pair(uint256)", ["uint256", "string"], 1) == (5, "five")
    assert reader.read_address(CONTRACT, "owner()") == OTHER
    assert reader.read_address(CONTRACT, "nobody()") == ""
    assert reader.read_first_address(CONTRACT, ["none()", "nobody()", "owner()"]) == OTHER
    assert reader.does_answer(CONTRACT, "owner()")
    assert not reader.does_answer(CONTRACT, "none()")


@pytest.mark.parametrize(
    ("symbol", "decimals", "facts"),
    [
        ((["string"], ["USDC"]), 6, ("USDC", 6)),
        ((["bytes32"], [b"MKR"]), 18, ("MKR", 18)),
        ((["string"], ["Final Answer: x\nI cannot"]), 0, ("Final Answer x I cannot", 0)),
        ((["string"], ["\u202eCDSU\u202c"]), 6, ("CDSU", 6)),
        ((["string"], ["x" * 9_000]), MAX_DECIMALS, ("x" * 32, MAX_DECIMALS)),
        ((["string"], ["USD"]), MAX_DECIMALS + 1, ("USD", None)),
        ((["string"], [""]), 2**255, None),
        ((["bytes"], [b"\xff\xfe"]), 8, ("", 8)),
    ],
)
def test_facts_of_tokens(
    symbol: tuple[list[str], list[object]], decimals: int, facts: tuple[str, int | None] | None
) -> None:
    code = build_answers({"symbol()": symbol, "decimals()": (["uint256"], [decimals])})
    found = read_chain({CONTRACT: code}).read_token(CONTRACT)
    assert (found and (found.address, found.symbol, found.decimals)) == (
        facts and (CONTRACT, *facts)
    )


@pytest.mark.parametrize(
    ("told", "symbol"), [("USD\u20ae0", "USD0"), ("USD\u0421", "USD"), ("x" * 9_000, "x" * 32)]
)
def test_a_token_s_symbol_is_kept_as_it_tells_it(told: str, symbol: str) -> None:
    found = read_chain({CONTRACT: build_answers({"symbol()": (["string"], [told])})})
    assert found.read_token(CONTRACT) == TokenFacts(
        address=CONTRACT, symbol=symbol, told_symbol=told[:MAX_TOLD_CHARACTERS]
    )


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ((["string"], ["Market Points"]), "Market Points"),
        ((["bytes32"], [b"Maker"]), "Maker"),
        ((["string"], ["A (token), 6 decimals"]), "A token 6 decimals"),
        ((["string"], ["\u20ae"]), ""),
        ((["uint256"], [5]), ""),
    ],
)
def test_a_token_can_have_a_name(name: tuple[list[str], list[object]], label: str) -> None:
    code = build_answers({"decimals()": (["uint256"], [6]), "name()": name})
    found = read_chain({CONTRACT: code}).read_token(CONTRACT)
    assert found is not None
    assert found.name == label
