"""What a client stores can be answered: whatever its texts, after a restart, and of old files."""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyevm_agents.control.development_plane import STORE_FILE, open_development_plane
from pyevm_agents.control.texts import (
    MAX_GOAL_CHARACTERS,
    MAX_URI_CHARACTERS,
    MAX_WORD_CHARACTERS,
)
from tests.pyevm_agents.control.agents_of_tests import make_agent
from tests.pyevm_agents.control.in_process import RawRequest, call_in_process

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.pyevm_agents.control.in_process import InProcessClient

CHARACTERS = st.characters() | st.sampled_from("\ud800\udfff\0\x1b\n\u2028")
TEXTS = st.text(CHARACTERS, max_size=20) | st.text("ab-1", max_size=8)
VALUES = TEXTS | st.none() | st.integers() | st.floats() | st.lists(TEXTS, max_size=2)
TASKS = st.fixed_dictionaries(
    {"goal": TEXTS},
    optional={
        "taskId": TEXTS,
        "category": TEXTS | VALUES,
        "agentSlug": TEXTS | st.just("gas-watcher"),
        "budget": st.dictionaries(
            st.sampled_from(["maxSteps", "maxGasWei", "maxRuntimeMs"]) | TEXTS,
            VALUES | st.integers(0, 2**70),
            max_size=2,
        ),
        "trustThreshold": st.dictionaries(st.just("minScore") | TEXTS, VALUES, max_size=2),
    },
)
RUNS = st.fixed_dictionaries({}, optional={"runId": TEXTS, "until": TEXTS | st.just("plan")})


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcessClient]:
    folder = tmp_path_factory.mktemp("agents")
    with (
        open_development_plane([make_agent(folder).path], folder) as plane,
        call_in_process(plane) as client,
    ):
        yield client


def build_tool_use(name: str, **arguments: object) -> dict[str, object]:
    params = {"name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def post(client: InProcessClient, path: str, form: object) -> int:
    """Send a form, with every text escaped; the answer must be JSON in UTF-8."""
    answer = client.send(RawRequest(path=path, body=json.dumps(form).encode()))
    if path != "/mcp":
        answer.read()
    answer.body.decode("utf-8", "strict")
    return answer.status


def check_lists(client: InProcessClient) -> None:
    """Read everything that is stored."""
    for task in client.get("/tasks"):
        # A run that goes on may change the status in between.
        assert client.get(f"/tasks/{quote(task['taskId'])}") | {"status": ""} == task | {
            "status": ""
        }
    for run in client.get("/runs"):
        client.get(f"/runs/{quote(run['runId'])}")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(task=TASKS, run=RUNS, place=TEXTS)
def test_every_form_is_refused_or_can_be_answered(
    client: InProcessClient, task: dict[str, Any], run: dict[str, Any], place: str
) -> None:
    assert post(client, "/tasks", task) in {201, 400, 404, 409, 422}
    assert post(client, "/mcp", build_tool_use("openfi_create_task", task=task)) == 200
    path = quote(place.encode("utf-8", "replace"), safe="")
    assert post(client, f"/tasks/{path}/runs", run) in {202, 400, 404, 405, 409, 422}
    assert post(client, f"/agents/{path}/registration", {"uri": place}) in {400, 404, 405, 422}
    check_lists(client)


@pytest.mark.parametrize(
    ("path", "name", "most"),
    [
        ("/tasks", "goal", MAX_GOAL_CHARACTERS),
        ("/tasks", "category", MAX_WORD_CHARACTERS),
        ("/tasks", "taskId", MAX_WORD_CHARACTERS),
        ("/tasks", "agentSlug", MAX_WORD_CHARACTERS),
        ("/tasks/x/runs", "runId", MAX_WORD_CHARACTERS),
        ("/tasks/x/runs", "until", MAX_WORD_CHARACTERS),
        ("/runs/x/continue", "until", MAX_WORD_CHARACTERS),
        ("/agents/gas-watcher/registration", "uri", MAX_URI_CHARACTERS),
    ],
)
def test_texts_have_one_rule(client: InProcessClient, path: str, name: str, most: int) -> None:
    def send(text: str) -> int:
        return post(client, path, {**({"goal": "x"} if path == "/tasks" else {}), name: text})

    for bad in ("\ud800", "a\udfffb", "a\0b", "\x1b[31m", "\x7f", "\x85", "x" * (most + 1)):
        assert send(bad) == 422
    assert send("line\nline") == (201 if name == "goal" else 422)
    assert send("x" * most) != 422


def test_a_restart_answers_what_was_stored(tmp_path: Path) -> None:
    agent = make_agent(tmp_path)
    for _ in range(2):
        with (
            open_development_plane([agent.path], tmp_path) as plane,
            call_in_process(plane) as client,
        ):
            task = {"goal": "Zeile\n\u2028\U0001f600", "taskId": "t", "category": "\u202eab"}
            assert post(client, "/tasks", task) == 201
            assert client.get("/tasks/t")["goal"] == task["goal"]
            check_lists(client)


def test_half_a_surrogate_pair_of_an_old_file_is_replaced(tmp_path: Path) -> None:
    agent = make_agent(tmp_path)
    with (
        open_development_plane([agent.path], tmp_path) as plane,
        call_in_process(plane) as client,
    ):
        assert post(client, "/tasks", {"goal": "Word", "taskId": "t"}) == 201
    with sqlite3.connect(tmp_path / STORE_FILE) as connection:
        connection.execute("UPDATE tasks SET task = replace(task, 'Word', 'a\\ud800')")
    connection.close()
    with (
        open_development_plane([agent.path], tmp_path) as plane,
        call_in_process(plane) as client,
    ):
        assert client.get("/tasks/t")["goal"] == "a\ufffd"
        assert post(client, "/tasks/t/runs?wait=true", {"runId": "r"}) == 202
        run = client.get("/runs/r")
        assert (run["failure"], run["status"]) == (None, "completed")
        check_lists(client)
        client.get("/.well-known/agent_log.json")


@pytest.mark.parametrize("path", ["/tasks", "/mcp", "/runs/x/continue"])
@pytest.mark.parametrize("kind", [b"application/json", b"application/x+json", b"text/plain", None])
@pytest.mark.parametrize(
    "body",
    [
        b"[" * 200_000,
        b'{"goal":' * 100_000,
        b'{"goal":"\\"' + b"[" * 200_000,
        ("[" * 100_000).encode("utf-16"),
        ("[" * 100_000).encode("utf-32-le"),
        b"\xff" * 100,
        b'{"goal": ' + b"9" * 10_000 + b"}",
        b'{"goal": "x", "budget": {"maxSteps": 1e999}}',
        b'{"goal": "x", "trustThreshold": {"minScore": NaN}}',
    ],
)
def test_no_body_ends_the_server(
    client: InProcessClient, path: str, kind: bytes | None, body: bytes
) -> None:
    headers = [(b"host", b"localhost"), (b"accept", b"application/json, text/event-stream")]
    if kind is not None:
        headers.append((b"content-type", kind))
    answer = client.send(RawRequest(path=path, body=body, headers=tuple(headers)))
    assert 400 <= answer.status < 500
