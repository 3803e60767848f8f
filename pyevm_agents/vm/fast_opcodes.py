"""Fast implementations of the most frequent opcodes: one function call in place of py-evm's five.

Each checks gas, stack and code first, and calls py-evm's own opcode, without any change, if one of
these is not sufficient: errors are py-evm's. Stack items are integers or bytes, which every opcode
accepts; the fast opcodes push integers.
"""

# ruff: noqa: ANN401, SLF001 - py-evm's opcodes use private, untyped attributes of computations
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eth.constants import GAS_SHA3WORD
from eth.vm import opcode_values as op
from eth_hash.auto import keccak

from precompiles.spec import WORD_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from eth.abc import OpcodeAPI

    FastOpcode = Callable[[Any], object]

WORD = 2**256
MAX = WORD - 1
SIGN = 2**255
"""The sign bit. With it flipped, signed numbers compare as unsigned ones."""

WORD_BITS = 256
STACK_LIMIT = 1_024
MAX_FAST_MEMORY_BYTES = 2**32
"""Larger memory costs more gas than any block has; py-evm's opcode raises out of gas."""


def add_fast_opcodes(opcodes: dict[int, OpcodeAPI]) -> dict[int, OpcodeAPI]:
    """Return the opcodes with the frequent ones replaced by fast implementations."""
    return opcodes | dict(_build_fast_opcodes(opcodes))


def _build_fast_opcodes(opcodes: dict[int, Any]) -> Iterator[tuple[int, OpcodeAPI]]:
    makers: dict[int, Callable[[Any], FastOpcode]] = {
        op.POP: _build_pop,
        op.JUMPDEST: _build_jumpdest,
        op.JUMP: _build_jump,
        op.JUMPI: _build_jumpi,
        op.MLOAD: _build_mload,
        op.MSTORE: _build_mstore,
        op.CALLDATALOAD: _build_calldataload,
        op.CALLDATASIZE: _build_context_push(lambda computation: len(computation.msg.data)),
        op.CALLVALUE: _build_context_push(lambda computation: computation.msg.value),
        op.SHA3: _build_sha3,
        op.PUSH0: lambda slow: _build_push(slow, 0),
    }
    makers |= {code: _build_unary(apply) for code, apply in ONE_TO_ONE.items()}
    makers |= {code: _build_binary(apply) for code, apply in TWO_TO_ONE.items()}
    for number in range(32):
        makers[op.PUSH1 + number] = lambda slow, n=number: _build_push(slow, n + 1)  # type: ignore[misc]
    for number in range(16):
        makers[op.DUP1 + number] = lambda slow, n=number: _build_dup(slow, n + 1)  # type: ignore[misc]
        makers[op.SWAP1 + number] = lambda slow, n=number: _build_swap(slow, n + 1)  # type: ignore[misc]
    for code, make in makers.items():
        slow: Any = opcodes[code]
        quick: Any = make(slow)
        quick.mnemonic, quick.gas_cost, quick.logic_fn = slow.mnemonic, slow.gas_cost, slow.logic_fn
        yield code, quick


ONE_TO_ONE: dict[int, Callable[[int], int]] = {
    op.ISZERO: lambda a: 0 if a else 1,
    op.NOT: lambda a: MAX - a,
}
"""Opcodes that replace the top of the stack by a function of it."""

TWO_TO_ONE: dict[int, Callable[[int, int], int]] = {
    op.ADD: lambda a, b: (a + b) & MAX,
    op.MUL: lambda a, b: (a * b) & MAX,
    op.SUB: lambda a, b: (a - b) & MAX,
    op.DIV: lambda a, b: a // b if b else 0,
    op.LT: lambda a, b: 1 if a < b else 0,
    op.GT: lambda a, b: 1 if a > b else 0,
    op.SLT: lambda a, b: 1 if a ^ SIGN < b ^ SIGN else 0,
    op.SGT: lambda a, b: 1 if a ^ SIGN > b ^ SIGN else 0,
    op.EQ: lambda a, b: 1 if a == b else 0,
    op.AND: lambda a, b: a & b,
    op.OR: lambda a, b: a | b,
    op.XOR: lambda a, b: a ^ b,
    op.SHL: lambda shift, a: (a << shift) & MAX if shift < WORD_BITS else 0,
    op.SHR: lambda shift, a: a >> shift if shift < WORD_BITS else 0,
}
"""Opcodes that replace two stack items by a function of them, the top item first."""


