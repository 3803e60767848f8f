"""The server itself: it listens, knows its connections, and stops.

async with Server(service, ServerOptions(port=0)) as server:
    loop.add_signal_handler(signal.SIGINT, server.stop)
    print(server.url)
    await server.stopped()
"""

from __future__ import annotations

import asyncio
import logging
import sys
from typing import TYPE_CHECKING, Self

from pyevm_agents.rpc.dispatcher import Dispatcher
from pyevm_agents.server.connections import Connections
from pyevm_agents.server.http import HttpHandler
from pyevm_agents.server.options import ServerOptions
from pyevm_agents.server.origin_checks import AccessPolicy
from pyevm_agents.server.request_log import RequestLogThread
from pyevm_agents.server.sockets import listen
from pyevm_agents.server.thread_pool import CallThreadPool

if TYPE_CHECKING:
    from types import TracebackType

    from pyevm_agents.rpc.dispatcher import RequestListener, Service
    from pyevm_agents.server.websocket import WebSocket

log = logging.getLogger(__name__)

SWITCH_SECONDS = 0.0005
"""After how long a computing thread lets another one have the interpreter. Python's own 5 ms come
up to three times in each request that the loop answers meanwhile."""


class Server:
    """JSON-RPC around a service, over HTTP and WebSocket on one port."""

    def __init__(
        self,
        service: Service,
        options: ServerOptions | None = None,
        *,
        watch: RequestListener | None = None,
        may_watch_wait: bool = True,
    ) -> None:
        """Prepare; `async with` starts and stops it.

        Input:  what answers; where and for whom; who is told of each request, in a thread of its
                own where that may wait, else at once in the one that answers.
        """
        self._service = service
        self._options = ServerOptions() if options is None else options
        self._watch = watch
        self._may_watch_wait = may_watch_wait
        self._stop_event = asyncio.Event()
        self._sockets: set[WebSocket] = set()

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return self._port

    @property
    def url(self) -> str:
        """The address for HTTP; with `ws` for `http` it is the one for WebSocket."""
        host = self._options.host
        if host in {"", "0.0.0.0", "::"}:  # noqa: S104 - not bound here, only shown
            host = "127.0.0.1"
        return f"http://[{host}]:{self._port}" if ":" in host else f"http://{host}:{self._port}"

    def stop(self) -> None:
        """Have `wait_stopped` return. On the loop's thread, so also from its signal handlers."""
        self._stop_event.set()

    async def wait_stopped(self) -> None:
        """Wait until somebody calls `stop`."""
        await self._stop_event.wait()

    async def __aenter__(self) -> Self:
        """Start to listen.

        Raises:
            ConfigError: it can't be done at that host and port.
        """
        options = self._options
        watch, self._log_thread = self._watch, None
        if watch is not None and self._may_watch_wait:
            watch = self._log_thread = RequestLogThread(watch)
        self._threads = CallThreadPool(threads=options.threads, waiting=options.waiting)
        self._handler = HttpHandler(
            dispatcher=Dispatcher(self._service, limits=options.limits, watch=watch),
            threads=self._threads,
            access=AccessPolicy(
                bound_host=options.host,
                allowed_hosts=options.allowed_hosts,
                allowed_origins=options.allowed_origins,
            ),
            options=options,
            sockets=self._sockets,
        )
        self._connections = Connections(self._handler, options)
        try:
            self._listeners = await listen(self._connections.accept, options.host, options.port)
        except BaseException:
            await self._connections.close()
            self._end_threads()
            raise
        self._port: int = self._listeners[0].sockets[0].getsockname()[1]
        self._switch_seconds = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_SECONDS)
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop: no new connections, a set time for what is at work, then the end."""
        seconds = self._options.stop_seconds
        for listener in self._listeners:
            listener.close()
        self._handler.is_stopping = True
        ends = [asyncio.create_task(socket.stop(seconds)) for socket in self._sockets]
        if self._handler.running_tasks:
            await asyncio.wait(self._handler.running_tasks, timeout=seconds)
        await asyncio.gather(*ends, return_exceptions=True)
        await self._connections.close()
        if running := self._end_threads():
            log.warning("%d requests still compute; their clients are gone", running)
        sys.setswitchinterval(self._switch_seconds)

    def _end_threads(self) -> int:
        running = self._threads.close()
        if self._log_thread is not None:
            self._log_thread.close()
        return running
