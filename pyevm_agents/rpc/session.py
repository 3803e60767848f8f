"""One connection, as a service sees it."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Notify = Callable[[Mapping[str, object]], None]

log = logging.getLogger(__name__)


class Session:
    """A connection: what is subscribed on it ends with it. All of it may be used in any thread.

    Over WebSocket and in process a session is a connection; over HTTP it is one request, and it
    ends early where the client gives up.
    """

    def __init__(self, transport: str, notify: Notify | None = None) -> None:
        """Open a session.

        Input:  the transport's name, for the log; what sends a message that no request asked for,
                None where the transport can't: it returns at once, and drops what comes too late.
        """
        self.transport = transport
        self.notify = notify
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[], None]] = []
        self._is_open = True

    @property
    def is_open(self) -> bool:
        """Whether somebody still waits for answers."""
        return self._is_open

    def on_close(self, callback: Callable[[], None]) -> None:
        """Call `callback` when the session ends; at once where it has ended.

        It is called in any thread and must not block: the server's loop may be that thread.
        """
        with self._lock:
            if self._is_open:
                self._callbacks.append(callback)
                return
        _run(callback)

    def close(self) -> None:
        """End the session. Only who opened it calls this."""
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
