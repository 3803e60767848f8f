"""The client of the node benchmark reads responses in pieces of any size."""

from __future__ import annotations

import socket
import threading
from typing import TYPE_CHECKING

import pytest

from benchmarks.node_client import Connection, encode_request

if TYPE_CHECKING:
    from collections.abc import Iterator

RESULT = b'{"jsonrpc":"2.0","id":1,"result":"0x2a"}'
ERROR = b'{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no"}}'
HEAD = b"HTTP/1.1 200 OK\r\n"


def whole(body: bytes) -> bytes:
    return HEAD + b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def in_chunks(body: bytes) -> bytes:
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (body[:7], body[7:]))
    return HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n"


class Peer:
    """Sends prepared answers, a byte at a time, on each connection."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.listener.getsockname()[1]
        self.answers: list[bytes] = []
        self.requests: list[bytes] = []

    def serve(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection:
                while self.answers:
                    received = connection.recv(65_536)
                    if not received:
                        break
                    self.requests.append(received)
                    for byte in self.answers.pop(0):
                        connection.sendall(bytes([byte]))


@pytest.fixture
def peer() -> Iterator[Peer]:
    it = Peer()
    thread = threading.Thread(target=it.serve)
    thread.start()
    yield it
    it.listener.shutdown(socket.SHUT_RDWR)
    it.listener.close()
    thread.join()


def test_answers_are_read_one_after_the_other(peer: Peer) -> None:
    peer.answers += [whole(RESULT), in_chunks(RESULT), whole(RESULT)]
    connection = Connection(peer.port)
    request = encode_request("eth_blockNumber", [])
    assert [connection.send(request) for _ in range(3)] == ["0x2a"] * 3
    connection.close()
    assert peer.requests == [request] * 3


def test_an_error_is_no_result(peer: Peer) -> None:
    peer.answers += [whole(ERROR)]
    connection = Connection(peer.port)
    with pytest.raises(RuntimeError, match="-32000"):
        connection.send(encode_request("eth_call", []))
    connection.close()


def test_a_closed_connection_is_opened_anew(peer: Peer) -> None:
    peer.answers += [whole(RESULT)]
    connection = Connection(peer.port)
    assert connection.send(encode_request("eth_blockNumber", [])) == "0x2a"
    peer.answers += [whole(RESULT)]
    connection.refresh()
    assert connection.send(encode_request("eth_blockNumber", [])) == "0x2a"
    connection.close()
