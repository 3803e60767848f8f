"""A REST client and MCP clients of `agent serve` that take the same requests: MCP's tool names."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Protocol

import httpx2
from mcp import Client, MCPError, StdioServerParameters, stdio_client

from tests.checkout import ROOT
from tests.deadlines import HANG_SECONDS
from tests.pyevm_agents.cli.agent.served_process import PROGRAM, find_urls

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

OPERATIONS: Mapping[str, tuple[str, str]] = {
    "openfi_register_identity": ("POST", "/agents/{agentSlug}/registration"),
    "openfi_get_trust": ("GET", "/agents/{agentSlug}/trust"),
    "openfi_get_treasury": ("GET", "/treasury"),
    "openfi_create_task": ("POST", "/tasks"),
    "openfi_get_task": ("GET", "/tasks/{taskId}"),
    "openfi_plan_task": ("POST", "/tasks/{taskId}/runs?wait=true"),
    "openfi_dry_run_task": ("POST", "/tasks/{taskId}/runs?wait=true"),
    "openfi_run_task": ("POST", "/tasks/{taskId}/runs?wait=true"),
    "openfi_get_run": ("GET", "/runs/{runId}"),
    "openfi_continue_run": ("POST", "/runs/{runId}/continue?wait=true"),
    "openfi_get_confirmation": ("GET", "/runs/{runId}/confirmation?expiry={expiry}"),
    "openfi_confirm_run": ("POST", "/runs/{runId}/confirmation?wait=true"),
    "openfi_cancel_run": ("POST", "/runs/{runId}/cancel"),
    "openfi_get_receipts": ("GET", "/runs/{runId}/receipts"),
    "openfi_get_validation": ("GET", "/runs/{runId}/validation"),
    "openfi_verify_run": ("POST", "/runs/{runId}/verification"),
    "openfi_get_manifest": ("GET", "/.well-known/{document}?agent={agentSlug}"),
}
"""The operation of REST that is the same as a tool. Source: `docs/lifecycle-reference.md`."""

MEMBERS = {"openfi_plan_task": {"until": "plan"}, "openfi_dry_run_task": {"until": "dry_run"}}


class RunClient(Protocol):
    """A client of a control plane."""

    async def use(self, name: str, **arguments: Any) -> Any:  # noqa: ANN401 - JSON
        """Return the result of an operation. An error fails the test."""
        ...

    async def fail(self, name: str, **arguments: Any) -> str:  # noqa: ANN401 - JSON
        """Return the message of an operation that is refused. A result fails the test."""
        ...


class RestRunClient:
    """A client of the REST interface. A refusal must have a status from 400 to 499."""

    def __init__(self, client: httpx2.AsyncClient) -> None:
        self._client = client

    async def use(self, name: str, **arguments: Any) -> Any:  # noqa: ANN401 - JSON
        answer = await self._send(name, arguments)
        assert answer.is_success, answer.text
        return answer.json()

    async def fail(self, name: str, **arguments: Any) -> str:  # noqa: ANN401 - JSON
        answer = await self._send(name, arguments)
        assert answer.is_client_error, answer.text
        form = answer.json()
        assert form.keys() == {"error"}
        return str(form["error"])

    async def _send(self, name: str, arguments: dict[str, Any]) -> httpx2.Response:
        method, path = OPERATIONS[name]
        in_path = {member for member in arguments if f"{{{member}}}" in path}
        path = path.format(**arguments)
        if method == "GET":
            return await self._client.get(path)
        body: Any = {name: value for name, value in arguments.items() if name not in in_path}
        if name == "openfi_create_task":
            body = body.get("task")
        return await self._client.post(path, json=MEMBERS.get(name, body))


class McpRunClient:
    """A client of the MCP server."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def use(self, name: str, **arguments: Any) -> Any:  # noqa: ANN401 - JSON
        result = await self._client.call_tool(name, arguments)
        assert not result.is_error, result.content
        form: Any = result.structured_content
        return form["result"] if form.keys() == {"result"} else form

    async def fail(self, name: str, **arguments: Any) -> str:  # noqa: ANN401 - JSON
        try:
            result = await self._client.call_tool(name, arguments)
        except MCPError as error:
            return str(error)
        assert result.is_error, result.structured_content
        return "".join(getattr(each, "text", "") for each in result.content)


@asynccontextmanager
async def connect_rest(urls: Mapping[str, str]) -> AsyncIterator[RunClient]:
    """Connect to the REST interface of a served process inside a context."""
    async with httpx2.AsyncClient(
        base_url=urls["REST"], timeout=HANG_SECONDS, trust_env=False
    ) as client:
        yield RestRunClient(client)


@asynccontextmanager
async def connect_mcp(urls: Mapping[str, str]) -> AsyncIterator[RunClient]:
    """Connect to the MCP server of a served process inside a context."""
    async with Client(urls["MCP"]) as client:
        yield McpRunClient(client)


@asynccontextmanager
async def start_stdio(
    words: tuple[str, ...], errors: Path
) -> AsyncIterator[tuple[RunClient, Mapping[str, str]]]:
    """Start `agent serve --stdio` as MCP clients do; give the client, and what it prints by name.

    Input: its arguments; a file for its standard error.
    """
    arguments = [*PROGRAM[1:], *words, "--stdio", "--rpc-port", "0"]
    parameters = StdioServerParameters(command=PROGRAM[0], args=arguments, cwd=ROOT)
    with errors.open("w+", encoding="utf-8") as log:
        async with Client(stdio_client(parameters, errlog=log)) as client:
            log.seek(0)  # It answers after it has printed them.
            yield McpRunClient(client), find_urls(log.read())
