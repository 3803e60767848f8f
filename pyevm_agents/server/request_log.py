"""Tells somebody of each request, without ever waiting for them.

Who prints waits for the terminal: one that is stopped with Ctrl-S would stop the server as well.
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
"""Requests that are not told yet; of the next ones, only their number is."""

END_SECONDS = 1.0
"""How long the end of a server waits for the last ones to be told."""


class RequestLogThread:
    """Calls a function for each request, in order, in a thread of its own."""

    def __init__(self, watch: RequestListener) -> None:
        """Start the thread."""
        self._listener = watch
        self._queue: SimpleQueue[RequestLogEntry | None] = SimpleQueue()
        self._dropped_count = 0
        self._thread = threading.Thread(target=self._run, name="pyevm-agents-log", daemon=True)
        self._thread.start()

    def __call__(self, answered: RequestLogEntry) -> None:
        """Have a request told."""
        if self._queue.qsize() < MAX_WAITING:
            self._queue.put(answered)
        else:
            self._dropped_count += 1

    def close(self) -> None:
        """End the thread, if it has not to wait long for its listener."""
        self._queue.put(None)
        self._thread.join(END_SECONDS)

    def _run(self) -> None:
        while (answered := self._queue.get()) is not None:
            try:
                self._listener(answered)
            except Exception:
                log.exception("The log of requests failed: this is a bug, please report it")
            if self._dropped_count:
                log.warning("The log of requests is slow: it lacks %d of them", self._dropped_count)
                self._dropped_count = 0
