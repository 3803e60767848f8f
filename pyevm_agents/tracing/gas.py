"""A gas meter that records the charges of an opcode, and the reasons why gas does not suffice."""

from __future__ import annotations

from inspect import unwrap
from typing import TYPE_CHECKING

from eth.constants import GAS_CREATE, UINT_64_MAX
from eth.vm.forks.berlin.constants import WARM_STORAGE_READ_COST
from eth.vm.gas_meter import GasMeter
from eth.vm.stack import to_int

from precompiles.spec import WORD_BYTES
from pyevm_agents.tracing.error_messages import (
    GAS_OVERFLOW,
    NO_GAS_FOR_MEMORY,
    NO_GAS_FOR_SSTORE,
    OUT_OF_GAS,
    describe_initcode_error,
)
from pyevm_agents.tracing.opcodes import (
    CALL,
    CALLCODE,
    CALLS,
    CREATES,
    LOGS,
    READS_OF_ACCOUNTS,
    SSTORE,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

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


_PRICED_BY_ARGUMENTS = LOGS | {0x0A}
"""The LOGs and EXP."""

REORDERED = CALLS | CREATES | LOGS
"""Opcodes whose sizes py-evm checks after other charges."""


MAX_PRICED_MEMORY_BYTES = 0x1FFFFFFFE0
"""The most memory whose price geth computes: that of more would exceed 64 bits.

Source: geth, `core/vm/gas_table.go`, `memoryGasCost`.
"""


def explain_out_of_gas(
    computation: BaseComputation,
    op: int,
    *,
    memory_bytes: int,
    gas: int,
    arguments: Sequence[int | bytes],
) -> str:
    """Return geth's message for an opcode that there was too little gas for.

    geth checks sizes after it charges the opcode's constant gas, and before all other charges.

    Input: the opcode; the memory that it requested; of a call, a creation or a log, which py-evm
           charges in another order, the gas before and the top seven stack items, the top last.
    """
    if op == SSTORE and get_meter(computation).requested_gas == 0:
        return NO_GAS_FOR_SSTORE  # No charge failed: EIP-2200 asks for more gas than the price.
    values: list[int] = []
    if op in REORDERED:
        if gas < constant_gas(computation, op):
            return OUT_OF_GAS
        values = [to_int(value) for value in reversed(arguments)]
        memory_bytes = _compute_needed_memory(op, values)
    if memory_bytes > UINT_64_MAX - (WORD_BYTES - 1):
        return GAS_OVERFLOW
    if memory_bytes > MAX_PRICED_MEMORY_BYTES:
        return NO_GAS_FOR_MEMORY
    if op in CREATES:
        limit = 2 * getattr(computation, "code_size_bytes", UINT_64_MAX)
        if values[2] > limit:
            return describe_initcode_error(values[2], limit)
    return OUT_OF_GAS


def _compute_needed_memory(op: int, values: Sequence[int]) -> int:
    """Return the memory that a call, a creation or a log needs, from the stack, the top first."""
    if op in LOGS:
        ranges = [values[:2]]
    elif op in CREATES:
        ranges = [values[1:3]]
    else:
        first = 3 if op in {CALL, CALLCODE} else 2
        ranges = [values[first : first + 2], values[first + 2 : first + 4]]
    return max(start + size if size else 0 for start, size in ranges)
