"""Amounts of tokens and ether that a simulated call moves, and the values that gave each."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from eth.vm import opcode_values as op

from precompiles.spec import WORD_BYTES
from pyevm_agents.contract_intelligence.asset_needs import is_item_token
from pyevm_agents.contract_intelligence.caller_taint import Expression
from pyevm_agents.contract_intelligence.capabilities import NATIVE_UNIT
from pyevm_agents.contract_intelligence.conditions import MAX_DEPTH, strip
from pyevm_agents.contract_intelligence.item_transfers import TRANSFER_FROM
from pyevm_agents.contract_intelligence.probe import to_hex_address

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyevm_agents.contract_intelligence.calldata_layout import CalldataLeaf
    from pyevm_agents.contract_intelligence.probe import Prober, ProbeResult

TRANSFER = bytes.fromhex("a9059cbb")
"""`transfer(address,uint256)`."""

AMOUNT_OFFSETS = {TRANSFER: 36, TRANSFER_FROM: 68}
"""Where the amount stands in the calldata of a token."""

_SCALES = frozenset({op.MUL, op.DIV, op.SDIV, op.MULMOD})


class Origin(IntEnum):
    """The way from a number of the calldata to an amount that moves, as far as known."""

    SCALED = 0
    """It was multiplied with, or divided by, something that is no constant: another unit."""

    UNKNOWN = 1
    UNCHANGED = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Movement:
    """An amount of a token, or of ether, that a call moved."""

    token: str
    """An address, or `native`."""

    amount: int
    word: Expression | None = None
    """What the amount was computed from, if it is traced."""

    def trace(self, leaf: CalldataLeaf) -> Origin:
        """Return how the amount comes from a number of the calldata."""
        bare = None if self.word is None else strip(self.word)
        if not isinstance(bare, Expression):
            return Origin.UNKNOWN
        if bare.op == op.CALLDATALOAD and bare.offset == leaf.offset:
            return Origin.UNCHANGED
        return Origin.SCALED if _is_scaled(bare) else Origin.UNKNOWN


def list_movements(
    prober: Prober, result: ProbeResult, *, with_failed: bool = False
) -> list[Movement]:
    """Return the amounts that a call moved: ether, tokens by calls, and tokens by logs alone.

    Input: whether inner calls count that failed, for want of a balance or an approval.
    """
    moved = [*_iter_called(prober, result, with_failed=with_failed)]
    called = {(each.token, each.amount) for each in moved}
    for entry in result.list_transfers():
        if entry.token is not None and not entry.is_item:
            token = to_hex_address(bytes(entry.token))
            if (token, entry.amount) not in called:
                moved.append(Movement(token=token, amount=entry.amount))
    return moved


def _iter_called(prober: Prober, result: ProbeResult, *, with_failed: bool) -> Iterator[Movement]:
    """Yield the amounts that inner calls moved."""
    for call in result.list_calls()[1:]:
        if call.is_error and not with_failed:
            continue
        if call.value_wei and call.account != call.sender:
            yield Movement(token=NATIVE_UNIT, amount=call.value_wei, word=call.value_taint)
        offset = AMOUNT_OFFSETS.get(call.data[:4], 0) if call.kind == op.CALL else 0
        has_code = bool(offset) and bool(prober.chain.code(call.account))
        if has_code and not is_item_token(prober, call, result):
            yield Movement(
                token=to_hex_address(bytes(call.account)),
                amount=int.from_bytes(call.data[offset : offset + WORD_BYTES], "big"),
                word=call.data_taint.read(offset),
            )


def _is_scaled(word: Expression, depth: int = 0) -> bool:
    """Whether a value was multiplied with, or divided by, another one that is no constant."""
    inner = [each for each in word.operands if isinstance(each, Expression)]
    if word.op in _SCALES and len(inner) > 1:
        return True
    if depth > MAX_DEPTH or word.op in {op.SLOAD, op.SHA3}:
        return False
    return any(_is_scaled(each, depth + 1) for each in inner)
