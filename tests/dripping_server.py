"""A server that sends an answer byte by byte, for tests of limits of time."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from itertools import cycle, repeat

PAUSE_SECONDS = 0.02


class Dripping:
    """A server that sends a first part of an answer at once, and the rest byte by byte."""

    def __init__(self, first: bytes, dripped: bytes) -> None:
        self._first, self._dripped = first, dripped
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._closing = threading.Event()
        self.port = self._listener.getsockname()[1]
        self.left = threading.Event()
        """The client has left in the middle of the answer."""
        self._threads = [threading.Thread(target=self._listen)]
        self._threads[0].start()

    def _listen(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                thread = threading.Thread(target=self._serve, args=(connection,))
                self._threads.append(thread)
                thread.start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            try:
                connection.sendall(self._first)
                for byte in cycle(self._dripped) if self._dripped else repeat(None):
                    if self._closing.wait(PAUSE_SECONDS):
                        return
                    if byte is not None:
                        connection.sendall(bytes([byte]))
                    elif self._has_left(connection):
                        break
            except OSError:
                pass
            self.left.set()

    @staticmethod
    def _has_left(connection: socket.socket) -> bool:
        connection.settimeout(0)
        with suppress(BlockingIOError):
            return not connection.recv(1 << 16)
        return False

    def close(self) -> None:
        self._closing.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join()
