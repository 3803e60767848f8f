"""Taint of a simulated call: where the values come from that decide whether it reverts.

A traced VM class keeps, beside the stack, the memory and the calldata of each call, the expressions
of those values that come from the caller, the calldata, storage, the block's time or the value
sent. Other values have none, so most opcodes run as they are. Expressions follow inner calls of all
kinds through calldata and return data, each with the value at that time.

    tape = TaintTape(account, data)
    chain.call(call, trace=tape.wrap)
    tape.root          # the calls, as a tree
    tape.decisions     # the JUMPIs whose condition has an expression, in order

An expression of the caller is one of the account itself: CALLER in an inner call is the calling
contract, and has none.
"""

# ruff: noqa: SLF001 - py-evm has no accessors for stack, memory and gas meter
from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from eth.exceptions import OutOfGas
from eth.vm import opcode_values as op
from eth.vm.stack import to_int

from precompiles.spec import SELECTOR_BYTES, WORD_BYTES
from pyevm_agents.tracing.opcodes import OPCODE_TABLE
from pyevm_agents.vm import AgentComputation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import TracebackType

    from eth.abc import ComputationAPI, MessageAPI, StateAPI, TransactionContextAPI
    from eth_typing import Address

    from pyevm_agents.vm import AgentVM

    Opcode = Callable[[Any], object]

CALLER_FLAG, CALLDATA_FLAG, STORAGE_FLAG, TIME_FLAG = 1, 2, 4, 8
VALUE_FLAG, KEYED_FLAG, BALANCE_FLAG, RETURN_FLAG = 16, 32, 64, 128
OWNED_FLAG = 256
"""A hash of the account's address, wherever that came from, and what is stored there."""

SIGNATURE_FLAG = 512
"""The account that `ecrecover` found."""

ECRECOVER = (1).to_bytes(20, "big")
"""Address of the precompile. Its input: the hash that was signed, v, r and s."""

SIGNATURE_WORDS = 4

MAX_DECISIONS = 20_000
"""The most decisions of one call that are kept. A loop that needs more has its first ones."""

MAX_SEGMENTS = 512
"""The most expressions in one memory; older ones are forgotten."""

MAX_KEY_BYTES = 128
"""The most hashed bytes that are taken for a key of a mapping."""

MAX_WORDS = 64
"""The most words of a hashed range whose expressions are kept."""

PARTS = 0x100
"""In place of an opcode: a word of memory that parts of expressions overlap."""

KECCAK256, MCOPY = op.SHA3, op.MCOPY
CALLS_WITH_VALUE = frozenset({op.CALL, op.CALLCODE})
CALLS = frozenset({op.CALL, op.CALLCODE, op.DELEGATECALL, op.STATICCALL})


class Expression:
    """A value of the EVM with the values from which it was computed."""

    __slots__ = ("flags", "offset", "op", "operands", "slot", "value")

    def __init__(  # noqa: PLR0913 - made often, so by position
        self,
        op_code: int,
        operands: Sequence[Expression | int] = (),
        value: int = 0,
        flags: int = 0,
        *,
        offset: int = -1,
        slot: tuple[Address, int] | None = None,
    ) -> None:
        self.op, self.operands, self.value = op_code, operands, value
        self.offset = offset
        """The position in the calldata, for a word of it."""

        self.slot = slot
        """Account and slot, for a value of storage."""

        self.flags: int = flags
        """The kinds of sources below it."""

        for operand in operands:
            if isinstance(operand, Expression):
                self.flags |= operand.flags


