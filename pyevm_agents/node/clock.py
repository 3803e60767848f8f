"""The chain's clock: wall-clock time with an offset, a fixed next timestamp or a fixed interval."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyevm_agents.config import MAX_TIMESTAMP_SECONDS
from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockSettings:
    """How the chain's time follows from wall-clock time."""

    offset_seconds: int = 0
    """Seconds by which the chain is ahead of wall-clock time."""

    next_seconds: int | None = None
    """Exact timestamp of the next block, in Unix seconds; None to compute it."""

    interval_seconds: int | None = None
    """Seconds between a block and its parent, whatever the wall-clock time; None if not fixed."""


class Clock:
    """Computes block timestamps."""

    def __init__(self, now: Callable[[], float], *, settings: ClockSettings | None = None) -> None:
        """Create a clock. Input: now: returns the wall-clock time in Unix seconds."""
        self._now = now
        self.settings = settings or ClockSettings()

    def checkpoint(self) -> Callable[[], None]:
        """Return a function that restores the current settings."""
        settings = self.settings

        def restore() -> None:
            self.settings = settings

        return restore

    def continue_from(self, timestamp_seconds: int) -> None:
        """Continue from a block's timestamp, as the clock of a fork does. Source: anvil."""
        offset = timestamp_seconds - int(self._now())
        self.settings = replace(self.settings, offset_seconds=offset)

    def now_seconds(self) -> int:
        """Return the chain's time, in Unix seconds."""
        return int(self._now()) + self.settings.offset_seconds

    def compute_next_timestamp(self, parent_seconds: int) -> int:
        """Return the timestamp of a block on this parent; always after the parent's."""
        settings = self.settings
        if settings.next_seconds is not None:
            wanted = settings.next_seconds
        elif settings.interval_seconds is not None:
            wanted = parent_seconds + settings.interval_seconds
        else:
            wanted = self.now_seconds()
        return max(wanted, parent_seconds + 1)

    def on_mined(self, timestamp_seconds: int) -> None:
        """Continue from a block's timestamp if set explicitly."""
        if self.settings.next_seconds is not None:
            self.settings = replace(self.settings, next_seconds=None)
            self.continue_from(timestamp_seconds)

    def increase(self, seconds: int) -> int:
        """Move the chain's time forward; return the offset to wall-clock time, in seconds.

        Raises: ConfigError: the time would exceed `MAX_TIMESTAMP_SECONDS`.
        """
        ahead = self.settings.offset_seconds + seconds
        _require_valid_timestamp(int(self._now()) + ahead)
        self.settings = replace(self.settings, offset_seconds=ahead)
        return ahead

    def set_next(self, timestamp_seconds: int, parent_seconds: int) -> None:
        """Set the next block's timestamp.

        Raises: ConfigError: not after the parent's, or above `MAX_TIMESTAMP_SECONDS`.
        """
        _require_valid_timestamp(timestamp_seconds)
        if timestamp_seconds <= parent_seconds:
            raise ConfigError(
                f"Timestamp error: {timestamp_seconds} is lower than or equal to previous block's "
                f"timestamp {parent_seconds}"
            )
        self.settings = replace(self.settings, next_seconds=timestamp_seconds)

    def set_now(self, timestamp_seconds: int) -> int:
        """Set the chain's current time; return the change, in seconds.

        Raises: ConfigError: the time is negative or above `MAX_TIMESTAMP_SECONDS`.
        """
        _require_valid_timestamp(timestamp_seconds)
        moved = timestamp_seconds - self.now_seconds()
        offset = timestamp_seconds - int(self._now())
        self.settings = replace(self.settings, offset_seconds=offset)
        return moved

    def set_interval(self, seconds: int | None) -> None:
        """Fix the seconds between blocks; None to follow wall-clock time again."""
        self.settings = replace(self.settings, interval_seconds=seconds)


def _require_valid_timestamp(timestamp_seconds: int) -> None:
    if not 0 <= timestamp_seconds <= MAX_TIMESTAMP_SECONDS:
        raise ConfigError(
            f"invalid block timestamp {timestamp_seconds}: must be 0 to {MAX_TIMESTAMP_SECONDS} "
            "(Unix seconds)"
        )
