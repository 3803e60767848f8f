"""The time of a chain."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.config import MAX_TIMESTAMP_SECONDS
from pyevm_agents.errors import ConfigError
from pyevm_agents.node.clock import Clock


class World:
    """A clock that tests wind."""

    def __init__(self, seconds: float = 1_000.5) -> None:
        self.seconds = seconds

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def clock(world: World) -> Clock:
    return Clock(world)


def test_a_block_has_the_worlds_time_and_comes_after_its_parent(clock: Clock) -> None:
    assert clock.compute_next_timestamp(900) == 1_000
    assert clock.compute_next_timestamp(1_000) == 1_001
    assert clock.compute_next_timestamp(5_000) == 5_001


def test_increases_add_up(clock: Clock, world: World) -> None:
    assert clock.increase(100) == 100
    assert clock.increase(50) == 150
    assert clock.now_seconds() == 1_150
    world.seconds += 10
    assert clock.compute_next_timestamp(0) == 1_160


def test_the_next_blocks_time_holds_once_and_time_goes_on_from_it(
    clock: Clock, world: World
) -> None:
    clock.set_next(9_000, 900)
    assert clock.compute_next_timestamp(900) == 9_000
    clock.on_mined(9_000)
    world.seconds += 7
    assert clock.compute_next_timestamp(9_000) == 9_007


def test_a_block_that_was_not_told_its_time_moves_nothing(clock: Clock) -> None:
    clock.on_mined(5_000)
    assert clock.now_seconds() == 1_000


def test_set_now_says_how_far_it_moved(clock: Clock) -> None:
    clock.increase(100)
    assert clock.set_now(2_000) == 900
    assert clock.set_now(500) == -1_500
    assert clock.now_seconds() == 500


def test_an_interval_counts_from_the_parent_until_it_is_taken_back(clock: Clock) -> None:
    clock.set_interval(12)
    assert clock.compute_next_timestamp(70) == 82
    clock.set_next(90, 70)
    assert clock.compute_next_timestamp(70) == 90
    clock.on_mined(90)
    assert clock.compute_next_timestamp(90) == 102
    clock.set_interval(None)
    assert (
        clock.compute_next_timestamp(90) == 90 + int(1_000.5) - 1_000
        or clock.compute_next_timestamp(90) > 90
    )


@pytest.mark.parametrize("seconds", [-1, MAX_TIMESTAMP_SECONDS + 1])
def test_refuses_times_that_no_header_holds(clock: Clock, seconds: int) -> None:
    for change in (clock.set_now, lambda it: clock.set_next(it, -2), clock.increase):
        with pytest.raises(ConfigError, match="invalid block timestamp"):
            change(seconds if seconds > 0 else -2_000)


def test_refuses_a_next_time_that_is_not_after_the_parents(clock: Clock) -> None:
    with pytest.raises(ConfigError, match=r"70 is lower than or equal to .* timestamp 70"):
        clock.set_next(70, 70)


@given(
    changes=st.lists(
        st.tuples(st.sampled_from(["increase", "set_now", "interval"]), st.integers(0, 10**6))
    ),
    parent=st.integers(0, 10**7),
)
def test_a_block_always_comes_after_its_parent(changes: list[tuple[str, int]], parent: int) -> None:
    clock = Clock(World())
    for kind, seconds in changes:
        if kind == "increase":
            clock.increase(seconds)
        elif kind == "set_now":
            clock.set_now(seconds)
        else:
            clock.set_interval(seconds)
        assert clock.compute_next_timestamp(parent) > parent
