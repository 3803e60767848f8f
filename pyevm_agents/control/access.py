"""Access checks of the control plane: those of the node's server, and limits of request bodies."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping

    from pyevm_agents.server.origin_checks import AccessPolicy

    Message = MutableMapping[str, Any]
    Scope = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]
    AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]

MAX_BODY_BYTES = 2**20
"""Upper bound of a request's body: a goal is some hundred bytes."""

FORBIDDEN, TOO_LARGE = 403, 413
MCP_PATH = "/mcp"
INVALID_REQUEST = -32_600
"""Source: JSON-RPC 2.0, "Error object"."""

ALLOWED_METHODS = b"GET, POST, DELETE"
ALLOWED_HEADERS = b"content-type, mcp-session-id, mcp-protocol-version, last-event-id"
EXPOSED_HEADERS = b"mcp-session-id"


class AccessMiddleware:
    """An ASGI application in front of another one: refuses foreign hosts and pages."""

    def __init__(self, app: AsgiApp, policy: AccessPolicy) -> None:
        """Input: the application; the allowed senders of requests."""
        self._app, self._policy = app, policy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass the request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value for name, value in scope["headers"]}
        host, origin = _decode(headers.get("host")), _decode(headers.get("origin"))
        reason = self._policy.explain_refusal(host, origin)
        if reason is not None:
            await _answer(send, scope, FORBIDDEN, reason)
        elif _is_too_large(headers.get("content-length")):
            await _answer(send, scope, TOO_LARGE, _describe_size(int(headers["content-length"])))
        elif scope["method"] == "OPTIONS" and "access-control-request-method" in headers:
            await self._answer_preflight(send, origin)
        else:
            limited = _LimitedBody(receive, self._add_headers(send, origin), scope)
            await self._app(scope, limited.receive, limited.send)

    def _add_headers(self, send: Send, origin: str | None) -> Send:
        """Let a page of an allowed origin read the response."""
        if not self._policy.is_cors_allowed(origin):
            return send
        assert origin is not None  # noqa: S101 - allowed

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *_list_cors_headers(origin)]
            await send(message)

        return send_with_headers

    async def _answer_preflight(self, send: Send, origin: str | None) -> None:
        headers: list[tuple[bytes, bytes]] = []
        if self._policy.is_cors_allowed(origin) and origin is not None:
            headers = [
                *_list_cors_headers(origin),
                (b"access-control-allow-methods", ALLOWED_METHODS),
                (b"access-control-allow-headers", ALLOWED_HEADERS),
            ]
        await send({"type": "http.response.start", "status": 204, "headers": headers})
        await send({"type": "http.response.body", "body": b""})


def _list_cors_headers(origin: str) -> list[tuple[bytes, bytes]]:
    return [
        (b"access-control-allow-origin", origin.encode("latin-1")),
        (b"access-control-expose-headers", EXPOSED_HEADERS),
        (b"vary", b"origin"),
    ]


def _decode(header: bytes | None) -> str | None:
    return None if header is None else header.decode("latin-1")


def _is_too_large(length: bytes | None) -> bool:
    return length is not None and length.isdigit() and int(length) > MAX_BODY_BYTES


def _describe_size(size: int) -> str:
    return f"body of {size:,} bytes: must have at most {MAX_BODY_BYTES:,}; send less"


class _LimitedBody:
    """Ends a body above the limit, for a body can come without a stated length."""

    def __init__(self, receive: Receive, send: Send, scope: Scope) -> None:
        self._receive, self._send, self._scope = receive, send, scope
        self._bytes = 0
        self._is_answered = False

    async def receive(self) -> Message:
        message = await self._receive()
        self._bytes += len(message.get("body", b""))
        return {"type": "http.disconnect"} if self._is_too_large else message

    async def send(self, message: Message) -> None:
        """Pass an answer on; replace the answer to a part of a body by the reason."""
        if self._is_too_large and message["type"] == "http.response.start":
            self._is_answered = True
            reason = _describe_size(self._bytes).replace(" bytes:", " bytes or more:")
            await _answer(self._send, self._scope, TOO_LARGE, reason)
        elif not self._is_answered:
            await self._send(message)

    @property
    def _is_too_large(self) -> bool:
        return self._bytes > MAX_BODY_BYTES


async def _answer(send: Send, scope: Scope, status: int, reason: str) -> None:
    form: Any = {"error": reason}
    if scope["path"] == MCP_PATH:  # Its clients read the errors of JSON-RPC.
        error = {"code": INVALID_REQUEST, "message": reason}
        form = {"jsonrpc": "2.0", "id": None, "error": error}
    body = json.dumps(form).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
