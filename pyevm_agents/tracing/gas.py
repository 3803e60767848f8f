"""A gas meter that remembers what an opcode asked of it."""

from __future__ import annotations

from inspect import unwrap
from typing import TYPE_CHECKING

from eth.constants import GAS_CREATE
from eth.vm.forks.berlin.constants import WARM_STORAGE_READ_COST
from eth.vm.gas_meter import GasMeter

from pyevm_agents.tracing.opcodes import CALLS, CREATES, READS_OF_ACCOUNTS

if TYPE_CHECKING:
    from eth.vm.computation import BaseComputation
    from eth.vm.gas_meter import RefundStrategy


class TracedGasMeter(GasMeter):
    """Counts as py-evm's does."""

    gas_remaining: int
    gas_refunded: int

    def __init__(self, start_gas: int, refund_strategy: RefundStrategy) -> None:
        """Begin with all of the gas."""
        super().__init__(start_gas, refund_strategy)
        self.requested_gas = 0
        """The amount that is asked for and not there; 0 where none is."""

        self.last_charge = 0
        """The amount that was taken last."""

        self.lowest_gas = start_gas
        """Gas left after the last charge: what a refused call is given back comes later."""

    def consume_gas(self, amount: int, reason: str) -> None:
        """Take gas, as py-evm's meter does."""
        self.requested_gas = amount
        super().consume_gas(amount, reason)
        self.requested_gas, self.last_charge = 0, amount
        self.lowest_gas = self.gas_remaining


def get_meter(computation: BaseComputation) -> TracedGasMeter:
    """Return a traced computation's meter."""
    meter = computation.get_gas_meter()
    assert isinstance(meter, TracedGasMeter)  # noqa: S101 - a traced computation has no other
    return meter


def constant_gas(computation: BaseComputation, op: int) -> int:
    """Return what an opcode costs whatever its arguments are, as geth divides its price."""
    if op in CALLS | READS_OF_ACCOUNTS:
        return WARM_STORAGE_READ_COST
    if op in CREATES:
        return GAS_CREATE
    if op in _PRICED_BY_ARGUMENTS or op not in computation.opcodes:
        return 0
    return int(unwrap(computation.opcodes[op]).gas_cost)


_PRICED_BY_ARGUMENTS = frozenset({0x0A, *range(0xA0, 0xA5)})
"""EXP and the LOGs."""