@dataclass(slots=True, eq=False)
class TracedCall:
    """A call of a simulation, with the conditions that decided the outcome."""

    kind: int
    """The opcode that made it; 0 for the transaction's own call."""

    account: Address
    code_account: Address
    sender: Address
    value_wei: int
    data: bytes
    data_taint: SegmentMemory
    value_taint: Expression | None = None
    """Of the wei that are sent."""

    parent: TracedCall | None = None
    calls: list[TracedCall] = field(default_factory=list)
    output: bytes = b""
    output_taint: SegmentMemory | None = None
    is_error: bool = False
    is_out_of_gas: bool = False
    jump: tuple[int, bool] = (-1, False)
    """Position and outcome of its last JUMPI."""

    end: int = -1
    """Position of its last opcode."""

    position: int = 0
    """The number of decisions before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A JUMPI whose condition has an expression."""

    call: TracedCall
    position: int
    """Of the JUMPI in the code."""

    is_taken: bool
    condition: Expression

    @property
    def place(self) -> tuple[Address, int]:
        """The account that has the code, and the position in the code."""
        return self.call.code_account, self.position


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageAccess:
    """A read or a write of a slot."""

    account: Address
    slot: int
    value: int
    """The value read, or written."""

    key: Expression | None
    code_account: Address


class SegmentMemory:
    """Ranges of bytes with expressions."""

    __slots__ = ("_calldata", "segments")

    def __init__(self, calldata: Callable[[int], Expression] | None = None) -> None:
        self.segments: list[tuple[int, int, Expression | None, int]] = []
        """Start, end and expression; without an expression, calldata from a position on."""

        self._calldata = calldata

    def write(self, at: int, size: int, expression: Expression | None) -> None:
        """Set the expression of a range."""
        self._clear(at, size)
        if expression is not None:
            self._add((at, at + size, expression, 0))

    def copy_from(self, source: SegmentMemory | None, at: int, start: int, size: int) -> None:
        """Copy a range of another memory to a position."""
        copied = [] if source is None else [*source.iter_range(start, size)]
        if source is not None and source._calldata is not None:
            self._calldata = source._calldata
        self._clear(at, size)
        for low, high, expression, offset in copied:
            self._add((low - start + at, high - start + at, expression, offset))

    def slice(self, start: int, size: int) -> SegmentMemory:
        """Return a copy of a range, from position 0 on."""
        taken = SegmentMemory(self._calldata)
        taken.copy_from(self, 0, start, size)
        return taken

    def iter_range(
        self, start: int, size: int
    ) -> Iterator[tuple[int, int, Expression | None, int]]:
        """Yield the segments of a range; those of calldata are cut to the range."""
        end = start + size
        for low, high, expression, offset in self.segments:
            if low >= end or high <= start:
                continue
            if expression is None:
                first = max(low, start)
                yield first, min(high, end), None, offset + first - low
            else:
                yield low, high, expression, 0

    def read(self, at: int) -> Expression | None:
        """Return the expression of a word; one of `PARTS` if not whole."""
        parts = self.list_words(at, WORD_BYTES, exact=True)
        if not parts:
            return None
        if len(parts) == 1 and self._is_whole(at):
            return parts[0]
        return Expression(PARTS, parts)

    def _is_whole(self, at: int) -> bool:
        """Whether a word is one whole expression, or a word of calldata."""
        end = at + WORD_BYTES
        return any(
            (low == at and high == end) if expression is not None else (low <= at and end <= high)
            for low, high, expression, _ in self.segments
        )

    def list_words(self, at: int, size: int, *, exact: bool = False) -> list[Expression]:
        """Return the expressions of a range, the latest last."""
        found: list[Expression] = []
        for low, high, expression, offset in self.iter_range(at, size):
            if expression is not None:
                if exact and low == at and high == at + size:
                    found = []
                found.append(expression)
            elif self._calldata is not None:
                found += [
                    self._calldata(offset + step)
                    for step in range(0, min(high - low, MAX_WORDS * WORD_BYTES), WORD_BYTES)
                    if offset + step >= SELECTOR_BYTES
                ]
        return found[-MAX_WORDS:]

    def _clear(self, at: int, size: int) -> None:
        if not self.segments:
            return
        end = at + size
        kept: list[tuple[int, int, Expression | None, int]] = []
        for segment in self.segments:
            low, high, expression, offset = segment
            if high <= at or low >= end:
                kept.append(segment)
            elif expression is not None:
                if low < at or high > end:  # A part of it is left.
                    kept.append(segment)
            else:
                if low < at:
                    kept.append((low, at, None, offset))
                if high > end:
                    kept.append((end, high, None, offset + end - low))
        self.segments = kept

    def _add(self, segment: tuple[int, int, Expression | None, int]) -> None:
        self.segments.append(segment)
        if len(self.segments) > MAX_SEGMENTS:
            del self.segments[0]


