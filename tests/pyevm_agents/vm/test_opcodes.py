"""Opcodes take note of the gas that they see, and are py-evm's else."""

from __future__ import annotations

from inspect import unwrap
from typing import TYPE_CHECKING, Any

from eth.vm.forks.prague.computation import PragueComputation
from eth.vm.opcode_values import GAS, SSTORE
from eth_typing import Address

from pyevm_agents.vm.opcodes import PRAGUE_OPCODES
from tests.pyevm_agents.tracing.assembler import asm

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.chain_bench import Bench

    MakeBench = Callable[..., Bench]

CONTRACT = Address(b"\xcc" * 20)


def test_names_and_prices_are_py_evms() -> None:
    theirs = PragueComputation.opcodes
    assert PRAGUE_OPCODES.keys() == theirs.keys()
    assert all(PRAGUE_OPCODES[code] is not theirs[code] for code in (GAS, SSTORE))
    for code in theirs:
        ours: Any = unwrap(PRAGUE_OPCODES[code])
        its: Any = unwrap(theirs[code])
        assert (ours.mnemonic, ours.gas_cost) == (its.mnemonic, its.gas_cost)


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
