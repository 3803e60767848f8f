"""The server starts, reports its URL, and stops with any clients connected."""

from __future__ import annotations

import asyncio
import sys
import threading
from typing import TYPE_CHECKING

import aiohttp
import pytest
from aiohttp import WSMsgType

from pyevm_agents.errors import ConfigError
from pyevm_agents.server import Server, ServerOptions
from tests.deadlines import HANG_SECONDS
from tests.echo_service import EchoService
from tests.serving import Connection, Served, message, serve, until, websocket

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

EVERYWHERE = "0.0.0.0"  # noqa: S104 - for a moment, for nobody else
QUICK_END = ServerOptions(port=0, stop_seconds=0.3)


async def ends(talk: Callable[[Served], Awaitable[None]], options: ServerOptions) -> None:
    """Stop a server after a client's requests, before the test's gate opens."""
    service = EchoService()
    served = None
    try:
        async with asyncio.timeout(HANG_SECONDS), Server(service, options) as server:
            served = Served(server, service)
            await talk(served)
    finally:
        service.gate.set()
        if served is not None:
            await served.close()


def test_it_says_where_it_listens() -> None:
    async def talk(served: Served) -> None:
        assert served.server.url == f"http://127.0.0.1:{served.port}"
        assert 0 < served.port < 2**16
        assert await served.ask("echo", 1) == [1]

    serve(talk)


@pytest.mark.parametrize(
    ("host", "shown"), [(EVERYWHERE, "127.0.0.1"), ("localhost", "localhost"), ("", "127.0.0.1")]
)
def test_it_listens_wherever_it_is_told(host: str, shown: str) -> None:
    async def talk(served: Served) -> None:
        assert served.server.url == f"http://{shown}:{served.port}"
        assert await served.ask("echo", 1) == [1]

    serve(talk, options=ServerOptions(host=host, port=0))


def test_a_port_that_is_in_use() -> None:
    async def talk(served: Served) -> None:
        with pytest.raises(ConfigError, match=f"{served.port}: the port is in use"):
            async with Server(EchoService(), ServerOptions(port=served.port)):
                pass

    serve(talk)


def test_stop_ends_it() -> None:
    async def run() -> None:
        async with Server(EchoService(), QUICK_END) as server:
            asyncio.get_running_loop().call_later(0.05, server.stop)
            await asyncio.wait_for(server.wait_stopped(), HANG_SECONDS)
            url = server.url
        async with aiohttp.ClientSession() as session:
            with pytest.raises(aiohttp.ClientConnectorError):
                await session.get(url)

    asyncio.run(run())


def test_a_port_is_free_again_and_nothing_is_left() -> None:
    interval = sys.getswitchinterval()
    threads = set(threading.enumerate())

    async def run() -> None:
        port = 0
        for _ in range(5):
            async with Server(EchoService(), ServerOptions(port=port)) as server:
                port = server.port
                served = Served(server, EchoService())
                assert await served.ask("slow_echo", 1) == [1]
                assert sys.getswitchinterval() < interval

    asyncio.run(run())
    assert sys.getswitchinterval() == interval
    left = set(threading.enumerate()) - threads
    for thread in left:
        if thread.name.startswith("pyevm-agents"):
            thread.join(HANG_SECONDS)
    assert [thread for thread in left if thread.is_alive()] == []


def test_what_is_at_work_is_answered_before_the_end() -> None:
    answers: list[object] = []

    async def talk(served: Served) -> None:
        async def ask() -> None:
            answers.append(await served.ask("wait", 0.3))

        async def ask_by_websocket() -> None:
            async with (
                aiohttp.ClientSession() as session,
                await websocket(session, served.port) as socket,
            ):
                await socket.send_bytes(message("wait", 0.3))
                answers.append((await socket.receive_json(timeout=HANG_SECONDS))["result"])
                end = await socket.receive(HANG_SECONDS)
                answers.append((end.type, end.data))

        tasks.extend([asyncio.create_task(ask()), asyncio.create_task(ask_by_websocket())])
        await until(lambda: served.service.calls >= 2)

    async def run() -> None:
        await ends(talk, ServerOptions(port=0, stop_seconds=2 * HANG_SECONDS))
        await asyncio.gather(*tasks)

    tasks: list[asyncio.Task[None]] = []
    asyncio.run(run())
    assert sorted(answers, key=str) == [(WSMsgType.CLOSE, 1001), "waited", "waited"]


def test_what_takes_too_long_is_left_alone(caplog: pytest.LogCaptureFixture) -> None:
    async def talk(served: Served) -> None:
        connection = await served.connect()
        await connection.request(body=message("gate"))
        tasks.append(asyncio.create_task(connection.closed()))
        await until(lambda: served.service.calls)

    async def run() -> None:
        await ends(talk, QUICK_END)
        await asyncio.gather(*tasks)

    tasks: list[asyncio.Task[None]] = []
    asyncio.run(run())
    assert "running requests: 1" in caplog.text


def test_clients_that_do_nothing_do_not_hold_it() -> None:
    async def talk(served: Served) -> None:
        for sent in (
            b"",
            b"GET",
            b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n1",
        ):
            await (await served.connect()).send(sent)
        # Two stalled clients: of a long response, and of a WebSocket.
        for head in (b"%b%d\r\n\r\n%b" % (POST, len(BIG), BIG), HANDSHAKE):
            connection = await served.connect()
            connection.stop_reading()
            await connection.send(head)
        await asyncio.sleep(0.3)

    async def run() -> None:
        await ends(talk, QUICK_END)

    asyncio.run(run())


BIG = message("text", 10_000_000)
POST = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
HANDSHAKE = (
    b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)


def test_requests_after_the_stop_are_refused() -> None:
    async def talk(served: Served) -> None:
        kept.append(await served.connect())
        await kept[0].request(body=message("echo"))
        await kept[0].response()
        tasks.append(asyncio.create_task(served.ask("gate")))
        await until(lambda: served.service.calls >= 2)
        tasks.append(asyncio.create_task(later(served)))

    async def later(served: Served) -> None:
        await until(lambda: served.is_stopping)
        await kept[0].request(body=message("echo"))
        assert (await kept[0].response()).status == 503
        served.service.gate.set()

    async def run() -> None:
        await ends(talk, ServerOptions(port=0))
        await asyncio.gather(*tasks)

    kept: list[Connection] = []
    tasks: list[asyncio.Task[object]] = []
    asyncio.run(run())


def test_interrupts_of_the_service_end_the_loop() -> None:
    async def talk(served: Served) -> None:
        await served.ask("bug", "interrupt")

    with pytest.raises(KeyboardInterrupt):
        serve(talk)