class _Shadow:
    """Expressions of a running computation."""

    __slots__ = ("call", "called", "memory", "pending", "returned", "stack")

    def __init__(self, call: TracedCall) -> None:
        self.call = call
        self.stack: dict[int, Expression] = {}
        """By position from the bottom; values without an expression are absent."""

        self.memory = SegmentMemory()
        self.returned: SegmentMemory | None = None
        self.called: Expression | None = None
        """The address of the last call, if it is the account's."""

        self.pending: tuple[int, SegmentMemory | None, Expression | None] = (0, None, None)
        """The opcode of the call that begins, and the expressions of its calldata and its wei."""


class TaintTape:
    """The taint of one simulated call."""

    def __init__(
        self, account: Address, data: bytes, classes: dict[type, type[AgentVM]] | None = None
    ) -> None:
        """Expect a call.

        Input: the calling account; the calldata; the traced VM classes, by the plain ones, which
            the tapes of successive calls share.
        """
        self.account, self.data = account, data
        self._classes = {} if classes is None else classes
        self.root: TracedCall | None = None
        self.decisions: list[Decision] = []
        self.jumps: dict[tuple[Address, int], bool] = {}
        """The last outcome of each JUMPI, by whose code it is and its position in it."""

        self.reads: list[StorageAccess] = []
        self.writes: list[StorageAccess] = []
        self.shadows: list[_Shadow] = []
        self.owned_hashes: set[bytes] = set()
        """Hashes of the account's address, and of such hashes."""

        self._words: dict[int, Expression] = {}

    def read_calldata(self, offset: int) -> Expression:
        """Return the expression of a word of the transaction's calldata."""
        word = self._words.get(offset)
        if word is None:
            data = self.data[offset : offset + WORD_BYTES].ljust(WORD_BYTES, b"\0")
            value = int.from_bytes(data, "big")
            word = Expression(op.CALLDATALOAD, (), value, CALLDATA_FLAG, offset=offset)
            self._words[offset] = word
        return word

    def enter(self, message: MessageAPI) -> _Shadow:
        """Begin a call."""
        parent = self.shadows[-1] if self.shadows else None
        sent: Expression | None = None
        if parent is None:
            taint = SegmentMemory(self.read_calldata)
            taint.segments.append((0, len(message.data) + WORD_BYTES, None, 0))
            kind = 0
        else:
            kind, pending, sent = parent.pending
            taint = pending or SegmentMemory()
        call = TracedCall(
            kind=kind,
            account=message.storage_address,
            code_account=message.code_address or message.storage_address,
            sender=message.sender,
            value_wei=message.value,
            data=bytes(message.data),
            data_taint=taint,
            value_taint=sent,
            parent=None if parent is None else parent.call,
            position=len(self.decisions),
        )
        if parent is None:
            self.root = call
        else:
            parent.call.calls.append(call)
        shadow = _Shadow(call)
        self.shadows.append(shadow)
        return shadow

    def leave(self, computation: ComputationAPI) -> None:
        """End the current call."""
        call = self.shadows.pop().call
        call.output = bytes(computation.output)
        call.is_error = computation.is_error
        call.is_out_of_gas = call.is_error and isinstance(computation.error, OutOfGas)

    def wrap(self, vm_class: type[AgentVM]) -> type[AgentVM]:
        """Return a VM class whose computations report to this tape."""
        traced = self._classes.get(vm_class)
        if traced is None:
            traced = self._classes[vm_class] = _build_traced_vm(vm_class)
        state_class: Any = traced._state_class
        state_class.computation_class.switch.tape = self
        return traced


