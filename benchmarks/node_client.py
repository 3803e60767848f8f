"""A small HTTP client with a kept connection, the same for every measured node."""

from __future__ import annotations

import json
import socket
from typing import Any

READ_BYTES = 65_536
TIMEOUT_SECONDS = 60.0


class Connection:
    """A connection to a node; reopened after the node has closed it."""

    def __init__(self, port: int) -> None:
        """Connect to a port of this machine.

        Raises: OSError: no server listens there.
        """
        self._port = port
        self._connect()

    def _connect(self) -> None:
        self._socket = socket.create_connection(("127.0.0.1", self._port), TIMEOUT_SECONDS)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def close(self) -> None:
        """Close it."""
        self._socket.close()

    def refresh(self) -> None:
        """Reconnect: a node may close an idle connection."""
        self.close()
        self._connect()

    def send(self, request: bytes) -> Any:  # noqa: ANN401 - whatever JSON holds
        """Send a request of `encode_request`; return the result.

        Raises: RuntimeError: the answer is an error.
        """
        self._socket.sendall(request)
        answer = json.loads(self._body())
        if "result" not in answer:
            raise RuntimeError(f"a node answered {answer}")
        return answer["result"]

    def _body(self) -> bytes:
        received = bytearray()
        while (end := received.find(b"\r\n\r\n")) < 0:
            self._receive(received)
        headers = bytes(received[:end]).lower().split(b"\r\n")
        del received[: end + 4]
        length = next((line[15:] for line in headers if line.startswith(b"content-length:")), None)
        if length is None:
            return self._chunks(received)
        while len(received) < int(length):
            self._receive(received)
        return bytes(received)

    def _chunks(self, received: bytearray) -> bytes:
        body = bytearray()
        while True:
            while (end := received.find(b"\r\n")) < 0:
                self._receive(received)
            size = int(received[:end], 16)
            while len(received) < end + size + 4:
                self._receive(received)
            body += received[end + 2 : end + 2 + size]
            del received[: end + size + 4]
            if not size:
                return bytes(body)

    def _receive(self, received: bytearray) -> None:
        read = self._socket.recv(READ_BYTES)
        if not read:
            raise RuntimeError("a node closed its connection in the middle of an answer")
        received += read


def encode_request(method: str, params: object) -> bytes:
    """Return a request as bytes of HTTP."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    return b"\r\n".join(
        (
            b"POST / HTTP/1.1",
            b"Host: 127.0.0.1",
            b"Content-Type: application/json",
            b"Content-Length: %d" % len(body),
            b"",
            body,
        )
    )
