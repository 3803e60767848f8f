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

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
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
        (403, b"no\x1b[31m", "HTTP status 403 Forbidden; check"),
        (500, b"no", "no node at http.* .HTTP status 500"),
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
