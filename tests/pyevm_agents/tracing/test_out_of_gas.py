"""geth's messages of failures for want of gas, and of precompiles."""

from __future__ import annotations

from typing import Any

import pytest
from eth_typing import Address

from pyevm_agents.chain import GenesisAccount
from pyevm_agents.tracing import PARITY, FlatCallTracer, create_tracer
from tests.pyevm_agents.tracing.assembler import asm, calling
from tests.pyevm_agents.tracing.scenario import CONTRACT, Scenario
from tests.pyevm_agents.tracing.scenarios import CALLEE

OUT_OF_GAS = "out of gas"
OVERFLOW = "gas uint64 overflow"
MEMORY = f"{OUT_OF_GAS}: {OVERFLOW}"
SENTRY = f"{OUT_OF_GAS}: not enough gas for reentrancy sentry"
INITCODE = f"{OUT_OF_GAS}: max initcode size exceeded: code size 49153 limit 49152"

HUGE = f"0x{2**64:032x}"
DEAR = f"0x{2**40:032x}"


def push(number: int) -> str:
    return f"0x{number:032x}"


FAILURES = [
    ("0x01 0x01 SSTORE", 2_306, SENTRY, 0),
    ("0x01 0x01 SSTORE", 2_307, OUT_OF_GAS, 20_000),
    ("0x01 0x01 SSTORE", 4, OUT_OF_GAS, 3),
    (f"0x01 {push(2**64 - 63)} MSTORE", 9_000, OVERFLOW, 3),
    (f"0x01 {push(2**64 - 64)} MSTORE", 9_000, MEMORY, 3),
    (f"0x01 {push(0x1FFFFFFFE0 - 31)} MSTORE", 9_000, MEMORY, 3),
    (f"0x01 {push(0x1FFFFFFFE0 - 32)} MSTORE", 9_000, OUT_OF_GAS, None),
    (f"0x01 {push(2**255)} MSTORE", 8, OUT_OF_GAS, 3),
    (f"{HUGE} MLOAD", 9_000, OVERFLOW, 3),
    (f"0x01 {DEAR} MSTORE8", 9_000, MEMORY, 3),
    (f"{HUGE} PUSH0 KECCAK256", 9_000, OVERFLOW, 30),
    (f"{DEAR} PUSH0 PUSH0 CODECOPY", 9_000, MEMORY, 3),
    (f"0x01 {HUGE} PUSH0 MCOPY", 9_000, OVERFLOW, 3),
    (f"{HUGE} PUSH0 RETURN", 9_000, OVERFLOW, 0),
    (f"{DEAR} PUSH0 REVERT", 9_000, MEMORY, 0),
    (f"{HUGE} PUSH0 LOG0", 9_000, OVERFLOW, None),
    (f"0x01 {DEAR} LOG0", 9_000, MEMORY, None),
    (f"{DEAR} PUSH0 LOG0", 9_000, MEMORY, None),
    ("0x7fff PUSH0 LOG0", 9_000, OUT_OF_GAS, None),
    (f"{HUGE} PUSH0 PUSH0 PUSH0 PUSH0 ADDRESS GAS CALL", 9_000, OVERFLOW, 100),
    (f"{HUGE} PUSH0 PUSH0 PUSH0 PUSH0 ADDRESS GAS CALL", 100, OUT_OF_GAS, 100),
    (f"PUSH0 PUSH0 {DEAR} PUSH0 ADDRESS GAS STATICCALL", 9_000, MEMORY, 100),
    (f"{HUGE} PUSH0 PUSH0 CREATE", 50_000, OVERFLOW, 32_000),
    (f"{HUGE} PUSH0 PUSH0 CREATE", 9_000, OUT_OF_GAS, None),
    ("0xc001 PUSH0 PUSH0 CREATE", 50_000, INITCODE, 32_000),
    ("PUSH0 0xc001 PUSH0 PUSH0 CREATE2", 90_000, INITCODE, 32_000),
]
"""Code, gas, geth's message, and the cost of the last opcode where it is not the whole price."""


@pytest.mark.parametrize(("code", "gas", "error", "cost"), FAILURES)
def test_a_failure_tells_what_the_gas_was_for(
    code: str, gas: int, error: str, cost: int | None
) -> None:
    scenario = Scenario(
        name="starved",
        accounts={
            CONTRACT: GenesisAccount(
                nonce=1, code=asm(calling("CALL", CALLEE, gas=f"0x{gas:08x}") + " POP STOP")
            ),
            CALLEE: GenesisAccount(nonce=1, code=asm(code)),
        },
    )
    call: Any = scenario.trace(create_tracer({"tracer": "callTracer"}))
    assert call["calls"][0]["error"] == error
    told: Any = scenario.trace(create_tracer({}))
    [last] = [step for step in told["structLogs"] if "error" in step]
    assert last["error"] == error
    assert cost is None or last["gasCost"] == cost
    parity: Any = scenario.trace(FlatCallTracer(PARITY))
    assert parity[1]["error"] == "Out of gas"


POINT = bytes(31) + b"\x01" + bytes(31) + b"\x02"
BLS_PADDED = b"\x01" + bytes(255)


@pytest.mark.parametrize(
    ("address", "data", "fork", "error"),
    [
        (0x09, bytes(7), "prague", "invalid input length"),
        (0x09, bytes(212) + b"\x02", "prague", "invalid final flag"),
        (0x08, POINT, "prague", "bad elliptic curve pairing size"),
        (0x06, POINT[:63] + b"\x03", "prague", "point is not on curve"),
        (0x0A, bytes(7), "prague", "invalid input length"),
        (0x0A, bytes(192), "prague", "mismatched versioned hash"),
        (0x0B, bytes(7), "prague", "invalid input length"),
        (0x0B, BLS_PADDED, "prague", "invalid field element top bytes"),
        (0x0C, b"", "prague", "invalid input length"),
        (
            0x05,
            b"\xff" * 96,
            "osaka",
            "one or more of base/exponent/modulus length exceeded 1024 bytes",
        ),
        (0x06, b"\xff" * 128, "prague", "precompiled failed"),
    ],
)
def test_a_precompile_tells_what_is_wrong(address: int, data: bytes, fork: str, error: str) -> None:
    to = Address(address.to_bytes(20, "big"))
    scenario = Scenario(name="bad input", to=to, data=data, fork=fork)
    call: Any = scenario.trace(create_tracer({"tracer": "callTracer"}))
    assert call["error"] == error
    parity: Any = scenario.trace(FlatCallTracer(PARITY))
    assert parity[0]["error"] == "Built-in failed"
