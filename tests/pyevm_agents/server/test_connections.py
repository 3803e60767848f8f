"""The limit of connections, and the end of stalled ones."""

from __future__ import annotations

import asyncio
import resource

import pytest

from pyevm_agents.server import ServerOptions
from tests.serving import Served, message, serve


def test_more_connections_than_allowed_are_told_so() -> None:
    async def talk(served: Served) -> None:
        kept = [await served.connect() for _ in range(3)]
        for connection in kept:
            await connection.request(body=message("echo", 1))
            assert (await connection.response()).status == 200
        response = await served.http(body=message("echo"))
        assert response.status == 503
        assert b"close some" in response.body
        silent = await served.connect()
        await silent.closed()
        await kept[0].close()
        statuses = [503]
        while statuses[-1] == 503:
            statuses.append((await served.http(body=message("echo", 1))).status)
        assert statuses[-1] == 200

    serve(talk, options=ServerOptions(port=0, connections=3))


def test_the_oldest_incomplete_body_makes_room() -> None:
    async def talk(served: Served) -> None:
        slow = [await served.connect() for _ in range(3)]
        for connection in slow:  # Each gets an answer first, so the server has them in this order.
            await connection.request(body=message("echo", 1))
            assert (await connection.response()).status == 200
            await connection.request(body=b"{", Content_Length="100", Expect="100-continue")
            await connection.reader.readuntil(b"\r\n\r\n")
        assert await served.ask("echo", 1) == [1]
        first = await slow[0].response()
        assert first.status == 503
        assert b"close some" in first.body
        for connection in slow[1:]:
            await connection.send(b" " * 99)
            assert (await connection.response()).status == 200

    serve(talk, options=ServerOptions(port=0, connections=3))


@pytest.mark.slow
def test_who_reads_no_answer_is_disconnected() -> None:
    async def talk(served: Served) -> None:
        stalled, slow = [await served.connect() for _ in range(2)]
        for connection in (stalled, slow):
            connection.stop_reading()
            await connection.request(body=message("text", 20_000_000))
        body = 0
        slow.go_on_reading()
        while body < 20_000_000:
            body += len(await slow.reader.read(1_000_000))
            await asyncio.sleep(0.2)
        stalled.go_on_reading()
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            await stalled.response()

    serve(talk, options=ServerOptions(port=0, stall_seconds=1.5))


def test_few_open_files_are_few_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    async def talk(served: Served) -> None:
        kept = [await served.connect() for _ in range(4)]
        statuses = []
        for connection in kept:
            await connection.request(body=message("echo"))
            statuses.append((await connection.response()).status)
        assert sorted(statuses) == [200, 200, 200, 503]

    monkeypatch.setattr(resource, "getrlimit", lambda _: (6, 6))
    serve(talk)
