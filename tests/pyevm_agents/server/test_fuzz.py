"""Random input never stops the server or hits a bug."""

from __future__ import annotations

import asyncio
import json
import logging
import random
import socket
import threading
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyevm_agents.rpc.codec import Limits
from pyevm_agents.rpc.errors import INTERNAL_ERROR
from pyevm_agents.server import Server, ServerOptions
from tests.deadlines import HANG_SECONDS
from tests.echo_service import EchoService
from tests.serving import message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.samples import Sample

# All hosts and origins are allowed, so that more requests are executed.
OPTIONS = ServerOptions(
    port=0,
    allowed_hosts=frozenset({"*"}),
    allowed_origins=frozenset({"*"}),
    limits=Limits(body_bytes=100_000),
    ping_seconds=5,
)
HANDSHAKE = (
    b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)
# Valid and invalid parts of requests.
JSON = [
    *b'{"jsonrpc":"2.0","id":^1^,"method":^"echo"^"slow_echo"^"refuse"^"nothing"'.split(b"^"),
    *b',"params":^[^]^{^}^null^true^-^"^:^"jsonrpc":"1.0"^\\u0000^[[[[[[^"id":{}^1e5^1e999'.split(
        b"^"
    ),
    *(b"\xff", b"\\ud800", b"\\", b" " * 70_000, b"[" * 100, b"1" * 30, b"1" * 400, b"[]," * 100),
]
WHOLE = [
    message("echo", 1),
    message("slow_echo", "x"),
    message("refuse"),
    b"[%b,%b]" % (message("echo"), message("slow_echo")),
    b'{"jsonrpc":"2.0","method":"echo"}',
    b'{"jsonrpc":"1.0","id":1,"method":"echo"}',
]
HTTP = [
    *b"GET ^POST ^OPTIONS ^PUT ^/ ^* ^HTTP/1.1^HTTP/1.0^HTTP/9^\r\n^\n^\r^: ^Host: localhost".split(
        b"^"
    ),
    *b"Content-Length: 5^Content-Length: 9999999999999999999^Transfer-Encoding: chunked".split(
        b"^"
    ),
    *b"Expect: 100-continue^Connection: close^Upgrade: websocket^Connection: Upgrade".split(b"^"),
    *b"0\r\n\r\n^5\r\nhello\r\n^ffffffffffffffff\r\n^Origin: null^Content-Encoding: gzip".split(
        b"^"
    ),
    *b"Access-Control-Request-Headers: a^OPTIONS / HTTP/1.1\r\n".split(b"^"),
    *(b"\x00", b"\xff" * 10, b"x" * 10_000, b"a: b\r\n" * 200, HANDSHAKE),
    b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello",
    b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
]
FRAMES = [
    *(
        bytes([first, 0x80 | size])
        for first in (0x81, 0x82, 0x01, 0x80, 0x89, 0x88)
        for size in (0, 5)
    ),
    *(b"\x81\xfe\x01\x00", b"\x81\xff" + b"\xff" * 8, b"\xf1", b"\x8a\x80", b"\x08\x02", b"\xff"),
    *(bytes(4), bytes(9), b"hello", b"\x00" * 256, b"\x03\xe8"),
    b"\x81\x95" + bytes(4) + b'{"method":"echo"}    ',
]


def mixed(pieces: list[bytes]) -> st.SearchStrategy[bytes]:
    return st.lists(st.sampled_from(pieces) | st.binary(max_size=8), max_size=12).map(b"".join)


def random_mix(source: random.Random, pieces: list[bytes]) -> bytes:
    """Return parts in any order, sometimes with a byte changed, removed or added."""
    sent = bytearray(b"".join(source.choices(pieces, k=source.choice([1, 1, 2, 3, 6, 12]))))
    for _ in range(source.choice([0, 0, 1, 3])):
        place = source.randrange(len(sent) + 1)
        sent[place : place + source.randint(0, 2)] = source.randbytes(source.randint(0, 2))
    return bytes(sent)


