"""A REST client drives a run; the documents and the page are served; foreign pages are refused."""

from __future__ import annotations

import http.client
import json
import re
import socket
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.control.access import MAX_BODY_BYTES
from pyevm_agents.control.app import bind_socket
from pyevm_agents.errors import ConfigError
from pyevm_agents.manifests.documents import DocumentKind, detect_kind
from pyevm_agents.manifests.validation import validate_document
from tests.pyevm_agents.control.agents_of_tests import PAY, make_agent
from tests.pyevm_agents.control.served_plane import PAGE, RestClient, open_served_plane

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestClient]:
    folder = tmp_path_factory.mktemp("agents")
    agent = make_agent(folder, action=PAY)
    with open_served_plane(agent.path, folder) as client:
        yield client


def test_a_client_drives_a_run_from_its_dry_run_to_the_log(client: RestClient) -> None:
    task = client.post("/tasks", {"goal": "Pay", "taskId": "pay-1"}, status=201)
    assert client.post("/tasks", {"goal": "Pay", "taskId": "pay-1"}, status=201) == task
    run = client.post("/tasks/pay-1/runs?wait=true", {"until": "dry_run"})
    dry_run = client.get(f"/runs/{run['runId']}/dry-run")
    [write] = dry_run["trace"]["writes"]
    assert write["write"]["valueWei"] == 1
    run = client.post(f"/runs/{run['runId']}/continue?wait=true")
    assert (run["status"], run["failure"]) == ("completed", None)
    receipts = client.get(f"/runs/{run['runId']}/receipts")
    assert [each["type"] for each in receipts] == ["dry_run", "transaction", "verification"]
    verified = client.post(f"/runs/{run['runId']}/verification", status=200)
    assert verified["isVerified"]
    assert verified["executionDigest"] == dry_run["digests"]["trace"]
    assert client.get("/tasks/pay-1")["status"] == "completed"
    [entry] = client.get("/.well-known/agent_log.json")["runs"]
    assert entry["executionDigest"] == dry_run["digests"]["trace"]
    assert [each["runId"] for each in client.get("/runs?task=pay-1")] == [run["runId"]]


@pytest.mark.parametrize("kind", DocumentKind)
def test_the_documents_are_served_and_valid(client: RestClient, kind: DocumentKind) -> None:
    form = client.get(f"/.well-known/{kind.file_name}")
    assert detect_kind(form) in {
        kind,
        DocumentKind.REGISTRATION,
    }  # A form without services is both.
    assert validate_document(form, kind) == ()
    assert client.get(f"/.well-known/{kind.file_name}?agent=gas-watcher") == form
    assert "not installed" in client.get(f"/.well-known/{kind.file_name}?agent=x", 404)["error"]


def test_agents_trust_and_policy_can_be_read(client: RestClient) -> None:
    [agent] = client.get("/agents")
    assert (agent["slug"], agent["agentId"]) == ("gas-watcher", None)
    assert client.get("/agents/gas-watcher")["slug"] == "gas-watcher"
    trust = client.get("/agents/gas-watcher/trust")
    assert (trust["score"], trust["failures"]) == (0.0, [])
    assert trust["snapshot"]["hasIdentity"] is False
    policy = client.get("/policy")
    assert policy["defaultBudget"] == {
        "maxSteps": 10, "maxToolCalls": 50, "maxRuntimeMs": 300_000, "maxOnchainWrites": 5,
        "maxGasWei": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("request_line", "body", "status", "message"),
    [
        ("GET /runs/none", None, 404, "run 'none': not in"),
        ("GET /tasks/none", None, 404, "task 'none': not in"),
        ("POST /tasks", {"goal": "x", "agentSlug": "none"}, 404, "not installed"),
        ("POST /tasks", {"goal": ""}, 422, "at least 1 character"),
        ("POST /tasks", {"goal": "x", "budgets": {}}, 422, "not permitted"),
        ("POST /tasks", {"goal": "x", "taskId": "a/b"}, 400, "must be 1 to 64 letters"),
        ("POST /tasks/none/runs", {}, 404, "task 'none': not in"),
        ("POST /runs/none/continue", {"until": "later"}, 400, "must be one of discover"),
        ("POST /agents/gas-watcher/registration", {}, 400, "this chain has none"),
    ],
)  # fmt: skip
def test_a_wrong_request_is_answered_with_its_reason(
    client: RestClient, request_line: str, body: object, status: int, message: str
) -> None:
    method, path = request_line.split()
    found, _, answer = client.send(method, path, body)
    assert (found, message in answer.decode()) == (status, True), answer


def test_the_page_explains_every_operation_and_loads_nothing(client: RestClient) -> None:
    status, headers, body = client.send("GET", "/docs")
    page, document = body.decode(), client.get("/openapi.json")
    assert status == 200
    assert headers["content-security-policy"].startswith("default-src 'none'; style-src 'sha256-")
    operations = [
        (path, method) for path, methods in document["paths"].items() for method in methods
    ]
    assert len(operations) > 20
    assert page.count("<details>") == len(operations)
    for path, methods in document["paths"].items():
        assert f"<code>{path}</code>" in page
        assert all(each["summary"] for each in methods.values())
    assert re.findall(r"<(?:script|link|img|iframe)|(?:src|href)=\"(?!openapi\.json)", page) == []


def test_foreign_pages_and_hosts_are_refused(client: RestClient) -> None:
    status, _, body = client.send("GET", "/agents", Origin="https://evil.example")
    assert (status, b"is not allowed" in body) == (403, True)
    assert client.send("GET", "/agents", Host="evil.example")[0] == 403
    assert client.send("POST", "/mcp", {}, Origin="https://evil.example")[0] == 403
    status, headers, _ = client.send("GET", "/agents", Origin=PAGE)
    assert (status, headers["access-control-allow-origin"]) == (200, PAGE)
    asked = {"Origin": PAGE, "Access_Control_Request_Method": "POST"}
    status, headers, _ = client.send("OPTIONS", "/tasks", **asked)
    assert (status, headers["access-control-allow-origin"]) == (204, PAGE)


def test_a_body_that_is_too_large_is_refused(client: RestClient) -> None:
    connection = http.client.HTTPConnection(client.url.removeprefix("http://"))
    with closing(connection):
        connection.putrequest("POST", "/tasks")
        connection.putheader("Content-Length", str(MAX_BODY_BYTES + 1))
        connection.endheaders()
        answer = connection.getresponse()
        reason = json.loads(answer.read())["error"]
    assert (answer.status, reason.startswith("body: must have at most")) == (413, True)


def test_a_port_in_use_is_named() -> None:
    with bind_socket("127.0.0.1", 0) as bound:
        port = bound.getsockname()[1]
        with pytest.raises(ConfigError, match=f"cannot listen on 127.0.0.1:{port}: the port is in"):
            bind_socket("127.0.0.1", port)
    assert isinstance(bound, socket.socket)
