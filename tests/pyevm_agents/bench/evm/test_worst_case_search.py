"""The search for the EVM's worst case, in small: it times one more iteration, and sorts."""

from __future__ import annotations

import pytest

from pyevm_agents.bench.evm.runner import EvmTestbed
from pyevm_agents.bench.evm.worst_case_search import (
    TurnTiming,
    iter_all_cases,
    iter_call_cases,
    iter_opcode_cases,
    search,
)
from pyevm_agents.bench.evm.worst_cases import WORST_CASES
from pyevm_agents.bench.measurement.assembly import format_push

CASES = {case.name: case for case in iter_all_cases()}


def test_names_are_unique() -> None:
    assert len(CASES) == len(list(iter_all_cases()))


def test_nanoseconds_of_a_gas() -> None:
    assert TurnTiming(name="", turn_gas=50, turn_seconds=1e-6).ns_per_gas == pytest.approx(20)


@pytest.mark.slow
def test_the_slowest_for_its_gas_is_first() -> None:
    # A copy of nothing is four steps of py-evm's for 9 gas; a warm read of a slot is one for 104.
    names = ("SLOAD", "CODECOPY", "STATICCALL nobody 0")
    found = search([CASES[name] for name in names], seconds=0.05)
    assert {it.name for it in found} == set(names)
    assert [it.ns_per_gas for it in found] == sorted((it.ns_per_gas for it in found), reverse=True)
    assert found[-1].name == "SLOAD"


def test_a_turn_costs_what_ethereum_asks() -> None:
    (found,) = search([CASES["MULMOD"]], seconds=0.001)
    assert found.turn_gas == 26 + 50 * (3 * 3 + 8 + 2)


@pytest.mark.slow
def test_one_more_pair_is_far_better_than_the_worst_opcode() -> None:
    # On 23 November 2026: 26 ns a gas, and 1,100. By py_ecc: 29,000.
    pairing, *_ = WORST_CASES
    (opcode,) = search([CASES["CODECOPY"]], seconds=0.05)
    sample = EvmTestbed([pairing]).measure(pairing)
    assert sample.seconds / sample.gas * 1e9 < opcode.ns_per_gas / 3


@pytest.mark.slow
def test_every_opcode_and_call_ends_well() -> None:
    cases = [*iter_opcode_cases(), *iter_call_cases()]
    bed = EvmTestbed(cases)
    for case in cases:
        assert bed.sample(case, 1).gas > 0


def test_each_precompile_of_prague_is_looked_at() -> None:
    called = {case.codes[next(iter(case.codes))] for case in iter_all_cases()}
    for address in range(1, 0x12):
        push = format_push(address)[2:]
        assert any(bytes.fromhex(f"60{push}5afa") in code for code in called), hex(address)
