"""When blocks are made."""

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
    """When blocks are made: on each transaction, from time to time, both, or when asked."""

    is_automatic: bool = True
    """A block for each transaction."""

    interval_seconds: float = 0.0
    """A block so often, whether anything waits or not; 0 for never."""


class Ticker:
    """Calls something from time to time, in a thread of its own; also after it has failed."""

    def __init__(self, call: Callable[[], None]) -> None:
        """Take what to call. It is not called yet."""
        self._call = call
        self._stop: threading.Event | None = None

    def set(self, interval_seconds: float) -> None:
        """Call so often from now on; 0 for never."""
        self.stop()
        if interval_seconds > 0:
            self._stop = threading.Event()
            threading.Thread(
                target=self._run, args=(self._stop, interval_seconds), name="ticker", daemon=True
            ).start()

    def stop(self) -> None:
        """Call no more."""
        if self._stop is not None:
            self._stop.set()
            self._stop = None

    def _run(self, stop: threading.Event, interval_seconds: float) -> None:
        while not stop.wait(min(interval_seconds, threading.TIMEOUT_MAX)):
            try:
                self._call()
            except Exception:
                if not stop.is_set():  # Else what it needs is gone already.
                    log.exception("A block at its time could not be made; the next is tried")
