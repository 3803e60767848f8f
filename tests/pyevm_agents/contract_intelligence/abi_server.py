"""A server of ABIs on a free port: its answers and its faults are a test's."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from tests.deadlines import HANG_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Answer = Callable[[str, dict[str, str]], object]


class AbiServer:
    """The server: its URL, the requests that it got, and what it answers."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.answer: Answer = lambda _path, _query: {}
        """Returns a JSON value, or the bytes of a body."""

        self.status = 200
        self.headers: dict[str, str] = {}
        self.is_cut = False
        """Whether the connection ends in the middle of a body."""

        self.is_silent = False
        self.closing = threading.Event()

    def respond(self, target: str) -> bytes:
        """Return the body of an answer."""
        parts = urlsplit(target)
        query = {key: value for key, [value] in parse_qs(parts.query).items()}
        self.requests.append((parts.path, query))
        answer = self.answer(parts.path, query)
        return answer if isinstance(answer, bytes) else json.dumps(answer).encode()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = HANG_SECONDS

    def __init__(self, served: AbiServer, *rest: Any) -> None:  # noqa: ANN401 - the server's
        self.served = served
        super().__init__(*rest)

    def do_GET(self) -> None:
        served = self.served
        body = served.respond(self.path)
        if served.is_silent:
            served.closing.wait(HANG_SECONDS)
            self.close_connection = True
            return
        self.send_response(served.status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in served.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if served.is_cut else body)
        self.close_connection = served.is_cut

    def log_message(self, *_: object) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """A client that gave up is part of the tests."""


@contextmanager
def serve_abis() -> Iterator[AbiServer]:
    """Serve on a free port inside a context."""
    server = _Server(("127.0.0.1", 0), BaseHTTPRequestHandler)
    served = AbiServer(server.server_address[1])
    server.RequestHandlerClass = partial(_Handler, served)
    thread = threading.Thread(target=partial(server.serve_forever, poll_interval=0.01))
    thread.start()
    try:
        yield served
    finally:
        served.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()


def answer_as_etherscan(abi: object, name: str = "Token") -> Answer:
    """Return the answers of an API like Etherscan's that has a contract."""
    form = {"SourceCode": "contract …", "ABI": json.dumps(abi), "ContractName": name}
    return lambda _path, _query: {"status": "1", "message": "OK", "result": [form]}
