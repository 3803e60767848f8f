"""Calls a request listener in a separate thread: the server never waits.

A listener that prints may block: Ctrl-S in the terminal would stop the server.
"""

from __future__ import annotations

import logging
import threading
from queue import SimpleQueue
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyevm_agents.rpc.dispatcher import RequestListener, RequestLogEntry

log = logging.getLogger(__name__)

MAX_WAITING = 10_000
"""Most queued requests; further ones are dropped, and their number is logged."""

END_SECONDS = 1.0
"""Time for the last requests when the server stops."""


class RequestLogThread:
    """Calls a function for each request, in order, in a separate thread."""

    def __init__(self, watch: RequestListener) -> None:
        self._listener = watch
        self._queue: SimpleQueue[RequestLogEntry | None] = SimpleQueue()
        self._dropped_count = 0
        self._thread = threading.Thread(target=self._run, name="pyevm-agents-log", daemon=True)
        self._thread.start()

    def __call__(self, answered: RequestLogEntry) -> None:
        """Queue a request for the listener."""
        if self._queue.qsize() < MAX_WAITING:
            self._queue.put(answered)
        else:
            self._dropped_count += 1

    def close(self) -> None:
        """Stop the thread; wait for the listener up to `END_SECONDS`."""
        self._queue.put(None)
        self._thread.join(END_SECONDS)

    def _run(self) -> None:
        while (answered := self._queue.get()) is not None:
            try:
                self._listener(answered)
            except Exception:
                log.exception("Request listener failed: this is a bug, please report it")
            if self._dropped_count:
                log.warning("Request listener too slow: %d requests dropped", self._dropped_count)
                self._dropped_count = 0
