"""MODEXP: py-evm's results, except for an empty base to the power of zero."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from eth.vm.forks.prague.computation import PragueComputation
from hypothesis import given, settings
from hypothesis import strategies as st

from pyevm_agents.vm.computation import AgentComputation, PragueAgentComputation
from pyevm_agents.vm.modexp import PRECOMPILES, modexp
from tests.pyevm_agents.vm.precompile_calls import run_precompile

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.chain_bench import Bench

    MakeBench = Callable[..., Bench]

(ADDRESS,) = PRECOMPILES
PY_EVMS = PragueComputation.get_precompiles()[ADDRESS]


def encode(base: bytes, exponent: bytes, modulus: bytes) -> bytes:
    lengths = (len(part).to_bytes(32, "big") for part in (base, exponent, modulus))
    return b"".join(lengths) + base + exponent + modulus


def test_both_forks_have_it() -> None:
    for computation_class in (AgentComputation, PragueAgentComputation):
        assert computation_class.get_precompiles()[ADDRESS] is modexp


@pytest.mark.parametrize(
    ("base", "exponent", "modulus", "result"),
    [
        # ethereum/tests at 4c87ebbf, Pyspecs/byzantium/eip198_modexp_precompile/modexp.json.
        ("", "", "02", "01"),
        ("", "", "0002", "0001"),
        ("00", "00", "02", "01"),
        ("", "01", "02", "00"),
        ("01", "01", "02", "01"),
        ("02", "01", "03", "02"),
        ("02", "02", "05", "04"),
        ("", "", "", ""),
        ("", "00", "02", "01"),
        ("", "0000", "01", "00"),
        ("", "", "00", "00"),
        ("05", "", "03", "01"),
    ],
)
def test_powers(bench: MakeBench, base: str, exponent: str, modulus: str, result: str) -> None:
    data = encode(*map(bytes.fromhex, (base, exponent, modulus)))
    computation = bench().call(ADDRESS, data)
    assert computation.output.hex() == result
    assert computation.msg.gas - computation.get_gas_remaining() == 200


NUMBERS = st.binary(max_size=80) | st.integers(0, 80).map(bytes)


@given(base=NUMBERS.filter(bool), exponent=NUMBERS, modulus=NUMBERS, length=st.integers(0, 350))
@settings(deadline=None)
def test_powers_of_a_base_are_py_evms(
    base: bytes, exponent: bytes, modulus: bytes, length: int
) -> None:
    data = encode(base, exponent, modulus)
    assert run_precompile(modexp, data) == run_precompile(PY_EVMS, data)
    # Cut within the numbers: missing bytes are zero.
    cut = data[: max(length, 96)]
    assert run_precompile(modexp, cut) == run_precompile(PY_EVMS, cut)


def test_an_exponent_of_any_length_costs_the_least_price_without_base_and_modulus() -> None:
    data = bytes(32) + b"\xff" * 32 + bytes(32)
    assert run_precompile(modexp, data) == (200, "")
