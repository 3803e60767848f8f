"""Mutated requests to a control plane: those of REST and of MCP, changed by a seed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from tests.pyevm_agents.control.in_process import HOST, JSON_HEADERS, RawRequest

if TYPE_CHECKING:
    import random

TEXTS = (
    *(
        "",
        "x",
        "t1",
        "r1",
        "gas-watcher",
        "plan",
        "dry_run",
        "../..",
        "a b",
        "ä",
        "\ud800",
        "\udfff",
    ),
    *("\0", "\x1b[31m", "\u2028", "\u202e", "null", "-1", "x" * 300, "x" * 5_000, "0x", "0x00"),
    *("'; DROP TABLE tasks; --", "%00", "javascript:alert(1)", "\U0001f600"),
)
ODD: tuple[Any, ...] = (
    *TEXTS,
    *(None, True, False, 0, 1, -1, 2**31, 2**53, 2**64, 10**400, -(2**63), 0.5, 1e308, -0.0),
    *(float("nan"), float("inf"), [], {}, [[]], [None], {"": None}, {"a": {"b": [1]}}),
)
DIGITS = "0123456789"
FORMS: tuple[tuple[str, str, dict[str, Any] | None], ...] = (
    ("POST", "/tasks", {"goal": "Look", "taskId": "t1"}),
    ("POST", "/tasks", {"goal": "Look", "category": "general", "agentSlug": "gas-watcher"}),
    ("POST", "/tasks", {"goal": "Look", "budget": {"maxSteps": 3, "maxGasWei": "9"}}),
    ("POST", "/tasks", {"goal": "Look", "trustThreshold": {"minScore": 0.5}}),
    ("POST", "/tasks/t1/runs", {"runId": "r1", "until": "plan"}),
    ("POST", "/tasks/t1/runs?wait=true", {"until": "dry_run"}),
    ("POST", "/runs/r1/continue?wait=true", {"until": None}),
    ("POST", "/runs/r1/confirmation", {"expiry": 2**40, "signature": "0x" + "00" * 65}),
    ("POST", "/runs/r1/cancel", {}),
    ("POST", "/runs/r1/verification", {}),
    ("POST", "/agents/gas-watcher/registration", {"uri": None}),
    ("GET", "/tasks", None),
    ("GET", "/tasks/t1", None),
    ("GET", "/runs?task=t1", None),
    ("GET", "/runs/r1?wait=true", None),
    ("GET", "/runs/r1/receipts", None),
    ("GET", "/runs/r1/validation", None),
    ("GET", "/runs/r1/dry-run", None),
    ("GET", "/runs/r1/confirmation?expiry=4102444800", None),
    ("GET", "/agents", None),
    ("GET", "/agents/gas-watcher", None),
    ("GET", "/agents/gas-watcher/trust", None),
    ("GET", "/policy", None),
    ("GET", "/treasury", None),
    ("GET", "/.well-known/agent.json", None),
    ("GET", "/.well-known/agent_log.json?agent=gas-watcher", None),
)
TOOLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("openfi_create_task", {"task": {"goal": "Look", "taskId": "t1"}}),
    ("openfi_plan_task", {"taskId": "t1"}),
    ("openfi_dry_run_task", {"taskId": "t1"}),
    ("openfi_run_task", {"taskId": "t1"}),
    ("openfi_get_task", {"taskId": "t1"}),
    ("openfi_get_run", {"runId": "r1"}),
    ("openfi_list_runs", {"taskId": "t1"}),
    ("openfi_list_tasks", {}),
    ("openfi_continue_run", {"runId": "r1", "until": "plan"}),
    ("openfi_get_confirmation", {"runId": "r1", "expiry": 2**40}),
    ("openfi_confirm_run", {"runId": "r1", "expiry": 2**40, "signature": "0x" + "00" * 65}),
    ("openfi_cancel_run", {"runId": "r1"}),
    ("openfi_get_receipts", {"runId": "r1"}),
    ("openfi_get_manifest", {"document": "agent.json"}),
    ("openfi_get_trust", {"agentSlug": "gas-watcher"}),
    ("openfi_register_identity", {"agentSlug": "gas-watcher", "uri": None}),
    ("openfi_get_policy", {}),
)
MCP_METHODS = ("initialize", "ping", "tools/list", "tools/call", "resources/list", "x", "")
INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "fuzz", "version": "1"},
}
HEADERS = (
    (b"host", b"evil.example"),
    (b"host", HOST),
    (b"origin", b"https://evil.example"),
    (b"origin", b"null"),
    (b"content-type", b"text/plain"),
    (b"content-length", b"5"),
    (b"accept", b"*/*"),
    (b"mcp-session-id", b"x"),
    (b"mcp-protocol-version", b"2025-06-18"),
    (b"mcp-protocol-version", b"1"),
)
DEEP = (b"[" * 3_000, b'{"goal":' * 2_000, b'["\\"",' * 1_000, b"[" * 200_000)


class RequestMutator:
    """Makes requests from valid ones."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def build(self) -> RawRequest:
        """Return a request: valid, or with some changes."""
        chance = self._chance
        if chance.random() < 0.3:
            method, path, form = "POST", "/mcp", self._build_message()
        else:
            method, path, form = chance.choice(FORMS)
            if form is not None and chance.random() < 0.7:
                form = self._change(form)
        if chance.random() < 0.05:
            method = chance.choice(("GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD"))
        if method == "GET" and path == "/mcp":
            method = "POST"  # It would be a stream of events, which has no end.
        body = b"" if form is None else json.dumps(form).encode()
        return RawRequest(
            method=method,
            path=self._change_path(path),
            body=self._change_bytes(body),
            headers=self._change_headers(),
        )

    def _build_message(self) -> object:
        chance = self._chance
        name, arguments = chance.choice(TOOLS)
        message: object = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {
                "name": name,
                "arguments": self._change(arguments) if chance.random() < 0.6 else arguments,
            },
        }
        if chance.random() < 0.3:
            message = {"jsonrpc": "2.0", "id": 1, "method": chance.choice(MCP_METHODS)}
            if chance.random() < 0.5:
                message["params"] = INITIALIZE
        return self._change(message) if chance.random() < 0.2 else message

    def _change(self, value: Any) -> Any:  # noqa: ANN401 - JSON
        """Return a value with one part changed, dropped or added."""
        chance = self._chance
        if isinstance(value, dict) and value and chance.random() < 0.8:
            changed = dict(value)
            key = chance.choice([*changed])
            kind = chance.random()
            if kind < 0.1:
                del changed[key]
            elif kind < 0.2:
                changed[chance.choice(TEXTS)] = chance.choice(ODD)
            else:
                changed[key] = self._change(changed[key])
            return changed
        return chance.choice(ODD)

    def _change_path(self, path: str) -> str:
        chance = self._chance
        if path == "/mcp" or chance.random() < 0.8:
            return path
        parts = path.split("/")
        text = chance.choice(TEXTS).encode("utf-8", "replace")
        parts[chance.randrange(1, len(parts))] = quote(text, safe=chance.choice(("", "/?=&")))
        return "/".join(parts)

    def _change_bytes(self, body: bytes) -> bytes:
        chance = self._chance
        kind = chance.random()
        if kind < 0.02:
            return chance.choice(DEEP)
        if kind < 0.04:
            return chance.randbytes(chance.randrange(50))
        if kind < 0.06:
            return body.decode().encode(chance.choice(("utf-16", "utf-32", "utf-8-sig")))
        if kind < 0.16 and body:
            changed, at = bytearray(body), chance.randrange(len(body))
            changed[at : at + chance.randrange(3)] = chance.randbytes(chance.randrange(3))
            return bytes(changed)
        return body

    def _change_headers(self) -> tuple[tuple[bytes, bytes], ...]:
        chance = self._chance
        if chance.random() < 0.9:
            return JSON_HEADERS
        headers = [each for each in JSON_HEADERS if chance.random() < 0.9]
        return (*headers, chance.choice(HEADERS))
