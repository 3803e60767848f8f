"""HTTP requests: access checks, CORS, bodies and responses."""

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
from pyevm_agents.server.page_files import PageFiles
from pyevm_agents.server.request_head import RequestHead, check_head
from pyevm_agents.server.websocket import WebSocket

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyevm_agents.rpc.dispatcher import Dispatcher
    from pyevm_agents.server.client_socket import ClientSocket
    from pyevm_agents.server.options import ServerOptions
    from pyevm_agents.server.origin_checks import AccessPolicy
    from pyevm_agents.server.thread_pool import CallThreadPool

log = logging.getLogger(__name__)

CACHED_HEADERS = 256
"""Cached checks of `Host` and `Origin`: a client's headers seldom change."""

SHARED_SECONDS = "600"
"""`Access-Control-Max-Age`: seconds for which a browser caches a preflight response."""

ABOUT = """\
pyevm-agents: an Ethereum node with language-model agents, for development.

JSON-RPC 2.0: POST a request to this address, or connect a WebSocket to it.

  curl -H 'Content-Type: application/json' {url} \\
    -d '{{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}}'
"""


class HttpHandler:
    """Handler of a server's HTTP requests, called once for each."""

    def __init__(
        self,
        *,
        dispatcher: Dispatcher,
        threads: CallThreadPool,
        access: AccessPolicy,
        options: ServerOptions,
        sockets: set[ClientSocket],
    ) -> None:
        """Input: the dispatcher, threads, access rules and options; the set of open sockets."""
        self._dispatcher = dispatcher
        self._threads = threads
        self._access = access
        self._explain_refusal = lru_cache(CACHED_HEADERS)(access.explain_refusal)
        self._is_cors_allowed = lru_cache(CACHED_HEADERS)(access.is_cors_allowed)
        self._options = options
        self._page = PageFiles() if options.serves_page else None
        self._sockets = sockets
        self.running_tasks: set[asyncio.Task[None]] = set()
        """HTTP requests that run in a thread."""
        self.receiving: dict[web.RequestHandler, None] = {}
        """Connections with an incomplete body, that of the oldest request first."""
        self.is_stopping = False
        """Whether every new request is rejected."""

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Return the response of a request."""
        try:
            return await self._answer(request)
        except web.HTTPException as error:
            return _build_text_response(error.status, error.text or error.reason)
        except ConnectionError:
            raise
        except Exception as error:
            log.exception("HTTP request failed: this is a bug, please report it")
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
            return self._get(request, shared)
        if request.method == "OPTIONS":
            return _answer_preflight(request, shared)
        return _build_text_response(
            405, "POST JSON-RPC 2.0 to this address.", {"Allow": "GET, HEAD, POST"}
        )

    def _get(self, request: web.BaseRequest, shared: Mapping[str, str]) -> web.Response:
        """Return a file of the page, or the text for clients other than browsers."""
        page = None if self._page is None else self._page.answer(request)
        if page is not None:
            return page
        return _build_text_response(200, ABOUT.format(url=f"http://{request.host}"), shared)

    def _refuse(self, request: web.BaseRequest) -> web.Response | None:
        """Return the response of a rejected request; None if accepted."""
        if self.is_stopping:
            return _close_after(_build_text_response(503, "The server is stopping."))
        head = RequestHead.decode(request.raw_path.encode(), request.raw_headers)
        refusal = check_head(head, self._explain_refusal)
        if refusal is None:
            return None
        response = _build_text_response(refusal.status, refusal.reason)
        return _close_after(response) if refusal.is_last else response

    async def _post(self, request: web.BaseRequest, shared: Mapping[str, str]) -> web.Response:
        self.receiving[request.protocol] = None
        try:
            body = await self._read_body(request)
        finally:
            self.receiving.pop(request.protocol, None)
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
        """Return a thread's response; a queued call is cancelled if the client disconnects."""
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
        """Return the body, or the error response if unreadable."""
        limit_bytes = self._options.limits.body_bytes
        if request.headers.get("Content-Encoding", "identity").lower() != "identity":
            return _build_text_response(415, "Content-Encoding is not supported.")
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
                _build_text_response(400, f"The body does not match its headers: {error}")
            )

    async def _serve_websocket(self, request: web.BaseRequest) -> web.StreamResponse:
        socket = WebSocket(self._dispatcher, self._threads, self._options)
        self._sockets.add(socket)
        try:
            return await socket.serve(request)
        finally:
            self._sockets.discard(socket)


def _build_cors_headers(origin: str | None) -> dict[str, str]:
    """Return the CORS headers of a response."""
    return {"Access-Control-Allow-Origin": origin or "", "Vary": "Origin"}


def _answer_preflight(request: web.BaseRequest, shared: Mapping[str, str]) -> web.Response:
    """Return the response of a CORS preflight request."""
    if not shared:
        origin = request.headers.get("Origin")
        shown = "(none)" if origin is None else repr(origin[:100])
        return _build_text_response(
            403, f"Origin {shown} is not allowed by CORS: allow it with --allow-origin."
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
    reason = RpcError(INVALID_REQUEST, f"body too large: at most {limit_bytes:,} bytes")
    return _close_after(_build_json_response(encode_error(None, reason), {}, status=413))


def _close_after(response: web.Response) -> web.Response:
    """Close the connection after a response, because the next request cannot be read."""
    response.force_close()
    return response
