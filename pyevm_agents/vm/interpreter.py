"""The interpreter's loop: the frequent opcodes of a call, in one function with local variables.

The loop knows neither errors nor rare opcodes. It checks gas and stack before an instruction has
any effect, and ends where these do not suffice; the caller then executes the instruction by
py-evm's opcode. So errors and their texts are py-evm's. The loop also ends for an instruction that
makes a call, which thus needs no more of Python's stack than in py-evm, and after some gas, so that
the caller can end a long execution.

Source: docs/architecture.md#interpreter; the yellow paper, appendix H.2; EIP-145 (shifts), EIP-211
(return data), EIP-2200, EIP-2929 and EIP-3529 (storage), EIP-3855 (PUSH0), EIP-5656 (MCOPY).
"""

# ruff: noqa: ANN401, SLF001 - py-evm's computations have private, untyped attributes
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eth.constants import GAS_COPY, GAS_LOGDATA, GAS_LOGTOPIC, GAS_MEMORY, GAS_SHA3WORD
from eth.vm.forks.berlin.constants import COLD_SLOAD_COST, WARM_STORAGE_READ_COST
from eth.vm.forks.cancun.opcodes import CANCUN_OPCODES
from eth.vm.forks.london.storage import GAS_SCHEDULE_EIP3529
from eth.vm.opcode_values import (
    ADD,
    ADDMOD,
    ADDRESS,
    AND,
    BYTE,
    CALLDATACOPY,
    CALLDATALOAD,
    CALLDATASIZE,
    CALLER,
    CALLVALUE,
    CODECOPY,
    DIV,
    DUP1,
    DUP16,
    EQ,
    GT,
    ISZERO,
    JUMP,
    JUMPDEST,
    JUMPI,
    LOG0,
    LT,
    MCOPY,
    MLOAD,
    MOD,
    MSTORE,
    MSTORE8,
    MUL,
    MULMOD,
    NOT,
    OR,
    POP,
    PUSH0,
    PUSH1,
    PUSH32,
    RETURNDATACOPY,
    RETURNDATASIZE,
    SAR,
    SGT,
    SHA3,
    SHL,
    SHR,
    SIGNEXTEND,
    SLOAD,
    SLT,
    SSTORE,
    STOP,
    SUB,
    SWAP1,
    SWAP16,
    XOR,
)
from eth_hash.auto import keccak

from precompiles.spec import WORD_BYTES

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

WORD = 2**256
MAX = WORD - 1
SIGN = 2**255
"""The sign bit. `x ^ SIGN` compares as the signed number does, which is `(x ^ SIGN) - SIGN`."""

WORD_BITS = 256
STACK_LIMIT = 1_024
MOST_MEMORY_BYTES = 2**32
"""More of it costs more gas than any block has, and is left to py-evm."""

STORE_LEAVES_GAS = 2_301
"""Gas that must remain before SSTORE. Source: EIP-2200."""

LEG_GAS = 50_000
"""Gas after which the loop ends: milliseconds of time."""

_TAKEN: dict[int, int] = {
    **dict.fromkeys((ADD, MUL, SUB, DIV, MOD, SIGNEXTEND), 2),
    **dict.fromkeys((LT, GT, SLT, SGT, EQ, AND, OR, XOR, BYTE, SHL, SHR, SAR), 2),
    **dict.fromkeys((ADDMOD, MULMOD), 3),
    **dict.fromkeys((ISZERO, NOT), 1),
    **dict.fromkeys((ADDRESS, CALLER, CALLVALUE, CALLDATASIZE, RETURNDATASIZE), 0),
    **dict.fromkeys((CALLDATACOPY, CODECOPY, RETURNDATACOPY, MCOPY), 3),
    **dict.fromkeys((CALLDATALOAD, MLOAD, SLOAD), 1),
    **dict.fromkeys((SHA3, MSTORE, MSTORE8, SSTORE), 2),
    JUMPDEST: 0,
    POP: 1,
    JUMP: 1,
    JUMPI: 2,
    **dict.fromkeys(range(PUSH0, PUSH32 + 1), 0),
    **{DUP1 + i: i + 1 for i in range(16)},
    **{SWAP1 + i: i + 2 for i in range(16)},
    **{LOG0 + i: i + 2 for i in range(5)},
}
"""The loop's opcodes: stack items that each needs. Source: yellow paper, appendix H.2."""

