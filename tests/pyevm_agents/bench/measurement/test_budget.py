"""The time budget: less work, never fewer than two samples."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, cast

import pytest

from pyevm_agents.bench.measurement.budget import QUICK_BUDGET_S, TimeBudget, estimate_seconds
from pyevm_agents.bench.measurement.rounds import BenchSettings, time_in_rounds
from tests.pyevm_agents.bench.observers import Counting

if TYPE_CHECKING:
    from pyevm_agents.models import LlamaModel


@pytest.mark.parametrize(
    ("seconds", "rounds"),
    [(float("inf"), 7), (100.0, 7), (3.5, 5), (0.5, 2)],
)
def test_rounds_beyond_two_are_skipped_where_the_time_is_over(seconds: float, rounds: int) -> None:
    clock = count()
    budget = TimeBudget(seconds, clock=lambda: float(next(clock)))
    setting = BenchSettings(
        model=cast("LlamaModel", None), observer=Counting(), is_quick=False, budget=budget
    )
    assert {*map(len, time_in_rounds(setting, {"a": lambda: 1.0}).values())} == {rounds}


def test_a_share_of_the_budget_is_over_before_all_of_it() -> None:
    now = [0.0]
    budget = TimeBudget(100.0, clock=lambda: now[0])
    now[0] = 60.0
    assert budget.is_spent(0.5)
    assert not budget.is_spent()
    budget.skipped.append("the run nested")
    assert budget.list_skipped() == (("the run nested", "out of time after 100 s"),)


@pytest.mark.parametrize(
    ("is_quick", "load", "seconds"),
    [
        (True, 0.0, 87.0),
        (True, 1.0, 120.0),
        (True, 3.0, QUICK_BUDGET_S),
        (True, 10.0, 261.0),
        (False, 2.0, 1_820.0),
    ],
)
def test_the_estimate_grows_with_the_load(is_quick: bool, load: float, seconds: float) -> None:
    assert estimate_seconds(is_quick=is_quick, load_average=load, cores=2) == seconds