def _memory_gas(size_bytes: int) -> int:
    """Return the gas of memory of a size in whole words. Source: yellow paper, 9.1."""
    words = size_bytes // WORD_BYTES
    return 3 * words + words * words // 512


def _to_int(item: int | bytes) -> int:
    return item if type(item) is int else int.from_bytes(item, "big")  # type: ignore[arg-type]


def _build_unary(apply: Callable[[int], int]) -> Callable[[Any], FastOpcode]:
    def make(slow: Any) -> FastOpcode:
        cost = slow.gas_cost

        def execute(computation: Any) -> object:
            meter, items = computation._gas_meter, computation._stack.values
            left = meter.gas_remaining - cost
            if left < 0 or not items:
                return slow(computation)
            meter.gas_remaining = left
            items[-1] = apply(_to_int(items[-1]))
            return None

        return execute

    return make


def _build_binary(apply: Callable[[int, int], int]) -> Callable[[Any], FastOpcode]:
    def make(slow: Any) -> FastOpcode:
        cost = slow.gas_cost

        def execute(computation: Any) -> object:
            meter, items = computation._gas_meter, computation._stack.values
            left = meter.gas_remaining - cost
            if left < 0 or len(items) < 2:  # noqa: PLR2004 - what it takes
                return slow(computation)
            meter.gas_remaining = left
            a, b = items.pop(), items[-1]
            if type(a) is not int:
                a = int.from_bytes(a, "big")
            if type(b) is not int:
                b = int.from_bytes(b, "big")
            items[-1] = apply(a, b)
            return None

        return execute

    return make


def _build_push(slow: Any, size: int) -> FastOpcode:
    cost = slow.gas_cost

    def execute(computation: Any) -> object:
        meter, items = computation._gas_meter, computation._stack.values
        code = computation.code
        begin = code.program_counter
        end = begin + size
        left = meter.gas_remaining - cost
        if left < 0 or len(items) >= STACK_LIMIT or end > len(code._raw_code_bytes):
            return slow(computation)
        meter.gas_remaining = left
        items.append(int.from_bytes(code._raw_code_bytes[begin:end], "big"))
        code.program_counter = end
        return None

    return execute


def _build_context_push(tell: Callable[[Any], int]) -> Callable[[Any], FastOpcode]:
    """Return a builder of an opcode that pushes a value of the call's context."""

    def make(slow: Any) -> FastOpcode:
        cost = slow.gas_cost

        def execute(computation: Any) -> object:
            meter, items = computation._gas_meter, computation._stack.values
            left = meter.gas_remaining - cost
            if left < 0 or len(items) >= STACK_LIMIT:
                return slow(computation)
            meter.gas_remaining = left
            items.append(tell(computation))
            return None

        return execute

    return make


def _build_dup(slow: Any, number: int) -> FastOpcode:
    cost = slow.gas_cost

    def execute(computation: Any) -> object:
        meter, items = computation._gas_meter, computation._stack.values
        left = meter.gas_remaining - cost
        if left < 0 or not number <= len(items) < STACK_LIMIT:
            return slow(computation)
        meter.gas_remaining = left
        items.append(items[-number])
        return None

    return execute


def _build_swap(slow: Any, number: int) -> FastOpcode:
    cost, place = slow.gas_cost, -number - 1

    def execute(computation: Any) -> object:
        meter, items = computation._gas_meter, computation._stack.values
        left = meter.gas_remaining - cost
        if left < 0 or len(items) <= number:
            return slow(computation)
        meter.gas_remaining = left
        items[-1], items[place] = items[place], items[-1]
        return None

    return execute


def _build_pop(slow: Any) -> FastOpcode:
    cost = slow.gas_cost

    def execute(computation: Any) -> object:
        meter, items = computation._gas_meter, computation._stack.values
        left = meter.gas_remaining - cost
        if left < 0 or not items:
            return slow(computation)
        meter.gas_remaining = left
        items.pop()
        return None

    return execute


def _build_jumpdest(slow: Any) -> FastOpcode:
    cost = slow.gas_cost

    def execute(computation: Any) -> object:
        meter = computation._gas_meter
        left = meter.gas_remaining - cost
        if left < 0:
            return slow(computation)
        meter.gas_remaining = left
        return None

    return execute


