"""WebSocket connections: concurrent requests, notifications and stalled clients."""

from __future__ import annotations

import asyncio
import base64
import json
import struct
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest
from aiohttp import WSMsgType

from pyevm_agents.rpc.codec import Limits
from pyevm_agents.rpc.errors import LIMIT_EXCEEDED, METHOD_NOT_FOUND, PARSE_ERROR
from pyevm_agents.server import ServerOptions
from tests.deadlines import HANG_SECONDS
from tests.serving import Connection, Served, message, serve, until, websocket

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from aiohttp import ClientWebSocketResponse

    Talk = Callable[[Served, ClientWebSocketResponse], Awaitable[None]]


def serve_websocket(talk: Talk, options: ServerOptions | None = None) -> None:
    """Run a server during a test's WebSocket session."""

    async def connect(served: Served) -> None:
        async with (
            aiohttp.ClientSession() as session,
            await websocket(session, served.port) as socket,
        ):
            await talk(served, socket)

    serve(connect, options=options)


async def receive(socket: ClientWebSocketResponse) -> Any:  # noqa: ANN401
    received = await socket.receive(HANG_SECONDS)
    assert received.type is WSMsgType.TEXT, received
    return json.loads(received.data)


def frame(payload: bytes, *, first: int = 0x81, length: bytes | None = None) -> bytes:
    """Return a client's frame with a zero mask, which leaves the payload unchanged."""
    size = len(payload)
    if length is None:
        length = bytes([0x80 | size]) if size < 126 else b"\xfe" + struct.pack("!H", size)
    return bytes([first]) + length + bytes(4) + payload


async def handshake(served: Served, **headers: str) -> Connection:
    """Return a connection after its WebSocket handshake request."""
    connection = await served.connect()
    key = base64.b64encode(bytes(16)).decode()
    asked = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec_WebSocket_Version": "13"}
    await connection.request("GET", b"", **{**asked, "Sec_WebSocket_Key": key, **headers})
    return connection


def test_requests_are_answered() -> None:
    async def talk(_: Served, socket: ClientWebSocketResponse) -> None:
        for method in ("echo", "slow_echo"):
            await socket.send_bytes(message(method, "ü", request_id="x"))
            assert await receive(socket) == {"jsonrpc": "2.0", "id": "x", "result": ["ü"]}
            await socket.send_str(message(method, 1).decode())
            assert (await receive(socket))["result"] == [1]
        await socket.send_str(message("transport").decode())
        assert (await receive(socket))["result"] == "ws"

    serve_websocket(talk)


def test_what_is_wrong_is_answered_too() -> None:
    async def talk(_: Served, socket: ClientWebSocketResponse) -> None:
        await socket.send_str("{")
        assert (await receive(socket))["error"]["code"] == PARSE_ERROR
        await socket.send_str("")
        assert (await receive(socket))["error"]["code"] == PARSE_ERROR
        await socket.send_bytes(b"\xff")
        assert (await receive(socket))["error"]["code"] == PARSE_ERROR
        await socket.send_str('{"jsonrpc":"2.0","method":"echo"}')
        await socket.send_str('[{"jsonrpc":"2.0","method":"slow_echo"}]')
        await socket.send_bytes(message("nothing"))
        assert (await receive(socket))["error"]["code"] == METHOD_NOT_FOUND

    serve_websocket(talk)


def test_a_computation_delays_no_other_answer() -> None:
    async def talk(served: Served, socket: ClientWebSocketResponse) -> None:
        await socket.send_bytes(message("gate", request_id="last"))
        for number in range(100):
            method = "slow_echo" if number % 2 else "echo"
            await socket.send_bytes(message(method, request_id=number))
        ids = {(await receive(socket))["id"] for _ in range(100)}
        assert ids == set(range(100))
        served.service.gate.set()
        assert (await receive(socket))["id"] == "last"

    serve_websocket(talk)


def test_notifications_come_after_the_answer_to_their_subscription() -> None:
    async def talk(served: Served, socket: ClientWebSocketResponse) -> None:
        for _ in range(20):
            await socket.send_bytes(message("subscribe"))
            assert (await receive(socket))["result"] == "subscribed"
            assert await receive(socket) == {"first": True}
            # A batch in a thread: its notifications wait for it.
            batch = b"[%b,%b]" % (message("subscribe"), message("wait", 0.02))
            await socket.send_bytes(batch)
            assert [answer["result"] for answer in await receive(socket)] == [
                "subscribed",
                "waited",
            ]
            assert await receive(socket) == {"first": True}
        assert all(session.is_open for session in served.service.sessions)

    serve_websocket(talk)


