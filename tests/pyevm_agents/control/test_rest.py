"""A REST client drives a run; the documents and the page are served; foreign pages are refused."""

from __future__ import annotations

import html
import http.client
import json
import re
import shlex
import socket
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from eth_account import Account

from pyevm_agents.control.access import MAX_BODY_BYTES
from pyevm_agents.control.app import bind_socket
from pyevm_agents.control.openapi_page import list_examples
from pyevm_agents.devnet.chain import DEVELOPMENT_KEY
from pyevm_agents.errors import ConfigError
from pyevm_agents.lifecycle.envelopes import PlainRunEnvelope
from pyevm_agents.manifests.documents import DocumentKind, detect_kind
from pyevm_agents.manifests.validation import validate_document
from tests.pyevm_agents.control.agents_of_tests import PAY, make_agent
from tests.pyevm_agents.control.served_plane import PAGE, RestClient, open_served_plane

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


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
        for each in methods.values():
            # A sentence, and no function's name as a title.
            assert len(each["summary"].split()) > 2, each["summary"]
            assert re.sub(r"ID|URI|EIP-712|ERC-8004|OpenFi", "", each["summary"][1:]).islower()
    assert re.findall(r"<(?:script|link|img|iframe)|(?:src|href)=\"(?!openapi\.json)", page) == []


@pytest.fixture
def signing_client(tmp_path: Path) -> Iterator[RestClient]:
    """A client of a plane without a treasury whose operator signs every dry run."""
    agent = make_agent(tmp_path, action=PAY)
    envelope = partial(PlainRunEnvelope, chain_id=1337, requires_confirmation=True)
    with open_served_plane(agent.path, tmp_path, open_envelope=envelope) as client:
        yield client


def test_an_operator_signs_the_typed_data_that_is_served(signing_client: RestClient) -> None:
    client, operator = signing_client, Account.from_key(DEVELOPMENT_KEY.to_bytes())
    expiry = 4_102_444_800

    def read(task_id: str) -> tuple[str, Any]:
        client.post("/tasks", {"goal": "Pay", "taskId": task_id}, status=201)
        run = client.post(f"/tasks/{task_id}/runs?wait=true")
        assert (run["status"], run["waitsForConfirmation"]) == ("planning", True)
        path = f"/runs/{run['runId']}/confirmation"
        form = client.get(f"{path}?expiry={expiry}")
        hashed = operator.sign_typed_data(full_message=form["typedData"]).message_hash
        assert "0x" + bytes(hashed).hex() == form["digest"]
        return path, form["typedData"]

    def sign(data: Any, account: Any = operator) -> str:  # noqa: ANN401 - JSON, and an account
        return "0x" + bytes(account.sign_typed_data(full_message=data).signature).hex()

    path, data = read("first")
    _, other = read("second")
    stranger = Account.from_key(b"\x78" * 32)
    elsewhere = {**data, "domain": {**data["domain"], "chainId": 1}}
    for signature, reason in (
        (sign(data, stranger), f"this one is of {stranger.address}"),
        (sign(other), f"must be signed by the operator, {operator.address}"),
        (sign(elsewhere), f"must be signed by the operator, {operator.address}"),
        ("0x12", "signature of 1 bytes; must have 65"),
    ):
        told = client.post(path, {"expiry": expiry, "signature": signature}, status=400)
        assert reason in told["error"]
    late = client.get(f"{path}?expiry=1")["typedData"]
    told = client.post(path, {"expiry": 1, "signature": sign(late)}, status=400)
    assert "has expired at 1, it is" in told["error"]
    run = client.post(f"{path}?wait=true", {"expiry": expiry, "signature": sign(data)})
    assert (run["status"], run["failure"]) == ("completed", None)


TOO_LARGE = f"must have at most {MAX_BODY_BYTES:,}; send less"

NOT_HERE = {
    "/agents/payer/registration": (400, "identity registry: this chain has none"),
    "/treasury": (400, "treasury: this control plane has none"),
    "/runs/my-task-run-1/validation": (400, "validator: this control plane has none"),
    "/runs/my-task-run-1/confirmation": (409, "waits for no confirmation"),
    "/runs/my-task-run-1/cancel": (409, "has ended, completed"),
}
"""Examples that a control plane without these, or after the end, answers with a reason."""


