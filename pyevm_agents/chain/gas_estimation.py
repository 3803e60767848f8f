"""Gas estimation: the least gas limit with which a transaction succeeds.

A first run with the maximum shows the usage of each call, and thus the requirement of the same
path: the gas used, the gas that SSTORE requires to be left (EIP-2200), and the gas of nested calls,
each of which gets at most 63/64 of its caller's (EIP-150). If the run could not observe gas (no
nested calls, no GAS instruction), that is the least limit. Otherwise two more runs verify the
limit, with this value and with one less. If that fails, a gallop upwards and a bisection follow.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from eth.constants import GAS_CALLSTIPEND
from eth.vm.opcode_values import GAS, SSTORE

from pyevm_agents.vm import AgentComputation
from pyevm_agents.vm.interpreter import STORE_LEAVES_GAS
from pyevm_agents.vm.stack_depth import iter_computations

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from eth.abc import ComputationAPI, SignedTransactionAPI
    from eth.exceptions import VMError

SEEING_INSTRUCTIONS = frozenset((GAS, SSTORE))
"""Instructions that observe the remaining gas, for computations that do not record their use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GasTrial:
    """The outcome of a transaction with a gas limit."""

    error: VMError | None
    """None if it succeeded."""

    needed_gas: int
    """Gas that the same path requires. Refunds come after execution and do not reduce it."""

    is_gas_independent: bool
    """Whether the path could not depend on the gas beyond `needed_gas`."""

    @classmethod
    def from_computation(
        cls, transaction: SignedTransactionAPI, computation: ComputationAPI
    ) -> GasTrial:
        """Return the outcome of an executed transaction."""
        trial = cls.from_call(computation)
        intrinsic_gas = transaction.gas - computation.msg.gas
        return replace(trial, needed_gas=intrinsic_gas + trial.needed_gas)

    @classmethod
    def from_call(cls, computation: ComputationAPI) -> GasTrial:
        """Return the outcome of a call, whose limit is that of the message."""
        if isinstance(computation, AgentComputation):
            sees_gas = computation.executed_gas_opcode
            needed = _total_gas_required(computation)
        else:
            sees_gas = not SEEING_INSTRUCTIONS.isdisjoint(computation.msg.code)
            needed = computation.msg.gas - computation.get_gas_remaining()
        return cls(
            error=computation.error if computation.is_error else None,
            needed_gas=needed,
            is_gas_independent=not computation.children
            and computation.msg.code_address not in computation.precompiles
            and not sees_gas,
        )


def _total_gas_required(computation: AgentComputation) -> int:
    """Return the gas that a call and nested calls require for the same path."""
    needed: dict[int, int] = {}
    for call in reversed([*iter_computations(computation)]):  # Callees before callers.
        needed[id(call)] = _gas_required(call, needed)
    return needed[id(computation)]


def _gas_required(call: AgentComputation, needed: Mapping[int, int]) -> int:
    """Return the gas that a call requires, given that of nested calls."""
    if call.is_error and call.error.burns_gas:
        return 0  # It fails with less as well.
    gas = call.msg.gas
    least = gas - call.get_gas_remaining()
    if call.least_gas_at_store is not None:
        least = max(least, gas - call.least_gas_at_store + STORE_LEAVES_GAS)
    for child in () if call.is_error else call.children:
        assert isinstance(child, AgentComputation)  # noqa: S101 - of its caller's class
        message = child.msg
        is_paid_for = message.value and message.should_transfer_value and not message.is_create
        stipend = GAS_CALLSTIPEND if is_paid_for else 0
        had = child.gas_retained_by_caller + message.gas - stipend
        least = max(least, gas - had + _before_eip150(needed[id(child)] - stipend))
    return least


def _before_eip150(wanted: int) -> int:
    """Return the least gas of which 63/64 are `wanted` (EIP-150)."""
    return wanted + (wanted - 1) // 63 if wanted > 0 else 0


def find_least_gas(attempt: Callable[[int], GasTrial], least: int, most: int) -> int:
    """Return a gas limit with which a transaction succeeds, while with one less it fails.

    Input:
        attempt: executes the transaction with a limit.
        least, most: bounds of the limit.

    Raises: VMError: the transaction fails with `most`.
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
    """Return a limit that is too low and one that is enough, in growing steps from `short`."""
    step = max(short // 64, 1)
    while short + step < most:
        if attempt(short + step).error is None:
            return short, short + step
        short, step = short + step, 2 * step
    return short, most


def _bisect(attempt: Callable[[int], GasTrial], short: int, enough: int) -> int:
    """Return the least limit that is enough, between one too low and one that is enough."""
    while enough - short > 1:
        middle = (short + enough) // 2
        if attempt(middle).error is None:
            enough = middle
        else:
            short = middle
    return enough