class _Switch:
    """The tape of the traced VM classes of a VM class."""

    tape: TaintTape


class _TaintedMixin(AgentComputation):
    switch: ClassVar[_Switch]
    remembers_reads = False

    def __init__(
        self, state: StateAPI, message: MessageAPI, transaction_context: TransactionContextAPI
    ) -> None:
        self.tape = self.switch.tape
        super().__init__(state, message, transaction_context)

    def __enter__(self) -> ComputationAPI:
        self.shadow = self.tape.enter(self.msg)
        return super().__enter__()

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        code: Any = getattr(self, "code", None)
        self.shadow.call.end = getattr(code, "program_counter", 0)
        handled = super().__exit__(exc_type, exc_value, traceback)
        self.tape.leave(self)
        return handled


def _build_traced_vm(vm_class: type[AgentVM]) -> type[AgentVM]:
    """Return the traced class of a VM class."""
    plain_state: Any = vm_class._state_class
    plain = plain_state.computation_class
    computation_class = type(
        "TaintedComputation",
        (_TaintedMixin, plain),
        {"switch": _Switch(), "opcodes": wrap_opcodes(plain.opcodes)},
    )
    state_class = plain_state.configure(
        __name__="TaintedState", computation_class=computation_class
    )
    return vm_class.configure(__name__="TaintedVM", _state_class=state_class)


# -- opcodes -- #


def wrap_opcodes(opcodes: dict[int, Any]) -> dict[int, Any]:
    """Return opcodes that keep expressions beside the values."""
    wrapped: dict[int, Any] = {}
    for code, slow in opcodes.items():
        info = OPCODE_TABLE.get(code)
        if info is None or (info.pops == 0 and code not in SOURCES):
            wrapped[code] = slow
            continue
        quick: Any = _build(code, slow)
        quick.mnemonic = getattr(slow, "mnemonic", info.name)
        quick.gas_cost = getattr(slow, "gas_cost", 0)
        wrapped[code] = quick
    return wrapped


def _build(code: int, slow: Opcode) -> Opcode:  # noqa: PLR0911 - a table with ranges
    if op.DUP1 <= code <= op.DUP16:
        return _build_dup(slow, code - op.DUP1 + 1)
    if op.SWAP1 <= code <= op.SWAP16:
        return _build_swap(slow, code - op.SWAP1 + 1)
    if code in SOURCES:
        return _build_source(code, slow, SOURCES[code])
    if code in CALLS:
        return _build_call(code, slow)
    if code in COPIES:
        return _build_copy(code, slow, COPIES[code])
    special = SPECIAL.get(code)
    if special is not None:
        return special(slow)
    info = OPCODE_TABLE[code]
    return _build_plain(code, slow, info.pops, info.pushes)


def _build_plain(code: int, slow: Opcode, pops: int, pushes: int) -> Opcode:
    """Return an opcode whose result is an expression of the operands."""

    def execute(computation: Any) -> object:  # noqa: ANN401 - py-evm's
        stack = computation.shadow.stack
        if not stack:
            return slow(computation)
        values = computation._stack.values
        height = len(values)
        base = height - pops
        places = range(height - 1, base - 1, -1)
        if not any(place in stack for place in places) or base < 0:
            return slow(computation)
        operands = [
            stack.pop(place) if place in stack else to_int(values[place]) for place in places
        ]
        slow(computation)
        if pushes:
            flags = BALANCE_FLAG if code == op.BALANCE else 0
            stack[base] = Expression(code, operands, to_int(values[-1]), flags)
        return None

    return execute


def _build_dup(slow: Opcode, number: int) -> Opcode:
    def execute(computation: Any) -> object:  # noqa: ANN401 - py-evm's
        stack = computation.shadow.stack
        if stack:
            height = len(computation._stack.values)
            if height - number in stack:
                slow(computation)
                stack[height] = stack[height - number]
                return None
        return slow(computation)

    return execute


