"""What a traced transaction tells a tracer, and what a tracer is.

A transaction begins, calls are entered and left, opcodes are stepped and logs are written in
between, and it ends. Depths, names and errors are geth's.
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
    """A transaction before anything of it happened: no gas bought, no authorisation applied."""

    state: StateAPI
    """The live state, as it is at each event."""

    transaction: SignedTransactionAPI
    to: Address
    """Who is called, or the address of the contract to be created."""

    is_create: bool
    precompiles: frozenset[Address]


@dataclass(slots=True, kw_only=True)
class OpcodeStep:
    """One opcode; the fields with defaults are filled once it was executed."""

    pc: int
    op: int
    gas: int
    """Gas left before it."""

    depth: int
    """1 in the transaction's own call."""

    computation: BaseComputation
    gas_cost: int = 0
    """Gas it costs, with what it grants to a call (as geth counts), without what it grants to a
    creation."""

    refund: int = 0
    """The transaction's refund counter before it; after it for SSTORE, as geth tells it."""

    error: str | None = None
    """Out of gas, or a stack too low or high; other failures are told of the call alone."""

    @property
    def address(self) -> Address:
        """Whose code this acts as."""
        return self.computation.msg.storage_address

    def read_stack(self) -> list[int]:
        """Return the stack as it is now, its top last."""
        return [to_int(value) for value in get_stack(self.computation).values]

    def read_memory(self) -> bytes:
        """Return the memory as it is now."""
        memory = self.computation._memory  # noqa: SLF001 - py-evm has no other way in
        return memory.read_bytes(0, len(memory))


@dataclass(slots=True, kw_only=True)
class CallFrame:
    """One call or creation, or a self-destruct's transfer; what it came to is filled at its end."""

    kind: str
    """CALL, STATICCALL, DELEGATECALL, CALLCODE, CREATE, CREATE2 or SELFDESTRUCT."""

    depth: int
    """0 for the transaction's own."""

    sender: Address
    to: Address
    """Whose code is asked for, also where that account delegates; what is created; who inherits."""

    value_wei: int | None
    """None for a STATICCALL, which can have none."""

    input: bytes
    gas: int
    gas_used: int = 0
    output: bytes = b""
    error: str | None = None
    """geth's words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedLog:
    """A log, whether or not what wrote it is undone later."""

    depth: int
    address: Address
    topics: tuple[int, ...]
    data: bytes


class Tracer(Protocol):
    """Who is told of what happens in one transaction, and makes a JSON object of it."""

    watched_opcodes: frozenset[int]
    """The opcodes whose steps it is told of."""

    def on_tx_start(self, beginning: TransactionStart) -> None:
        """Take the start of the transaction."""

    def on_opcode(self, step: OpcodeStep) -> None:
        """Take an opcode that is about to be executed."""

    def on_opcode_end(self, step: OpcodeStep) -> None:
        """Take an opcode that was executed or failed; the same object as before it."""

    def on_enter(self, frame: CallFrame) -> None:
        """Take the start of a call, also of one that fails before any code of it runs."""

    def on_exit(self, frame: CallFrame) -> None:
        """Take the end of a call; the same object as at its start."""

    def on_log(self, entry: TracedLog) -> None:
        """Take a log of the call that was entered last and not left."""

    def on_tx_end(self, gas_used: int) -> None:
        """Take the end of the transaction: fees are paid, what was destroyed is gone."""

    def result(self) -> object:
        """Return what this makes of the transaction, as a JSON-ready object."""


class NoopTracer:
    """A tracer that listens to nothing; others listen to what they override. geth's noopTracer."""

    watched_opcodes: frozenset[int] = NO_OPCODE

    def on_tx_start(self, beginning: TransactionStart) -> None:
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
    """Return a computation's stack: py-evm has no public way to it."""
    return computation._stack  # type: ignore[return-value]  # noqa: SLF001
