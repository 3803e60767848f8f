"""The least gas that a transaction succeeds with.

A first run with all the gas there is tells what it uses. Where the run can't see how much gas it
has (it calls nobody, and has no GAS instruction), that is the least: with one less the same path
ends out of gas. Storing asks for more to be left than it takes (EIP-2200), so that is tried. Else
it is tried with one less too, as callers pass on at most 63 of 64 parts (EIP-150) and a refund
comes at the end only: upwards until it succeeds, then between.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from eth.abc import ComputationAPI, SignedTransactionAPI
    from eth.exceptions import VMError

GAS_INSTRUCTION = b"\x5a"
"""GAS, with which code sees what gas it has left."""

STORE_INSTRUCTION = b"\x55"
"""SSTORE, which fails with 2,300 gas left or less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """How a transaction ended with a gas limit."""

    error: VMError | None
    """Why it failed; None where it succeeded."""

    used_gas: int
    """What was used at its end, before refunds: it never succeeds with less by the same path."""

    is_blind: bool
    """Whether it could not see how much gas it had."""

    stores: bool
    """Whether it may have stored something."""

    @classmethod
    def of(cls, transaction: SignedTransactionAPI, computation: ComputationAPI) -> Trial:
        """Read off a computation how it ended."""
        used = transaction.gas - computation.get_gas_remaining()
        message = computation.msg
        return cls(
            error=computation.error if computation.is_error else None,
            used_gas=used,
            is_blind=not computation.children
            and message.code_address not in computation.precompiles
            and GAS_INSTRUCTION not in message.code,
            stores=STORE_INSTRUCTION in message.code,
        )


def least_gas(attempt: Callable[[int], Trial], least: int, most: int) -> int:
    """Return a gas limit with which a transaction succeeds, and with one less it does not.

    Input:  what tries a limit; the least and the most that there may be.
    Raises: VMError: it fails with the most.
    """
    first = attempt(most)
    if first.error is not None:
        raise first.error
    enough = min(max(first.used_gas, least), most)
    if first.is_blind and not first.stores:
        return enough
    if enough < most and attempt(enough).error is not None:
        return _between(attempt, *_climb(attempt, enough, most))
    if first.is_blind or enough == least or attempt(enough - 1).error is not None:
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
