"""Sessions: connections of clients."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Notify = Callable[[Mapping[str, object]], None]

log = logging.getLogger(__name__)


class Session:
    """A connection, whose end is that of all subscriptions. Thread-safe.

    Over WebSocket and in process a session is a connection; over HTTP one request, closed early if
    the client disconnects.
    """

    def __init__(self, transport: str, notify: Notify | None = None) -> None:
        """Open a session.

        Input:  the transport's name, for the log; a callback that sends a notification, None if the
            transport has none. The callback does not block, and drops late messages.
        """
        self.transport = transport
        self.notify = notify
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[], None]] = []
        self._is_open = True

    @property
    def is_open(self) -> bool:
        """Whether the client still waits for responses."""
        return self._is_open

    def on_close(self, callback: Callable[[], None]) -> None:
        """Call `callback` when the session closes; immediately if already closed.

        The callback runs in any thread and must not block: the thread may be the event loop's.
        """
        with self._lock:
            if self._is_open:
                self._callbacks.append(callback)
                return
        _run(callback)

    def close(self) -> None:
        """Close the session. Only the owner calls this."""
        with self._lock:
            self._is_open = False
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            _run(callback)


def _run(callback: Callable[[], None]) -> None:
    try:
        callback()
    except Exception:
        log.exception("A callback at the end of a session failed: this is a bug, please report it")
