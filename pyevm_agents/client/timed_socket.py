"""Sockets on which every wait ends at one deadline, so that no server that drips outlives it."""

from __future__ import annotations

import socket
import ssl
from time import monotonic
from typing import Any


class TimedSocket(socket.socket):
    """A socket on which connecting, reading and writing end at a deadline, with TimeoutError."""

    deadline = 0.0
    """By `time.monotonic`, in seconds."""

    def limit_wait(self) -> None:
        """Let the next call wait for no longer than the rest of the time.

        Raises: TimeoutError: nothing is left.
        """
        rest = self.deadline - monotonic()
        if rest <= 0:
            raise TimeoutError
        self.settimeout(rest)

    def connect(self, address: Any) -> None:  # noqa: ANN401 - as `socket` has it
        """Connect to an address."""
        self.limit_wait()
        super().connect(address)

    def recv_into(self, *arguments: Any, **options: Any) -> int:  # noqa: ANN401 - as `socket` has it
        """Read into a buffer; return the count of bytes."""
        self.limit_wait()
        return super().recv_into(*arguments, **options)

    def send(self, *arguments: Any) -> int:  # noqa: ANN401 - as `socket` has it
        """Write some bytes; return their count."""
        self.limit_wait()
        return super().send(*arguments)

    def sendall(self, *arguments: Any) -> None:  # noqa: ANN401 - as `socket` has it
        """Write all bytes."""
        self.limit_wait()
        super().sendall(*arguments)


class TimedTlsSocket(TimedSocket, ssl.SSLSocket):
    """The same with TLS, as a class for `ssl.SSLContext.sslsocket_class`.

    `wrap_socket` shakes hands within the timeout that the plain socket had.
    """


def open_socket(place: tuple[str, int], deadline: float) -> TimedSocket:
    """Connect to a host and a port; return the socket.

    Each address of the host gets an equal part of the time that is left.

    Raises: OSError: no address takes the connection in time.
    """
    addresses = socket.getaddrinfo(*place, type=socket.SOCK_STREAM)
    failure = OSError(f"{place[0]} has no address")
    for left, (family, kind, protocol, _, address) in zip(
        range(len(addresses), 0, -1), addresses, strict=True
    ):
        sock = TimedSocket(family, kind, protocol)
        try:
            sock.deadline = monotonic() + (deadline - monotonic()) / left
            sock.connect(address)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            sock.close()
            failure = error
        else:
            sock.deadline = deadline
            return sock
    raise failure
