"""The least gas that a transaction succeeds with.

A first run with all the gas there is tells what each of its calls used, and so what it needs to go
the same way: what it uses, what a SSTORE asks to be left (EIP-2200), and what its calls need, of
which each gets at most 63 of 64 parts of what its caller has (EIP-150). Where the run did not see
how much gas it had (it called nobody, and executed no GAS), that is the least: with one less the
same path ends out of gas. Else two more runs tell whether it is, with that and with one less, and
where it is not, further runs: upwards until it succeeds, then between.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eth.constants import GAS_CALLSTIPEND
from eth.vm.opcode_values import GAS, SSTORE

from pyevm_agents.vm import AgentComputation
from pyevm_agents.vm.opcodes import STORE_LEAVES_GAS
from pyevm_agents.vm.stack_depth import iter_computations

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from eth.abc import ComputationAPI, SignedTransactionAPI
    from eth.exceptions import VMError

SEEING_INSTRUCTIONS = frozenset((GAS, SSTORE))
"""With which code sees what gas it has left, where the computation takes no note of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GasTrial:
    """How a transaction ended with a gas limit."""

    error: VMError | None
    """Why it failed; None where it succeeded."""

    needed_gas: int
    """What it needs to go the way that it went; refunds come later, and help nothing."""

    is_gas_independent: bool
    """Whether nothing that it did hung on how much gas it had beyond that."""

    @classmethod
    def from_computation(
        cls, transaction: SignedTransactionAPI, computation: ComputationAPI
    ) -> GasTrial:
        """Read off a computation how it ended."""
        if isinstance(computation, AgentComputation):
            sees_gas = computation.executed_gas_opcode
            needed = _total_gas_required(computation)
        else:
            sees_gas = not SEEING_INSTRUCTIONS.isdisjoint(computation.msg.code)
            needed = computation.msg.gas - computation.get_gas_remaining()
        return cls(
            error=computation.error if computation.is_error else None,
            needed_gas=transaction.gas - computation.msg.gas + needed,
            is_gas_independent=not computation.children
            and computation.msg.code_address not in computation.precompiles
            and not sees_gas,
        )


def _total_gas_required(computation: AgentComputation) -> int:
    """Return the gas that a call needs for itself and all that it calls to go as they went."""
    needed: dict[int, int] = {}
    for call in reversed([*iter_computations(computation)]):  # Whoever was called comes first.
        needed[id(call)] = _gas_required(call, needed)
    return needed[id(computation)]


def _gas_required(call: AgentComputation, needed: Mapping[int, int]) -> int:
    """Return the gas that a call needs, given what those that it called need."""
    if call.is_error and call.error.burns_gas:
        return 0  # It fails with less as well.
    gas = call.msg.gas
    least = gas - call.get_gas_remaining()
    if call.least_gas_at_store is not None:
        least = max(least, gas - call.least_gas_at_store + STORE_LEAVES_GAS)
    for child in () if call.is_error else call.children:
        assert isinstance(child, AgentComputation)  # noqa: S101 - as whoever called it
        message = child.msg
        is_paid_for = message.value and message.should_transfer_value and not message.is_create
        stipend = GAS_CALLSTIPEND if is_paid_for else 0
        had = child.gas_retained_by_caller + message.gas - stipend
        least = max(least, gas - had + _before_eip150(needed[id(child)] - stipend))
    return least


def _before_eip150(wanted: int) -> int:
    """Return the least gas of which 63 of 64 parts are so much (EIP-150)."""
    return wanted + (wanted - 1) // 63 if wanted > 0 else 0


def find_least_gas(attempt: Callable[[int], GasTrial], least: int, most: int) -> int:
    """Return a gas limit with which a transaction succeeds, and with one less it does not.

    Input:  what tries a limit; the least and the most that there may be.
    Raises: VMError: it fails with the most.
    """
    first = attempt(most)
    if first.error is not None:
        raise first.error
    enough = min(max(first.needed_gas, least), most)
    if first.is_gas_independent:
        return enough
    if enough < most and attempt(enough).error is not None:
        return _bisect(attempt, *_gallop(attempt, enough, most))
    if enough == least or attempt(enough - 1).error is not None:
        return enough
    return _bisect(attempt, least - 1, enough - 1)


def _gallop(attempt: Callable[[int], GasTrial], short: int, most: int) -> tuple[int, int]:
    """Return a limit that is too low and one that is not, in growing steps from a low one."""
    step = max(short // 64, 1)
    while short + step < most:
        if attempt(short + step).error is None:
            return short, short + step
        short, step = short + step, 2 * step
    return short, most


def _bisect(attempt: Callable[[int], GasTrial], short: int, enough: int) -> int:
    """Return the least that is enough, given a limit that is too low and one that is not."""
    while enough - short > 1:
        middle = (short + enough) // 2
        if attempt(middle).error is None:
            enough = middle
        else:
            short = middle
    return enough