OPCODES: Mapping[int, Any] = {opcode: CANCUN_OPCODES[opcode] for opcode in _TAKEN}
"""The loop's opcodes in py-evm's form. Cancun's are those of the later forks."""

_NEVER = 2**256
"""More gas than any call has."""

PRICES = [OPCODES[n].gas_cost if n in OPCODES else _NEVER for n in range(256)]
"""Gas of each opcode without what depends on its items; `_NEVER` for those left to py-evm."""

_HEIGHTS = [_TAKEN.get(n, 0) for n in range(256)]
"""The least height of the stack before each opcode."""

_COPIES = (CALLDATACOPY, CODECOPY, RETURNDATACOPY)


def interpret(computation: Any, prices: Sequence[int]) -> int:  # noqa: C901, PLR0912, PLR0915 - an arm for each opcode
    """Execute a call's instructions up to one that is py-evm's; return the opcode of that one.

    The end of the code is a STOP. The program counter is then behind the opcode, and nothing else
    of the instruction is done. It may be any instruction: the caller executes it by py-evm's
    opcode, and calls this function again. The first instruction that begins after `LEG_GAS` is
    returned, too.

    Input:
        computation: the call. The items of its stack are integers; the top may be bytes.
        prices: of the opcodes, `PRICES` or those of `price_out`.
    """
    code, meter, memory = computation.code, computation._gas_meter, computation._memory
    message, state = computation.msg, computation.state
    raw: bytes = code._raw_code_bytes
    end = len(raw)
    destinations: set[int] = code.valid_positions
    stack: list[Any] = computation._stack.values
    if stack and isinstance(stack[-1], bytes):
        stack[-1] = int.from_bytes(stack[-1], "big")
    items: list[int] = stack
    held: bytearray = memory._bytes
    own: bytes = message.storage_address
    pc: int = code.program_counter
    gas: int = meter.gas_remaining
    floor = max(gas - LEG_GAS, 0)
    opcode: int = STOP
    while pc < end:
        opcode = raw[pc]
        left = gas - prices[opcode]
        height = len(items)
        if left < floor or height < _HEIGHTS[opcode]:
            break

        if opcode >= PUSH1:
            if opcode == PUSH1:
                if height >= STACK_LIMIT or pc + 1 >= end:
                    break
                pc += 1
                items.append(raw[pc])
            elif opcode <= PUSH32:
                size = opcode - PUSH0
                if height >= STACK_LIMIT or pc + size >= end:
                    break
                items.append(int.from_bytes(raw[pc + 1 : pc + 1 + size], "big"))
                pc += size
            elif opcode <= DUP16:
                if height >= STACK_LIMIT:
                    break
                items.append(items[DUP1 - 1 - opcode])
            elif opcode <= SWAP16:
                place = SWAP1 - 2 - opcode
                items[-1], items[place] = items[place], items[-1]
            else:  # LOG0 to LOG4
                count = opcode - LOG0
                if message.is_static:
                    break
                at, size = items[-1], items[-2]
                left -= GAS_LOGDATA * size + GAS_LOGTOPIC * count
                left = _grow(memory, at, size, left)
                if left < 0:
                    break
                held = memory._bytes
                topics = tuple(items[-3 : -3 - count : -1])
                del items[-2 - count :]
                computation.add_log_entry(own, topics, bytes(held[at : at + size]))

        elif opcode >= POP:
            if opcode == JUMPDEST:
                pass
            elif opcode == POP:
                items.pop()
            elif opcode == JUMPI:
                target = items[-1]
                if items[-2]:
                    if target not in destinations and not code.is_valid_opcode(target):
                        break
                    pc = target - 1  # The end of the loop adds 1.
                del items[-2:]
            elif opcode == JUMP:
                target = items[-1]
                if target not in destinations and not code.is_valid_opcode(target):
                    break
                items.pop()
                pc = target - 1
            elif opcode == MSTORE:
                at = items[-1]
                if at + WORD_BYTES > len(held):
                    left = _grow(memory, at, WORD_BYTES, left)
                    if left < 0:
                        break
                    held = memory._bytes
                items.pop()
                held[at : at + WORD_BYTES] = items.pop().to_bytes(WORD_BYTES, "big")
            elif opcode == MLOAD:
                at = items[-1]
                if at + WORD_BYTES > len(held):
                    left = _grow(memory, at, WORD_BYTES, left)
                    if left < 0:
                        break
                    held = memory._bytes
                items[-1] = int.from_bytes(held[at : at + WORD_BYTES], "big")
            elif opcode == PUSH0:
                if height >= STACK_LIMIT:
                    break
                items.append(0)
            elif opcode == SLOAD:
                slot = items[-1]
                is_cold = not state.is_storage_warm(own, slot)
                left -= COLD_SLOAD_COST if is_cold else WARM_STORAGE_READ_COST
                if left < 0:
                    break
                if is_cold:
                    state.mark_storage_warm(own, slot)
                items[-1] = state.get_storage(own, slot)
            elif opcode == SSTORE:
                if gas < STORE_LEAVES_GAS or message.is_static:
                    break
                slot, value = items[-1], items[-2]
                original = state.get_storage(own, slot, from_journal=False)
                current = state.get_storage(own, slot)
                cost, refund = price_store(original, current, value)
                is_cold = not state.is_storage_warm(own, slot)
                left -= cost + (COLD_SLOAD_COST if is_cold else 0)
                if left < 0:
                    break
                computation.note_store(gas)
                meter.refund_gas(refund)
                if is_cold:
                    state.mark_storage_warm(own, slot)
                state.set_storage(own, slot, value)
                del items[-2:]
            elif opcode == MSTORE8:
                at = items[-1]
                left = _grow(memory, at, 1, left)
                if left < 0:
                    break
                held = memory._bytes
                items.pop()
                held[at] = items.pop() & 0xFF
            else:  # MCOPY
                to, at, size = items[-1], items[-2], items[-3]
                left -= GAS_COPY * ((size + WORD_BYTES - 1) // WORD_BYTES)
                left = _grow(memory, max(to, at), size, left)
                if left < 0:
                    break
                held = memory._bytes
                del items[-3:]
                held[to : to + size] = held[at : at + size]

        elif opcode < LT:
            if opcode == ADD:
                a = items.pop()
                items[-1] = (a + items[-1]) & MAX
            elif opcode == SUB:
                a = items.pop()
                items[-1] = (a - items[-1]) & MAX
            elif opcode == MUL:
                a = items.pop()
                items[-1] = (a * items[-1]) & MAX
            elif opcode == DIV:
                a, b = items.pop(), items[-1]
                items[-1] = a // b if b else 0
            elif opcode == MOD:
                a, b = items.pop(), items[-1]
                items[-1] = a % b if b else 0
            elif opcode == SIGNEXTEND:
                a, b = items.pop(), items[-1]
                sign = 1 << (8 * min(a, 31) + 7)
                items[-1] = (((b & (2 * sign - 1)) ^ sign) - sign) & MAX
            elif opcode == ADDMOD:
                a, b, n = items.pop(), items.pop(), items[-1]
                items[-1] = (a + b) % n if n else 0
            else:  # MULMOD
                a, b, n = items.pop(), items.pop(), items[-1]
                items[-1] = (a * b) % n if n else 0

        elif opcode < SHA3:
            if opcode == ISZERO:
                items[-1] = 0 if items[-1] else 1
            elif opcode == AND:
                a = items.pop()
                items[-1] &= a
            elif opcode == EQ:
                a = items.pop()
                items[-1] = 1 if a == items[-1] else 0
            elif opcode == LT:
                a = items.pop()
                items[-1] = 1 if a < items[-1] else 0
            elif opcode == GT:
                a = items.pop()
                items[-1] = 1 if a > items[-1] else 0
            elif opcode == SHR:
                a = items.pop()
                items[-1] = items[-1] >> a if a < WORD_BITS else 0
            elif opcode == SHL:
                a = items.pop()
                items[-1] = (items[-1] << a) & MAX if a < WORD_BITS else 0
            elif opcode == NOT:
                items[-1] ^= MAX
            elif opcode == OR:
                a = items.pop()
                items[-1] |= a
            elif opcode == XOR:
                a = items.pop()
                items[-1] ^= a
            elif opcode == SLT:
                a = items.pop()
                items[-1] = 1 if a ^ SIGN < items[-1] ^ SIGN else 0
            elif opcode == SGT:
                a = items.pop()
                items[-1] = 1 if a ^ SIGN > items[-1] ^ SIGN else 0
            elif opcode == SAR:
                a, b = items.pop(), items[-1]
                items[-1] = ((b ^ SIGN) - SIGN >> min(a, WORD_BITS)) & MAX
            else:  # BYTE
                a, b = items.pop(), items[-1]
                items[-1] = b >> 8 * (31 - a) & 0xFF if a < WORD_BYTES else 0

        elif opcode == CALLDATALOAD:
            at = items[-1]
            word = bytes(message.data[at : at + WORD_BYTES])
            items[-1] = int.from_bytes(word.ljust(WORD_BYTES, b"\0"), "big")
        elif opcode == SHA3:
            at, size = items[-1], items[-2]
            left -= GAS_SHA3WORD * ((size + WORD_BYTES - 1) // WORD_BYTES)
            left = _grow(memory, at, size, left)
            if left < 0:
                break
            held = memory._bytes
            items.pop()
            items[-1] = int.from_bytes(keccak(bytes(held[at : at + size])), "big")
        elif opcode in _COPIES:
            to, at, size = items[-1], items[-2], items[-3]
            if opcode == CALLDATACOPY:
                source = message.data
            elif opcode == CODECOPY:
                source = raw
            else:
                source = computation.return_data
                if at + size > len(source):
                    break
            left -= GAS_COPY * ((size + WORD_BYTES - 1) // WORD_BYTES)
            left = _grow(memory, to, size, left)
            if left < 0:
                break
            held = memory._bytes
            del items[-3:]
            held[to : to + size] = bytes(source[at : at + size]).ljust(size, b"\0")
        elif height >= STACK_LIMIT:
            break
        elif opcode == CALLDATASIZE:
            items.append(len(message.data))
        elif opcode == CALLVALUE:
            items.append(message.value)
        elif opcode == CALLER:
            items.append(int.from_bytes(message.sender, "big"))
        elif opcode == ADDRESS:
            items.append(int.from_bytes(own, "big"))
        else:  # RETURNDATASIZE
            items.append(len(computation.return_data))

        pc += 1
        gas = left
    else:
        opcode = STOP
    code.program_counter = pc + 1
    meter.gas_remaining = gas
    return opcode


def price_out(opcodes: Container[int]) -> list[int]:
    """Return prices with which `interpret` leaves opcodes to the caller, that it else executes."""
    return [_NEVER if opcode in opcodes else PRICES[opcode] for opcode in range(256)]


def price_store(original: int, current: int, value: int) -> tuple[int, int]:
    """Return the gas of a SSTORE, of a warm slot, and what it adds to the refund.

    Input: the slot's value before the transaction, now, and then.
    Source: EIP-2200 with the prices of EIP-2929 and EIP-3529.
    """
    prices = GAS_SCHEDULE_EIP3529
    if value == current:
        return prices.sload_gas, 0
    if current == original:
        if original == 0:
            return prices.sstore_set_gas, 0
        return prices.sstore_reset_gas, prices.sstore_clears_schedule if value == 0 else 0
    refund = 0
    if original != 0:
        if current == 0:
            refund -= prices.sstore_clears_schedule
        if value == 0:
            refund += prices.sstore_clears_schedule
    if value == original:
        refund += (
            prices.sstore_reset_gas if original else prices.sstore_set_gas
        ) - prices.sload_gas
    return prices.sload_gas, refund


def _grow(memory: Any, at: int, size: int, gas: int) -> int:
    """Let memory hold a range of bytes, for a price; return the gas that is left.

    With too little gas, that is negative and memory is unchanged.

    Source: yellow paper, 9.1.
    """
    before, behind = len(memory), at + size
    if not size or behind <= before:
        return gas
    if behind > MOST_MEMORY_BYTES:
        return -1
    words = (behind + WORD_BYTES - 1) // WORD_BYTES
    gas -= _price_words(words) - _price_words(before // WORD_BYTES)
    if gas >= 0:
        memory.extend(at, size)
    return gas


def _price_words(words: int) -> int:
    return GAS_MEMORY * words + words * words // 512
