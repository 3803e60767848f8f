"""WebSocket connections: concurrent requests, responses in any order, and notifications."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from functools import partial
from typing import TYPE_CHECKING

from aiohttp import WSCloseCode, WSMsgType, web

from pyevm_agents.rpc.codec import encode
from pyevm_agents.rpc.dispatcher import DeferredResponse
from pyevm_agents.rpc.errors import INTERNAL_ERROR, LIMIT_EXCEEDED, RpcError
from pyevm_agents.rpc.session import Session

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyevm_agents.rpc.dispatcher import Dispatcher
    from pyevm_agents.server.options import ServerOptions
    from pyevm_agents.server.thread_pool import CallThreadPool

log = logging.getLogger(__name__)

MESSAGES_AT_A_TIME = 16
"""Messages of one client that are received before others are served."""

CLOSE_SECONDS = 1.0
"""Timeout of the closing handshake."""


class WebSocket:
    """A WebSocket connection. All methods except `notify` are for the event loop's thread."""

    def __init__(
        self, dispatcher: Dispatcher, threads: CallThreadPool, options: ServerOptions
    ) -> None:
        self._dispatcher = dispatcher
        self._threads = threads
        self._options = options
        self._loop = asyncio.get_running_loop()
        self._response = web.WebSocketResponse(
            # aiohttp rejects a message of exactly its limit.
            max_msg_size=options.limits.body_bytes + 1,
            heartbeat=options.ping_seconds,
            timeout=CLOSE_SECONDS,
            compress=False,
            decode_text=False,
        )
        self._transport: asyncio.Transport | None = None
        self._session = Session("ws", self.notify)
        self._queue: deque[bytes] = deque()
        self._queued_bytes = 0
        self._wake = asyncio.Event()
        self._pending: set[asyncio.Future[bytes | None]] = set()
        self._pending_batches = 0
        self._held_notifications: list[bytes] = []
        self._is_stopping = False

    def notify(self, message: Mapping[str, object]) -> None:
        """Send a notification. Thread-safe.

        Raises:
            TypeError: the message is not JSON-ready. ValueError: it contains itself.
        """
        data = encode(message)
        try:
            self._loop.call_soon_threadsafe(self._notify, data)
        except RuntimeError:
            return  # The event loop is closed.

    async def serve(self, request: web.BaseRequest) -> web.StreamResponse:
        """Serve the connection until either side closes it.

        Raises:
            web.HTTPException: the handshake is invalid.
        """
        try:
            await self._response.prepare(request)
        except ValueError as error:  # Raised by aiohttp if the key is not ASCII.
            raise web.HTTPBadRequest(text=f"Invalid WebSocket handshake: {error}") from error
        self._transport = request.transport
        writer = asyncio.create_task(self._write())
        taken = 0
        try:
            async for message in self._response:
                if message.type is WSMsgType.ERROR:
                    break
                self._receive(bytes(message.data))
                taken += 1
                if taken % MESSAGES_AT_A_TIME == 0:
                    await asyncio.sleep(0)
        finally:
            self._session.close()
            for future in self._pending:
                future.cancel()
            writer.cancel()
        return self._response

    async def stop(self, seconds: float) -> None:
        """Reject new requests, wait for the running ones, and close the connection."""
        self._is_stopping = True
        try:
            async with asyncio.timeout(seconds):
                while self._pending or self._queue:
                    self._wake.set()
                    await asyncio.sleep(0.01)
        except TimeoutError:
            log.info("WebSocket closed with %d unanswered requests", len(self._pending))
        try:
            async with asyncio.timeout(2 * CLOSE_SECONDS):
                await self._response.close(
                    code=WSCloseCode.GOING_AWAY, message=b"the server is stopping"
                )
        except (TimeoutError, RuntimeError):  # The client stalls, or is before its handshake.
            self._abort()

    def _receive(self, body: bytes) -> None:
        """Execute a message on the event loop or submit it to a thread."""
        answer = self._dispatcher.handle(body, self._session)
        if isinstance(answer, DeferredResponse):
            self._submit(answer)
        elif answer is not None:
            self._send(answer)

    def _submit(self, work: DeferredResponse) -> None:
        refusal = self._get_refusal()
        if refusal is None:
            try:
                future = self._threads.submit(work.method, work)
            except RpcError as error:
                refusal = error
        if refusal is not None:
            if (answer := work.refuse(refusal)) is not None:
                self._send(answer)
            return
        self._pending.add(future)
        self._pending_batches += work.is_batch
        future.add_done_callback(partial(self._finish, is_batch=work.is_batch))

    def _get_refusal(self) -> RpcError | None:
        if self._is_stopping:
            return RpcError(INTERNAL_ERROR, "the server is stopping")
        if len(self._pending) >= self._options.pending:
            return RpcError(
                LIMIT_EXCEEDED,
                f"too many pending requests on this connection: at most {self._options.pending}; "
                "wait for some of them",
            )
        return None

    def _finish(self, future: asyncio.Future[bytes | None], *, is_batch: bool) -> None:
        """Send the response of a thread."""
        self._pending.discard(future)
        if not future.cancelled() and (answer := future.result()) is not None:
            self._send(answer)
        self._pending_batches -= is_batch
        if not self._pending_batches:
            held, self._held_notifications = self._held_notifications, []
            for data in held:
                self._send(data)

    def _notify(self, data: bytes) -> None:
        """Send a notification, after the batch that may have subscribed to it."""
        if not self._pending_batches:
            self._send(data)
        elif sum(map(len, self._held_notifications)) + len(data) <= self._options.queue_bytes:
            self._held_notifications.append(data)
        else:
            self._abort()

    def _send(self, data: bytes) -> None:
        """Queue a message for the client. If the queue is too long, close the connection."""
        if not self._session.is_open:
            return
        # A single long response is allowed.
        if self._queue and self._queued_bytes + len(data) > self._options.queue_bytes:
            log.info("WebSocket closed: the client does not read %d bytes", self._queued_bytes)
            self._abort()
            return
        self._queue.append(data)
        self._queued_bytes += len(data)
        self._wake.set()

    def _abort(self) -> None:
        self._session.close()
        self._queue.clear()
        if self._transport is not None:
            self._transport.abort()

    async def _write(self) -> None:
        """Send the queued messages as fast as the client reads."""
        try:
            while True:
                await self._wake.wait()
                self._wake.clear()
                while self._queue:
                    data = self._queue.popleft()
                    self._queued_bytes -= len(data)
                    await self._response.send_frame(data, WSMsgType.TEXT)
        except ConnectionError:
            return  # The receiving side ends as well.
