"""Search our VM for the precompiles and opcodes that are slowest per gas.

An attacker chooses the shapes: lengths of modexp's numbers, pairs or points in a call, an opcode
with operands. Each is timed by one more iteration, which cancels the cost of the block and of the
contract's start. Seconds are CPU time, which other processes don't add to. `worst_cases.py` lists
the results.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from pyevm_agents.bench.evm import precompile_inputs as inputs
from pyevm_agents.bench.evm.case import make_contract_case
from pyevm_agents.bench.evm.runner import CASE_GAS, NANOSECONDS, EvmTestbed
from pyevm_agents.bench.measurement.assembly import build_loop, build_precompile_loop, format_push

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyevm_agents.bench.evm.case import EvmCase

MOST_TURNS, GROWTH = 2_000, 4
REPEATS, LONG = 3, 4
"""Short blocks are timed three times, as a garbage collection in one would dominate it; a block of
four times the wanted length is timed once.
"""

POWER_BYTES = (1, 8, 16, 32, 64, 128, 256, 512, 1_024, 2_048)
"""Lengths of a base and of a modulus, which EIP-2565 prices by the longer one."""

EXPONENT_BYTES = (1, 2, 4, 8, 16, 30, 32, 33, 64, 128)
"""Lengths of an exponent with all bits set. Python's `pow` takes five bits at a time above 240."""

PAIRS = (1, 2, 3, 4)
POINTS = (1, 2, 4, 8, 16)
"""Points of a multiplication: EIP-2537 discounts each further point, to the 128th."""

BLAKE2F_ROUNDS = (0, 1, 12, 1_000, 100_000)
OF_BYTES = {
    "sha256": inputs.SHA256, "ripemd160": inputs.RIPEMD160, "identity": inputs.IDENTITY,
}  # fmt: skip
MEMORY_BYTES = (0, 32, 2**10, 2**15, 2**20)
"""Memory passed to a call: paid for once, and copied for each call."""

WIDE, WIDER, WIDEST = (f"0x{'fe' * 31}{last:02x}" for last in (0xFA, 0xFD, 0xFE))
"""256-bit numbers that divide with a remainder."""

NO_INPUT = (
    "ADDRESS ORIGIN CALLER CALLVALUE CALLDATASIZE CODESIZE GASPRICE RETURNDATASIZE COINBASE "
    "TIMESTAMP NUMBER DIFFICULTY GASLIMIT CHAINID SELFBALANCE BASEFEE BLOBBASEFEE PC MSIZE GAS "
    "PUSH0 DUP1 DUP16"
)
OF_NUMBERS = (
    "ADD MUL SUB DIV SDIV MOD SMOD EXP SIGNEXTEND LT GT SLT SGT EQ AND OR XOR BYTE SHL SHR SAR "
    "ADDMOD MULMOD"
)
OF_ZERO = (
    "ISZERO NOT CALLDATALOAD BLOCKHASH BLOBHASH BALANCE EXTCODESIZE EXTCODEHASH SLOAD TLOAD MLOAD"
)
STORES = {
    "MSTORE": 2, "MSTORE8": 2, "TSTORE": 2, "SSTORE": 2, "CALLDATACOPY": 3, "CODECOPY": 3,
    "RETURNDATACOPY": 3, "MCOPY": 3, "EXTCODECOPY": 4, "LOG0": 2, "LOG1": 3, "LOG4": 6,
}  # fmt: skip
"""Opcodes that leave nothing on the stack, and the number of zeros that they take from it."""

CALLS = {"CALL": "PUSH0", "CALLCODE": "PUSH0", "DELEGATECALL": "", "STATICCALL": ""}
"""Calls, and the push of their value."""

COPIES = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnTiming:
    """The marginal cost of an iteration of a case."""

    name: str
    turn_gas: float
    turn_seconds: float

    @property
    def ns_per_gas(self) -> float:
        """Nanoseconds of a gas."""
        return self.turn_seconds / self.turn_gas * NANOSECONDS


def search(cases: Iterable[EvmCase], *, seconds: float = 0.1) -> tuple[TurnTiming, ...]:
    """Time each case for about `seconds` seconds; return the cases, the slowest per gas first."""
    timings = [_measure_turn(case, seconds) for case in cases]
    return tuple(sorted(timings, key=lambda timing: timing.ns_per_gas, reverse=True))


def _measure_turn(case: EvmCase, seconds: float) -> TurnTiming:
    """Time a case's first iteration, and as many more as fit the time."""
    bed = EvmTestbed([case])
    first = _time_block(bed, case, 1, seconds)
    turns = 2
    while True:
        gas, taken = _time_block(bed, case, turns, seconds)
        is_full = turns >= MOST_TURNS or GROWTH * gas > CASE_GAS
        if taken - first[1] >= seconds or is_full:
            return TurnTiming(
                name=case.name,
                turn_gas=(gas - first[0]) / (turns - 1),
                turn_seconds=max(0.0, taken - first[1]) / (turns - 1),
            )
        turns = min(MOST_TURNS, GROWTH * turns)


def _time_block(bed: EvmTestbed, case: EvmCase, turns: int, seconds: float) -> tuple[int, float]:
    """Return the gas and seconds of a block; the fastest of several short ones."""
    taken: list[float] = []
    while True:
        started = time.process_time()
        gas = bed.sample(case, turns).gas
        taken.append(time.process_time() - started)
        if taken[-1] > LONG * seconds or len(taken) == REPEATS:
            return gas, min(taken)


