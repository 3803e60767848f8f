"""Connections of a server: their number is limited, and stalled ones are closed."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aiohttp import web

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from aiohttp.abc import AbstractStreamWriter
    from aiohttp.http_parser import RawRequestMessage
    from aiohttp.streams import StreamReader

    from pyevm_agents.server.http import HttpHandler
    from pyevm_agents.server.options import ServerOptions

log = logging.getLogger(__name__)

try:
    import resource
except ImportError:  # pragma: no cover - a system without such limits
    resource = None  # type: ignore[assignment]

SWEEP_SECONDS = 1.0
"""Interval of the check for stalled clients."""

UNREAD_BODY_SECONDS = 2.0
"""Time to keep reading a rejected body, so that the client can read the response."""

END_SECONDS = 0.25
"""Time for handlers to finish after their cancellation."""

FULL = b"Too many connections: close some, then retry.\n"
REFUSAL = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nConnection: close\r\n"
    b"Retry-After: 1\r\nContent-Length: %d\r\n\r\n%b" % (len(FULL), FULL)
)


@dataclass(slots=True, kw_only=True)
class _ReadProgress:
    """A connection's unread bytes, for the detection of a stalled client."""

    transport: asyncio.Transport
    unread_bytes: int = 0
    since: float
    """Time when the client last read bytes, or had none to read; on the event loop's clock."""


class _ClientErrorLogger(logging.LoggerAdapter[logging.Logger]):
    """Logs malformed HTTP at debug level; aiohttp logs an error of the server."""

    def exception(self, msg: object, *args: object, **kwargs: Any) -> None:  # noqa: ANN401
        self.debug(msg, *args, **kwargs)

    def process(
        self, msg: object, kwargs: MutableMapping[str, Any]
    ) -> tuple[object, MutableMapping[str, Any]]:
        return msg, kwargs


class Connections(web.Server):
    """Protocol factory of the listeners."""

    def __init__(self, handler: HttpHandler, options: ServerOptions) -> None:
        """Input: the handler of the requests; the server's options."""
        self._handler = handler
        super().__init__(
            handler,
            request_factory=self._build_request,
            handler_cancellation=True,
            keepalive_timeout=options.idle_seconds,
            lingering_time=UNREAD_BODY_SECONDS,
            auto_decompress=False,
            access_log=None,
            logger=_ClientErrorLogger(log, {}),
        )
        self._options = options
        self._max_connections = min(options.connections, _get_open_files_limit() // 2)
        self._readers: dict[web.RequestHandler, _ReadProgress] = {}
        self._sweep_timer = self._loop.call_later(SWEEP_SECONDS, self._sweep)

    def accept(self) -> asyncio.Protocol:
        """Return the protocol of a new connection. If all are used, the slowest body makes room."""
        if len(self._readers) < self._max_connections or self._close_oldest_body():
            return self()
        return _FullServerProtocol()

    def _close_oldest_body(self) -> bool:
        """Reject the request whose body has been incomplete for longest; return whether any is."""
        oldest = next(iter(self._handler.receiving), None)
        if oldest is None:
            return False
        del self._handler.receiving[oldest]
        reader = self._readers.pop(oldest, None)
        if reader is not None:  # Otherwise the client has just left.
            reader.transport.write(REFUSAL)
            oldest.force_close()
        return True

    def connection_made(self, handler: web.RequestHandler, transport: asyncio.Transport) -> None:
        """Add a connection."""
        super().connection_made(handler, transport)
        self._readers[handler] = _ReadProgress(transport=transport, since=self._loop.time())

    def connection_lost(
        self, handler: web.RequestHandler, exc: BaseException | None = None
    ) -> None:
        """Remove a connection."""
        super().connection_lost(handler, exc)
        self._readers.pop(handler, None)

    async def close(self) -> None:
        """Close every connection."""
        self._sweep_timer.cancel()
        self.pre_shutdown()
        await self.shutdown(END_SECONDS)
        for reader in list(self._readers.values()):
            reader.transport.abort()
        await asyncio.sleep(0)

    def _sweep(self) -> None:
        """Close the connections of stalled clients."""
        now = self._loop.time()
        for reader in list(self._readers.values()):
            unread_bytes = reader.transport.get_write_buffer_size()
            if unread_bytes == 0 or unread_bytes < reader.unread_bytes:
                reader.since = now
            elif now - reader.since > self._options.stall_seconds:
                log.info("Connection closed: the client does not read %d bytes", unread_bytes)
                reader.transport.abort()
            reader.unread_bytes = unread_bytes
        self._sweep_timer = self._loop.call_later(SWEEP_SECONDS, self._sweep)

    def _build_request(
        self,
        message: RawRequestMessage,
        payload: StreamReader,
        protocol: web.RequestHandler,
        writer: AbstractStreamWriter,
        task: asyncio.Task[None],
    ) -> web.BaseRequest:
        """Build a request of aiohttp with the configured body limit."""
        return web.BaseRequest(
            message,
            payload,
            protocol,
            writer,
            task,
            self._loop,
            client_max_size=self._options.limits.body_bytes,
        )


class _FullServerProtocol(asyncio.Protocol):
    """Responds 503 after the client's request, before which a client may not read."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - the transport of TCP
        self._transport = transport
        self._timer = asyncio.get_running_loop().call_later(1.0, transport.abort)

    def data_received(self, data: bytes) -> None:
        del data
        self._transport.write(REFUSAL)
        self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._timer.cancel()


def _get_open_files_limit() -> int:
    """Return the process's limit of open files."""
    unlimited = 2**31
    if resource is None:
        return unlimited
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return unlimited if soft == resource.RLIM_INFINITY else soft
