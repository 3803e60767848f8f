"""Mining modes: automine, interval mining, both, or manual."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class MiningMode:
    """When blocks are made; manual if neither is set."""

    is_automatic: bool = True
    """Automine: a block for each transaction."""

    interval_seconds: float = 0.0
    """Interval mining: seconds between blocks, empty ones too; 0 for off."""


class Ticker:
    """A timer that calls a function periodically in a separate thread, and survives errors."""

    def __init__(self, call: Callable[[], None]) -> None:
        self._call = call
        self._stop: threading.Event | None = None

    def set(self, interval_seconds: float) -> None:
        """Set the interval; 0 stops the timer."""
        self.stop()
        if interval_seconds > 0:
            self._stop = threading.Event()
            threading.Thread(
                target=self._run, args=(self._stop, interval_seconds), name="ticker", daemon=True
            ).start()

    def stop(self) -> None:
        """Stop the timer."""
        if self._stop is not None:
            self._stop.set()
            self._stop = None

    def _run(self, stop: threading.Event, interval_seconds: float) -> None:
        while not stop.wait(min(interval_seconds, threading.TIMEOUT_MAX)):
            try:
                self._call()
            except Exception:
                if not stop.is_set():  # A closed chain also raises.
                    log.exception("Interval mining failed; the next block will be tried")
