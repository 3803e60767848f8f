"""A client's connection for concurrent requests, responses in any order, and notifications.

WebSockets and IPC connections are client sockets that differ in the transmission of messages.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections import deque
from functools import partial
from typing import TYPE_CHECKING

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


class ClientSocket(ABC):
    """A connection. All methods except `notify` are for the event loop's thread."""

    def __init__(
        self,
        transport: str,
        dispatcher: Dispatcher,
        threads: CallThreadPool,
        options: ServerOptions,
    ) -> None:
        """Open a session. Input: the transport's name, for the log and the methods."""
        self._dispatcher = dispatcher
        self._threads = threads
        self._options = options
        self._loop = asyncio.get_running_loop()
        self._session = Session(transport, self.notify)
        self._queue: deque[bytes] = deque()
        self._queued_bytes = 0
        self._wake = asyncio.Event()
        self._pending: set[asyncio.Future[bytes | None]] = set()
        self._pending_batches = 0
        self._held_notifications: list[bytes] = []
        self._is_stopping = False

    @abstractmethod
    async def _transmit(self, data: bytes) -> None:
        """Send a message as fast as the client reads.

        Raises: ConnectionError: the client is gone.
        """

    @abstractmethod
    async def _close(self) -> None:
        """Close the connection in order."""

    @abstractmethod
    def _drop(self) -> None:
        """Close the connection at once."""

    def notify(self, message: Mapping[str, object]) -> None:
        """Send a notification. Thread-safe.

        Raises:
            TypeError: the message is not JSON-ready. ValueError: the message contains itself.
        """
        data = encode(message)
        try:
            self._loop.call_soon_threadsafe(self._notify, data)
        except RuntimeError:
            return  # The event loop is closed.

    async def stop(self, seconds: float) -> None:
        """Reject new requests, wait for the running ones, and close the connection."""
        self._is_stopping = True
        try:
            async with asyncio.timeout(seconds):
                while self._pending or self._queue:
                    self._wake.set()
                    await asyncio.sleep(0.01)
        except TimeoutError:
            log.info("Connection closed with %d unanswered requests", len(self._pending))
        await self._close()

    def _end(self) -> None:
        """Close the session, and forget the requests that are not answered."""
        self._session.close()
        for future in self._pending:
            future.cancel()

    def _receive(self, body: bytes) -> None:
        """Execute a message on the event loop or in a thread."""
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
        """Send a notification, after the batch that may have subscribed."""
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
            log.info("Connection closed: the client does not read %d bytes", self._queued_bytes)
            self._abort()
            return
        self._queue.append(data)
        self._queued_bytes += len(data)
        self._wake.set()

    def _abort(self) -> None:
        self._session.close()
        self._queue.clear()
        self._drop()

    async def _write(self) -> None:
        """Send the queued messages as fast as the client reads."""
        try:
            while True:
                await self._wake.wait()
                self._wake.clear()
                while self._queue:
                    data = self._queue.popleft()
                    self._queued_bytes -= len(data)
                    await self._transmit(data)
        except ConnectionError:
            return  # The receiving side ends as well.
