"""What a transaction costs under any of our schedules: counts times prices, and the EVM's own gas.

The executor charges nothing else, so this equals what a chain charges that asks as much for a
metadata read at most. Tests hold it against chains: runs, and every attack, which is aimed anew
there where its gas is to end. Refunds stay what they were: a schedule changes no storage.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyevm_agents.bench.measurement.results import Cost

if TYPE_CHECKING:
    from collections.abc import Iterable

    from precompiles.gas import Schedule
    from precompiles.language_model import ModelProfile
    from pyevm_agents.bench.measurement.usage import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """A schedule with a model's prices of tokens, under the name that a report gives them."""

    name: str
    schedule: Schedule
    profile: ModelProfile

    def cost(self, usage: Usage) -> Cost:
        """Return what a transaction costs."""
        return Cost(schedule=self.name, gas=gas_of(usage, self.schedule, self.profile))


def executor_gas(usage: Usage, schedule: Schedule, profile: ModelProfile) -> int:
    """Return what the executor charges for its own terms."""
    return (
        usage.calls * schedule.executor_base_gas
        + usage.input_bytes * schedule.input_byte_gas
        + schedule.grammar_gas(usage.tools, usage.parameters)
        + usage.cold_tokens * profile.cold_prompt_token_gas
        + usage.warm_tokens * profile.warm_prompt_token_gas
        + usage.output_tokens * profile.output_token_gas
    )


def gas_of(usage: Usage, schedule: Schedule, profile: ModelProfile) -> int:
    """Return what a transaction costs: the EVM's gas, and the executor's."""
    return usage.evm_gas + executor_gas(usage, schedule, profile)


def with_evm_gas(usage: Usage, gas_used: int, schedule: Schedule, profile: ModelProfile) -> Usage:
    """Return the counts of a transaction with the gas that the executor did not charge for them.

    Input:
        gas_used: of the receipt, on a chain with that schedule.

    Raises: ValueError: it is less than the executor's own terms cost.
    """
    evm_gas = gas_used - executor_gas(usage, schedule, profile)
    if evm_gas < 0:
        raise ValueError(
            f"{gas_used} gas were used, {-evm_gas} less than the executor charges for {usage}; "
            "pass the schedule and the prices of the chain that it ran on"
        )
    return replace(usage, evm_gas=evm_gas)


def compute_costs(usage: Usage, prices: Iterable[Prices]) -> tuple[Cost, ...]:
    """Return what a transaction costs under each schedule."""
    return tuple(each.cost(usage) for each in prices)
