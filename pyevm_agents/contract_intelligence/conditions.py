"""Conditions of JUMPIs, taken apart into comparisons."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from eth.vm import opcode_values as op

from pyevm_agents.contract_intelligence.caller_taint import (
    CALLDATA_FLAG,
    KEYED_FLAG,
    TIME_FLAG,
    Expression,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eth_typing import Address

MAX_DEPTH = 24
"""Operations that are taken apart on the way to a comparison."""

ADDRESS_MASK = 2**160 - 1
MAX_WORD = 2**256 - 1
FLAG_BITS = 64
"""A number of at most so many bits, read beside others from one slot and compared with zero, is a
flag, an enumeration or a time. A larger one is an amount."""

ENUMERATION_BITS = 8

EQUALITIES = frozenset({op.EQ, op.SUB, op.XOR})
ORDERS = frozenset({op.LT, op.GT, op.SLT, op.SGT})
SHIFTS = frozenset({op.SHL, op.SHR})


class Relation(Enum):
    """How two values are compared."""

    EQUAL = "equal"
    ORDER = "order"
    TRUTH = "truth"
    """One value, with zero."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueComparison:
    """A comparison in a condition. The right side of `TRUTH` is 0."""

    relation: Relation
    left: Expression | int
    right: Expression | int = 0

    @property
    def flags(self) -> int:
        """The kinds of sources of both sides."""
        return get_flags(self.left) | get_flags(self.right)

    def list_sides(self) -> list[tuple[Expression, Expression | int]]:
        """Return each side that is an expression, with the other side."""
        sides = ((self.left, self.right), (self.right, self.left))
        return [(side, other) for side, other in sides if isinstance(side, Expression)]


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageField:
    """A part of a slot."""

    account: Address
    slot: int
    word: int
    """The slot's value when it was read."""

    shift: int
    mask: int
    """Of the field, shifted to bit 0."""

    def replace(self, value: int) -> int:
        """Return the slot's value with another value of the field."""
        return self.word & ~(self.mask << self.shift) & MAX_WORD | (value & self.mask) << self.shift


def get_flags(side: Expression | int) -> int:
    """Return the kinds of sources of a side."""
    return side.flags if isinstance(side, Expression) else 0


def get_value(side: Expression | int) -> int:
    """Return the value that a side had."""
    return side.value if isinstance(side, Expression) else side


def list_comparisons(condition: Expression) -> list[ValueComparison]:
    """Return the comparisons in a condition."""
    return [*_iter_comparisons(condition, 0)]


def _iter_comparisons(condition: Expression | int, depth: int) -> Iterator[ValueComparison]:
    if not isinstance(condition, Expression) or depth > MAX_DEPTH:
        return
    operands = condition.operands
    if condition.op == op.ISZERO or _is_shifted_comparison(condition):
        yield from _iter_comparisons(operands[-1], depth + 1)
    elif condition.op in EQUALITIES:
        yield from _iter_equality(condition, depth)
    elif condition.op in ORDERS:
        yield ValueComparison(relation=Relation.ORDER, left=operands[0], right=operands[1])
    elif condition.op in {op.AND, op.OR, op.MUL} and _is_logical(condition):
        for operand in operands:
            yield from _iter_comparisons(operand, depth + 1)
    else:
        yield ValueComparison(relation=Relation.TRUTH, left=condition)


def _iter_equality(condition: Expression, depth: int) -> Iterator[ValueComparison]:
    left, right = condition.operands
    for side, other in ((left, right), (right, left)):
        # A result compared with true or false: `f() == true`.
        if other in (0, 1) and isinstance(side, Expression) and _is_boolean(side):
            yield from _iter_comparisons(side, depth + 1)
            return
    yield ValueComparison(relation=Relation.EQUAL, left=left, right=right)


def _is_boolean(side: Expression) -> bool:
    return side.op in ORDERS or side.op in {op.EQ, op.ISZERO}


def _is_logical(condition: Expression) -> bool:
    """Whether AND, OR or MUL joins conditions, and does not mask a value."""
    if condition.op == op.OR:
        return True
    return all(isinstance(each, Expression) or each == 1 for each in condition.operands)


def _is_shifted_comparison(condition: Expression) -> bool:
    """Whether a comparison's upper bits are cut off, as in `shl(96, xor(a, b))`."""
    if condition.op == op.AND:
        inner = [each for each in condition.operands if isinstance(each, Expression)]
        if len(inner) != 1 or inner[0].op not in {*EQUALITIES, *ORDERS, op.ISZERO}:
            return False
        return condition.operands[-1] is inner[0]
    if condition.op not in SHIFTS:
        return False
    shifted = condition.operands[1]
    return isinstance(shifted, Expression) and shifted.op in EQUALITIES


