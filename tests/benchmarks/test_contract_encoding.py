"""Values of contracts' parameters: parsed from action inputs, and encoded byte for byte."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from eth_abi import encode
from eth_utils import to_checksum_address

from benchmarks import contract_encoding
from benchmarks.contract_adapters import read_functions
from benchmarks.contract_encoding import (
    CallEncoder,
    FunctionCount,
    collect_types,
    count_functions,
    count_text_encodings,
    list_functions,
)
from benchmarks.contract_values import draw_value, read_value
from benchmarks.contract_world import load_real_artifact
from precompiles.abi_types import parse_type
from precompiles.address_handles import AddressBook

if TYPE_CHECKING:
    from collections.abc import Sequence

    from precompiles.abi_types import AbiType

LEAST_CONTRACTS = 30
FORWARDED = "execute((address,address,uint256,uint256,uint48,bytes,bytes))"
"""A function with a tuple, which becomes seven arguments of its tool."""


def count_all(count: int, *, jobs: int = 1, names: tuple[str, ...] = ()) -> list[FunctionCount]:
    """Count the values of all functions, or of those of some contracts."""
    functions = [each for each in list_functions() if not names or each[0] in names]
    return [*count_functions(functions, count, jobs=jobs)]


def test_parameters_are_encoded_alone_and_together() -> None:
    counts = count_all(20, names=("RequestForwarder", "TokenGovernor", "UniswapV2Router02"))
    assert [each for each in counts if each.failures] == []
    assert all(each.values == each.equal == 20 * each.parameters for each in counts)
    assert all(each.calls == each.calls_equal == 2 for each in counts)


@pytest.mark.slow
def test_every_parameter_of_every_function_is_encoded() -> None:
    counts = count_all(3)
    assert [each for each in counts if each.failures] == []
    assert len({each.contract for each in counts}) >= LEAST_CONTRACTS
    assert sum(each.parameters for each in counts) == sum(collect_types().values()) > 700
    assert all(each.values == each.equal == 3 * each.parameters for each in counts)


def test_each_parameter_has_values_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[object] = []

    def record_value(of: AbiType, chance: random.Random, addresses: Sequence[str]) -> object:
        drawn.append(draw_value(of, chance, addresses))
        return drawn[-1]

    monkeypatch.setattr(contract_encoding, "draw_value", record_value)
    transfers = [
        (name, place)
        for name, place in list_functions(("PermitToken", "VotesToken"))
        if read_functions(load_real_artifact(name))[place].name == "transfer"
    ]
    counts = [*count_functions(transfers, 10)]
    assert [each.values for each in counts] == [20, 20]
    assert len(drawn) == 2 * (20 + 2)
    assert drawn[:22] != drawn[22:]
    once = [*drawn]
    drawn.clear()
    assert [*count_functions(transfers, 10)] == counts
    assert drawn == once


@pytest.mark.slow
def test_processes_count_the_same() -> None:
    names = ("AdminSwitch", "RequestForwarder")
    assert count_all(5, jobs=2, names=names) == count_all(5, names=names)


def test_a_tuple_is_encoded_from_arguments_of_its_members() -> None:
    functions = read_functions(load_real_artifact("RequestForwarder"))
    encoder = CallEncoder(next(each for each in functions if each.signature == FORWARDED))
    chance = random.Random(1)  # noqa: S311 - a seed
    addresses = [to_checksum_address(chance.randbytes(20)) for _ in range(2)]
    values = tuple(draw_value(of, chance, addresses) for of in encoder.types)
    assert encoder.is_encoded(values, AddressBook("", addresses))


def test_wrong_calldata_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    function = read_functions(load_real_artifact("AdminSwitch"))[0]
    assert CallEncoder(function).is_encoded((), AddressBook("", []))
    right = CallEncoder.encode_tool_use
    monkeypatch.setattr(CallEncoder, "encode_tool_use", lambda *given: right(*given)[:-1] + b"\x99")
    (count, *_) = count_all(10, names=("WrapperToken",))
    assert (count.equal, count.calls_equal) == (0, 0)
    assert count.failures
    wrong = replace(function, selector=b"\x99\x99\x99\x99")
    assert not CallEncoder(wrong).is_encoded((), AddressBook("", []))


def test_what_the_precompile_refuses_is_noticed() -> None:
    """An address that the prompt does not have has no handle."""
    functions = read_functions(load_real_artifact("AdminSwitch"))
    encoder = CallEncoder(next(each for each in functions if each.name == "transferOwnership"))
    address = to_checksum_address("0x" + "ab" * 20)
    assert encoder.is_encoded((address,), AddressBook("", [address]))
    assert not encoder.is_encoded((address,), AddressBook("", []))


def test_a_wrong_encoder_is_noticed() -> None:
    def encode_zeros(_: str, texts: list[str]) -> list[bytes]:
        return [bytes(32) for _ in texts]

    counts = [*count_text_encodings(encode_zeros, 20)]  # type: ignore[arg-type]
    assert all(one.equal < one.values for one in counts)
    assert all(one.failures for one in counts)


def test_texts_of_values_are_the_values() -> None:
    def encode_texts(abi_type: str, texts: list[str]) -> list[bytes]:
        of = parse_type(abi_type)
        assert of is not None
        return [encode([abi_type], [read_value(of, text)]) for text in texts]

    counts = [*count_text_encodings(encode_texts, 20)]  # type: ignore[arg-type]
    assert [one for one in counts if one.equal != one.values] == []