def _build_swap(slow: Opcode, number: int) -> Opcode:
    def execute(computation: Any) -> object:  # noqa: ANN401 - py-evm's
        stack = computation.shadow.stack
        if stack:
            top = len(computation._stack.values) - 1
            first, second = stack.pop(top, None), stack.pop(top - number, None)
            if first is not None:
                stack[top - number] = first
            if second is not None:
                stack[top] = second
        return slow(computation)

    return execute


def _is_account(computation: Any, value: int) -> bool:  # noqa: ANN401 - py-evm's
    return value == int.from_bytes(computation.tape.account, "big")


SOURCES: dict[int, int] = {
    op.CALLER: CALLER_FLAG,
    op.ORIGIN: CALLER_FLAG,
    op.TIMESTAMP: TIME_FLAG,
    op.CALLVALUE: VALUE_FLAG,
    op.SELFBALANCE: BALANCE_FLAG,
    op.RETURNDATASIZE: RETURN_FLAG,
}
"""Opcodes without operands whose values have an expression."""


def _build_source(code: int, slow: Opcode, flag: int) -> Opcode:
    def execute(computation: Any) -> object:  # noqa: ANN401 - py-evm's
        slow(computation)
        values = computation._stack.values
        value = to_int(values[-1])
        if flag == CALLER_FLAG and not _is_account(computation, value):
            return None
        if flag == RETURN_FLAG and not computation.shadow.call.calls:
            return None
        shadow = computation.shadow
        operands = () if flag != RETURN_FLAG or shadow.called is None else (shadow.called,)
        shadow.stack[len(values) - 1] = Expression(code, operands, value, flag)
        return None

    return execute


def _build_calldataload(slow: Opcode) -> Opcode:
    def execute(computation: Any) -> object:  # noqa: ANN401 - py-evm's
        shadow, values = computation.shadow, computation._stack.values
        at = to_int(values[-1]) if values else 0
        slow(computation)
        taint = shadow.call.data_taint
        found = taint.read(at) if taint.segments and at >= SELECTOR_BYTES else None
        _set(shadow.stack, len(values) - 1, found)
        return None

    return execute


def _set(stack: dict[int, Expression], place: int, expression: Expression | None) -> None:
    if expression is None:
        stack.pop(place, None)
    else:
        stack[place] = expression


def _build_sload(slow: Opcode) -> Opcode:
    def execute(computation: Any) -> object:  # noqa: ANN401 - py-evm's
        shadow, values = computation.shadow, computation._stack.values
        slot = to_int(values[-1]) if values else 0
        slow(computation)
        key = shadow.stack.get(len(values) - 1)
        value = to_int(values[-1])
        account = computation.msg.storage_address
        flags = STORAGE_FLAG
        if key is not None and key.flags & CALLER_FLAG:
            flags |= KEYED_FLAG
        operands = () if key is None else (key,)
        shadow.stack[len(values) - 1] = Expression(
            op.SLOAD, operands, value, flags, slot=(account, slot)
        )
        computation.tape.reads.append(
            StorageAccess(
                account=account,
                slot=slot,
                value=value,
                key=key,
                code_account=shadow.call.code_account,
            )
        )
        return None

    return execute


def _build_sstore(slow: Opcode) -> Opcode:
    def execute(computation: Any) -> object:  # noqa: ANN401 - py-evm's
        shadow, values = computation.shadow, computation._stack.values
        height = len(values)
        slot = to_int(values[-1]) if values else 0
        value = to_int(values[-2]) if height > 1 else 0
        key = shadow.stack.pop(height - 1, None)
        shadow.stack.pop(height - 2, None)
        slow(computation)
        computation.tape.writes.append(
            StorageAccess(
                account=computation.msg.storage_address,
                slot=slot,
                value=value,
                key=key,
                code_account=shadow.call.code_account,
            )
        )
        return None

    return execute


