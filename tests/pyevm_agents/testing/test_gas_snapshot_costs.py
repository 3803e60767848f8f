"""What agents cost."""

from __future__ import annotations

from dataclasses import astuple

from pyevm_agents.testing.gas_snapshot import NOTHING, Cost, cost_of, sum_of
from tests.pyevm_agents.testing.sample_runs import NESTED


def test_a_cost_is_that_of_its_steps() -> None:
    assert cost_of(NESTED[:2], 2_000_000) == Cost(
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
    parts = [cost_of(NESTED[:2], 2_000_000), cost_of(NESTED[2:], 5_000_000)]
    assert sum_of(parts) == cost_of(NESTED, 7_000_000)
    assert sum_of([]) == NOTHING
    assert set(astuple(NOTHING)) == {0}
