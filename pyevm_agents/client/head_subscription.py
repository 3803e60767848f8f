"""New heads over a WebSocket: a hint to look at the chain now, not a source of facts."""

from __future__ import annotations

import asyncio
import threading
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Self

import aiohttp

if TYPE_CHECKING:
    from collections.abc import Callable

RETRY_SECONDS = 5.0
CONNECT_SECONDS = 30.0
"""Until the WebSocket is open. What is sent in it may come at any time."""

HEARTBEAT_SECONDS = 30.0
"""A server that does not answer a ping within half of it is left."""

SUBSCRIBE = {"jsonrpc": "2.0", "id": 1, "method": "eth_subscribe", "params": ["newHeads"]}


class HeadSubscription:
    """Subscribes to new heads in a thread, and connects again when the connection breaks."""

    def __init__(self, url: str, on_head: Callable[[], None]) -> None:
        """Start. Input: a WebSocket URL; a callback after each message."""
        self._url, self._on_head = url, on_head
        self._loop = asyncio.new_event_loop()
        self._task = self._loop.create_task(self._follow())
        self._thread = threading.Thread(target=self._run, name="heads", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        """Return the subscription."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connection."""
        self.close()

    def close(self) -> None:
        """End the thread."""
        self._loop.call_soon_threadsafe(self._task.cancel)
        self._thread.join()

    def _run(self) -> None:
        with closing(self._loop), suppress(asyncio.CancelledError):
            self._loop.run_until_complete(self._task)

    async def _follow(self) -> None:
        while True:
            with suppress(aiohttp.ClientError, OSError, TimeoutError):  # Polling goes on.
                await self._listen()
            await asyncio.sleep(RETRY_SECONDS)

    async def _listen(self) -> None:
        limit = aiohttp.ClientTimeout(total=CONNECT_SECONDS)
        async with aiohttp.ClientSession(timeout=limit) as session:
            # Without a farewell: the session closes the connection, whatever the server sends.
            socket = await session.ws_connect(self._url, heartbeat=HEARTBEAT_SECONDS)
            try:
                await socket.send_json(SUBSCRIBE)
                async for message in socket:
                    if message.type == aiohttp.WSMsgType.TEXT:
                        self._on_head()
            finally:  # Else aiohttp warns of it, whenever it is collected.
                socket._response.close()  # noqa: SLF001 - `close` says farewell