def test_over_http_nothing_can_be_subscribed() -> None:
    async def talk(served: Served) -> None:
        response = await served.http(body=message("subscribe"))
        assert response.json["error"]["code"] == METHOD_NOT_FOUND

    serve(talk)


def test_notifications_come_from_any_thread_in_order() -> None:
    async def talk(served: Served, socket: ClientWebSocketResponse) -> None:
        await socket.send_bytes(message("subscribe"))
        await receive(socket)
        await receive(socket)
        notify = served.service.sessions[0].notify
        assert notify is not None
        for number in range(200):
            await asyncio.to_thread(notify, {"number": number})
        assert [(await receive(socket))["number"] for _ in range(200)] == list(range(200))
        with pytest.raises(TypeError):
            notify({"bytes": b""})

    serve_websocket(talk)


@pytest.mark.parametrize("ending", ["close", "abort"])
def test_subscriptions_end_with_the_connection(ending: str) -> None:
    async def talk(served: Served, socket: ClientWebSocketResponse) -> None:
        await socket.send_bytes(message("subscribe"))
        await receive(socket)
        session = served.service.sessions[0]
        if ending == "close":
            await socket.close()
        else:
            cut(socket)
        await until(lambda: served.service.ended)
        assert not session.is_open
        assert session.notify is not None
        session.notify({"late": True})
        assert await served.ask("echo", 1) == [1]

    serve_websocket(talk)


def cut(socket: ClientWebSocketResponse) -> None:
    """Abort a connection without a closing handshake."""
    assert socket._response.connection is not None  # noqa: SLF001
    transport = socket._response.connection.transport  # noqa: SLF001
    assert transport is not None
    transport.abort()


def test_long_messages_end_the_connection() -> None:
    async def talk(served: Served, socket: ClientWebSocketResponse) -> None:
        exact = message("echo", "x" * (1_000 - len(message("echo", ""))))
        await socket.send_bytes(exact)
        assert len((await receive(socket))["result"][0]) > 900
        await socket.send_bytes(exact + b" ")
        closed = await socket.receive(HANG_SECONDS)
        assert (closed.type, closed.data) == (WSMsgType.CLOSE, 1009)
        assert await served.ask("echo", 1) == [1]

    serve_websocket(talk, ServerOptions(port=0, limits=Limits(body_bytes=1_000)))


def test_too_many_unanswered_requests_are_refused() -> None:
    async def talk(served: Served, socket: ClientWebSocketResponse) -> None:
        for number in range(4):
            await socket.send_bytes(message("gate", request_id=number))
        refused = await receive(socket)
        assert (refused["id"], refused["error"]["code"]) == (3, LIMIT_EXCEEDED)
        await socket.send_bytes(message("echo"))
        assert (await receive(socket))["result"] == []
        served.service.gate.set()
        assert [(await receive(socket))["result"] for _ in range(3)] == [True] * 3

    serve_websocket(talk, ServerOptions(port=0, pending=3))


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec_WebSocket_Key": "x"},
        {"Sec_WebSocket_Key": ""},
        {"Sec_WebSocket_Key": "ü" * 24},
        {"Sec_WebSocket_Version": "1"},
        {"Connection": "close"},
    ],
)
def test_what_is_no_handshake_is_refused(headers: dict[str, str]) -> None:
    async def talk(served: Served) -> None:
        connection = await handshake(served, **headers)
        assert (await connection.response()).status == 400
        assert await served.ask("echo", 1) == [1]

    serve(talk)


def test_other_pages_are_refused() -> None:
    async def talk(served: Served) -> None:
        for origin in ("https://evil.example", "null"):
            assert (await (await handshake(served, Origin=origin)).response()).status == 403
        assert (await (await handshake(served, Host="evil.example")).response()).status == 403
        for origin in ("http://localhost:3000", "chrome-extension://wallet"):
            assert (await (await handshake(served, Origin=origin)).response()).status == 403
        own = f"http://127.0.0.1:{served.port}"
        for origin in (own, "Titanoboa"):
            assert (await (await handshake(served, Origin=origin)).response()).status == 101

    serve(talk)


@pytest.mark.parametrize(
    "sent",
    [
        frame(b"x", first=0xC1),  # A reserved bit.
        frame(b"x", first=0x83),  # An unknown opcode.
        frame(b"x" * 200, first=0x89),  # A ping that is too long.
        frame(b"x", first=0x09),  # Half a ping.
        frame(b"x", first=0x80),  # A continuation without a start.
        frame(b"", length=b"\xff" + b"\xff" * 8),  # The greatest length.
        frame(b"\x00", first=0x88),  # Half a reason to close.
        frame(b"\x00\x00", first=0x88),  # No reason to close.
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ],
)
def test_what_is_no_frame_ends_the_connection(sent: bytes) -> None:
    async def talk(served: Served) -> None:
        connection = await handshake(served)
        assert (await connection.response()).status == 101
        await connection.send(sent)
        assert (await asyncio.wait_for(connection.reader.read(), HANG_SECONDS))[:1] in {
            b"",
            b"\x88",
        }
        assert await served.ask("echo", 1) == [1]

    serve(talk)


