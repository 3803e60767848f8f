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
ALLOWED_METHODS = b"GET, POST, DELETE"
ALLOWED_HEADERS = b"content-type, mcp-session-id, mcp-protocol-version, last-event-id"
EXPOSED_HEADERS = b"mcp-session-id"


class AccessMiddleware:
    """An ASGI application in front of another one: refuses foreign hosts and pages."""

    def __init__(self, app: AsgiApp, policy: AccessPolicy) -> None:
        """Input: the application; whose requests it gets."""
        self._app, self._policy = app, policy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value for name, value in scope["headers"]}
        host, origin = _decode(headers.get("host")), _decode(headers.get("origin"))
        reason = self._policy.explain_refusal(host, origin)
        if reason is not None:
            await _answer(send, FORBIDDEN, reason)
        elif _is_too_large(headers.get("content-length")):
            await _answer(
                send, TOO_LARGE, f"body: must have at most {MAX_BODY_BYTES:,} bytes; send less"
            )
        elif scope["method"] == "OPTIONS" and "access-control-request-method" in headers:
            await self._answer_preflight(send, origin)
        else:
            await self._app(scope, _limit(receive), self._add_headers(send, origin))

    def _add_headers(self, send: Send, origin: str | None) -> Send:
        """Let a page read the response, if its origin is allowed."""
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


def _limit(receive: Receive) -> Receive:
    """End a body that is longer than it may be: one without a length can be."""
    received_bytes = 0

    async def receive_limited() -> Message:
        nonlocal received_bytes
        message = await receive()
        received_bytes += len(message.get("body", b""))
        if received_bytes > MAX_BODY_BYTES:
            return {"type": "http.disconnect"}
        return message

    return receive_limited


async def _answer(send: Send, status: int, reason: str) -> None:
    body = json.dumps({"error": reason}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
