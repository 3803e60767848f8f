"""HTTP within a limit of time: no part of an answer can be sent so slowly that a request lasts."""

from __future__ import annotations

import socket
import threading
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.client.http_transport import AnswerTimeoutError, HttpTransport, TransportError
from pyevm_agents.client.json_rpc import RemoteClient
from pyevm_agents.errors import RemoteFault
from tests.deadlines import HANG_SECONDS
from tests.dripping_server import Dripping

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LIMIT_SECONDS = 0.3
HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
JSON = b'{"jsonrpc":"2.0","id":0,"result":"0x1"}'

PARTS: dict[str, tuple[bytes, bytes]] = {
    "nothing": (b"", b""),
    "status line": (b"HTTP/1.1 200 ", b"O"),
    "headers": (HEAD, b"X-Name: value\r\n"),
    "one header": (HEAD + b"X-Name: ", b"v"),
    "100 Continue": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "headers of 100 Continue": (b"HTTP/1.1 100 Continue\r\n", b"X-Name: value\r\n"),
    "body of a length": (HEAD + b"Content-Length: 1000000\r\n\r\n", b" "),
    "body without a length": (HEAD + b"Connection: close\r\n\r\n", b" "),
    "chunk size": (CHUNKED, b"0"),
    "chunk extension": (CHUNKED + b"1;", b"x"),
    "chunk": (CHUNKED + b"fffff\r\n", b" "),
    "chunks": (CHUNKED, b"1\r\n \r\n"),
    "trailer": (CHUNKED + b"1\r\n \r\n0\r\n", b"X-Name: value\r\n"),
    "redirect": (b"HTTP/1.1 302 Found\r\nLocation: ", b"/a"),
    "TLS": (b"\x16\x03\x03\x3f\xff", b"\x00"),
}
"""What a server sends at once, and what again and again."""


@contextmanager
def serve_slowly(part: str) -> Iterator[Dripping]:
    with closing(Dripping(*PARTS[part])) as server:
        yield server


@pytest.mark.parametrize("part", PARTS)
def test_a_server_that_drips_is_left(part: str) -> None:
    scheme = "https" if part == "TLS" else "http"
    with serve_slowly(part) as server:
        url = f"{scheme}://127.0.0.1:{server.port}"
        with closing(HttpTransport(url, LIMIT_SECONDS)) as transport:
            with pytest.raises(AnswerTimeoutError):
                transport.post(b"{}")
            assert server.left.wait(HANG_SECONDS)


@pytest.mark.parametrize("part", ["status line", "headers", "100 Continue"])
def test_a_proxy_that_drips_is_left(part: str) -> None:
    with serve_slowly(part) as server:
        proxy = f"http://127.0.0.1:{server.port}"
        for url in ("https://node.example", "http://node.example"):
            transport = HttpTransport(url, LIMIT_SECONDS, proxy=proxy)
            with closing(transport), pytest.raises(AnswerTimeoutError):
                transport.post(b"{}")


def test_a_server_that_reads_nothing_is_left() -> None:
    with (
        serve_slowly("headers") as server,
        closing(HttpTransport(f"http://127.0.0.1:{server.port}", LIMIT_SECONDS)) as transport,
        pytest.raises(AnswerTimeoutError),
    ):
        transport.post(bytes(1 << 26))


def answer_once(answers: Iterable[bytes]) -> socket.socket:
    """Return a listener whose connections get one answer after the other."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with suppress(OSError):
            for answer in answers:
                connection, _ = listener.accept()
                with connection:
                    request = b""
                    while not request.endswith((b"}", b"==\r\n\r\n")):  # A body, or a CONNECT.
                        part = connection.recv(1 << 16)
                        if not part:
                            return
                        request += part
                    connection.sendall(answer)

    threading.Thread(target=serve, daemon=True).start()
    return listener


@pytest.mark.parametrize(
    "answer",
    [
        HEAD + b"Content-Length: %d\r\n\r\n" % len(JSON) + JSON,
        HEAD + b"\r\n" + JSON,
        b"HTTP/1.1 100 Continue\r\n\r\n" + HEAD + b"\r\n" + JSON,
        CHUNKED + b"%x;a=b\r\n" % len(JSON) + JSON + b"\r\n0\r\nX-Trailer: 1\r\n\r\n",
    ],
)
def test_whole_answers_are_read(answer: bytes) -> None:
    with answer_once([answer]) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with closing(HttpTransport(url, HANG_SECONDS)) as transport:
            assert transport.post(b"{}").body == JSON


def test_a_proxy_that_refuses_is_told() -> None:
    with answer_once([b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"]) as listener:
        proxy = f"http://user:S3CR3T-PASS@127.0.0.1:{listener.getsockname()[1]}"
        with closing(HttpTransport("https://node.example", HANG_SECONDS, proxy=proxy)) as transport:
            with pytest.raises(TransportError, match="status 407"):
                transport.post(b"{}")
            assert transport.redactor.redact("no S3CR3T-PASS") == "no …"


def test_a_key_in_the_reason_of_a_status_is_hidden() -> None:
    answer = b"HTTP/1.1 403 no S3CR3T-KEY\x1b[31m\r\nContent-Length: 0\r\n\r\n"
    with answer_once([answer]) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/v2/S3CR3T-KEY"
        client = RemoteClient(url, retries=0)
        with closing(client), pytest.raises(RemoteFault, match="HTTP status 403 no …") as raised:
            client.request("eth_chainId", [])
    assert "\x1b" not in str(raised.value)