def test_frames_in_parts_and_pings() -> None:
    async def talk(served: Served) -> None:
        connection = await handshake(served)
        await connection.response()
        body = message("echo", 1)
        await connection.send(frame(body[:5], first=0x01))
        await connection.send(frame(b"hello", first=0x89))
        assert await connection.reader.readexactly(7) == b"\x8a\x05hello"
        for byte in frame(body[5:], first=0x80):
            await connection.send(bytes([byte]))
        answer = b'{"jsonrpc":"2.0","id":1,"result":[1]}'
        assert await connection.reader.readexactly(2 + len(answer)) == b"\x81%c%b" % (
            len(answer),
            answer,
        )

    serve(talk)


def test_who_answers_no_ping_is_disconnected() -> None:
    async def talk(served: Served) -> None:
        async with aiohttp.ClientSession() as session:
            alive = await session.ws_connect(f"ws://127.0.0.1:{served.port}/")
            reading = asyncio.create_task(alive.receive())
            # The later connection, whose time is up last.
            dead = await handshake(served)
            await dead.response()
            await dead.send(frame(message("subscribe")))
            await dead.closed()
            await until(lambda: served.service.ended)
            await alive.send_bytes(message("echo"))
            assert (await reading).type is WSMsgType.TEXT

    serve(talk, options=ServerOptions(port=0, ping_seconds=2.0))


def test_a_slow_reader_is_disconnected_and_nobody_else_notices() -> None:
    async def talk(served: Served, socket: ClientWebSocketResponse) -> None:
        slow = await handshake(served)
        await slow.response()
        slow.stop_reading()
        await slow.send(frame(message("subscribe")))
        await socket.send_bytes(message("subscribe"))
        await receive(socket)
        await receive(socket)
        await until(lambda: len(served.service.sessions) >= 2)
        sent = 0
        while not served.service.ended:
            for session in served.service.sessions:
                assert session.notify is not None
                session.notify({"text": "x" * 100_000})
            sent += 1
            assert len((await receive(socket))["text"]) == 100_000
            assert await served.ask("echo", 1) == [1]
        # The system's buffers are in addition to the queue.
        assert 10 < sent < 200
        assert not served.service.ended[0].is_open
        assert served.service.ended[0] is not served.service.sessions[1]

    # Waiting for the stalled client would last longer than the test may.
    options = ServerOptions(port=0, queue_bytes=1_000_000, stall_seconds=2 * HANG_SECONDS)
    serve_websocket(talk, options)


def test_a_client_that_only_sends_is_disconnected() -> None:
    async def talk(served: Served) -> None:
        flood = await handshake(served)
        await flood.response()
        flood.stop_reading()
        request = frame(message("echo", "x" * 30_000))

        async def send_without_end() -> None:
            while True:
                await flood.send(request)
                await asyncio.sleep(0)

        with pytest.raises(ConnectionError):
            await send_without_end()
        assert await served.ask("echo", 1) == [1]

    serve(talk, options=ServerOptions(port=0, queue_bytes=1_000_000))


def test_one_long_answer_is_no_long_queue() -> None:
    async def talk(_: Served, socket: ClientWebSocketResponse) -> None:
        await socket.send_bytes(message("text", 20_000_000))
        assert len((await receive(socket))["result"]) == 20_000_000

    serve_websocket(talk, ServerOptions(port=0, queue_bytes=1_000_000))


def test_a_hundred_clients_at_once() -> None:
    async def client(session: aiohttp.ClientSession, port: int, number: int) -> None:
        async with await websocket(session, port) as socket:
            await socket.send_bytes(message("subscribe"))
            assert (await receive(socket))["result"] == "subscribed"
            assert await receive(socket) == {"first": True}
            for step in range(10):
                method = ("echo", "slow_echo")[step % 2]
                await socket.send_bytes(message(method, number, step))
                assert (await receive(socket))["result"] == [number, step]

    async def talk(served: Served) -> None:
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector) as session:
            clients = (client(session, served.port, number) for number in range(100))
            await asyncio.gather(*clients)
        await until(lambda: len(served.service.ended) >= 100)

    serve(talk)
