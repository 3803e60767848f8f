"""The chain's clock: time goes on from the head, as fast as wall-clock time.

A block has the clock's time, and comes after its parent. Whenever a block gets another time than
the clock's, because it was pushed after its parent or because its time was given, the clock moves
to that block. So the clock is never behind the head, and `increase` always moves the next block.

Source: Hardhat (NomicFoundation/hardhat#513); anvil for intervals.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import floor
from typing import TYPE_CHECKING

from pyevm_agents.config import MAX_TIMESTAMP_SECONDS
from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockSettings:
    """How the chain's time follows from wall-clock time."""

    offset_seconds: int = 0
    """Seconds by which the chain is ahead of wall-clock time."""

    earliest_seconds: int = 0
    """Time to which `increase` has moved the clock since the head; the next block is not before."""

    next_seconds: int | None = None
    """Exact timestamp of the next block, in Unix seconds; None to compute it."""

    interval_seconds: int | None = None
    """Seconds between a block and its parent, whatever the wall-clock time; None if not fixed."""


class Clock:
    """Computes block timestamps."""

    def __init__(self, now: Callable[[], float], head: Callable[[], int]) -> None:
        """Create a clock that shows wall-clock time.

        Input: now: returns the wall-clock time; head: returns the head's timestamp. Unix seconds.
        """
        self._now, self._head = now, head
        self.settings = ClockSettings()

    # -- the chain's time -- #

    def now_seconds(self) -> int:
        """Return the chain's time, in Unix seconds. With an interval, no time passes by itself."""
        settings = self.settings
        shown = 0 if settings.interval_seconds is not None else self._read_offset_time()
        return max(shown, settings.earliest_seconds, self._head())

    def _read_offset_time(self) -> int:
        return min(floor(self._now()) + self.settings.offset_seconds, MAX_TIMESTAMP_SECONDS)

    def compute_next_timestamp(self, parent_seconds: int) -> int:
        """Return the timestamp of a block on this parent; always after the parent's."""
        settings = self.settings
        if settings.next_seconds is not None:
            wanted = settings.next_seconds
        elif settings.interval_seconds is not None:
            wanted = max(parent_seconds + settings.interval_seconds, settings.earliest_seconds)
        else:
            wanted = max(self._read_offset_time(), settings.earliest_seconds)
        return max(wanted, parent_seconds + 1)

    def compute_time_after(self, seconds: int) -> int | None:
        """Return the timestamp of a block that is made after this many seconds.

        Output: None if the timestamp of the next block, or the interval between blocks, is set: it
            holds. Source: anvil, `anvil_mine`.
        """
        settings = self.settings
        if settings.next_seconds is not None or settings.interval_seconds is not None:
            return None
        return max(self.now_seconds() + seconds, self._head() + 1)

    def has_left_head(self) -> bool:
        """Whether the next block needs no push: its time is not the second of the head."""
        settings = self.settings
        is_set = settings.next_seconds is not None or settings.interval_seconds is not None
        return is_set or self._read_offset_time() != self._head()

    # -- blocks -- #

    def continue_from_head(self, since_seconds: float | None = None) -> None:
        """Continue from the head's timestamp, as the clock of a fork does. Source: anvil.

        Input: since_seconds: the wall-clock time at which the head was made; by default now.
        """
        since = self._now() if since_seconds is None else since_seconds
        offset = self._head() - floor(since)
        self.settings = replace(self.settings, offset_seconds=offset, earliest_seconds=0)

    def restart(self, since_seconds: float | None = None) -> None:
        """Remove all settings, and continue from the head; see `continue_from_head`."""
        self.settings = ClockSettings()
        self.continue_from_head(since_seconds)

    def on_mined(self) -> None:
        """Continue from the new head if its timestamp was set, or is later than the clock's time.

        A block of the clock's own time leaves the clock alone: time has passed while it was made.
        """
        settings = self.settings
        is_set = settings.next_seconds is not None or settings.interval_seconds is not None
        self.settings = replace(settings, next_seconds=None, earliest_seconds=0)
        if is_set or self._head() > self._read_offset_time():
            self.continue_from_head()

    @contextmanager
    def fix_next(self, timestamp_seconds: int | None) -> Iterator[None]:
        """Fix the timestamp of the block that is mined inside of `with`.

        Without a block, the settings are as before. Only the write queue's thread calls this.

        Input: timestamp_seconds: None to leave the timestamp to the clock.
        Raises: see `set_next`.
        """
        before = self.settings
        if timestamp_seconds is not None:
            self.set_next(timestamp_seconds)
        fixed = self.settings
        try:
            yield
        finally:
            if self.settings is fixed:
                self.settings = before

    # -- settings -- #

    def checkpoint(self) -> Callable[[], None]:
        """Return a function that goes back to the current settings and the current time.

        Source: Hardhat, `revertToSnapshot`.
        """
        settings, wall_seconds = self.settings, floor(self._now())

        def restore() -> None:
            passed = floor(self._now()) - wall_seconds
            self.settings = replace(settings, offset_seconds=settings.offset_seconds - passed)

        return restore

    def increase(self, seconds: int) -> int:
        """Move the chain's time forward; return the offset to wall-clock time, in seconds.

        Raises: ConfigError: the time would exceed `MAX_TIMESTAMP_SECONDS`.
        """
        after = self.now_seconds() + seconds
        self._move_to(after)
        self.settings = replace(self.settings, earliest_seconds=after)
        return self.settings.offset_seconds

    def set_now(self, timestamp_seconds: int) -> int:
        """Set the chain's current time, but not before the head; return the change, in seconds.

        An interval between blocks holds nevertheless. Source: anvil.

        Raises: ConfigError: the time is negative or above `MAX_TIMESTAMP_SECONDS`.
        """
        _require_valid_timestamp(timestamp_seconds)
        before, after = self.now_seconds(), max(timestamp_seconds, self._head())
        self._move_to(after)
        return after - before

    def _move_to(self, timestamp_seconds: int) -> None:
        _require_valid_timestamp(timestamp_seconds)
        offset = timestamp_seconds - floor(self._now())
        self.settings = replace(self.settings, offset_seconds=offset, earliest_seconds=0)

    def set_next(self, timestamp_seconds: int) -> None:
        """Set the next block's timestamp.

        Raises: ConfigError: not after the head's, or above `MAX_TIMESTAMP_SECONDS`.
        """
        _require_valid_timestamp(timestamp_seconds)
        head_seconds = self._head()
        if timestamp_seconds <= head_seconds:
            raise ConfigError(
                f"Timestamp error: {timestamp_seconds} is lower than or equal to previous block's "
                f"timestamp {head_seconds}"
            )
        self.settings = replace(self.settings, next_seconds=timestamp_seconds)

    def set_interval(self, seconds: int | None) -> None:
        """Fix the seconds between blocks; None to follow wall-clock time again."""
        self.settings = replace(self.settings, interval_seconds=seconds)


def _require_valid_timestamp(timestamp_seconds: int) -> None:
    if not 0 <= timestamp_seconds <= MAX_TIMESTAMP_SECONDS:
        raise ConfigError(
            f"invalid block timestamp {timestamp_seconds}: must be 0 to {MAX_TIMESTAMP_SECONDS} "
            "(Unix seconds)"
        )
