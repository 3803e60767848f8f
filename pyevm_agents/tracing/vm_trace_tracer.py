"""Opcodes with effects in Parity's form: `vmTrace`.

    {"code": …, "ops": [{"pc": 0, "op": "PUSH1", "cost": 3, "sub": null or the trace of a call,
                         "ex": null if failed, or the effects:
                               {"used": gas left, "push": the pushed items,
                                "mem": {"off": …, "data": …}, "store": {"key": …, "val": …}}}]}

Calls made by precompiles are not included, because a precompile has no opcodes; `trace` has them.

Source: OpenEthereum, `rpc/src/v1/types/trace.rs` and `evm/src/interpreter/mod.rs`; "op" is from
later nodes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eth.vm.stack import to_int

from precompiles.spec import WORD_BYTES
from pyevm_agents.tracing.budget import TEXT_BYTES, TraceBudget
from pyevm_agents.tracing.call_tracer import CREATIONS
from pyevm_agents.tracing.error_messages import (
    COLLISION,
    INSUFFICIENT_BALANCE,
    NONCE_OVERFLOW,
    REVERTED,
    TOO_DEEP,
)
from pyevm_agents.tracing.hex import encode_data, encode_quantity
from pyevm_agents.tracing.opcodes import (
    CALL,
    CALLCODE,
    DELEGATECALL,
    EXTCODECOPY,
    SSTORE,
    STATICCALL,
    STOP,
    get_opcode,
)
from pyevm_agents.tracing.tracer import EVERY_OPCODE, NoopTracer, get_stack

if TYPE_CHECKING:
    from pyevm_agents.tracing.tracer import CallFrame, OpcodeStep

CALLDATACOPY, CODECOPY, RETURNDATACOPY, MCOPY, RETURN = 0x37, 0x39, 0x3E, 0x5E, 0xF3
MLOAD, MSTORE, MSTORE8 = 0x51, 0x52, 0x53
REFUSALS = frozenset({COLLISION, NONCE_OVERFLOW, TOO_DEEP, INSUFFICIENT_BALANCE})
"""Errors of calls that were rejected before they started."""


OP_BYTES = 1_000
"""Memory of an opcode without the code of a call and the memory written."""

WRITES = {
    CALLDATACOPY: (0, 2),
    CODECOPY: (0, 2),
    RETURNDATACOPY: (0, 2),
    MCOPY: (0, 2),
    EXTCODECOPY: (1, 3),
    CALL: (5, 6),
    CALLCODE: (5, 6),
    DELEGATECALL: (4, 5),
    STATICCALL: (4, 5),
}
"""Stack positions, from the top, of the start and the size of the memory that an opcode writes."""


@dataclass(slots=True)
class _CodeTrace:
    """The code of a call that is being executed."""

    form: dict[str, object]
    ops: list[dict[str, object]] = field(default_factory=list)
    written_range: tuple[int, int] | None = None
    """Memory range written by the current opcode: start and size."""

    stored_slot: tuple[int, int] | None = None
    """Slot and value set by the current opcode."""

    granted_gas: int = 0
    """Gas granted by the current opcode to a creation, which is part of its cost."""


class VmTracer(NoopTracer):
    """Lists opcodes, with those of a call below the opcode of the call."""

    watched_opcodes = EVERY_OPCODE

    def __init__(self, budget: TraceBudget | None = None) -> None:
        self._budget = budget or TraceBudget()
        self._root: dict[str, object] | None = None
        self._open: list[_CodeTrace] = []

    def on_enter(self, frame: CallFrame) -> None:
        """Attach a call to the opcode of the call."""
        code = _CodeTrace({"code": "0x"})
        code.form["ops"] = code.ops
        if not self._open:
            self._root = code.form
        elif self._open[-1].ops and frame.kind != "SELFDESTRUCT":
            maker = self._open[-1]
            maker.ops[-1]["sub"] = code.form
            maker.granted_gas = frame.gas if frame.kind in CREATIONS else 0
        self._open.append(code)

    def on_exit(self, frame: CallFrame) -> None:
        """Leave a call; the opcode of a failure has no effects."""
        ended = self._open.pop()
        if frame.error in REFUSALS and self._open and self._open[-1].ops:
            self._open[-1].ops[-1]["sub"] = None
        if frame.error in {None, REVERTED} or not ended.ops:
            return
        if ended.ops[-1]["op"] not in HALTS:  # Otherwise, depositing its code failed later.
            ended.ops[-1]["ex"] = None

    def on_opcode(self, step: OpcodeStep) -> None:
        """Add an opcode."""
        self._budget.spend(OP_BYTES)
        code = self._open[-1]
        if not code.ops:
            self._budget.spend(TEXT_BYTES + 2 * len(step.computation.msg.code))
            code.form["code"] = encode_data(bytes(step.computation.msg.code))
        code.ops.append(
            {"pc": step.pc, "op": get_opcode(step.op).name, "cost": 0, "ex": None, "sub": None}
        )
        stack = [to_int(item) for item in get_stack(step.computation).values[-7:]]
        stack.reverse()
        code.written_range = _find_written_range(step.op, stack)
        code.stored_slot = (stack[0], stack[1]) if step.op == SSTORE and len(stack) > 1 else None

    def on_opcode_end(self, step: OpcodeStep) -> None:
        """Complete an opcode."""
        code = self._open[-1]
        op = code.ops[-1]
        op["cost"] = step.gas_cost + code.granted_gas
        code.granted_gas = 0
        if step.error is not None:
            return
        memory, store = None, None
        if code.written_range is not None:
            start, size = code.written_range
            self._budget.spend(TEXT_BYTES + 2 * size)
            memory = {
                "off": start,
                "data": encode_data(step.computation.memory_read_bytes(start, size)),
            }
        if code.stored_slot is not None:
            slot, value = code.stored_slot
            store = {"key": encode_quantity(slot), "val": encode_quantity(value)}
        left = get_opcode(step.op).pushes
        pushed = get_stack(step.computation).values[-left:] if left else ()
        op["ex"] = {
            "used": step.computation.get_gas_remaining(),
            "push": [encode_quantity(to_int(item)) for item in pushed],
            "mem": memory,
            "store": store,
        }

    def result(self) -> object:
        """Return the trace of the transaction's own call."""
        return self._root


HALTS = frozenset({get_opcode(STOP).name, get_opcode(RETURN).name})


def _find_written_range(op: int, stack: list[int]) -> tuple[int, int] | None:
    """Return the memory range that an opcode is about to write, from the stack."""
    if len(stack) < get_opcode(op).pops:
        return None
    if op in {MLOAD, MSTORE}:
        return stack[0], WORD_BYTES
    if op == MSTORE8:
        return stack[0], 1
    if op not in WRITES:
        return None
    start, size = WRITES[op]
    return (stack[start], stack[size]) if stack[size] else None