def _build_mload(slow: Opcode) -> Opcode:
    def execute(computation: Any) -> object:  # noqa: ANN401 - py-evm's
        shadow, values = computation.shadow, computation._stack.values
        at = to_int(values[-1]) if values else 0
        slow(computation)
        found = shadow.memory.read(at) if shadow.memory.segments else None
        if found is not None and found.op == PARTS:
            found.value = to_int(values[-1])
        _set(shadow.stack, len(values) - 1, found)
        return None

    return execute


def _build_mstore(slow: Opcode) -> Opcode:
    return _build_store(slow, WORD_BYTES)


def _build_mstore8(slow: Opcode) -> Opcode:
    return _build_store(slow, 1)


def _build_store(slow: Opcode, size: int) -> Opcode:
    def execute(computation: Any) -> object:  # noqa: ANN401 - py-evm's
        shadow = computation.shadow
        stack, memory = shadow.stack, shadow.memory
        if not stack and not memory.segments:
            return slow(computation)
        values = computation._stack.values
        height = len(values)
        at = to_int(values[-1]) if values else 0
        stack.pop(height - 1, None)
        expression = stack.pop(height - 2, None)
        slow(computation)
        memory.write(at, size, expression)
        return None

    return execute


def _build_keccak(slow: Opcode) -> Opcode:
    def execute(computation: Any) -> object:  # noqa: ANN401 - py-evm's
        shadow, values = computation.shadow, computation._stack.values
        height = len(values)
        at = to_int(values[-1]) if values else 0
        size = to_int(values[-2]) if height > 1 else 0
        shadow.stack.pop(height - 1, None)
        shadow.stack.pop(height - 2, None)
        slow(computation)
        words = shadow.memory.list_words(at, size) if shadow.memory.segments else []
        flags = 0
        if size <= MAX_KEY_BYTES:
            hashed = computation._memory.read_bytes(at, size)
            if computation.tape.account in hashed:
                flags = OWNED_FLAG
            found = computation.tape.owned_hashes
            if flags or any(each in hashed for each in found):
                flags = OWNED_FLAG
                found.add(to_int(values[-1]).to_bytes(WORD_BYTES, "big"))
        if words or flags:
            shadow.stack[height - 2] = Expression(KECCAK256, words, to_int(values[-1]), flags)
        return None

    return execute


COPIES: dict[int, str] = {
    op.CALLDATACOPY: "calldata",
    op.RETURNDATACOPY: "returned",
    MCOPY: "memory",
    op.CODECOPY: "",
}
"""Opcodes that copy to memory (destination, start, size), and where from."""


def _build_copy(code: int, slow: Opcode, source: str) -> Opcode:
    pops = OPCODE_TABLE[code].pops

    def execute(computation: Any) -> object:  # noqa: ANN401 - py-evm's
        shadow, values = computation.shadow, computation._stack.values
        height = len(values)
        if height < pops:
            return slow(computation)
        to, start, size = (to_int(values[-place]) for place in (1, 2, 3))
        for place in range(height - pops, height):
            shadow.stack.pop(place, None)
        slow(computation)
        sources = {
            "calldata": shadow.call.data_taint,
            "returned": shadow.returned,
            "memory": shadow.memory,
        }
        shadow.memory.copy_from(sources.get(source), to, start, size)
        return None

    return execute