def strip(side: Expression | int) -> Expression | int:
    """Return the value from which a side was cut by masks and shifts."""
    for _ in range(MAX_DEPTH):
        if not isinstance(side, Expression) or side.op not in {
            op.AND, op.SHR, op.SHL, op.DIV, op.SIGNEXTEND, op.OR,
        }:  # fmt: skip
            return side
        inner = [each for each in side.operands if isinstance(each, Expression)]
        if len(inner) != 1:
            return side
        side = inner[0]
    return side


def is_account(side: Expression | int) -> bool:
    """Whether a side is the caller itself."""
    bare = strip(side)
    return isinstance(bare, Expression) and bare.op in {op.CALLER, op.ORIGIN}


def find_field(side: Expression | int) -> StorageField | None:  # noqa: C901 - a case for each opcode
    """Return the part of a slot that a side is; None for another expression."""
    shift, mask = 0, MAX_WORD
    for _ in range(MAX_DEPTH):
        if not isinstance(side, Expression):
            return None
        if side.op == op.SLOAD and side.slot is not None:
            account, slot = side.slot
            return StorageField(account=account, slot=slot, word=side.value, shift=shift, mask=mask)
        constants = [each for each in side.operands if not isinstance(each, Expression)]
        inner = [each for each in side.operands if isinstance(each, Expression)]
        if len(inner) != 1:
            return None
        if side.op == op.AND and constants:
            low, mask = _split_mask(mask & constants[0] >> shift)
            shift += low
        elif side.op == op.SHR and constants:
            shift += constants[0]
        elif side.op == op.DIV and constants and constants[0]:
            shift += constants[0].bit_length() - 1
        elif side.op == op.SHL and constants:
            mask >>= min(constants[0], 256)
        elif side.op not in {op.ISZERO, op.SIGNEXTEND}:
            return None
        side = inner[0]
    return None


def _split_mask(mask: int) -> tuple[int, int]:
    """Return a mask as the number of trailing zeros, and the rest."""
    if not mask:
        return 0, 0
    low = (mask & -mask).bit_length() - 1
    return low, mask >> low


def find_keyed(side: Expression | int, depth: int = 0) -> Expression | None:
    """Return a value of storage below a side whose key has the caller, the first one."""
    if not isinstance(side, Expression) or not side.flags & KEYED_FLAG or depth > MAX_DEPTH:
        return None
    if side.op == op.SLOAD:
        return side
    for operand in side.operands:
        found = find_keyed(operand, depth + 1)
        if found is not None:
            return found
    return None


def find_slots(side: Expression | int, depth: int = 0) -> list[Expression]:
    """Return the values of storage below a side."""
    if not isinstance(side, Expression) or depth > MAX_DEPTH:
        return []
    if side.op == op.SLOAD:
        return [side]
    return [each for operand in side.operands for each in find_slots(operand, depth + 1)]


def find_words(side: Expression | int, depth: int = 0) -> list[Expression]:
    """Return the words of calldata below a side, not those in keys of storage."""
    if not isinstance(side, Expression) or depth > MAX_DEPTH or not side.flags & CALLDATA_FLAG:
        return []
    if side.op == op.CALLDATALOAD:
        return [side]
    if side.op in {op.SLOAD, op.SHA3}:
        return []
    return [each for operand in side.operands for each in find_words(operand, depth + 1)]


def is_amount(comparison: ValueComparison, keyed: Expression) -> bool:
    """Whether a value of the caller in storage is compared as an amount, and not as a membership.

    An amount is compared by order, or as a whole word with zero. A membership is a flag, a bit of
    a mask, a time, or one fixed number.
    """
    if comparison.relation is Relation.ORDER:
        return not comparison.flags & TIME_FLAG and not _is_range_check(comparison)
    if comparison.relation is Relation.EQUAL:
        is_left = keyed in find_slots(comparison.left)
        other = comparison.right if is_left else comparison.left
        return isinstance(other, Expression) or other == MAX_WORD
    field = find_field(comparison.left)
    if field is None or (field.account, field.slot) != keyed.slot:
        return False
    is_range = field.mask & (field.mask + 1) == 0
    return is_range and field.mask.bit_length() > FLAG_BITS


def _is_range_check(comparison: ValueComparison) -> bool:
    """Whether a compiler checks that a small field is a value of an enumeration."""
    for side, other in comparison.list_sides():
        stored = find_field(side)
        if stored is not None and not isinstance(other, Expression):
            return stored.mask.bit_length() <= ENUMERATION_BITS
    return False


def is_own_mask(comparison: ValueComparison) -> bool:
    """Whether a value is compared with itself, cut to the type: a check of the calldata's form."""
    left = strip(comparison.left)
    return isinstance(left, Expression) and left is strip(comparison.right)
