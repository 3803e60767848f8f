"""A remote node for forks: one of our nodes behind an HTTP server that misbehaves on request."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from eth_typing import Address
from eth_utils import keccak

from tests.deadlines import HANG_SECONDS
from tests.pyevm_agents.node.senders_of_tests import ADDRESSES
from tests.pyevm_agents.rpc.served import RefusedError, Served

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Json = Any

DRIP_SECONDS = 0.02
RECEIVER = "0x" + "77" * 20
MISSING_METHOD = {"code": -32601, "message": "the method does not exist/is not available"}
PRUNED_STATE = {"code": -32000, "message": "missing trie node 0123abcd (path ) state is gone"}
NO_HASHES = {"code": -32602, "message": "invalid argument 1: hex string without 0x prefix"}
STATE_METHODS = frozenset(
    {"eth_getBalance", "eth_getTransactionCount", "eth_getCode", "eth_getStorageAt", "eth_getProof"}
)


@dataclass(kw_only=True)
class Faults:
    """How the remote misbehaves; by default not at all."""

    statuses: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    """Status and headers of the next answers, instead of an answer."""

    rate_limits: int = 0
    """How many of the next answers are JSON errors of a rate limit."""

    is_silent: bool = False
    """Answers nothing until the server closes."""

    stops_in_body: bool = False
    """Sends the first half of each answer, then nothing until the server closes."""

    drips: bool = False
    """Sends headers of each answer one after the other, until told to go on, or the client left."""

    breaks_off: bool = False
    """Sends the first half of each answer, then closes the connection."""

    error: Json = None
    """The error that every request ends in."""

    has_batches: bool = True
    has_proofs: bool = True
    takes_hashes: bool = True
    is_pruned: bool = False
    pruned_error: Json = field(default_factory=lambda: PRUNED_STATE)
    """What it answers where it is pruned."""

    change_result: Callable[[str, Json], Json] = lambda _method, result: result
    """Returns what the remote answers instead of a result."""


class FakeRemote:
    """The remote: its URL, its faults, and the methods that it was asked for."""

    def __init__(self, served: Served, port: int) -> None:
        self.served = served
        self.faults = Faults()
        self.url = f"http://127.0.0.1:{port}/v2/S3CR3T-KEY?token=T0KEN-VALUE"
        self.asked: list[list[str]] = []
        """Methods of each POST."""

        self.connections = 0
        self.authorizations: list[str] = []
        self.closing = threading.Event()
        self.dripping, self.flowing, self.left = (threading.Event() for _ in range(3))
        """An answer drips; it goes on at once; its client has left."""

    @property
    def methods(self) -> list[str]:
        return [method for post in self.asked for method in post]

    def forget(self) -> None:
        """Forget the requests so far."""
        self.asked.clear()

    def answer(self, body: bytes) -> bytes:
        """Return the body of an answer."""
        message = json.loads(body)
        requests = message if isinstance(message, list) else [message]
        self.asked.append([each["method"] for each in requests])
        if self.faults.rate_limits:
            self.faults.rate_limits -= 1
            error = {"code": 429, "message": "exceeded its compute units per second capacity"}
            return json.dumps({"jsonrpc": "2.0", "id": None, "error": error}).encode()
        if isinstance(message, list):
            if not self.faults.has_batches:
                error = {"code": -32600, "message": "batches are not supported"}
                return json.dumps({"jsonrpc": "2.0", "id": None, "error": error}).encode()
            # In reverse: the order of a batch's responses is free.
            return json.dumps([self._respond(each) for each in reversed(message)]).encode()
        return json.dumps(self._respond(message)).encode()

    def _respond(self, request: Json) -> Json:
        response = {"jsonrpc": "2.0", "id": request["id"]}
        method, params = request["method"], request["params"]
        error = self._find_error(method, params)
        if error is None:
            try:
                result = self.served.ask(method, *params)
                return response | {"result": self.faults.change_result(method, result)}
            except RefusedError as refused:
                error = {"code": refused.code, "message": refused.message, "data": refused.data}
        return response | {"error": error}

    def _find_error(self, method: str, params: Json) -> Json:
        faults = self.faults
        if faults.error is not None:
            return faults.error
        if method == "eth_getProof" and not faults.has_proofs:
            return MISSING_METHOD
        if method in STATE_METHODS and not faults.takes_hashes and isinstance(params[-1], dict):
            return NO_HASHES
        return faults.pruned_error if method in STATE_METHODS and faults.is_pruned else None


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = HANG_SECONDS

    def __init__(self, remote: FakeRemote, *rest: Any) -> None:  # noqa: ANN401 - the server's
        self.remote = remote
        super().__init__(*rest)

    def setup(self) -> None:
        super().setup()
        self.remote.connections += 1

    def do_POST(self) -> None:
        remote, faults = self.remote, self.remote.faults
        if authorization := self.headers["Authorization"]:
            remote.authorizations.append(authorization)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if faults.statuses:
            status, headers = faults.statuses.pop(0)
            self._send(status, b"<html>no such path: /v2/S3CR3T-KEY</html>", headers)
            return
        answer = remote.answer(body)
        if faults.is_silent:
            remote.closing.wait(HANG_SECONDS)
            self.close_connection = True
        elif faults.drips:
            self._drip(answer)
        elif faults.stops_in_body or faults.breaks_off:
            self._send_head(200, len(answer), {})
            self.wfile.write(answer[: len(answer) // 2])
            self.wfile.flush()
            if faults.stops_in_body:
                remote.closing.wait(HANG_SECONDS)
            self.close_connection = True
        else:
            self._send(200, answer, {})

    def _drip(self, answer: bytes) -> None:
        remote = self.remote
        self.send_response(200)
        try:
            while not remote.flowing.wait(DRIP_SECONDS) and not remote.closing.is_set():
                self.send_header("X-Name", "value")
                self.flush_headers()
                remote.dripping.set()
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)
        except OSError:
            self.close_connection = True
            remote.left.set()

    def _send_head(self, status: int, length: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(length))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self._send_head(status, len(body), headers)
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """A client that gave up is part of the tests."""


@contextmanager
def fake_remote(served: Served) -> Iterator[FakeRemote]:
    """Serve a node on a free port inside a context."""
    server = _Server(("127.0.0.1", 0), BaseHTTPRequestHandler)
    remote = FakeRemote(served, server.server_address[1])
    server.RequestHandlerClass = partial(_Handler, remote)
    thread = threading.Thread(target=partial(server.serve_forever, poll_interval=0.01))
    thread.start()
    try:
        yield remote
    finally:
        remote.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()


CONTRACT = Address(b"\xc0" * 20)
CODE = bytes.fromhex("36600f5760075460005260206000f35b60003560075500")
"""Stores the first word of calldata in slot 7; without calldata, returns slot 7."""

STORED = 0xBEEF


def build_remote_chain() -> Served:
    """Return a node with three blocks: a transfer, a write of slot 7, and an empty one."""
    served = Served(codes={CONTRACT: CODE})
    sender = "0x" + ADDRESSES[0].hex()
    served.ask("eth_sendTransaction", {"from": sender, "to": RECEIVER, "value": "0x5"})
    data = f"0x{STORED:064x}"
    served.ask("eth_sendTransaction", {"from": sender, "to": "0x" + CONTRACT.hex(), "data": data})
    served.ask("evm_mine")
    return served


def other_hash(block_hash: str) -> str:
    """Return a hash that differs from a block's."""
    return "0x" + keccak(hexstr=block_hash).hex()
