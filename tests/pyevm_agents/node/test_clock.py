"""The time of a chain: the clock alone. `rpc/test_chain_time.py` has it behind the requests."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.config import MAX_TIMESTAMP_SECONDS
from pyevm_agents.errors import ConfigError
from pyevm_agents.node.clock import Clock


class World:
    """Wall-clock time and a head, both moved by the test."""

    def __init__(self) -> None:
        self.seconds = 1_000.5
        self.head_seconds = 900
        self.clock = Clock(lambda: self.seconds, lambda: self.head_seconds)

    def mine(self, at: int | None = None, *, takes: float = 0) -> int:
        """Make a block; return the seconds since its parent."""
        parent = self.head_seconds
        with self.clock.fix_next(at):
            timestamp = self.clock.compute_next_timestamp(parent)
            self.seconds += takes
            self.head_seconds = timestamp
            self.clock.on_mined()
        return timestamp - parent


@pytest.fixture
def world() -> World:
    """A world whose chain has just begun."""
    world = World()
    world.clock.restart()
    return world


def test_a_clock_shows_the_worlds_time_until_it_is_moved() -> None:
    clock = World().clock
    assert clock.now_seconds() == 1_000
    assert clock.compute_next_timestamp(900) == 1_000
    assert clock.compute_next_timestamp(1_000) == 1_001


def test_a_chain_begins_when_its_owner_says() -> None:
    world = World()
    world.clock.restart(since_seconds=990)
    assert world.clock.now_seconds() == 910


def test_increases_add_up(world: World) -> None:
    assert world.clock.increase(100) == 0  # The chain was 100 seconds behind.
    assert world.clock.increase(50) == 50
    world.seconds += 10
    assert world.mine() == 160


def test_time_passes_while_a_block_is_made(world: World) -> None:
    world.seconds += 5
    assert world.mine(takes=30) == 5
    assert world.mine() == 30


def test_a_block_that_fails_leaves_the_clock_as_it_was(world: World) -> None:
    world.clock.set_next(1_500)
    before = world.clock.settings
    with suppress(ZeroDivisionError), world.clock.fix_next(2_000):
        assert world.clock.compute_next_timestamp(900) == 2_000
        raise ZeroDivisionError
    assert world.clock.settings is before


def test_set_now_says_how_far_it_moved_and_does_not_go_behind_the_head(world: World) -> None:
    assert world.clock.set_now(2_000) == 1_100
    assert world.clock.set_now(1_000) == -1_000
    assert world.clock.set_now(500) == -100
    assert world.mine() == 1
    world.seconds += 3
    assert world.mine() == 3


def test_an_interval_counts_from_the_parent_until_it_is_taken_back(world: World) -> None:
    world.clock.set_interval(12)
    world.seconds += 500
    assert world.mine() == 12
    assert world.mine(at=world.head_seconds + 90) == 90
    world.clock.increase(5)
    assert world.mine() == 12
    world.clock.increase(30)
    world.clock.increase(30)
    assert world.mine() == 60
    world.clock.set_interval(None)
    world.seconds += 7
    assert world.mine() == 7


def test_the_world_may_be_set_back(world: World) -> None:
    world.seconds -= 500
    assert world.mine() == 1
    world.seconds -= 500
    world.clock.increase(60)
    assert world.mine() == 60
    world.seconds += 3
    assert world.mine() == 3


def test_time_ends_with_the_last_timestamp(world: World) -> None:
    world.clock.set_now(MAX_TIMESTAMP_SECONDS)
    world.seconds += 10
    assert world.clock.increase(0) == MAX_TIMESTAMP_SECONDS - 1_010
    assert world.mine() == MAX_TIMESTAMP_SECONDS - 900


def test_a_restored_clock_goes_on_from_the_time_of_its_snapshot(world: World) -> None:
    world.clock.increase(40)
    restore = world.clock.checkpoint()
    world.clock.set_interval(7)
    world.seconds += 1_000
    restore()
    assert world.mine() == 40


@pytest.mark.parametrize("seconds", [-1, MAX_TIMESTAMP_SECONDS + 1])
def test_refuses_times_that_no_header_holds(world: World, seconds: int) -> None:
    before = world.clock.settings
    for change in (world.clock.set_now, world.clock.set_next):
        with pytest.raises(ConfigError, match="invalid block timestamp"):
            change(seconds)
    with pytest.raises(ConfigError, match="invalid block timestamp"):
        world.clock.increase(MAX_TIMESTAMP_SECONDS)
    assert world.clock.settings is before


@pytest.mark.parametrize("seconds", [899, 900])
def test_refuses_a_next_time_that_is_not_after_the_heads(world: World, seconds: int) -> None:
    with pytest.raises(ConfigError, match=rf"{seconds} is lower than or equal to .* 900"):
        world.clock.set_next(seconds)


@given(
    changes=st.lists(
        st.tuples(
            st.sampled_from(["increase", "set_now", "set_interval", "wait", "mine", "mine_at"]),
            st.integers(0, 10**6),
        )
    ),
    seconds=st.integers(1, 10**6),
)
def test_after_any_history_the_next_block_is_as_late_as_was_asked(
    changes: list[tuple[str, int]], seconds: int
) -> None:
    world = World()
    for kind, number in changes:
        if kind == "wait":
            world.seconds += number - 5 * 10**5  # Wall clocks are set back, too.
        elif kind == "mine":
            assert world.mine() > 0
        elif kind == "mine_at":
            assert world.mine(at=world.head_seconds + number + 1) == number + 1
        else:
            getattr(world.clock, kind)(number)
    world.clock.increase(seconds)
    assert world.mine() >= seconds
    world.clock.set_interval(None)
    world.seconds += seconds
    assert world.mine() == seconds
