"""Opcode names and stack effects, compared with py-evm's tables."""

from __future__ import annotations

from inspect import unwrap

import pytest

from pyevm_agents.chain import GenesisAccount
from pyevm_agents.tracing.opcodes import OPCODE_TABLE, check_stack_height, get_opcode
from pyevm_agents.tracing.tracer import NoopTracer, OpcodeStep
from pyevm_agents.vm.computation import OsakaAgentComputation
from tests.pyevm_agents.tracing.assembler import asm
from tests.pyevm_agents.tracing.scenario import CONTRACT, Scenario

PY_EVMS_NAMES = {"SHA3": "KECCAK256", "PREVRANDAO": "DIFFICULTY"}
"""geth still calls 0x44 DIFFICULTY."""


def test_names_every_opcode_of_osaka() -> None:
    theirs = {
        op: PY_EVMS_NAMES.get(name := unwrap(function).mnemonic, name)
        for op, function in OsakaAgentComputation.opcodes.items()
    }
    assert {op: form.name for op, form in OPCODE_TABLE.items()} == {**theirs, 0xFE: "INVALID"}


def test_what_means_nothing_has_geths_name() -> None:
    assert get_opcode(0x0C).name == "opcode 0xc not defined"


def test_says_what_a_stack_lacks_or_has_too_many_of() -> None:
    assert check_stack_height(0x01, 1) == "stack underflow (1 <=> 2)"
    assert check_stack_height(0x01, 2) is None
    assert check_stack_height(0x5F, 1023) is None
    assert check_stack_height(0x5F, 1024) == "stack limit reached 1024 (1023)"
    assert check_stack_height(0x8F, 15) == "stack underflow (15 <=> 16)"
    assert check_stack_height(0x90, 1024) is None


class Heights(NoopTracer):
    """Records the stack height after the opcode under test."""

    watched_opcodes = frozenset(range(256))

    def __init__(self) -> None:
        self.found: list[int] = []

    def on_opcode(self, step: OpcodeStep) -> None:
        if step.depth == 1:
            self.found.append(len(step.read_stack()))


STOPPING = frozenset({0x00, 0x56, 0x57, 0xF3, 0xFD, 0xFE, 0xFF})
"""Opcodes after which the stack can't be inspected; JUMPs are tested elsewhere."""


@pytest.mark.parametrize("op", sorted(OPCODE_TABLE.keys() - STOPPING))
def test_takes_and_leaves_as_many_as_py_evm_does(op: int) -> None:
    form = OPCODE_TABLE[op]
    pushed = bytes(op - 0x5F) if 0x60 <= op <= 0x7F else b""
    code = asm("PUSH0 " * form.pops) + bytes([op]) + pushed + asm("STOP")
    heights = Heights()
    Scenario(name="one", accounts={CONTRACT: GenesisAccount(code=code)}, fork="osaka").trace(
        heights
    )
    assert heights.found[form.pops :] == [form.pops, form.pushes]
    if form.pops:
        short = Heights()
        code = asm("PUSH0 " * (form.pops - 1)) + bytes([op]) + pushed + asm("STOP")
        Scenario(
            name="one less", accounts={CONTRACT: GenesisAccount(code=code)}, fork="osaka"
        ).trace(short)
        assert len(short.found) == form.pops  # It failed: nothing came after it.
