"""The events of a traced transaction, and the protocol of a tracer.

A transaction starts, calls are entered and left, opcodes are executed and logs are written in
between, and the transaction ends. Depths, names and errors are geth's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from eth.vm.stack import to_int

if TYPE_CHECKING:
    from eth.abc import SignedTransactionAPI, StateAPI
    from eth.vm.computation import BaseComputation
    from eth.vm.stack import Stack
    from eth_typing import Address

EVERY_OPCODE = frozenset(range(256))
NO_OPCODE: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionStart:
    """A transaction before execution: no gas bought, no authorization applied."""

    state: StateAPI
    """The live state, current at each event."""

    transaction: SignedTransactionAPI
    to: Address
    """The callee, or the address of the contract to be created."""

    is_create: bool
    precompiles: frozenset[Address]


@dataclass(slots=True, kw_only=True)
class OpcodeStep:
    """An executed opcode. Fields with defaults are set after the execution."""

    pc: int
    op: int
    gas: int
    """Gas left before it."""

    depth: int
    """Call depth: 1 in the transaction's own call."""

    computation: BaseComputation
    gas_cost: int = 0
    """Its gas cost, including gas granted to a call (as in geth), but not to a creation."""

    refund: int = 0
    """The transaction's refund counter before it, or after it for SSTORE, as in geth."""

    error: str | None = None
    """Out of gas, or a stack error; other failures are reported only for the call."""

    @property
    def address(self) -> Address:
        """Address of the executing account."""
        return self.computation.msg.storage_address

    def read_stack(self) -> list[int]:
        """Return the current stack, the top last."""
        return [to_int(value) for value in get_stack(self.computation).values]

    def read_memory(self) -> bytes:
        """Return the current memory."""
        memory = self.computation._memory  # noqa: SLF001 - py-evm has no accessor
        return memory.read_bytes(0, len(memory))


@dataclass(slots=True, kw_only=True)
class CallFrame:
    """A call, a creation or a self-destruct's transfer. Fields with defaults are set at the end."""

    kind: str
    """CALL, STATICCALL, DELEGATECALL, CALLCODE, CREATE, CREATE2 or SELFDESTRUCT."""

    depth: int
    """0 for the transaction's own call."""

    sender: Address
    to: Address
    """The callee (even if it delegates), the created contract, or the beneficiary."""

    value_wei: int | None
    """None for a STATICCALL, which has no value."""

    input: bytes
    gas: int
    gas_used: int = 0
    output: bytes = b""
    error: str | None = None
    """geth's error message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedLog:
    """A log, even if reverted later."""

    depth: int
    address: Address
    topics: tuple[int, ...]
    data: bytes


class Tracer(Protocol):
    """Receives the events of one transaction, and returns a JSON-ready result."""

    watched_opcodes: frozenset[int]
    """The opcodes for which `on_opcode` and `on_opcode_end` are called."""

    def on_tx_start(self, start: TransactionStart) -> None:
        """Handle the start of the transaction."""

    def on_opcode(self, step: OpcodeStep) -> None:
        """Handle an opcode before the execution."""

    def on_opcode_end(self, step: OpcodeStep) -> None:
        """Handle an opcode that was executed or failed, with the object passed to `on_opcode`."""

    def on_enter(self, frame: CallFrame) -> None:
        """Handle the start of a call, including calls that fail before any code is executed."""

    def on_exit(self, frame: CallFrame) -> None:
        """Handle the end of a call, with the object passed to `on_enter`."""

    def on_log(self, entry: TracedLog) -> None:
        """Handle a log of the current call."""

    def on_tx_end(self, gas_used: int) -> None:
        """Handle the end of the transaction, after fees and deletions."""

    def result(self) -> object:
        """Return the result as a JSON-ready object."""


class NoopTracer:
    """Base of tracers, which ignores all events. geth's noopTracer."""

    watched_opcodes: frozenset[int] = NO_OPCODE

    def on_tx_start(self, start: TransactionStart) -> None:
        """Ignore the start."""

    def on_opcode(self, step: OpcodeStep) -> None:
        """Ignore the opcode."""

    def on_opcode_end(self, step: OpcodeStep) -> None:
        """Ignore the opcode."""

    def on_enter(self, frame: CallFrame) -> None:
        """Ignore the call."""

    def on_exit(self, frame: CallFrame) -> None:
        """Ignore the call."""

    def on_log(self, entry: TracedLog) -> None:
        """Ignore the log."""

    def on_tx_end(self, gas_used: int) -> None:
        """Ignore the end."""

    def result(self) -> object:
        """Return an empty object."""
        return {}


def get_stack(computation: BaseComputation) -> Stack:
    """Return a computation's stack, for which py-evm has no accessor."""
    return computation._stack  # type: ignore[return-value]  # noqa: SLF001
