"""HTTP: who is answered, what is read, and how an answer is sent."""

from __future__ import annotations

import asyncio
import logging
from functools import lru_cache
from typing import TYPE_CHECKING

from aiohttp import web

from pyevm_agents.rpc.dispatcher import DeferredResponse
from pyevm_agents.rpc.errors import INTERNAL_ERROR, INVALID_REQUEST, RpcError
from pyevm_agents.rpc.request import encode_error
from pyevm_agents.rpc.session import Session
from pyevm_agents.server.websocket import WebSocket

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyevm_agents.rpc.dispatcher import Dispatcher
    from pyevm_agents.server.options import ServerOptions
    from pyevm_agents.server.origin_checks import AccessPolicy
    from pyevm_agents.server.thread_pool import CallThreadPool

log = logging.getLogger(__name__)

CACHED_HEADERS = 256
"""Pairs of `Host` and `Origin` whose check is remembered: a client sends the same ones always."""

SHARED_SECONDS = "600"
"""How long a browser may remember that it may ask."""

ABOUT = """\
pyevm-agents: an Ethereum node with language-model agents, for development.

It speaks JSON-RPC 2.0: POST a request to this address, or connect a WebSocket to it.

  curl -H 'Content-Type: application/json' {url} \\
    -d '{{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}}'
"""


class HttpHandler:
    """Answers the requests of a server, one call for each."""

    def __init__(
        self,
        *,
        dispatcher: Dispatcher,
        threads: CallThreadPool,
        access: AccessPolicy,
        options: ServerOptions,
        sockets: set[WebSocket],
    ) -> None:
        """Answer with a dispatcher; `sockets` holds the WebSockets that are open."""
        self._dispatcher = dispatcher
        self._threads = threads
        self._access = access
        self._explain_refusal = lru_cache(CACHED_HEADERS)(access.explain_refusal)
        self._is_cors_allowed = lru_cache(CACHED_HEADERS)(access.is_cors_allowed)
        self._options = options
        self._sockets = sockets
        self.running_tasks: set[asyncio.Task[None]] = set()
        """Requests over HTTP that a thread works for."""
        self.is_stopping = False
        """Whether every request is refused from now on."""

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request, whatever it is."""
        try:
            return await self._answer(request)
        except web.HTTPException as error:
            return _build_text_response(error.status, error.text or error.reason)
        except ConnectionError:
            raise
        except Exception as error:
            log.exception("A request was not answered: this is a bug, please report it")
            reason = RpcError(INTERNAL_ERROR, f"{type(error).__name__} in the server; see its log")
            return _build_json_response(encode_error(None, reason), {}, status=500)

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if (refused := self._refuse(request)) is not None:
            return refused
        origin = request.headers.get("Origin")
        shared = _build_cors_headers(origin) if self._is_cors_allowed(origin) else {}
        if request.method == "POST":
            return await self._post(request, shared)
        if request.method == "GET" and request.headers.get("Upgrade", "").lower() == "websocket":
            return await self._serve_websocket(request)
        if request.method in {"GET", "HEAD"}:
            return _build_text_response(200, ABOUT.format(url=f"http://{request.host}"), shared)
        if request.method == "OPTIONS":
            return _answer_preflight(request, shared)
        return _build_text_response(
            405, "POST JSON-RPC 2.0 to this address.", {"Allow": "GET, HEAD, POST"}
        )

    def _refuse(self, request: web.BaseRequest) -> web.Response | None:
        """Return the answer to who is not answered."""
        if self.is_stopping:
            return _close_after(_build_text_response(503, "The server stops."))
        reason = self._explain_refusal(request.headers.get("Host"), request.headers.get("Origin"))
        return None if reason is None else _build_text_response(403, reason)

    async def _post(self, request: web.BaseRequest, shared: Mapping[str, str]) -> web.Response:
        body = await self._read_body(request)
        if isinstance(body, web.Response):
            return body
        session = Session("http")
        try:
            answer = self._dispatcher.handle(body, session)
            if isinstance(answer, DeferredResponse):
                answer = await self._run_in_thread(answer)
        finally:
            session.close()
        if answer is None:
            return web.Response(status=204, headers=shared)
        return _build_json_response(answer, shared)

    async def _run_in_thread(self, work: DeferredResponse) -> bytes | None:
        """Wait for a thread's answer; a client that leaves takes its request out of the line."""
        task = asyncio.current_task()
        if task is not None:
            self.running_tasks.add(task)
            task.add_done_callback(self.running_tasks.discard)
        try:
            future = self._threads.submit(work.method, work)
        except RpcError as error:
            return work.refuse(error)
        return await future

    async def _read_body(self, request: web.BaseRequest) -> bytes | web.Response:
        """Read the body, or return the answer to one that can't be read."""
        limit_bytes = self._options.limits.body_bytes
        if request.headers.get("Content-Encoding", "identity").lower() != "identity":
            return _build_text_response(415, "Send the body as it is: without Content-Encoding.")
        if (request.content_length or 0) > limit_bytes:
            return _build_too_large_response(limit_bytes)
        if request.headers.get("Expect", "").lower() == "100-continue":
            await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            request.writer.output_size = 0
        try:
            async with asyncio.timeout(self._options.body_seconds):
                return await request.read()
        except TimeoutError:
            reason = f"The body did not arrive within {self._options.body_seconds:g} seconds."
            return _close_after(_build_text_response(408, reason))
        except web.HTTPRequestEntityTooLarge:
            return _build_too_large_response(limit_bytes)
        except web.RequestPayloadError as error:
            return _close_after(
                _build_text_response(400, f"The body is not what its headers say: {error}")
            )

    async def _serve_websocket(self, request: web.BaseRequest) -> web.StreamResponse:
        socket = WebSocket(self._dispatcher, self._threads, self._options)
        self._sockets.add(socket)
        try:
            return await socket.serve(request)
        finally:
            self._sockets.discard(socket)


