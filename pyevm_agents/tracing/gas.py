"""A gas meter that records the charges of an opcode."""

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
    """py-evm's gas meter, with records of charges."""

    gas_remaining: int
    gas_refunded: int

    def __init__(self, start_gas: int, refund_strategy: RefundStrategy) -> None:
        super().__init__(start_gas, refund_strategy)
        self.requested_gas = 0
        """The charge that exceeded the remaining gas; 0 if none did."""

        self.last_charge = 0
        """The last charge."""

        self.lowest_gas = start_gas
        """Gas left after the last charge, before a rejected call returns its gas."""

    def consume_gas(self, amount: int, reason: str) -> None:
        """Charge gas."""
        self.requested_gas = amount
        super().consume_gas(amount, reason)
        self.requested_gas, self.last_charge = 0, amount
        self.lowest_gas = self.gas_remaining


def get_meter(computation: BaseComputation) -> TracedGasMeter:
    """Return the meter of a traced computation."""
    meter = computation.get_gas_meter()
    assert isinstance(meter, TracedGasMeter)  # noqa: S101 - set by the traced computation
    return meter


def constant_gas(computation: BaseComputation, op: int) -> int:
    """Return an opcode's constant gas, as in geth's division of the price."""
    if op in CALLS | READS_OF_ACCOUNTS:
        return WARM_STORAGE_READ_COST
    if op in CREATES:
        return GAS_CREATE
    if op in _PRICED_BY_ARGUMENTS or op not in computation.opcodes:
        return 0
    return int(unwrap(computation.opcodes[op]).gas_cost)


_PRICED_BY_ARGUMENTS = frozenset({0x0A, *range(0xA0, 0xA5)})
"""EXP and the LOGs."""
