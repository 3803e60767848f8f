"""New heads over a WebSocket: no server holds up the worker that listens."""

from __future__ import annotations

import base64
import hashlib
import socket
import threading
from contextlib import closing, suppress
from typing import TYPE_CHECKING

from pyevm_agents.client import head_subscription
from pyevm_agents.client.head_subscription import HeadSubscription
from tests.deadlines import HANG_SECONDS
from tests.dripping_server import Dripping

if TYPE_CHECKING:
    import pytest

MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
"""Source: RFC 6455, section 1.3."""


def test_a_server_that_drips_its_handshake_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(head_subscription, "CONNECT_SECONDS", 0.3)
    server = Dripping(b"HTTP/1.1 101 Switching Protocols\r\n", b"X-Name: value\r\n")
    url = f"ws://127.0.0.1:{server.port}"
    with closing(server), HeadSubscription(url, lambda: None):
        assert server.left.wait(HANG_SECONDS)


def test_a_server_that_goes_on_sending_does_not_delay_the_end() -> None:
    heard, ended = threading.Event(), threading.Event()

    def serve(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection, suppress(OSError):
            head = connection.recv(1 << 16)
            key = head.lower().partition(b"sec-websocket-key:")[2]
            start = len(head) - len(key)
            accept = hashlib.sha1(head[start:].split(b"\r\n")[0].strip() + MAGIC)  # noqa: S324
            connection.sendall(
                b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                b"Sec-WebSocket-Accept: " + base64.b64encode(accept.digest()) + b"\r\n\r\n"
            )
            while True:  # Heads without an end, and no answer to a close.
                connection.sendall(b"\x81\x02{}")
        ended.set()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        with HeadSubscription(f"ws://127.0.0.1:{listener.getsockname()[1]}", heard.set):
            assert heard.wait(HANG_SECONDS)
        assert ended.wait(HANG_SECONDS)
        thread.join()
