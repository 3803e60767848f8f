"""A server in a thread with an event loop of its own."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pyevm_agents.server.server import Server

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyevm_agents.rpc.dispatcher import Service
    from pyevm_agents.server.options import ServerOptions


@contextmanager
def serve_in_thread(service: Service, options: ServerOptions | None = None) -> Iterator[Server]:
    """Serve in another thread for the duration of the context; yield the listening server.

    Raises: ConfigError: the host and port are not available.
    """
    started: Future[asyncio.AbstractEventLoop] = Future()
    server = Server(service, options)

    async def serve() -> None:
        async with server:
            started.set_result(asyncio.get_running_loop())
            await server.wait_stopped()

    def run() -> None:
        try:
            asyncio.run(serve())
        except BaseException as error:
            if started.done():
                raise
            started.set_exception(error)

    thread = threading.Thread(target=run, name="pyevm-agents-server", daemon=True)
    thread.start()
    loop = started.result()
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(server.stop)
        thread.join()
