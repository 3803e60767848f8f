"""The least gas that a transaction succeeds with.

A first run with all the gas there is tells what it uses. Where the run did not see how much gas it
had (it called nobody, and executed no GAS), that is the least, or what a SSTORE asked to be left
(EIP-2200) where it is more: with one less the same path ends out of gas. Else it is tried with one
less too, as callers pass on at most 63 of 64 parts (EIP-150): upwards until it succeeds, then
between.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eth.vm.opcode_values import GAS, SSTORE

from pyevm_agents.opcodes import STORE_LEAVES_GAS
from pyevm_agents.vm import AgentComputation

if TYPE_CHECKING:
    from collections.abc import Callable

    from eth.abc import ComputationAPI, SignedTransactionAPI
    from eth.exceptions import VMError

SEEING_INSTRUCTIONS = frozenset((GAS, SSTORE))
"""With which code sees what gas it has left, where the computation takes no note of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """How a transaction ended with a gas limit."""

    error: VMError | None
    """Why it failed; None where it succeeded."""

    needed_gas: int
    """What was used at its end, before refunds, or what a SSTORE needed: it never succeeds with
    less by the same path."""

    is_blind: bool
    """Whether nothing that it did hung on how much gas it had beyond that."""

    @classmethod
    def of(cls, transaction: SignedTransactionAPI, computation: ComputationAPI) -> Trial:
        """Read off a computation how it ended."""
        needed = transaction.gas - computation.get_gas_remaining()
        if isinstance(computation, AgentComputation):
            sees_gas = computation.saw_gas
            least_left = computation.least_gas_at_store
            if least_left is not None:
                needed = max(needed, transaction.gas - least_left + STORE_LEAVES_GAS)
        else:
            sees_gas = not SEEING_INSTRUCTIONS.isdisjoint(computation.msg.code)
        return cls(
            error=computation.error if computation.is_error else None,
            needed_gas=needed,
            is_blind=not computation.children
            and computation.msg.code_address not in computation.precompiles
            and not sees_gas,
        )


def least_gas(attempt: Callable[[int], Trial], least: int, most: int) -> int:
    """Return a gas limit with which a transaction succeeds, and with one less it does not.

    Input:  what tries a limit; the least and the most that there may be.
    Raises: VMError: it fails with the most.
    """
    first = attempt(most)
    if first.error is not None:
        raise first.error
    enough = min(max(first.needed_gas, least), most)
    if first.is_blind:
        return enough
    if enough < most and attempt(enough).error is not None:
        return _between(attempt, *_climb(attempt, enough, most))
    if enough == least or attempt(enough - 1).error is not None:
        return enough
    return _between(attempt, least - 1, enough - 1)


def _climb(attempt: Callable[[int], Trial], short: int, most: int) -> tuple[int, int]:
    """Return a limit that is too low and one that is not, in growing steps from a low one."""
    step = max(short // 64, 1)
    while short + step < most:
        if attempt(short + step).error is None:
            return short, short + step
        short, step = short + step, 2 * step
    return short, most


def _between(attempt: Callable[[int], Trial], short: int, enough: int) -> int:
    """Return the least that is enough, given a limit that is too low and one that is not."""
    while enough - short > 1:
        middle = (short + enough) // 2
        if attempt(middle).error is None:
            enough = middle
        else:
            short = middle
    return enough