def _build_call(code: int, slow: Opcode) -> Opcode:
    pops = OPCODE_TABLE[code].pops
    first = 3 if code in CALLS_WITH_VALUE else 2

    def execute(computation: Any) -> object:  # noqa: ANN401 - py-evm's
        shadow, values = computation.shadow, computation._stack.values
        height = len(values)
        if height < pops:
            return slow(computation)
        arguments = [to_int(values[-1 - place]) for place in range(pops)]
        begin, size, to, to_size = arguments[first : first + 4]
        target = shadow.stack.get(height - 2)
        sent = shadow.stack.get(height - 3) if code in CALLS_WITH_VALUE else None
        for place in range(height - pops, height):
            shadow.stack.pop(place, None)
        # A delegating proxy copies its whole calldata: the callee reads them as its own.
        shadow.pending = (code, shadow.memory.slice(begin, size), sent)
        count = len(shadow.call.calls)
        slow(computation)
        made = shadow.call.calls[count] if len(shadow.call.calls) > count else None
        shadow.returned = None if made is None else made.output_taint
        if to_size:
            copied = 0 if made is None else min(to_size, len(made.output))
            shadow.memory.copy_from(shadow.returned, to, 0, copied)
        if made is not None and made.code_account == ECRECOVER and to_size >= WORD_BYTES:
            shadow.memory.write(to, WORD_BYTES, _build_signer(computation, made, to))
        is_own = target is not None and target.flags == CALLER_FLAG
        shadow.called = target if is_own else None
        operands = () if target is None else (target,)
        is_balance = made is None and code in CALLS_WITH_VALUE and arguments[2]
        flags = RETURN_FLAG | (BALANCE_FLAG if is_balance else 0)
        shadow.stack[len(values) - 1] = Expression(code, operands, to_int(values[-1]), flags)
        return None

    return execute


def _build_signer(computation: Any, made: TracedCall, to: int) -> Expression:  # noqa: ANN401 - py-evm's
    """Return the account that `ecrecover` wrote to memory, computed from the input."""
    words = [made.data_taint.read(WORD_BYTES * place) for place in range(SIGNATURE_WORDS)]
    data = made.data.ljust(SIGNATURE_WORDS * WORD_BYTES, b"\0")
    given = [
        int.from_bytes(data[start : start + WORD_BYTES], "big")
        for start in range(0, SIGNATURE_WORDS * WORD_BYTES, WORD_BYTES)
    ]
    operands = [value if word is None else word for word, value in zip(words, given, strict=True)]
    value = int.from_bytes(computation._memory.read_bytes(to, WORD_BYTES), "big")
    return Expression(made.kind, operands, value, SIGNATURE_FLAG)


def _build_jumpi(slow: Opcode) -> Opcode:
    def execute(computation: Any) -> object:  # noqa: ANN401 - py-evm's
        shadow, values = computation.shadow, computation._stack.values
        height = len(values)
        if height < 2:  # noqa: PLR2004 - what it takes
            return slow(computation)
        is_taken = to_int(values[-2]) != 0
        position = computation.code.program_counter - 1
        stack = shadow.stack
        stack.pop(height - 1, None)
        condition = stack.pop(height - 2, None)
        shadow.call.jump = (position, is_taken)
        computation.tape.jumps[shadow.call.code_account, position] = is_taken
        if condition is not None:
            decisions = computation.tape.decisions
            if len(decisions) < MAX_DECISIONS:
                decisions.append(
                    Decision(
                        call=shadow.call,
                        position=position,
                        is_taken=is_taken,
                        condition=condition,
                    )
                )
        return slow(computation)

    return execute


def _build_end(slow: Opcode) -> Opcode:
    """Return RETURN or REVERT, which keeps the expressions of the output."""

    def execute(computation: Any) -> object:  # noqa: ANN401 - py-evm's
        shadow, values = computation.shadow, computation._stack.values
        if len(values) > 1 and shadow.memory.segments:
            begin, size = to_int(values[-1]), to_int(values[-2])
            shadow.call.output_taint = shadow.memory.slice(begin, size)
        return slow(computation)

    return execute


SPECIAL: dict[int, Callable[[Opcode], Opcode]] = {
    op.CALLDATALOAD: _build_calldataload,
    op.SLOAD: _build_sload,
    op.SSTORE: _build_sstore,
    op.MLOAD: _build_mload,
    op.MSTORE: _build_mstore,
    op.MSTORE8: _build_mstore8,
    KECCAK256: _build_keccak,
    op.JUMPI: _build_jumpi,
    op.RETURN: _build_end,
    op.REVERT: _build_end,
}
