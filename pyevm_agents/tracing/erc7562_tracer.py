"""What each call of a user operation's validation touches: geth's erc7562Tracer.

A call of callTracer's form with these fields, by which bundlers check ERC-7562's rules:

    accessedSlots      {"reads": {slot: [value before]}, "writes": {slot: count},
                        "transientReads": …, "transientWrites": …}
    extCodeAccessInfo  addresses of EXTCODE* opcodes, but for EXTCODESIZE before ISZERO
    usedOpcodes        counts by opcode; GAS counts unless a call follows
    contractSize       {address: {"contractSize": bytes of code, "opcode": the first to touch it}}
    outOfGas           whether an inner call ran out of gas
    keccak             of the transaction's call: the inputs of KECCAK256, sorted

Source: geth, `eth/tracers/native/erc7562.go`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eth._utils.address import force_bytes_to_address
from eth.vm.stack import to_bytes, to_int

from pyevm_agents.tracing.call_tracer import CallTracer, CallTracerOptions
from pyevm_agents.tracing.error_messages import NO_GAS_FOR_CODE, OUT_OF_GAS
from pyevm_agents.tracing.hex import encode_data, encode_quantity, encode_word
from pyevm_agents.tracing.keccak_tracer import read_hashed_data
from pyevm_agents.tracing.opcodes import (
    CALLS,
    EXTCODE_READS,
    EXTCODESIZE,
    GAS,
    ISZERO,
    KECCAK256,
    OPCODE_TABLE,
    RETURN,
    REVERT,
    SLOAD,
    SSTORE,
    TLOAD,
    TSTORE,
    get_opcode,
)
from pyevm_agents.tracing.tracer import EVERY_OPCODE, get_stack

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eth.abc import StateAPI
    from eth_typing import Address

    from pyevm_agents.tracing.budget import TraceBudget
    from pyevm_agents.tracing.call_tracer import CallNode
    from pyevm_agents.tracing.tracer import CallFrame, OpcodeStep, TransactionStart

TOUCH_BYTES = 500
"""Memory of a slot, an address or an input with its JSON form."""

UNIMPORTANT = {
    "POP", "ADD", "SUB", "MUL", "DIV", "EQ", "LT", "GT", "SLT", "SGT", "SHL", "SHR", "AND", "OR",
    "NOT", "ISZERO",
}  # fmt: skip

DEFAULT_IGNORED_OPCODES = frozenset(
    op
    for op, form in OPCODE_TABLE.items()
    if form.name in UNIMPORTANT or form.name.startswith(("PUSH", "DUP", "SWAP"))
)
"""Opcodes that are not counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Erc7562Options:
    """Options of geth's erc7562Tracer."""

    ignored_opcodes: frozenset[int] = DEFAULT_IGNORED_OPCODES
    with_log: bool = False
    first_log_index: int = 0
    """Number of logs of the block's earlier transactions."""


@dataclass(slots=True)
class _Touches:
    """What one call has touched."""

    reads: dict[int, int] = field(default_factory=dict)
    writes: Counter[int] = field(default_factory=Counter)
    transient_reads: Counter[int] = field(default_factory=Counter)
    transient_writes: Counter[int] = field(default_factory=Counter)
    read_codes: list[Address] = field(default_factory=list)
    sizes: dict[Address, tuple[int, int]] = field(default_factory=dict)
    """Size of the code in bytes and opcode, by address."""

    opcodes: Counter[int] = field(default_factory=Counter)


