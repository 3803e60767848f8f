"""What time it is on a chain: the world's, shifted and stopped as tests want it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_TIMESTAMP_SECONDS = 2**64 - 1
"""The latest time that a header can have. Source: execution specs, `U64`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockSettings:
    """How a chain's time follows from the world's."""

    offset_seconds: int = 0
    """How far the chain is ahead."""

    next_seconds: int | None = None
    """The next block's time exactly, once."""

    interval_seconds: int | None = None
    """How long after its parent each block is, whatever the world's time; None for not set."""


class Clock:
    """Gives each new block its time."""

    def __init__(self, now: Callable[[], float], *, settings: ClockSettings | None = None) -> None:
        """Take what tells the world's time, in seconds since 1970."""
        self._now = now
        self.settings = settings or ClockSettings()

    def checkpoint(self) -> Callable[[], None]:
        """Return what sets it as it is set now."""
        settings = self.settings

        def restore() -> None:
            self.settings = settings

        return restore

    def now_seconds(self) -> int:
        """Return what time it is on the chain."""
        return int(self._now()) + self.settings.offset_seconds

    def compute_next_timestamp(self, parent_seconds: int) -> int:
        """Return the time that a block on this parent has; it is after its parent's always."""
        settings = self.settings
        if settings.next_seconds is not None:
            wanted = settings.next_seconds
        elif settings.interval_seconds is not None:
            wanted = parent_seconds + settings.interval_seconds
        else:
            wanted = self.now_seconds()
        return max(wanted, parent_seconds + 1)

    def on_mined(self, timestamp_seconds: int) -> None:
        """Take note that a block of that time is there: time goes on from it where it was set."""
        if self.settings.next_seconds is not None:
            offset = timestamp_seconds - int(self._now())
            self.settings = replace(self.settings, next_seconds=None, offset_seconds=offset)

    def increase(self, seconds: int) -> int:
        """Move the chain ahead; return how far ahead of the world it is now, in seconds.

        Raises: ConfigError: it would go beyond what a header holds.
        """
        ahead = self.settings.offset_seconds + seconds
        _require_valid_timestamp(int(self._now()) + ahead)
        self.settings = replace(self.settings, offset_seconds=ahead)
        return ahead

    def set_next(self, timestamp_seconds: int, parent_seconds: int) -> None:
        """Give the next block its time.

        Raises: ConfigError: it is not after its parent's, or beyond what a header holds.
        """
        _require_valid_timestamp(timestamp_seconds)
        if timestamp_seconds <= parent_seconds:
            raise ConfigError(
                f"Timestamp error: {timestamp_seconds} is lower than or equal to previous block's "
                f"timestamp {parent_seconds}"
            )
        self.settings = replace(self.settings, next_seconds=timestamp_seconds)

    def set_now(self, timestamp_seconds: int) -> int:
        """Let it be that time now; return how far the chain moved, in seconds.

        Raises: ConfigError: it is beyond what a header holds.
        """
        _require_valid_timestamp(timestamp_seconds)
        moved = timestamp_seconds - self.now_seconds()
        offset = timestamp_seconds - int(self._now())
        self.settings = replace(self.settings, offset_seconds=offset)
        return moved

    def set_interval(self, seconds: int | None) -> None:
        """Let each block be so long after its parent; None for the world's time again."""
        self.settings = replace(self.settings, interval_seconds=seconds)


def _require_valid_timestamp(timestamp_seconds: int) -> None:
    if not 0 <= timestamp_seconds <= MAX_TIMESTAMP_SECONDS:
        raise ConfigError(
            f"the time {timestamp_seconds} is none that a block can have: "
            f"0 to {MAX_TIMESTAMP_SECONDS} seconds since 1970"
        )
