"""The control plane: MCP's tools, and the answers of REST and of MCP."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from eth_account import Account
from mcp import Client

from pyevm_agents.control.mcp_tools import build_mcp_server
from pyevm_agents.devnet.chain import DEVELOPMENT_KEY
from tests.pyevm_agents.control.agents_of_tests import PAY, make_agent
from tests.pyevm_agents.control.equipped_plane import BEGUN, open_equipped_plane
from tests.pyevm_agents.control.served_plane import RestClient, serve_plane

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyevm_agents.models import Vocabulary
    from tests.golden.json_values import Json

EXPIRY = 4_102_444_800
"""Unix seconds: the year 2100."""

HASH = re.compile(r"0x[0-9a-f]{64}(?![0-9a-f])")

TIME = re.compile(rf"{BEGUN}\.[0-9]+")
SPENT = re.compile(r'(spentMs\\*": *)[0-9]+')
"""Which reading of the clock a time is depends on what other threads read in between."""

OPERATOR = Account.from_key(DEVELOPMENT_KEY.to_bytes())


def collect_control_plane(_vocabulary: Vocabulary) -> Mapping[str, object]:
    """Return everything that clients of a control plane read."""
    with TemporaryDirectory() as name:
        agent = make_agent(Path(name), action=PAY)
        with open_equipped_plane(agent.path, Path(name)) as plane:
            with serve_plane(plane) as client:
                rest = _ask_rest(client)
            tools, mcp = asyncio.run(_ask_mcp(build_mcp_server(plane)))
    answers = json.dumps({"REST": rest, "MCP": mcp, "tools": tools}).replace(name, "FOLDER")
    answers = SPENT.sub(r"\g<1>0", TIME.sub(f"{BEGUN}.0", answers))
    found: dict[str, object] = json.loads(_number_hashes(answers))
    return found


def _number_hashes(text: str) -> str:
    """Return a text with a number in place of each hash: equal hashes have equal numbers.

    The hash of a block or a transaction depends on the whole chain, which other files are for.
    """
    numbers: dict[str, int] = {}

    def number(found: re.Match[str]) -> str:
        return f"0x{numbers.setdefault(found.group(), len(numbers)):064x}"

    return HASH.sub(number, text)


def _sign(data: Json) -> str:
    return "0x" + bytes(OPERATOR.sign_typed_data(full_message=data).signature).hex()


REQUESTS: tuple[tuple[str, object], ...] = (
    ("GET /.well-known/agent.json", None),
    ("GET /.well-known/agent_log.json", None),
    ("GET /.well-known/agent-registration.json", None),
    ("GET /.well-known/agent-registration.openfi.json", None),
    ("GET /agents", None),
    ("POST /agents/gas-watcher/registration", {}),
    ("GET /agents/gas-watcher", None),
    ("GET /agents/gas-watcher/trust", None),
    ("GET /policy", None),
    ("GET /treasury", None),
    ("POST /tasks", {"goal": "Pay", "taskId": "pay", "trustThreshold": {"minScore": 0.0}}),
    ("POST /tasks", {"goal": "Pay", "taskId": "drop", "budget": {"maxOnchainWrites": 2}}),
    ("GET /tasks/pay", None),
    ("POST /tasks/pay/runs?wait=true", {"runId": "one", "until": "plan"}),
    ("POST /runs/one/continue?wait=true", {}),
    ("GET /runs/one/dry-run", None),
    (f"GET /runs/one/confirmation?expiry={EXPIRY}", None),
    ("POST /runs/one/confirmation?wait=true", None),  # Signed below.
    ("GET /runs/one", None),
    ("GET /runs/one/receipts", None),
    ("GET /runs/one/validation", None),
    ("POST /runs/one/verification", {}),
    ("POST /tasks/drop/runs?wait=true", {"runId": "two", "until": "dry_run"}),
    ("POST /runs/two/cancel", {}),
    ("GET /runs/two?wait=true", None),
    ("POST /tasks", {"goal": "Pay", "taskId": "much", "budget": {"maxSteps": 51}}),
    ("POST /tasks/much/runs?wait=true", {"runId": "three"}),
    ("GET /agents/gas-watcher/trust?", None),
    ("GET /runs?task=pay", None),
    ("GET /runs", None),
    ("GET /tasks", None),
    ("GET /tasks/nothing", None),
    ("POST /tasks", {}),
    ("GET /runs/two/validation", None),
    ("POST /tasks/pay/runs", {}),
    ("PUT /tasks", {}),
)
"""Requests in their order: all operations, and an error of each status."""

RACING = frozenset({"POST /runs/two/cancel"})
"""Answers that depend on how far the run is."""


def _ask_rest(client: RestClient) -> dict[str, Json]:
    answers: dict[str, Json] = {}
    typed_data: Json = None
    for number, (line, given) in enumerate(REQUESTS):
        method, path = line.split()
        body = given
        if method == "POST" and "/confirmation" in path:
            body = {"expiry": EXPIRY, "signature": _sign(typed_data)}
        status, headers, answer = client.send(method, path, body)
        form = json.loads(answer)
        if "typedData" in form:
            typed_data = form["typedData"]
        shown: Json = "…" if line in RACING else answer.decode()
        answers[f"{number:02} {line}"] = {
            "status": status, "type": headers["content-type"], "body": shown,
        }  # fmt: skip
    return answers


TOOL_USES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("openfi_list_agents", {}),
    ("openfi_register_identity", {"agentSlug": "gas-watcher"}),
    *(
        ("openfi_get_manifest", {"document": document})
        for document in (
            "agent.json",
            "agent_log.json",
            "agent-registration.json",
            "agent-registration.openfi.json",
        )
    ),
    ("openfi_get_trust", {"agentSlug": "gas-watcher"}),
    ("openfi_get_policy", {}),
    ("openfi_get_treasury", {}),
    ("openfi_create_task", {"task": {"goal": "Pay", "taskId": "of-mcp"}}),
    ("openfi_get_task", {"taskId": "of-mcp"}),
    ("openfi_plan_task", {"taskId": "of-mcp"}),
    ("openfi_continue_run", {"runId": "of-mcp-run-1"}),
    ("openfi_get_confirmation", {"runId": "of-mcp-run-1", "expiry": EXPIRY}),
    ("openfi_confirm_run", {"runId": "of-mcp-run-1", "expiry": EXPIRY}),  # Signed below.
    ("openfi_get_run", {"runId": "of-mcp-run-1"}),
    ("openfi_get_receipts", {"runId": "of-mcp-run-1"}),
    ("openfi_get_validation", {"runId": "of-mcp-run-1"}),
    ("openfi_verify_run", {"runId": "of-mcp-run-1"}),
    ("openfi_create_task", {"task": {"goal": "Pay", "taskId": "cancelled"}}),
    ("openfi_dry_run_task", {"taskId": "cancelled"}),
    ("openfi_run_task", {"taskId": "much"}),
    ("openfi_cancel_run", {"runId": "one"}),
    ("openfi_list_tasks", {}),
    ("openfi_list_runs", {"taskId": "of-mcp"}),
    ("openfi_get_run", {"runId": "none"}),
)


async def _ask_mcp(server: Any) -> tuple[dict[str, Json], dict[str, Json]]:  # noqa: ANN401 - of MCP
    answers: dict[str, Json] = {}
    typed_data: Json = None
    async with Client(server) as client:
        listed = (await client.list_tools()).tools
        tools = {each.name: each.model_dump(mode="json", by_alias=True) for each in listed}
        for number, (name, given) in enumerate(TOOL_USES):
            arguments = given
            if name == "openfi_confirm_run":
                arguments = {**given, "signature": _sign(typed_data)}
            result = await client.call_tool(name, arguments)
            form = result.model_dump(mode="json", by_alias=True, exclude_none=True)
            typed_data = (result.structured_content or {}).get("typedData", typed_data)
            answers[f"{number:02} {name} {json.dumps(given)}"] = form
    return tools, answers
