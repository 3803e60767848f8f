"""Opcodes take note of the gas that they see, and are py-evm's else."""

from __future__ import annotations

from inspect import unwrap
from typing import TYPE_CHECKING, Any

import pytest
from eth.vm.forks.cancun.computation import CancunComputation
from eth.vm.forks.prague.computation import PragueComputation
from eth.vm.opcode_values import SSTORE
from eth_typing import Address

from pyevm_agents.vm.opcodes import (
    CANCUN_OPCODES,
    CLZ,
    INTERPRETED_OPCODES,
    OSAKA_OPCODES,
    PRAGUE_OPCODES,
)
from tests.pyevm_agents.tracing.assembler import asm

if TYPE_CHECKING:
    from collections.abc import Callable

    from eth.abc import OpcodeAPI

    from tests.chain_bench import Bench

    MakeBench = Callable[..., Bench]

CONTRACT = Address(b"\xcc" * 20)


@pytest.mark.parametrize(
    ("opcodes", "theirs"),
    [
        (CANCUN_OPCODES, CancunComputation.opcodes),
        (PRAGUE_OPCODES, PragueComputation.opcodes),
        (OSAKA_OPCODES, {**PragueComputation.opcodes, CLZ: OSAKA_OPCODES[CLZ]}),
    ],
)
def test_names_and_prices_are_py_evms(
    opcodes: dict[int, OpcodeAPI], theirs: dict[int, OpcodeAPI]
) -> None:
    assert opcodes.keys() == theirs.keys()
    for code, its_opcode in theirs.items():
        ours: Any = unwrap(opcodes[code])
        its: Any = unwrap(its_opcode)
        assert (ours.mnemonic, ours.gas_cost) == (its.mnemonic, its.gas_cost)
        if code in INTERPRETED_OPCODES.keys() - {SSTORE}:  # Which takes note of the gas.
            assert ours.logic_fn is its.logic_fn


def test_a_store_is_noted_with_the_gas_that_was_left(bench: MakeBench) -> None:
    b = bench(codes={CONTRACT: asm("0x01 PUSH0 SSTORE 0x02 PUSH0 SSTORE STOP")})
    computation = b.call(CONTRACT, b"")
    # After the second: PUSH1 and PUSH0 take 5 each time, the first SSTORE 22,100, the last 100.
    assert computation.least_gas_at_store == computation.get_gas_remaining() + 100
    assert not computation.executed_gas_opcode


def test_gas_that_was_asked_for_is_noted(bench: MakeBench) -> None:
    b = bench(codes={CONTRACT: asm("GAS STOP")})
    computation = b.call(CONTRACT, b"")
    assert computation.executed_gas_opcode
    assert computation.least_gas_at_store is None
