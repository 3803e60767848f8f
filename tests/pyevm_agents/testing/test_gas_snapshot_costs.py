"""Costs of agents."""

from __future__ import annotations

from dataclasses import astuple

from pyevm_agents.testing.gas_snapshot import ZERO_COST, AgentCost, compute_cost, sum_costs
from tests.pyevm_agents.testing.sample_runs import NESTED


def test_a_cost_is_that_of_its_steps() -> None:
    assert compute_cost(NESTED[:2], 2_000_000) == AgentCost(
        gas=2_000_000,
        evm=393_600,
        prompt=1_206_400,
        output=400_000,
        steps=2,
        cold_tokens=200,
        warm_tokens=64,
        output_tokens=40,
    )


def test_costs_add_up() -> None:
    parts = [compute_cost(NESTED[:2], 2_000_000), compute_cost(NESTED[2:], 5_000_000)]
    assert sum_costs(parts) == compute_cost(NESTED, 7_000_000)
    assert sum_costs([]) == ZERO_COST
    assert set(astuple(ZERO_COST)) == {0}