def _build_cors_headers(origin: str | None) -> dict[str, str]:
    """Return the headers with which a browser shows an answer to a page."""
    return {"Access-Control-Allow-Origin": origin or "", "Vary": "Origin"}


def _answer_preflight(request: web.BaseRequest, shared: Mapping[str, str]) -> web.Response:
    """Answer a browser that asks whether a page may ask."""
    if not shared:
        origin = request.headers.get("Origin")
        subject = "No Origin" if origin is None else f"Origin {origin[:100]!r}"
        return _build_text_response(
            403, f"{subject} was allowed to share answers with (CORS): allow it explicitly."
        )
    wanted = request.headers.get("Access-Control-Request-Headers", "")
    headers = {
        **shared,
        "Access-Control-Allow-Methods": "GET, HEAD, POST",
        "Access-Control-Allow-Headers": wanted if wanted.isascii() else "Content-Type",
        "Access-Control-Max-Age": SHARED_SECONDS,
    }
    if "Access-Control-Request-Private-Network" in request.headers:
        headers["Access-Control-Allow-Private-Network"] = "true"
    return web.Response(status=204, headers=headers)


def _build_json_response(
    answer: bytes, headers: Mapping[str, str], *, status: int = 200
) -> web.Response:
    return web.Response(
        body=answer, status=status, headers={"Content-Type": "application/json", **headers}
    )


def _build_text_response(
    status: int, text: str, headers: Mapping[str, str] | None = None
) -> web.Response:
    plain = {"Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff"}
    body = text.rstrip("\n").encode("utf-8", "replace") + b"\n"
    return web.Response(status=status, body=body, headers={**plain, **(headers or {})})


def _build_too_large_response(limit_bytes: int) -> web.Response:
    reason = RpcError(INVALID_REQUEST, f"the body has more than {limit_bytes:,} bytes")
    return _close_after(_build_json_response(encode_error(None, reason), {}, status=413))


def _close_after(response: web.Response) -> web.Response:
    """Have the connection closed after an answer: what follows can't be read."""
    response.force_close()
    return response