class Erc7562Tracer(CallTracer):
    """geth's erc7562Tracer."""

    watched_opcodes = EVERY_OPCODE

    _state: StateAPI

    def __init__(
        self, options: Erc7562Options | None = None, budget: TraceBudget | None = None
    ) -> None:
        options = options or Erc7562Options()
        super().__init__(
            CallTracerOptions(with_log=options.with_log, first_log_index=options.first_log_index),
            budget,
        )
        self._ignored = options.ignored_opcodes
        self._touches: dict[int, _Touches] = {}
        self._last: tuple[int, Address | None] | None = None
        """The previous opcode, in any call, and the account on top of its stack."""

        self._hashed: set[bytes] = set()

    def on_tx_start(self, start: TransactionStart) -> None:
        """Record the state, to read slots and codes."""
        super().on_tx_start(start)
        self._state = start.state

    def on_enter(self, frame: CallFrame) -> None:
        """Add a call that has touched nothing."""
        super().on_enter(frame)
        self._touches[id(frame)] = _Touches()

    def on_opcode(self, step: OpcodeStep) -> None:
        """Add what an opcode is about to touch."""
        touches = self._touches[id(self._path[-1].frame)]
        op, stack = step.op, get_stack(step.computation).values
        last = None if op in {RETURN, REVERT} else self._last
        if last is not None:
            self._add_after(touches, *last, op)
        if op != GAS and op not in self._ignored:
            touches.opcodes[op] += 1
        if len(stack) >= get_opcode(op).pops:
            self._add_size(touches, step)
            self._add_slot(touches, step)
            if op == KECCAK256:
                self._add_hashed(step)
        top = force_bytes_to_address(to_bytes(stack[-1])) if op in EXTCODE_READS and stack else None
        self._last = (op, top)

    @staticmethod
    def _add_after(touches: _Touches, last: int, account: Address | None, op: int) -> None:
        """Add what the next opcode tells of the last: whether GAS is for a call, or a code read."""
        if account is not None and not (last == EXTCODESIZE and op == ISZERO):
            touches.read_codes.append(account)
        if last == GAS and op not in CALLS:
            touches.opcodes[GAS] += 1

    def _add_size(self, touches: _Touches, step: OpcodeStep) -> None:
        if step.op not in CALLS and step.op not in EXTCODE_READS:
            return
        position = 2 if step.op in CALLS else 1
        account = force_bytes_to_address(to_bytes(get_stack(step.computation).values[-position]))
        if account not in touches.sizes:
            self._budget.spend(TOUCH_BYTES)
            touches.sizes[account] = (len(self._state.get_code(account)), step.op)

    def _add_slot(self, touches: _Touches, step: OpcodeStep) -> None:
        if step.op not in {SLOAD, SSTORE, TLOAD, TSTORE}:
            return
        self._budget.spend(TOUCH_BYTES)
        slot = to_int(get_stack(step.computation).values[-1])
        counts = {
            SSTORE: touches.writes,
            TLOAD: touches.transient_reads,
            TSTORE: touches.transient_writes,
        }
        if step.op != SLOAD:
            counts[step.op][slot] += 1
        elif slot not in touches.reads and slot not in touches.writes:
            touches.reads[slot] = self._state.get_storage(step.address, slot)

    def _add_hashed(self, step: OpcodeStep) -> None:
        data = read_hashed_data(step)
        if data is not None and data not in self._hashed:
            self._budget.spend(TOUCH_BYTES + 3 * len(data))
            self._hashed.add(data)

    def result(self) -> object:
        """Return the transaction's call, with inner calls nested."""
        top = super().result()
        if self._hashed and isinstance(top, dict):
            top["keccak"] = [encode_data(data) for data in sorted(self._hashed)]
        return top

    def _serialize_call(self, node: CallNode) -> dict[str, object]:
        error, touches = node.frame.error or "", self._touches[id(node.frame)]
        return {
            **super()._serialize_call(node),
            "accessedSlots": {
                "reads": {
                    encode_word(slot): [encode_word(value)] for slot, value in touches.reads.items()
                },
                "writes": _encode_counts(touches.writes),
                "transientReads": _encode_counts(touches.transient_reads),
                "transientWrites": _encode_counts(touches.transient_writes),
            },
            "extCodeAccessInfo": [encode_data(address) for address in touches.read_codes],
            "usedOpcodes": {
                encode_quantity(op): count for op, count in sorted(touches.opcodes.items())
            },
            "contractSize": {
                encode_data(address): {"contractSize": size, "opcode": op}
                for address, (size, op) in touches.sizes.items()
            },
            "outOfGas": node is not self.root and error.startswith((OUT_OF_GAS, NO_GAS_FOR_CODE)),
        }


def _encode_counts(counts: Mapping[int, int]) -> dict[str, int]:
    return {encode_word(slot): count for slot, count in counts.items()}
