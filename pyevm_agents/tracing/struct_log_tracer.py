"""Struct logs: every opcode with the state before. geth's default tracer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from precompiles.spec import WORD_BYTES
from pyevm_agents.tracing.budget import TEXT_BYTES, TraceBudget
from pyevm_agents.tracing.error_messages import REVERTED
from pyevm_agents.tracing.hex import encode_data, encode_quantity, encode_word
from pyevm_agents.tracing.opcodes import SLOAD, SSTORE, STORAGE_ACCESSES, get_opcode
from pyevm_agents.tracing.tracer import EVERY_OPCODE, NoopTracer

if TYPE_CHECKING:
    from eth.abc import StateAPI
    from eth_typing import Address

    from pyevm_agents.tracing.tracer import CallFrame, OpcodeStep, TransactionStart


ENTRY_BYTES = 500
"""Memory of an entry without stack, storage and memory: a dictionary, a list, numbers."""

WORD_TEXT_BYTES = TEXT_BYTES + 66
SLOT_BYTES = 100
"""Memory of a slot in an entry's copy of the storage, whose texts are shared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StructLogOptions:
    """Options of struct logs: the contents of each entry."""

    stack: bool = True
    storage: bool = True
    memory: bool = False
    return_data: bool = False
    limit: int = 0
    """Maximum number of entries, from the first; 0 for all."""


class StructLogTracer(NoopTracer):
    """Lists the opcodes of a transaction."""

    watched_opcodes = EVERY_OPCODE

    _state: StateAPI

    def __init__(
        self, options: StructLogOptions | None = None, budget: TraceBudget | None = None
    ) -> None:
        self._options = options or StructLogOptions()
        self._budget = budget or TraceBudget()
        self._entries: list[dict[str, object]] = []
        self._pending: list[dict[str, object] | None] = []
        self._storage: dict[Address, dict[str, str]] = {}
        self._root: CallFrame | None = None
        self._gas_used = 0

    def on_tx_start(self, start: TransactionStart) -> None:
        """Record the state, to read the values of SLOAD."""
        self._state = start.state

    def on_enter(self, frame: CallFrame) -> None:
        """Record the transaction's own call."""
        if frame.depth == 0:
            self._root = frame

    def on_opcode(self, step: OpcodeStep) -> None:
        """Add an entry. The cost is added later, after the entries of a call by the opcode."""
        limit = self._options.limit
        if limit and len(self._entries) >= limit:
            self._pending.append(None)
            return
        self._budget.spend(ENTRY_BYTES)
        entry: dict[str, object] = {
            "pc": step.pc,
            "op": get_opcode(step.op).name,
            "gas": step.gas,
            "gasCost": 0,
            "depth": step.depth,
        }
        if self._options.stack:
            stack = [encode_quantity(item) for item in step.read_stack()]
            self._budget.spend(sum(map(len, stack)) + TEXT_BYTES * len(stack))
            entry["stack"] = stack
        if self._options.return_data and step.computation.return_data:
            self._budget.spend(TEXT_BYTES + 2 * len(step.computation.return_data))
            entry["returnData"] = encode_data(step.computation.return_data)
        if self._options.memory and (memory := step.read_memory()):
            self._budget.spend(WORD_TEXT_BYTES * (len(memory) // WORD_BYTES))
            entry["memory"] = [
                encode_data(memory[start : start + WORD_BYTES])
                for start in range(0, len(memory), WORD_BYTES)
            ]
        if self._options.storage and step.op in STORAGE_ACCESSES:
            self._add_storage(step, entry)
        self._entries.append(entry)
        self._pending.append(entry)

    def on_opcode_end(self, step: OpcodeStep) -> None:
        """Complete the entry of an opcode."""
        entry = self._pending.pop()
        if entry is None:
            return
        entry["gasCost"] = step.gas_cost
        if step.error is not None:
            entry["error"] = step.error
        if step.refund:
            entry["refund"] = step.refund

    def on_tx_end(self, gas_used: int) -> None:
        """Record the transaction's gas used."""
        self._gas_used = gas_used

    def result(self) -> object:
        """Return geth's object: gas, failed, returnValue and structLogs."""
        root = self._root
        error = None if root is None else root.error
        returned = root.output if root is not None and error in {None, REVERTED} else b""
        return {
            "gas": self._gas_used,
            "failed": error is not None,
            "returnValue": encode_data(returned),
            "structLogs": self._entries,
        }

    def _add_storage(self, step: OpcodeStep, entry: dict[str, object]) -> None:
        """Add the contract's slots accessed until now, including this one."""
        stack = step.read_stack()
        seen = self._storage.setdefault(step.address, {})
        if step.op == SLOAD and stack:
            seen[encode_word(stack[-1])] = encode_word(
                self._state.get_storage(step.address, stack[-1])
            )
        elif step.op == SSTORE and len(stack) > 1:
            seen[encode_word(stack[-1])] = encode_word(stack[-2])
        else:
            return
        self._budget.spend(SLOT_BYTES * len(seen))
        entry["storage"] = dict(seen)
