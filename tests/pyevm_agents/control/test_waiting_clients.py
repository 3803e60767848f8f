"""Clients that wait for a run keep nobody from reading, and from cancelling the run."""

from __future__ import annotations

import json
import socket
import threading
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from tests.deadlines import HANG_SECONDS
from tests.pyevm_agents.control.agents_of_tests import make_agent
from tests.pyevm_agents.control.served_plane import open_served_plane

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.pyevm_agents.control.served_plane import RestClient

BEGUN, GATE = threading.Event(), threading.Event()
"""A step has begun; it may end."""

WAIT = f"""from {__name__} import BEGUN, GATE
        BEGUN.set()
        GATE.wait()
        wei = "0"
"""

CLIENTS = 64
"""More than the 40 threads of Starlette."""

WAITING = {
    "a run": ("GET", "/runs/slow-run?wait=true", None),
    "the run's continuation": ("POST", "/runs/slow-run/continue?wait=true", {}),
    "trust": ("GET", "/agents/gas-watcher/trust", None),
    "a verification": ("POST", "/runs/slow-run/verification", {}),
    "a tool of MCP": (
        "POST",
        "/mcp",
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "openfi_get_trust", "arguments": {"agentSlug": "gas-watcher"}},
        },
    ),
}
"""Requests that are answered when the run has stopped."""


@pytest.fixture
def client(tmp_path: Path) -> Iterator[RestClient]:
    BEGUN.clear()
    GATE.clear()
    agent = make_agent(tmp_path, action=WAIT)
    with open_served_plane(agent.path, tmp_path) as served:
        try:
            yield served
        finally:
            GATE.set()


def send(client: RestClient, method: str, path: str, form: object) -> socket.socket:
    """Send a request on a connection of its own, whose answer is read later."""
    netloc = urlsplit(client.url).netloc
    host, _, port = netloc.partition(":")
    connection = socket.create_connection((host, int(port)), timeout=HANG_SECONDS)
    body = b"" if form is None else json.dumps(form).encode()
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: {netloc}\r\nContent-Length: {len(body)}\r\n"
        "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
        "Connection: close\r\n\r\n"
    )
    connection.sendall(head.encode() + body)
    return connection


@pytest.mark.parametrize("waiting", WAITING.values(), ids=WAITING)
def test_reads_and_cancellations_pass_waiting_clients(
    client: RestClient, waiting: tuple[str, str, object]
) -> None:
    client.post("/tasks", {"goal": "Wait", "taskId": "slow"}, status=201)
    client.post("/tasks/slow/runs", {"runId": "slow-run"})
    assert BEGUN.wait(HANG_SECONDS)
    with ExitStack() as stack:
        connections = [stack.enter_context(closing(send(client, *waiting))) for _ in range(CLIENTS)]
        assert client.get("/policy")["limits"]
        assert client.get("/tasks/slow")["runIds"] == ["slow-run"]
        client.post("/runs/slow-run/cancel", status=200)
        assert not GATE.is_set()
        GATE.set()
        for connection in connections:
            with connection.makefile("rb") as reader:
                # A run that was cancelled can't be verified, nor gone on with.
                assert reader.readline().split()[1] in {b"200", b"202", b"400", b"404", b"409"}
    assert client.get("/runs/slow-run?wait=true")["status"] == "cancelled"