def iter_all_cases() -> Iterator[EvmCase]:
    """Yield every case of the search."""
    yield from iter_opcode_cases()
    yield from iter_call_cases()
    yield from iter_power_cases()
    yield from iter_curve_cases()
    yield from iter_other_precompile_cases()


def iter_opcode_cases() -> Iterator[EvmCase]:
    """Yield a loop of each opcode that does not end or call, with the cheapest operands."""
    yield _make_loop_case("JUMPDEST", "JUMPDEST")
    yield _make_loop_case("PUSH32", f"{WIDEST} POP")
    yield _make_loop_case("SWAP16", "SWAP16", before="PUSH0 " * 17)
    yield _make_loop_case("KECCAK256", "PUSH0 PUSH0 KECCAK256 POP")
    yield _make_loop_case("CREATE", "PUSH0 PUSH0 PUSH0 CREATE POP", copies=1)
    for name in NO_INPUT.split():
        yield _make_loop_case(name, f"{name} POP", before="PUSH0 " * 16)
    for name in OF_NUMBERS.split():
        takes = "DUP2 DUP4 DUP6" if name in {"ADDMOD", "MULMOD"} else "DUP2 DUP4"
        yield _make_loop_case(name, f"{takes} {name} POP", before=f"{WIDE} {WIDER} {WIDEST}")
    for name in OF_ZERO.split():
        yield _make_loop_case(name, f"PUSH0 {name} POP")
    for name, zeros in STORES.items():
        yield _make_loop_case(name, f"{'PUSH0 ' * zeros}{name}")


def iter_call_cases() -> Iterator[EvmCase]:
    """Yield calls with memory: of an empty account, of precompiles, of code that runs out of gas.

    A megabyte passed to a call stays in memory until the block is complete: few iterations.
    """
    to = {"nobody": "CALLER", "itself": "ADDRESS", "identity": "0x04", "bn128-add": "0x06"}
    for (kind, value), (whom, address), size_bytes in product(
        CALLS.items(), to.items(), MEMORY_BYTES
    ):
        body = f"PUSH0 PUSH0 {format_push(size_bytes)} PUSH0 {value} {address} PUSH0 {kind} POP"
        yield _make_loop_case(f"{kind} {whom} {size_bytes}", body, copies=1)


def iter_power_cases() -> Iterator[EvmCase]:
    """Yield modexp as priced by EIP-2565: by words of the longer number and exponent bits."""
    equal = [(each, each) for each in POWER_BYTES]
    unequal = [(POWER_BYTES[-1], 8), (8, POWER_BYTES[-1]), (64, 32), (32, 64)]
    for (base, modulus), exponent in product(equal + unequal, EXPONENT_BYTES):
        data = inputs.modexp(base, b"\xff" * exponent, modulus)
        yield _make_call_case(f"modexp {base} {exponent} {modulus}", inputs.MODEXP, data, modulus)


def iter_curve_cases() -> Iterator[EvmCase]:
    """Yield curve operations, by the number of pairs or points in a call."""
    ones = inputs.encode_word(inputs.MAX_WORD)
    yield _make_call_case("bn128-add", inputs.BN128_ADD, inputs.bn128_g1() + inputs.bn128_g1(2), 64)
    yield _make_call_case("bn128-mul", inputs.BN128_MUL, inputs.bn128_g1() + ones, 64)
    yield _make_call_case("bls-g1-add", inputs.BLS_G1_ADD, inputs.bls_g1() + inputs.bls_g1(2), 128)
    yield _make_call_case("bls-g2-add", inputs.BLS_G2_ADD, inputs.bls_g2() + inputs.bls_g2(2), 256)
    yield _make_call_case("bls-map-g1", inputs.BLS_MAP_TO_G1, inputs.bls_field(1), 128)
    yield _make_call_case("bls-map-g2", inputs.BLS_MAP_TO_G2, inputs.bls_field(1, 2), 256)
    for pairs in (0, *PAIRS):
        yield _make_call_case(
            f"bn128-pairing {pairs}", inputs.BN128_PAIRING, inputs.bn128_pairs(pairs), 32
        )
    for pairs in PAIRS:
        yield _make_call_case(
            f"bls-pairing {pairs}", inputs.BLS_PAIRING, inputs.bls_pairs(pairs), 32
        )
    for points in POINTS:
        yield _make_call_case(
            f"bls-g1-msm {points}", inputs.BLS_G1_MSM, inputs.bls_g1_terms(points), 128
        )
        yield _make_call_case(
            f"bls-g2-msm {points}", inputs.BLS_G2_MSM, inputs.bls_g2_terms(points), 256
        )


def iter_other_precompile_cases() -> Iterator[EvmCase]:
    """Yield the other precompiles."""
    yield _make_call_case("ecrecover", inputs.ECRECOVER, inputs.ecrecover(), 32)
    yield _make_call_case(
        "point-evaluation", inputs.POINT_EVALUATION, inputs.point_evaluation(), 64
    )
    for rounds in BLAKE2F_ROUNDS:
        yield _make_call_case(f"blake2f {rounds}", inputs.BLAKE2F, inputs.blake2f(rounds), 64)
    for (name, address), size_bytes in product(OF_BYTES.items(), (0, 2**10, 2**15)):
        yield _make_call_case(f"{name} {size_bytes}", address, bytes(size_bytes), 32)


def _make_call_case(name: str, precompile: int, data: bytes, output_bytes: int) -> EvmCase:
    return make_contract_case(
        name, name, build_precompile_loop(precompile, data, output_bytes), times=1
    )


def _make_loop_case(name: str, body: str, *, before: str = "", copies: int = COPIES) -> EvmCase:
    return make_contract_case(name, name, build_loop(body, before=before, copies=copies), times=1)
