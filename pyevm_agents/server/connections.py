"""Connections: how many there are, and the end of those that nobody reads."""

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
"""How often what is unread is looked at."""

UNREAD_BODY_SECONDS = 2.0
"""How long a refused body is still taken in, so that its sender gets to read why."""

END_SECONDS = 0.25
"""How long handlers have to end, after they were told to."""

FULL = b"This server has all the connections that it takes: close some, then try again.\n"
REFUSAL = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nConnection: close\r\n"
    b"Retry-After: 1\r\nContent-Length: %d\r\n\r\n%b" % (len(FULL), FULL)
)


@dataclass(slots=True, kw_only=True)
class _ReadProgress:
    """How a connection's client reads what was written."""

    transport: asyncio.Transport
    unread_bytes: int = 0
    since: float
    """When it last read something, or had nothing to read; on the loop's clock."""


class _ClientErrorLogger(logging.LoggerAdapter[logging.Logger]):
    """aiohttp logs as errors of ours what clients send that is no HTTP."""

    def exception(self, msg: object, *args: object, **kwargs: Any) -> None:  # noqa: ANN401
        self.debug(msg, *args, **kwargs)

    def process(
        self, msg: object, kwargs: MutableMapping[str, Any]
    ) -> tuple[object, MutableMapping[str, Any]]:
        return msg, kwargs


class Connections(web.Server):
    """What a listener hands its connections to."""

    def __init__(self, handler: HttpHandler, options: ServerOptions) -> None:
        """Have a handler answer what comes over them."""
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
        """Return what talks on a new connection."""
        return _FullServerProtocol() if len(self._readers) >= self._max_connections else self()

    def connection_made(self, handler: web.RequestHandler, transport: asyncio.Transport) -> None:
        """Count a connection."""
        super().connection_made(handler, transport)
        self._readers[handler] = _ReadProgress(transport=transport, since=self._loop.time())

    def connection_lost(
        self, handler: web.RequestHandler, exc: BaseException | None = None
    ) -> None:
        """Forget a connection."""
        super().connection_lost(handler, exc)
        self._readers.pop(handler, None)

    async def close(self) -> None:
        """End every connection."""
        self._sweep_timer.cancel()
        self.pre_shutdown()
        await self.shutdown(END_SECONDS)
        for reader in list(self._readers.values()):
            reader.transport.abort()
        await asyncio.sleep(0)

    def _sweep(self) -> None:
        """End the connections whose client reads nothing."""
        now = self._loop.time()
        for reader in list(self._readers.values()):
            unread_bytes = reader.transport.get_write_buffer_size()
            if unread_bytes == 0 or unread_bytes < reader.unread_bytes:
                reader.since = now
            elif now - reader.since > self._options.stall_seconds:
                log.info("A connection is closed: nobody reads its %d bytes", unread_bytes)
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
        """Make a request of aiohttp's, with our limit on its body."""
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
    """Says that there is no room, once the client has asked: it may not read before that."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - TCP has no other
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
    """Return how many files this process may have open."""
    unlimited = 2**31
    if resource is None:
        return unlimited
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return unlimited if soft == resource.RLIM_INFINITY else soft