def _is_destination(code: Any, at: int) -> bool:
    raw = code._raw_code_bytes
    if at >= len(raw) or raw[at] != op.JUMPDEST:
        return False
    return at in code.valid_positions or bool(code.is_valid_opcode(at))


def _build_jump(slow: Any) -> FastOpcode:
    cost = slow.gas_cost

    def execute(computation: Any) -> object:
        meter, items = computation._gas_meter, computation._stack.values
        left = meter.gas_remaining - cost
        if left < 0 or not items or not _is_destination(computation.code, _to_int(items[-1])):
            return slow(computation)
        meter.gas_remaining = left
        computation.code.program_counter = _to_int(items.pop())
        return None

    return execute


def _build_jumpi(slow: Any) -> FastOpcode:
    cost = slow.gas_cost

    def execute(computation: Any) -> object:
        meter, items = computation._gas_meter, computation._stack.values
        left = meter.gas_remaining - cost
        if left < 0 or len(items) < 2:  # noqa: PLR2004 - what it takes
            return slow(computation)
        is_taken = _to_int(items[-2]) != 0
        if is_taken and not _is_destination(computation.code, _to_int(items[-1])):
            return slow(computation)
        meter.gas_remaining = left
        at = items.pop()
        items.pop()
        if is_taken:
            computation.code.program_counter = _to_int(at)
        return None

    return execute


def _build_mload(slow: Any) -> FastOpcode:
    cost = slow.gas_cost

    def execute(computation: Any) -> object:
        meter, items = computation._gas_meter, computation._stack.values
        memory = computation._memory
        left = meter.gas_remaining - cost
        if left < 0 or not items:
            return slow(computation)
        at = _to_int(items[-1])
        if at + WORD_BYTES > len(memory):  # It grows, which has a price.
            return slow(computation)
        meter.gas_remaining = left
        items[-1] = int.from_bytes(memory.read_bytes(at, WORD_BYTES), "big")
        return None

    return execute


def _build_mstore(slow: Any) -> FastOpcode:
    cost = slow.gas_cost

    def execute(computation: Any) -> object:
        meter, items = computation._gas_meter, computation._stack.values
        memory = computation._memory
        left = meter.gas_remaining - cost
        if left < 0 or len(items) < 2:  # noqa: PLR2004 - what it takes
            return slow(computation)
        at = _to_int(items[-1])
        held = memory._bytes
        if at + WORD_BYTES > len(held):  # It grows, which has a price.
            size = (at + 2 * WORD_BYTES - 1) // WORD_BYTES * WORD_BYTES
            left -= _memory_gas(size) - _memory_gas(len(held))
            if left < 0 or size > MAX_FAST_MEMORY_BYTES:
                return slow(computation)
            memory.extend(at, WORD_BYTES)
            held = memory._bytes
        meter.gas_remaining = left
        items.pop()
        held[at : at + WORD_BYTES] = _to_int(items.pop()).to_bytes(WORD_BYTES, "big")
        return None

    return execute


def _build_calldataload(slow: Any) -> FastOpcode:
    cost = slow.gas_cost

    def execute(computation: Any) -> object:
        meter, items = computation._gas_meter, computation._stack.values
        left = meter.gas_remaining - cost
        if left < 0 or not items:
            return slow(computation)
        meter.gas_remaining = left
        at = _to_int(items[-1])
        word = bytes(computation.msg.data[at : at + WORD_BYTES])
        items[-1] = int.from_bytes(word.ljust(WORD_BYTES, b"\0"), "big")
        return None

    return execute


def _build_sha3(slow: Any) -> FastOpcode:
    cost = slow.gas_cost

    def execute(computation: Any) -> object:
        meter, items = computation._gas_meter, computation._stack.values
        memory = computation._memory
        if len(items) < 2:  # noqa: PLR2004 - what it takes
            return slow(computation)
        at, size = _to_int(items[-1]), _to_int(items[-2])
        left = meter.gas_remaining - cost - GAS_SHA3WORD * ((size + WORD_BYTES - 1) // WORD_BYTES)
        if left < 0 or at + size > len(memory):  # It grows, which has a price.
            return slow(computation)
        meter.gas_remaining = left
        items.pop()
        items[-1] = keccak(memory.read_bytes(at, size))
        return None

    return execute
