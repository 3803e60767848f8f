"""The server: listens, serves connections and stops.

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
from pyevm_agents.server.ipc import IpcSocket, listen_ipc
from pyevm_agents.server.options import ServerOptions
from pyevm_agents.server.origin_checks import AccessPolicy
from pyevm_agents.server.request_log import RequestLogThread
from pyevm_agents.server.sockets import listen
from pyevm_agents.server.thread_pool import CallThreadPool

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from pyevm_agents.rpc.dispatcher import RequestListener, Service
    from pyevm_agents.server.client_socket import ClientSocket

log = logging.getLogger(__name__)

SWITCH_SECONDS = 0.0005
"""Interval after which a computing thread releases the GIL. Python's default, 5 ms, delays each
request on the event loop up to three times."""


class Server:
    """JSON-RPC server of a service, over HTTP and WebSocket on one port, and over IPC."""

    def __init__(
        self,
        service: Service,
        options: ServerOptions | None = None,
        *,
        watch: RequestListener | None = None,
        may_watch_wait: bool = True,
    ) -> None:
        """Configure a server; `async with` starts and stops the server.

        Input:  the service; the options; a listener for each finished request, which is called in a
            separate thread if allowed to block, otherwise in the executing thread.
        """
        self._service = service
        self._options = ServerOptions() if options is None else options
        self._watch = watch
        self._may_watch_wait = may_watch_wait
        self._stop_event = asyncio.Event()
        self._sockets: set[ClientSocket] = set()

    @property
    def port(self) -> int:
        """The port that the server listens on."""
        return self._port

    @property
    def url(self) -> str:
        """The HTTP URL; the WebSocket URL has `ws` in place of `http`."""
        host = self._options.host
        if host in {"", "0.0.0.0", "::"}:  # noqa: S104 - not bound here, only shown
            host = "127.0.0.1"
        return f"http://[{host}]:{self._port}" if ":" in host else f"http://{host}:{self._port}"

    @property
    def page_url(self) -> str | None:
        """The URL of the page for browsers; None if not served."""
        return f"{self.url}/" if self._options.serves_page else None

    @property
    def ipc_path(self) -> Path | None:
        """The path of the Unix socket that the server listens on, or None."""
        return self._options.ipc_path

    def stop(self) -> None:
        """Make `wait_stopped` return. For the event loop's thread, signal handlers included."""
        self._stop_event.set()

    async def wait_stopped(self) -> None:
        """Wait for a call of `stop`."""
        await self._stop_event.wait()

    async def __aenter__(self) -> Self:
        """Start to listen.

        Raises:
            ConfigError: the host and port are not available.
        """
        options = self._options
        watch, self._log_thread = self._watch, None
        if watch is not None and self._may_watch_wait:
            watch = self._log_thread = RequestLogThread(watch)
        self._threads = CallThreadPool(threads=options.threads, waiting=options.waiting)
        self._dispatcher = Dispatcher(self._service, limits=options.limits, watch=watch)
        self._handler = HttpHandler(
            dispatcher=self._dispatcher,
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
        self._listeners: list[asyncio.Server] = []
        try:
            self._listeners += await listen(self._connections.accept, options.host, options.port)
            if options.ipc_path is not None:
                self._listeners.append(await listen_ipc(options.ipc_path, self._serve_ipc))
        except BaseException:
            for listener in self._listeners:
                listener.close()
            await self._connections.close()
            self._end_threads()
            raise
        self._port: int = self._listeners[0].sockets[0].getsockname()[1]
        self._switch_seconds = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_SECONDS)
        return self

    async def _serve_ipc(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._sockets) >= self._options.connections:
            writer.close()
            return
        connection = IpcSocket(self._dispatcher, self._threads, self._options, writer)
        self._sockets.add(connection)
        try:
            await connection.serve(reader)
        finally:
            self._sockets.discard(connection)

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop: accept no connections, wait `stop_seconds` for running requests, then close."""
        seconds = self._options.stop_seconds
        for listener in self._listeners:
            listener.close()
        if self._options.ipc_path is not None:
            self._options.ipc_path.unlink(missing_ok=True)
        self._handler.is_stopping = True
        ends = [asyncio.create_task(socket.stop(seconds)) for socket in self._sockets]
        if self._handler.running_tasks:
            await asyncio.wait(self._handler.running_tasks, timeout=seconds)
        await asyncio.gather(*ends, return_exceptions=True)
        await self._connections.close()
        if running := self._end_threads():
            log.warning("Server stopped with running requests: %d", running)
        sys.setswitchinterval(self._switch_seconds)

    def _end_threads(self) -> int:
        running = self._threads.close()
        if self._log_thread is not None:
            self._log_thread.close()
        return running
