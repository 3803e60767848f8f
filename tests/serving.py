"""A real server on a port of its own, and clients that are as bad as they like."""

from __future__ import annotations

import asyncio
import json
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyevm_agents import server as server_module
from pyevm_agents.server import Server, ServerOptions
from tests.deadlines import HANG_SECONDS
from tests.echo_service import EchoService

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    import aiohttp

    from pyevm_agents.rpc.dispatcher import RequestListener, Service

    Talk = Callable[["Served"], Awaitable[None]]

"""After this a test has failed: something waits for what never comes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """An answer over HTTP."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:  # noqa: ANN401
        return json.loads(self.body)


class Connection:
    """A connection that sends bytes, whether they are HTTP or not."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int
    ) -> None:
        self.reader, self.writer, self.port = reader, writer, port

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def request(
        self, method: str = "POST", body: bytes = b"", *, path: str = "/", **headers: str
    ) -> None:
        """Send a request; `Content_Type="x"` is a header, and one that is empty is left out."""
        lines = {"Host": f"127.0.0.1:{self.port}"}
        if body or method == "POST":
            lines["Content-Length"] = str(len(body))
        lines |= {name.replace("_", "-"): value for name, value in headers.items()}
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items() if value)
        await self.send(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body)

    async def response(self, *, has_body: bool = True) -> Response:
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode()
        first, *lines = head.strip().split("\r\n")
        headers = dict(line.split(": ", 1) for line in lines)
        length = int(headers.get("Content-Length", 0)) if has_body else 0
        body = await self.reader.readexactly(length)
        return Response(status=int(first.split()[1]), headers=headers, body=body)

    async def closed(self) -> None:
        """Wait until the server closes the connection, after any output."""
        with suppress(ConnectionError):
            await self.reader.read()

    def stop_reading(self) -> None:
        self._transport.pause_reading()

    def go_on_reading(self) -> None:
        self._transport.resume_reading()

    @property
    def _transport(self) -> asyncio.Transport:
        assert isinstance(self.writer.transport, asyncio.Transport)
        return self.writer.transport

    async def close(self) -> None:
        self.writer.transport.abort()
        await asyncio.sleep(0)


class Served:
    """A server, its service, and short requests to it."""

    def __init__(self, server: Server, service: EchoService) -> None:
        self.server, self.service, self.port = server, service, server.port
        self._open: list[Connection] = []

    async def connect(self) -> Connection:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=2**26)
        self._open.append(Connection(reader, writer, self.port))
        return self._open[-1]

    async def http(
        self, method: str = "POST", body: bytes = b"", *, path: str = "/", **headers: str
    ) -> Response:
        """Send a request on a connection of its own."""
        connection = await self.connect()
        await connection.request(method, body, path=path, **headers)
        response = await connection.response(has_body=method != "HEAD")
        await connection.close()
        return response

    async def ask(self, method: str, *params: object) -> Any:  # noqa: ANN401
        """Return a result; an error fails the test."""
        response = await self.http(body=message(method, *params))
        assert response.status == 200, response.body
        return response.json["result"]

    @property
    def answering(self) -> int:
        """How many requests over HTTP the server has read and not answered."""
        return len(self.server._handler.running_tasks)  # noqa: SLF001 - nobody else asks

    @property
    def is_stopping(self) -> bool:
        return self.server._handler.is_stopping  # noqa: SLF001 - as above

    async def close(self) -> None:
        for connection in self._open:
            await connection.close()


def message(method: str, *params: object, request_id: object = 1) -> bytes:
    """Return a request as bytes."""
    return json.dumps(
        {"jsonrpc": "2.0", "id": request_id, "method": method, "params": list(params)}
    ).encode()


def serve(
    talk: Talk,
    *,
    service: EchoService | None = None,
    watch: RequestListener | None = None,
    options: ServerOptions | None = None,
) -> None:
    """Run a server for as long as a test talks to it."""
    asyncio.run(_serve(talk, service or EchoService(), watch, options or ServerOptions(port=0)))


async def _serve(
    talk: Talk, service: EchoService, watch: RequestListener | None, options: ServerOptions
) -> None:
    async with asyncio.timeout(HANG_SECONDS), Server(service, options, watch=watch) as server:
        served = Served(server, service)
        try:
            await talk(served)
        finally:
            service.gate.set()
            await served.close()


@contextmanager
def serve_in_thread(service: Service) -> Iterator[str]:
    """Serve on a free port, in a thread, inside a context; give the URL."""
    with server_module.serve_in_thread(service, ServerOptions(port=0)) as server:
        yield server.url


async def until(condition: Callable[[], object]) -> None:
    """Wait for other threads."""
    while not condition():  # noqa: ASYNC110 - they know of no event
        await asyncio.sleep(0.01)


async def websocket(session: aiohttp.ClientSession, port: int) -> aiohttp.ClientWebSocketResponse:
    """Connect a WebSocket that reads its messages."""
    return await session.ws_connect(f"ws://127.0.0.1:{port}/", max_msg_size=0)
