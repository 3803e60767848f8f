"""Errors of a command where no node answers, or another service does."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from pyevm_agents.cli.app import main
from pyevm_agents.cli.options.node import call_node
from pyevm_agents.errors import AgentsError

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def answering(status: int, body: bytes) -> Iterator[str]:
    """Serve one answer to every request; yield the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with serving(Handler) as port:
        yield f"http://127.0.0.1:{port}"


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[int]:
    """Serve in a thread; yield the port."""
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        (200, b"<html>", r"no node at http.* \(the answer is not JSON\); start one"),
        (200, b"[]", "the answer is not JSON-RPC"),
        (200, b"{}", "the answer is not JSON-RPC"),
        (200, b"[" * 100_000, "the answer is not JSON"),
        (403, b"no\x1b[31m", r"HTTP status 403 Forbidden: no\\u001b\[31m; check"),
        (403, b"x" * 999, "Forbidden: x{300}…; check"),
        (404, b"<html>no", "Not Found; check"),
        (500, b"no\nmore", r"node at http.*: HTTP status 500 Internal Server Error: no; try"),
        (200, b'{"error": {"code": -32601, "message": "what?"}}', "what.: http.* is not a pyevm"),
        (200, b'{"error": {"code": 3, "message": "a\\u001bb"}}', r"^a\\u001bb$"),
        (200, b'{"error": "bad"}', "^bad$"),
        (200, b'{"error": {"code": 3, "message": "%s"}}' % (b"long " * 99), "(?:long ){99}"),
        (200, b'{"error": {"code": 3, "message": "one\\n  two\\u001b"}}', r"^one\n  two\\u001b$"),
    ],
)
def test_what_is_no_answer_is_told(status: int, body: bytes, message: str) -> None:
    with answering(status, body) as url, pytest.raises(AgentsError, match=message):
        call_node(url, "agent_models")


def test_a_result_may_be_anything() -> None:
    with answering(200, b'{"result": null}') as url:
        assert call_node(url, "agent_models") is None


def test_no_proxy_is_asked_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    with answering(200, b'{"result": 5}') as url:
        assert call_node(url, "agent_models") == 5


@contextmanager
def proxying() -> Iterator[tuple[str, list[tuple[str, str | None]]]]:
    """Serve as a proxy that answers itself and opens no tunnel; yield its address and requests."""
    requests: list[tuple[str, str | None]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.answer(200, b'{"result": 5}')

        def do_CONNECT(self) -> None:
            self.answer(403, b"")

        def answer(self, status: int, body: bytes) -> None:
            requests.append((f"{self.command} {self.path}", self.headers["Proxy-Authorization"]))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with serving(Handler) as port:
        yield f"127.0.0.1:{port}", requests


def test_requests_go_through_the_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with proxying() as (address, requests):
        monkeypatch.setenv("http_proxy", f"http://me:secret@{address}")
        monkeypatch.setenv("https_proxy", address)
        monkeypatch.setenv("no_proxy", "near.invalid")
        assert call_node("http://node.invalid:8545/key?a=b", "agent_models") == 5
        with pytest.raises(AgentsError, match=r"no node at https://node\.invalid:443"):
            call_node("https://node.invalid/key", "agent_models")
        with pytest.raises(AgentsError, match=r"no node at http://near\.invalid:80"):
            call_node("http://near.invalid", "agent_models")
    assert requests == [
        ("POST http://node.invalid:8545/key?a=b", "Basic bWU6c2VjcmV0"),
        ("CONNECT node.invalid:443", None),
    ]


def test_an_unreachable_node_is_told_with_what_to_do() -> None:
    with answering(200, b"") as url:
        pass
    told = CliRunner().invoke(main, ["models", "--rpc", url])
    assert told.exit_code == 1
    assert told.stderr.startswith(f"Error: no node at {url} (")
    assert "start one with `pyevm-agents node`" in told.stderr


@pytest.mark.parametrize("url", ["ws://127.0.0.1:8545", "8545", "http://", "http://[::1"])
def test_what_is_no_address_is_refused(url: str) -> None:
    told = CliRunner().invoke(main, ["models", "--rpc", url])
    assert told.exit_code == 2
    assert "must be an HTTP URL, such as http://127.0.0.1:8545" in told.stderr


def test_the_environment_names_a_node_as_for_foundry(monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(200, b'{"result": []}') as url:
        monkeypatch.setenv("ETH_RPC_URL", url)
        assert "no executor" in CliRunner().invoke(main, ["models"]).output