@dataclass(slots=True, kw_only=True)
class Target:
    """A server in a thread of its own, and its logged failures."""

    port: int
    logged: list[str] = field(default_factory=list)

    def connect(self) -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=HANG_SECONDS)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def send_all(self, sent: bytes) -> bytes:
        """Send bytes on a new connection; return the response."""
        received = b""
        with self.connect() as connection:
            try:
                connection.sendall(sent)
                # Half-closing ends the connection: leave time for a response before.
                connection.settimeout(0.005)
                with suppress(TimeoutError):
                    received += connection.recv(2**16)
                connection.settimeout(20)
                connection.shutdown(socket.SHUT_WR)
                while data := connection.recv(2**16):
                    received += data
            except ConnectionError:
                pass
        return received

    def check(self) -> None:
        """Require a response, and no logged failures."""
        with self.connect() as connection:
            assert post(connection, message("echo", 1))["result"] == [1]
        assert self.logged == []


def post(connection: socket.socket, body: bytes) -> dict[str, object]:
    """Send a message on a kept connection; return the first response of a batch, empty if none."""
    connection.sendall(
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
    )
    received = connection.recv(2**20)
    head, _, answer = received.partition(b"\r\n\r\n")
    if head.startswith(b"HTTP/1.1 204 "):
        return {}
    assert head.startswith(b"HTTP/1.1 200 "), received
    length = int(head.split(b"Content-Length: ")[1].split(b"\r\n")[0])
    while len(answer) < length:
        answer += connection.recv(2**20)
    decoded = json.loads(answer)
    first = decoded[0] if isinstance(decoded, list) else decoded
    assert isinstance(first, dict)
    return first


@pytest.fixture(scope="module")
def target() -> Iterator[Target]:
    ready = threading.Event()
    running: list[tuple[Target, Server, asyncio.AbstractEventLoop]] = []

    async def run() -> None:
        async with Server(EchoService(), OPTIONS) as server:
            running.append((Target(port=server.port), server, asyncio.get_running_loop()))
            ready.set()
            await server.wait_stopped()

    thread = threading.Thread(target=asyncio.run, args=(run(),))
    thread.start()
    assert ready.wait(HANG_SECONDS)
    found, server, loop = running[0]

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            found.logged.append(self.format(record))

    handler = Keep(logging.ERROR)
    logging.getLogger().addHandler(handler)
    yield found
    logging.getLogger().removeHandler(handler)
    loop.call_soon_threadsafe(server.stop)
    thread.join(HANG_SECONDS)
    assert not thread.is_alive()


@given(st.lists(mixed(JSON + WHOLE), max_size=5))
def test_any_body_is_answered(target: Target, bodies: list[bytes]) -> None:
    with target.connect() as connection:
        for body in bodies:
            error = post(connection, body[:100_000]).get("error", {})
            assert isinstance(error, dict)
            assert error.get("code") != INTERNAL_ERROR
    target.check()


@given(mixed(HTTP))
def test_anything_like_http_is_survived(target: Target, sent: bytes) -> None:
    received = target.send_all(sent)
    assert received == b"" or received.startswith(b"HTTP/1.")
    target.check()


@settings(max_examples=50)
@given(mixed(FRAMES))
def test_anything_like_frames_is_survived(target: Target, sent: bytes) -> None:
    received = target.send_all(HANDSHAKE + sent)
    assert received == b"" or received.startswith(b"HTTP/1.1 101 ")
    target.check()


@pytest.mark.slow
@pytest.mark.sample(count=5_000, seed=20261121)
def test_no_body_is_an_internal_error(target: Target, sample: Sample) -> None:
    source = random.Random(sample.seed)  # noqa: S311 - the same each time
    codes: Counter[object] = Counter()
    connection = target.connect()
    for number in range(sample.count):
        answer = post(connection, random_mix(source, JSON + WHOLE * 5)[:100_000])
        error = answer.get("error")
        codes[error["code"] if isinstance(error, dict) else None] += 1
        if number % 1_000 == 0:
            connection.close()
            connection = target.connect()
    connection.close()
    sample.figures.update({"bodies": codes.total(), "results": codes[None]})
    assert codes[INTERNAL_ERROR] == 0
    assert min(codes[-32700], codes[-32600], codes[None]) > sample.count // 1_000
    target.check()


@pytest.mark.slow
@pytest.mark.sample(count=500, seed=20261121)
@pytest.mark.parametrize(
    ("start", "pieces"), [(b"", HTTP), (HANDSHAKE, FRAMES)], ids=["http", "frames"]
)
def test_no_connection_breaks_the_server(
    target: Target, sample: Sample, start: bytes, pieces: list[bytes]
) -> None:
    source = random.Random(sample.seed)  # noqa: S311 - the same each time
    for _ in range(sample.count):
        target.send_all(start + random_mix(source, pieces))
    sample.figures.update({"connections": sample.count})
    target.check()
