"""Bytecode from mnemonics, and loops with a given number of iterations."""

from __future__ import annotations

import pytest
from eth_typing import Address

from pyevm_agents.bench.measurement.assembly import (
    assemble,
    build_loop,
    build_precompile_call,
    build_precompile_loop,
    format_push,
)
from pyevm_agents.chain import Call, Chain, GenesisAccount
from pyevm_agents.config import ChainConfig

CONTRACT = Address(b"\xcc" * 20)


def output_of(code: bytes, turns: int) -> bytes:
    chain = Chain(ChainConfig(), accounts={CONTRACT: GenesisAccount(code=code)})
    result = chain.call(Call(to=CONTRACT, data=turns.to_bytes(32, "big")))
    assert result.error is None
    return result.output


def test_words_are_opcodes_and_pushes() -> None:
    assert assemble("PUSH0 0x01 0xffee JUMPDEST STOP").hex() == "5f600161ffee5b00"


def test_an_unknown_word_is_refused() -> None:
    with pytest.raises(KeyError, match="PUSH33"):
        assemble("PUSH33")


@pytest.mark.parametrize(
    ("value", "push"), [(0, "0x00"), (255, "0xff"), (256, "0x0100"), (2**256 - 1, f"0x{'ff' * 32}")]
)
def test_a_number_is_pushed_in_as_few_bytes_as_hold_it(value: int, push: str) -> None:
    assert format_push(value) == push


@pytest.mark.parametrize(("turns", "copies"), [(1, 1), (2, 3), (300, 7)])
def test_a_loop_turns_as_often_as_it_is_told(turns: int, copies: int) -> None:
    code = build_loop(
        "SWAP1 0x01 ADD SWAP1", copies=copies, before="PUSH0",
        after="POP PUSH0 MSTORE 0x20 PUSH0 RETURN",
    )  # fmt: skip
    assert int.from_bytes(output_of(code, turns), "big") == turns * copies


def test_a_loop_finds_its_data_in_memory() -> None:
    data = bytes(range(64))
    code = build_loop("JUMPDEST", data=data, after="0x40 PUSH0 RETURN")
    assert output_of(code, 2) == data


def test_a_precompile_is_called_with_its_data() -> None:
    identity = build_precompile_loop(4, b"not only words" * 5, 70)
    assert output_of(identity, 3) == b"not only words" * 5


def test_a_precompile_is_called_with_some_of_its_items() -> None:
    identity = build_precompile_call(4, b"onetwosix", 3, 6)
    assert output_of(identity, 2) == b"onetwo"
    assert output_of(identity, 1) == b"one\0\0\0"