def test_the_examples_of_the_page_work_in_their_order(tmp_path: Path) -> None:
    agent = make_agent(tmp_path, "payer", PAY)
    with open_served_plane(agent.path, tmp_path) as client:
        examples = [*list_examples(client.get("/openapi.json"), {"slug": "payer"})]
        page = html.unescape(client.send("GET", "/docs")[2].decode())
        assert len(examples) > 20
        for method, path, body in examples:
            words = ["curl", *([] if method == "GET" else ["-X", method]), client.url + path]
            if body is not None:
                given = json.dumps(body)
                words += ["-H", "Content-Type: application/json", "-d", given]
            assert f"<pre>{shlex.join(words)}</pre>" in page
            status, _, answer = client.send(method, path, body)
            expected = NOT_HERE.get(path.partition("?")[0])
            if expected is not None:
                assert (status, expected[1] in answer.decode()) == (expected[0], True), answer
            else:
                assert status in {200, 201, 202}, (method, path, answer)
        assert client.get("/runs/my-task-run-1")["status"] == "completed"


def test_errors_have_one_form(client: RestClient) -> None:
    status, _, body = client.send("GET", "/nothing")
    assert (status, json.loads(body)) == (
        404, {"error": "GET /nothing: not found; /docs lists operations"},
    )  # fmt: skip
    status, headers, body = client.send("PUT", "/tasks", {})
    assert (status, json.loads(body)["error"]) == (
        405, "PUT /tasks: method not allowed; /docs lists operations",
    )  # fmt: skip
    assert "allow" in headers


@pytest.mark.parametrize(
    ("request_line", "body", "message"),
    [
        ("POST /tasks", None, "body: is missing; pass it"),
        ("POST /tasks", b"", "body: is missing; pass it"),
        ("POST /tasks", b"5", "body 5: must be a valid dictionary or object to extract fields"),
        ("POST /tasks", b'{"goal": ', "body: must be JSON; at character 9: Expecting value"),
        ("POST /tasks", b'{"goal": "x", "budget": {"maxSteps": "many"}}',
         "body.budget.maxSteps 'many': must be a valid integer"),
        ("POST /tasks", b'{"goal": "x", "budget": {"maxSteps": -1}}',
         "body.budget.maxSteps -1: must be greater than or equal to 0"),
        ("POST /tasks", b'{"goal": "x", "budget": {"maxGasWei": "%s"}}' % (b"9" * 5_000),
         "body.budget.maxGasWei '9999"),
        ("POST /runs/x/confirmation", b'{"expiry": 1, "signature": "0xzz"}',
         "body.signature '0xzz': must match pattern"),
        ("GET /runs/x/confirmation", None, "query.expiry: is missing; pass it"),
        ("GET /runs/x/confirmation?expiry=soon", None, "query.expiry 'soon': must be a valid int"),
        ("GET /runs/x?wait=perhaps", None, "query.wait 'perhaps': must be a valid boolean"),
    ],
)  # fmt: skip
def test_a_request_of_another_form_is_told_what_is_wrong(
    client: RestClient, request_line: str, body: bytes | None, message: str
) -> None:
    method, path = request_line.split()
    status, _, answer = client.send_bytes(method, path, body)
    reason = json.loads(answer)["error"]
    assert (status, reason[: len(message)]) == (422, message)
    assert len(reason) < 300, "a long value is cut"


def test_foreign_pages_and_hosts_are_refused(client: RestClient) -> None:
    status, _, body = client.send("GET", "/agents", Origin="https://evil.example")
    assert (status, b"is not allowed" in body) == (403, True)
    assert client.send("GET", "/agents", Host="evil.example")[0] == 403
    assert client.send("POST", "/mcp", {}, Origin="https://evil.example")[0] == 403
    assert client.send("GET", "/agents", Origin="A program")[0] == 200
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
    assert (answer.status, reason) == (413, f"body of {MAX_BODY_BYTES + 1:,} bytes: {TOO_LARGE}")


def test_a_body_without_a_length_that_is_too_large_is_refused(client: RestClient) -> None:
    connection = http.client.HTTPConnection(client.url.removeprefix("http://"))
    with closing(connection):
        parts = [b'{"goal": "', *[b"x" * 65_536] * (MAX_BODY_BYTES // 65_536), b'"}']
        connection.request("POST", "/tasks", iter(parts), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        reason = json.loads(answer.read())["error"]
    assert (answer.status, reason.endswith("or more: " + TOO_LARGE)) == (413, True), reason


def test_no_answer_waits_for_acknowledgements() -> None:
    with (
        bind_socket("127.0.0.1", 0) as bound,
        closing(socket.create_connection(bound.getsockname())),
        closing(bound.accept()[0]) as accepted,
    ):
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_port_in_use_is_named() -> None:
    with bind_socket("127.0.0.1", 0) as bound:
        port = bound.getsockname()[1]
        with pytest.raises(ConfigError, match=f"cannot listen on 127.0.0.1:{port}: the port is in"):
            bind_socket("127.0.0.1", port)
    assert isinstance(bound, socket.socket)
