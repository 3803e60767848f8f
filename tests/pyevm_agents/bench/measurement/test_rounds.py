"""Rounds: everything once, then everything again."""

from __future__ import annotations

import pytest

from pyevm_agents.bench.measurement.rounds import spread_rounds


@pytest.mark.parametrize(
    ("count", "rounds", "chosen"),
    [
        (0, 5, set()),
        (1, 5, {0}),
        (2, 5, {0, 4}),
        (3, 5, {0, 2, 4}),
        (5, 5, {0, 1, 2, 3, 4}),
        (1, 1, {0}),
    ],
)
def test_some_of_the_rounds_lie_far_apart(count: int, rounds: int, chosen: set[int]) -> None:
    assert spread_rounds(count, rounds) == chosen
