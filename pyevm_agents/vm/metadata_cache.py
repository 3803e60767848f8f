"""Reads of tools that hang on nothing but the tool's code: what they come to is remembered.

The executor reads each tool's name, description and parameters in every step of an agent: 45 reads
in five steps with three tools, half of the time that such a run takes. Most tools return constants.
A read that ran to its end and executed nothing but `PURE_OPCODES` is a function of code and
calldata: with any gas that is enough, it uses the same gas and returns the same.

No rule knows of it: gas, output and every access are as if the read were executed. A tracer, which
is told of instructions, has each read executed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eth.constants import STACK_DEPTH_LIMIT
from eth.vm import opcode_values as op
from lru import LRU

from precompiles.spec import EXECUTOR_ADDRESS, MAX_METADATA_BYTES
from pyevm_agents.vm.jump_destinations import AgentCode

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from eth.abc import ComputationAPI, MessageAPI
    from eth_typing import Address

REMEMBERED_READS = 1_024
"""Each holds the code, at most 24 KiB, and what it returned, at most `MAX_METADATA_BYTES`: of more
the executor takes nothing."""

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
"""Instructions that see nothing but code, calldata, stack and memory; and what a call without value
or children always has of these two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedRead:
    """What a read comes to."""

    used_gas: int
    output: bytes


_cache: LRU[tuple[bytes, bytes], CachedRead] = LRU(REMEMBERED_READS)


def is_metadata_read(message: MessageAPI, precompiles: Container[Address]) -> bool:
    """Whether a message is a read of the executor's that code answers.

    What a tool calls with DELEGATECALL for its answer looks the same, and may be remembered too.
    """
    return (
        message.sender == EXECUTOR_ADDRESS
        and message.is_static
        and not message.value
        and 0 < message.depth <= STACK_DEPTH_LIMIT
        and message.code_address not in precompiles
    )


def get_cached_read(message: MessageAPI) -> CachedRead | None:
    """Return what a read comes to; None where that is not known, or its gas is not enough."""
    read = _cache.get(_build_key(message))
    return read if read is not None and read.used_gas <= message.gas else None


def put_cached_read(message: MessageAPI, computation: ComputationAPI) -> None:
    """Keep what a read came to, if it was pure and ran to its end."""
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
    """Code that knows whether all that was executed of it is pure."""

    __slots__ = ("is_pure",)

    def __init__(self, code: bytes) -> None:
        """Begin with nothing executed."""
        super().__init__(code)
        self.is_pure = True

    def __iter__(self) -> Iterator[int]:
        """Yield instructions as py-evm's own stream does."""
        stream = super().__iter__()
        for opcode in stream:
            if opcode not in PURE_OPCODES:
                self.is_pure = False
                yield opcode
                break
            yield opcode
        yield from stream
