"""Access checks of the control plane: those of the node's server, and limits of request bodies."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from pyevm_agents.errors import ConfigError
from pyevm_agents.manifests.endpoints import MCP_PATH
from pyevm_agents.server.request_head import RequestHead, check_head
from pyevm_agents.strict_json import require_shallow

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

BODY_SECONDS = 30.0
"""Time for a body to arrive, as at the node's server."""

TOO_SLOW, TOO_LARGE, INVALID = 408, 413, 422
INVALID_REQUEST = -32_600
"""Source: JSON-RPC 2.0, "Error object"."""

ALLOWED_METHODS = b"GET, POST, DELETE"
ALLOWED_HEADERS = b"content-type, mcp-session-id, mcp-protocol-version, last-event-id"
EXPOSED_HEADERS = b"mcp-session-id"


class AccessMiddleware:
    """An ASGI application in front of another one: refuses foreign hosts and pages, deep bodies."""

    def __init__(self, app: AsgiApp, policy: AccessPolicy) -> None:
        """Input: the application; the allowed senders of requests."""
        self._app, self._policy = app, policy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass the request on with the whole body."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        head = RequestHead.decode(scope["raw_path"], scope["headers"])
        refusal = check_head(head, self._policy.explain_refusal)
        if refusal is not None:
            await _answer(send, scope, refusal.status, refusal.reason, closes=refusal.is_last)
            return
        origin = head.get("origin")
        if scope["method"] == "OPTIONS" and head.get("access-control-request-method") is not None:
            await self._answer_preflight(send, origin)
            return
        shared = self._add_headers(send, origin)
        try:
            body = await _read_body(receive, int(head.get("content-length") or 0))
        except ClientLeftError:
            return
        except BodyError as error:
            await _answer(shared, scope, error.status, str(error), closes=error.status == TOO_SLOW)
            return
        path = unquote(head.path)
        await self._app(
            {**scope, "path": path, "raw_path": head.path.encode("latin-1")},
            _replay(body, receive),
            shared,
        )

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


class ClientLeftError(Exception):
    """The client closed the connection before the end of the body."""


class BodyError(Exception):
    """A body that is not passed on."""

    def __init__(self, status: int, reason: str) -> None:
        """Input: the status of the answer, and the reason."""
        super().__init__(reason)
        self.status = status


async def _read_body(receive: Receive, length: int) -> bytes:
    """Return the body of a request. Input: length: as stated, 0 without a statement.

    FastAPI and the MCP server parse it with json, whatever its type: see `strict_json`.

    Raises: ClientLeftError. BodyError: too large, too slow, too deep, or in no UTF-8.
    """
    if length > MAX_BODY_BYTES:
        raise BodyError(TOO_LARGE, _describe_size(length, "bytes"))
    pieces: list[bytes] = []
    size, has_more = 0, True
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while has_more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientLeftError
                pieces.append(message.get("body", b""))
                size += len(pieces[-1])
                has_more = message.get("more_body", False)
                if size > MAX_BODY_BYTES:
                    raise BodyError(TOO_LARGE, _describe_size(size, "bytes or more"))
    except TimeoutError as error:
        reason = f"body: must arrive within {BODY_SECONDS:g} seconds"
        raise BodyError(TOO_SLOW, reason) from error
    body = b"".join(pieces)
    try:
        require_shallow(body)
    except ConfigError as error:
        raise BodyError(INVALID, f"body: {error}") from error
    return body


def _describe_size(size: int, unit: str) -> str:
    return f"body of {size:,} {unit}: must have at most {MAX_BODY_BYTES:,}; send less"


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return the receiving end of a request whose body was read; later the client leaves."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return messages.pop() if messages else await receive()

    return receive_again


async def _answer(
    send: Send, scope: Scope, status: int, reason: str, *, closes: bool = False
) -> None:
    form: Any = {"error": reason}
    if scope["path"] == MCP_PATH:  # Its clients read the errors of JSON-RPC.
        error = {"code": INVALID_REQUEST, "message": reason}
        form = {"jsonrpc": "2.0", "id": None, "error": error}
    body = json.dumps(form).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    if closes:
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
