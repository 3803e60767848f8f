"""A cache of pure metadata reads: calls whose result depends on the tool's code alone.

The executor reads name, description and parameters of each tool in every step: 45 reads in five
steps with three tools, half of the run's time. Most tools return constants. A read that succeeded
and executed `PURE_OPCODES` only is a function of code and calldata: with enough gas, the read
always uses the same gas and returns the same output.

No rule depends on the cache: gas, output and accesses are as if the read were executed. With a
tracer, every read is executed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eth.constants import STACK_DEPTH_LIMIT
from eth.vm import opcode_values as op
from lru import LRU

from precompiles.spec import EXECUTOR_ADDRESS, MAX_METADATA_BYTES
from pyevm_agents.vm.agent_code import AgentCode
from pyevm_agents.vm.interpreter import price_out

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from eth.abc import ComputationAPI, MessageAPI
    from eth_typing import Address

    from pyevm_agents.vm.interruption import Interruption

REMEMBERED_READS = 1_024
"""Size of the LRU. An entry holds the code, at most 24 KiB, and an output of at most
`MAX_METADATA_BYTES`."""

PURE_OPCODES = frozenset(
    {
        *(op.STOP, op.ADD, op.MUL, op.SUB, op.DIV, op.SDIV, op.MOD, op.SMOD, op.ADDMOD, op.MULMOD),
        *(op.EXP, op.SIGNEXTEND, op.LT, op.GT, op.SLT, op.SGT, op.EQ, op.ISZERO, op.AND, op.OR),
        *(op.XOR, op.NOT, op.BYTE, op.SHL, op.SHR, op.SAR, op.SHA3, op.CALLVALUE),
        *(op.CALLDATALOAD, op.CALLDATASIZE, op.CALLDATACOPY, op.CODESIZE, op.CODECOPY),
        *(op.POP, op.MLOAD, op.MSTORE, op.MSTORE8, op.MSIZE, op.MCOPY, op.JUMP, op.JUMPI, op.PC),
        *(op.JUMPDEST, op.RETURN, op.RETURNDATASIZE, op.PUSH0),
        *range(op.PUSH1, op.PUSH32 + 1),
        *range(op.DUP1, op.DUP16 + 1),
        *range(op.SWAP1, op.SWAP16 + 1),
    }
)
"""Instructions that depend on code, calldata, stack and memory only; with CALLVALUE and
RETURNDATASIZE, which are 0 in a call without value and without nested calls."""

_PURE_PRICES = price_out(frozenset(range(256)) - PURE_OPCODES)
"""`interpret` executes pure opcodes only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedRead:
    """Gas and output of a pure read."""

    used_gas: int
    output: bytes


_cache: LRU[tuple[bytes, bytes], CachedRead] = LRU(REMEMBERED_READS)


def is_metadata_read(message: MessageAPI, precompiles: Container[Address]) -> bool:
    """Whether a message is a metadata read of a contract by the executor.

    A tool's DELEGATECALL during such a read looks the same, and may be cached as well.
    """
    return (
        message.sender == EXECUTOR_ADDRESS
        and message.is_static
        and not message.value
        and 0 < message.depth <= STACK_DEPTH_LIMIT
        and message.code_address not in precompiles
    )


def get_cached_read(message: MessageAPI) -> CachedRead | None:
    """Return a cached read; None if not cached, or the message has less gas."""
    read = _cache.get(_build_key(message))
    return read if read is not None and read.used_gas <= message.gas else None


def put_cached_read(message: MessageAPI, computation: ComputationAPI) -> None:
    """Cache a read if it was pure and succeeded."""
    code, is_short = computation.code, len(computation.output) <= MAX_METADATA_BYTES
    if (
        isinstance(code, PurityTrackingCode)
        and code.is_pure
        and is_short
        and not computation.is_error
    ):
        used_gas = message.gas - computation.get_gas_remaining()
        _cache[_build_key(message)] = CachedRead(
            used_gas=used_gas, output=bytes(computation.output)
        )


def _build_key(message: MessageAPI) -> tuple[bytes, bytes]:
    return message.code, bytes(message.data)


class PurityTrackingCode(AgentCode):
    """A code stream that records whether all executed opcodes are pure."""

    __slots__ = ("is_pure",)

    prices = _PURE_PRICES

    def __init__(self, code: bytes, interruption: Interruption | None = None) -> None:
        super().__init__(code, interruption)
        self.is_pure = True

    def observe(self, opcodes: Iterator[int]) -> Iterator[int]:
        """Yield opcodes; record whether each is pure. Raises: InterruptedExecutionError."""
        for opcode in super().observe(opcodes):
            if opcode not in PURE_OPCODES:
                self.is_pure = False
            yield opcode
