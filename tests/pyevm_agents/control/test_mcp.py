"""A real MCP client drives a run over streamable HTTP."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from mcp import Client, MCPError

from pyevm_agents.control.access import MAX_BODY_BYTES
from pyevm_agents.manifests.documents import DocumentKind
from pyevm_agents.manifests.validation import validate_document
from tests.deadlines import HANG_SECONDS
from tests.pyevm_agents.control.agents_of_tests import PAY, make_agent
from tests.pyevm_agents.control.served_plane import open_served_plane

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    Talk = Callable[["Client"], Awaitable[None]]

TOOLS = {
    "openfi_register_identity", "openfi_list_agents", "openfi_get_manifest", "openfi_get_trust",
    "openfi_get_policy", "openfi_create_task", "openfi_get_task", "openfi_plan_task",
    "openfi_dry_run_task", "openfi_run_task", "openfi_list_runs", "openfi_get_run",
    "openfi_continue_run", "openfi_get_confirmation", "openfi_confirm_run", "openfi_cancel_run",
    "openfi_get_receipts", "openfi_verify_run", "openfi_list_tasks",
    "openfi_get_treasury",
    "openfi_get_validation",
}  # fmt: skip


def talk_to(url: str, talk: Talk) -> None:
    """Connect an MCP client, and let a test talk to the server."""

    async def run() -> None:
        async with asyncio.timeout(HANG_SECONDS), Client(f"{url}/mcp") as client:
            await talk(client)

    asyncio.run(run())


async def use(client: Client, name: str, **arguments: object) -> Any:  # noqa: ANN401 - JSON
    """Use a tool; return its structured result. An error fails the test."""
    result = await client.call_tool(name, arguments)
    assert not result.is_error, result.content
    content: Any = result.structured_content
    return content.get("result", content) if content.keys() == {"result"} else content


async def fail(client: Client, name: str, **arguments: object) -> str:
    """Use a tool that fails; return its message."""
    result = await client.call_tool(name, arguments)
    assert result.is_error
    return str(result.content)


def test_a_client_sees_the_tools_and_drives_a_run(tmp_path: Path) -> None:
    agent = make_agent(tmp_path, action=PAY)

    async def talk(client: Client) -> None:
        listed = (await client.list_tools()).tools
        assert {each.name for each in listed} == TOOLS
        assert all(each.description and each.annotations for each in listed)
        [found] = await use(client, "openfi_list_agents")
        assert found["slug"] == "gas-watcher"
        for kind in DocumentKind:
            form = await use(client, "openfi_get_manifest", document=kind.file_name)
            assert validate_document(form, kind) == ()
        task = await use(client, "openfi_create_task", task={"goal": "Pay", "taskId": "pay"})
        assert task["status"] == "pending"
        assert await use(client, "openfi_list_tasks") == [task]
        run = await use(client, "openfi_dry_run_task", taskId="pay")
        assert run["phases"][-1]["phase"] == "dry_run"
        run = await use(client, "openfi_continue_run", runId=run["runId"])
        assert (run["status"], run["failure"]) == ("completed", None)
        receipts = await use(client, "openfi_get_receipts", runId=run["runId"])
        assert [each["type"] for each in receipts] == ["dry_run", "transaction", "verification"]
        assert (await use(client, "openfi_verify_run", runId=run["runId"]))["isVerified"]
        assert (await use(client, "openfi_get_trust", agentSlug="gas-watcher"))["score"] == 0
        assert "not in" in await fail(client, "openfi_get_run", runId="none")
        assert "must be one of" in await fail(client, "openfi_get_manifest", document="x")
        assert "this chain has none" in await fail(
            client, "openfi_register_identity", agentSlug="gas-watcher"
        )

    with open_served_plane(agent.path, tmp_path) as rest:
        talk_to(rest.url, talk)


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("openfi_create_task", {}, "openfi_create_task: task: is missing; pass it"),
    ("openfi_create_task", {"task": 5}, "task 5: must be a valid dictionary"),
    ("openfi_create_task", {"task": {"goal": 5}}, "task.goal 5: must be a valid string"),
    ("openfi_create_task", {"task": {"goal": "x", "extra": 1}}, "task.extra: is not permitted"),
    ("openfi_get_run", {"runId": 7}, "runId 7: must be a valid string"),
    ("openfi_get_run", {"runId": "x", "more": 1}, "argument 'more': unknown; openfi_get_run takes"),
    ("openfi_list_runs", {"task": "x"}, "argument 'task': unknown; openfi_list_runs takes taskId"),
    ("openfi_list_agents", {"x": 1}, "argument 'x': unknown; openfi_list_agents takes no arg"),
    ("openfi_get_confirmation", {"runId": "x", "expiry": 0}, "expiry 0: must be greater than 0"),
    ("openfi_confirm_run", {"runId": "x", "expiry": 5, "signature": "zz"},
     "signature 'zz': must match pattern"),
    ("openfi_nothing", {}, "Unknown tool: openfi_nothing"),
    ("openfi_get_treasury", {}, "treasury: this control plane has none"),
]  # fmt: skip
"""Tools, arguments, and what is said of them."""


def test_a_client_is_told_what_is_wrong_with_its_arguments(tmp_path: Path) -> None:
    agent = make_agent(tmp_path, action=PAY)

    async def talk(client: Client) -> None:
        for name, arguments, reason in WRONG:
            told = await fail(client, name, **arguments)
            assert reason in told, told
            assert "https://" not in told, "no page of a library"
        task = {"goal": "x" * MAX_BODY_BYTES}
        text = f"must have at most {MAX_BODY_BYTES:,}; send less"
        with pytest.raises(MCPError, match=text) as refused:
            await client.call_tool("openfi_create_task", {"task": task})
        assert refused.value.error.code == -32_600
        assert await use(client, "openfi_list_tasks") == [], "nothing was made"

    with open_served_plane(agent.path, tmp_path) as rest:
        talk_to(rest.url, talk)


def test_no_session_is_kept(tmp_path: Path) -> None:
    headers = {"Accept": "application/json, text/event-stream"}
    handshake = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "old", "version": "1"},
    }
    call = {"name": "openfi_list_agents", "arguments": {}}

    def build(method: str, params: object) -> dict[str, object]:
        return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}

    with open_served_plane(make_agent(tmp_path).path, tmp_path) as rest:
        for body in (build("initialize", handshake), build("tools/call", call)):
            status, answered, text = rest.send("POST", "/mcp", body, **headers)
            assert (status, "mcp-session-id" in answered) == (200, False), text
        assert b"gas-watcher" in text
        refused: list[object] = [[], "x", {"jsonrpc": "2.0"}]
        for wrong in refused:
            status, answered, _ = rest.send("POST", "/mcp", wrong, **headers)
            assert (400 <= status < 500, "mcp-session-id" in answered) == (True, False)
