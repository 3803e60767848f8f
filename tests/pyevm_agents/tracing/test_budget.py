"""Traces are bounded while they are recorded."""

from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.chain import GenesisAccount
from pyevm_agents.tracing import TraceBudget, TraceTooLargeError, VmTracer, create_tracer
from tests.pyevm_agents.tracing.assembler import asm
from tests.pyevm_agents.tracing.scenario import CONTRACT, Scenario

if TYPE_CHECKING:
    from pyevm_agents.tracing import Tracer

MOST_BYTES = 4 * 2**20

GROW_MEMORY = "PUSH0 0x4000 MSTORE JUMPDEST 0x05 JUMP"
"""16 KiB of memory, then a loop. Each entry has the whole memory."""

CALL_MUCH = "JUMPDEST PUSH0 PUSH0 0x020000 PUSH0 PUSH0 0x04 GAS CALL POP PUSH0 JUMP"
"""A loop of calls of the identity precompile with 128 KiB of calldata."""

LOAD_MUCH = "PUSH0 JUMPDEST DUP1 SLOAD POP 0x01 ADD DUP1 0x01 JUMPI"
"""A loop over slots. Each entry of SLOAD has all earlier ones."""

WRITE_MUCH = "JUMPDEST 0x020000 PUSH0 PUSH0 CALLDATACOPY PUSH0 JUMP"
"""A loop that writes 128 KiB of memory."""


def attack(code: str, gas: int, tracer: Tracer) -> object:
    account = GenesisAccount(code=asm(code))
    return Scenario(name="attack", accounts={CONTRACT: account}, gas=gas).trace(tracer)


@pytest.mark.parametrize(
    ("code", "request_"),
    [
        (GROW_MEMORY, {"enableMemory": True}),
        (GROW_MEMORY, {}),
        (LOAD_MUCH, {"disableStack": True}),
        (CALL_MUCH, {"tracer": "callTracer"}),
        (CALL_MUCH, {"tracer": "flatCallTracer"}),
        (CALL_MUCH, {"tracer": "muxTracer", "tracerConfig": {"callTracer": {}, "noopTracer": {}}}),
    ],
)
def test_a_trace_that_grows_is_ended(code: str, request_: dict[str, object]) -> None:
    tracer = create_tracer(request_, budget=TraceBudget(MOST_BYTES))
    tracemalloc.start()
    try:
        with pytest.raises(
            TraceTooLargeError, match="more than 4,194,304 bytes of memory; pass li"
        ):
            attack(code, 10**7, tracer)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 8 * MOST_BYTES


def test_memory_that_opcodes_write_is_counted() -> None:
    with pytest.raises(TraceTooLargeError):
        attack(WRITE_MUCH, 10**6, VmTracer(TraceBudget(MOST_BYTES)))


def test_tracers_of_a_request_share_its_budget() -> None:
    budget = TraceBudget(MOST_BYTES)
    attack(GROW_MEMORY, 30_000, create_tracer(budget=budget))
    budget.spend(MOST_BYTES // 2)
    attack(GROW_MEMORY, 30_000, create_tracer(budget=TraceBudget(MOST_BYTES // 2)))
    budget.spend(MOST_BYTES // 8)
    with pytest.raises(TraceTooLargeError):
        attack(GROW_MEMORY, 30_000, create_tracer(budget=budget))


def test_a_budget_is_spent_to_its_last_byte() -> None:
    budget = TraceBudget(10)
    budget.spend(10)
    with pytest.raises(TraceTooLargeError, match="more than 10 bytes"):
        budget.spend(1)
