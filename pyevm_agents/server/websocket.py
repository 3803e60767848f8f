"""WebSocket connections."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from aiohttp import WSCloseCode, WSMsgType, web

from pyevm_agents.server.client_socket import MESSAGES_AT_A_TIME, ClientSocket

if TYPE_CHECKING:
    from pyevm_agents.rpc.dispatcher import Dispatcher
    from pyevm_agents.server.options import ServerOptions
    from pyevm_agents.server.thread_pool import CallThreadPool

CLOSE_SECONDS = 1.0
"""Timeout of the closing handshake."""


class WebSocket(ClientSocket):
    """A WebSocket connection."""

    def __init__(
        self, dispatcher: Dispatcher, threads: CallThreadPool, options: ServerOptions
    ) -> None:
        super().__init__("ws", dispatcher, threads, options)
        self._response = web.WebSocketResponse(
            # aiohttp rejects a message of exactly its limit.
            max_msg_size=options.limits.body_bytes + 1,
            heartbeat=options.ping_seconds,
            timeout=CLOSE_SECONDS,
            compress=False,
            decode_text=False,
        )
        self._transport: asyncio.Transport | None = None

    async def serve(self, request: web.BaseRequest) -> web.StreamResponse:
        """Serve the connection until either side closes.

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
            self._end()
            writer.cancel()
        return self._response

    async def _transmit(self, data: bytes) -> None:
        await self._response.send_frame(data, WSMsgType.TEXT)

    async def _close(self) -> None:
        try:
            async with asyncio.timeout(2 * CLOSE_SECONDS):
                await self._response.close(
                    code=WSCloseCode.GOING_AWAY, message=b"the server is stopping"
                )
        except (TimeoutError, RuntimeError):  # The client stalls, or is before its handshake.
            self._abort()

    def _drop(self) -> None:
        if self._transport is not None:
            self._transport.abort()
