"""`agent serve`: REST, MCP and JSON-RPC of one process; MCP over its standard streams."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from mcp import Client, StdioServerParameters

from pyevm_agents.cli.app import main
from pyevm_agents.control.app import bind_socket
from tests.checkout import ROOT
from tests.deadlines import HANG_SECONDS
from tests.pyevm_agents.cli.agent.served_process import PROGRAM, call_rpc, serve_process
from tests.pyevm_agents.control.agents_of_tests import PAY, make_agent
from tests.pyevm_agents.control.served_plane import RestClient

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

VALIDATOR = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
"""The second account of a development chain."""


def serve(*words: str) -> AbstractContextManager[dict[str, str]]:
    """Run `agent serve` without a model in a process inside a context; give its URLs by name."""
    return serve_process(*words, "--no-model")


@pytest.mark.slow  # processes
def test_a_process_serves_rest_and_json_rpc_and_continues_a_run_after_a_restart(
    tmp_path: Path,
) -> None:
    folder = make_agent(tmp_path, action=PAY)
    words = (str(folder.path), "--data", str(tmp_path / "data"))
    with serve(*words) as urls:
        rest = RestClient(urls["REST"])
        registered = rest.post("/agents/gas-watcher/registration", status=200)
        uri = json.loads(base64.b64decode(registered["uri"].partition(",")[2]))
        named = {each["name"]: each["endpoint"] for each in uri["services"]}
        assert named == {"openfi-api": urls["REST"], "MCP": urls["MCP"]}
        assert rest.get("/.well-known/agent-registration.json")["services"] == uri["services"]
        rest.post("/tasks", {"goal": "Pay", "taskId": "pay"}, status=201)
        run_id = rest.post("/tasks/pay/runs?wait=true", {"until": "dry_run"})["runId"]
        before = int(call_rpc(urls["JSON-RPC"], "eth_blockNumber"), 16)
    with serve(*words) as urls:
        rest = RestClient(urls["REST"])
        run = rest.post(f"/runs/{run_id}/continue?wait=true")
        assert (run["status"], run["failure"]) == ("completed", None)
        assert int(call_rpc(urls["JSON-RPC"], "eth_blockNumber"), 16) == before + 1
        payee = "0x" + "00" * 18 + "beef"
        assert call_rpc(urls["JSON-RPC"], "eth_getBalance", payee, "latest") == "0x1"


@pytest.mark.slow  # processes
def test_a_validator_answers_for_the_runs_of_a_registered_agent(tmp_path: Path) -> None:
    folder = make_agent(tmp_path, action=PAY)
    data = ("--data", str(tmp_path / "data"), "--validator", VALIDATOR)
    with serve(str(folder.path), *data) as urls:
        rest = RestClient(urls["REST"])
        identity = rest.post("/agents/gas-watcher/registration", status=200)
        rest.post("/tasks", {"goal": "Pay", "taskId": "pay"}, status=201)
        run = rest.post("/tasks/pay/runs?wait=true")
        assert (run["status"], run["failure"]) == ("completed", None)
        served = rest.get(f"/runs/{run['runId']}/validation")
        assert (served["response"], served["validator"]) == (100, VALIDATOR)
        assert (served["agentId"], served["tag"]) == (identity["agentId"], "reexecution")
        assert "0x" + served["evidence"][2:] == run["phases"][5]["result"]["digest"]
    command = ["run", "Pay", "--agent", str(folder.path), "--no-model", *data]
    printed = CliRunner().invoke(main, command)
    assert printed.exit_code == 0, printed.output
    assert f"100 of 100 for agent {identity['agentId']} by {VALIDATOR}" in printed.stdout
    form = json.loads(CliRunner().invoke(main, [*command, "--json"]).stdout)
    assert form["validation"]["response"] == 100
    failed = CliRunner().invoke(main, [*command, "--max-onchain-writes", "0", "--json"])
    assert "validation" not in json.loads(failed.stdout), "it was not verified"


@pytest.mark.slow  # a process
def test_an_mcp_client_starts_the_server_and_speaks_over_its_streams(tmp_path: Path) -> None:
    folder = make_agent(tmp_path)
    arguments = [*PROGRAM[1:], str(folder.path), "--stdio", "--no-model"]

    async def talk() -> None:
        parameters = StdioServerParameters(command=PROGRAM[0], args=arguments, cwd=ROOT)
        async with asyncio.timeout(HANG_SECONDS), Client(parameters) as client:
            created = await client.call_tool(
                "openfi_create_task", {"task": {"goal": "What is my balance?", "taskId": "ask"}}
            )
            assert not created.is_error, created.content
            result = await client.call_tool("openfi_run_task", {"taskId": "ask"})
            assert result.structured_content is not None
            assert result.structured_content["status"] == "completed"

    asyncio.run(talk())


def test_a_port_in_use_is_reported_before_anything_is_loaded(tmp_path: Path) -> None:
    with bind_socket("127.0.0.1", 0) as bound:
        port = str(bound.getsockname()[1])
        result = CliRunner().invoke(main, ["agent", "serve", str(tmp_path), "--port", port])
    assert result.exit_code == 2
    assert f"cannot listen on 127.0.0.1:{port}: the port is in use" in result.stderr
