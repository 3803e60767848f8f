"""HTTP requests: access, bodies and CORS."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import TYPE_CHECKING

import aiohttp
import pytest

from pyevm_agents.rpc.codec import Limits
from pyevm_agents.rpc.errors import INVALID_REQUEST, LIMIT_EXCEEDED, PARSE_ERROR
from pyevm_agents.server import Server, ServerOptions
from tests.deadlines import HANG_SECONDS
from tests.echo_service import EchoService
from tests.serving import Served, message, serve, until

if TYPE_CHECKING:
    from pyevm_agents.rpc.dispatcher import RequestLogEntry


def test_requests_are_answered() -> None:
    async def talk(served: Served) -> None:
        response = await served.http(body=message("echo", 1, "ü", request_id="x"))
        assert response.status == 200
        assert response.headers["Content-Type"] == "application/json"
        assert response.json == {"jsonrpc": "2.0", "id": "x", "result": [1, "ü"]}
        assert await served.ask("slow_echo", 2) == [2]
        assert await served.ask("transport") == "http"

    serve(talk)


@pytest.mark.parametrize("path", ["/", "/rpc", "/?a=b", "//"])
@pytest.mark.parametrize("content_type", ["", "application/json", "text/plain", "x" * 100])
def test_any_path_and_content_type_will_do(path: str, content_type: str) -> None:
    async def talk(served: Served) -> None:
        body = message("echo", 1)
        response = await served.http(body=body, path=path, Content_Type=content_type)
        assert response.json["result"] == [1]

    serve(talk)


def test_a_connection_is_kept() -> None:
    async def talk(served: Served) -> None:
        connection = await served.connect()
        for number in range(100):
            method = "echo" if number % 2 else "slow_echo"
            await connection.request(body=message(method, number, request_id=number))
            response = await connection.response()
            assert (response.json["id"], response.json["result"]) == (number, [number])

    serve(talk)


def test_requests_sent_at_once_are_answered_in_order() -> None:
    async def talk(served: Served) -> None:
        connection = await served.connect()
        for number in range(100):
            method = "echo" if number % 2 else "slow_echo"
            await connection.request(body=message(method, request_id=number))
        for number in range(100):
            assert (await connection.response()).json["id"] == number

    serve(talk)


def test_a_body_may_come_byte_by_byte_or_in_chunks() -> None:
    async def talk(served: Served) -> None:
        body = message("echo", 1)
        connection = await served.connect()
        head = f"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
        for byte in head.encode() + body:
            await connection.send(bytes([byte]))
            await asyncio.sleep(0)
        assert (await connection.response()).json["result"] == [1]
        await connection.send(
            b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        for byte in body:
            await connection.send(b"1\r\n%c\r\n" % byte)
        await connection.send(b"0\r\n\r\n")
        assert (await connection.response()).json["result"] == [1]

    serve(talk)


def test_who_asks_whether_to_go_on_is_told_to() -> None:
    async def talk(served: Served) -> None:
        body = message("echo", "x" * 2_000_000)
        connection = await served.connect()
        await connection.send(
            b"POST / HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
            b"Content-Length: %d\r\n\r\n" % len(body)
        )
        assert (await connection.response()).status == 100
        await connection.send(body)
        assert len((await connection.response()).json["result"][0]) == 2_000_000

    serve(talk)


def test_notifications_have_no_body() -> None:
    async def talk(served: Served) -> None:
        response = await served.http(body=b'{"jsonrpc":"2.0","method":"echo"}')
        assert (response.status, response.body) == (204, b"")
        response = await served.http(body=b'[{"jsonrpc":"2.0","method":"slow_echo"}]')
        assert (response.status, response.body) == (204, b"")
        assert served.service.calls == 2

    serve(talk)


def test_batches_and_errors() -> None:
    async def talk(served: Served) -> None:
        batch = b"[%b,%b,1]" % (message("slow_echo", request_id=1), message("echo", request_id=2))
        response = await served.http(body=batch)
        assert [answer["id"] for answer in response.json] == [1, 2, None]
        response = await served.http(body=b"{")
        assert (response.status, response.json["error"]["code"]) == (200, PARSE_ERROR)
        response = await served.http(body=b"")
        assert response.json["error"]["code"] == PARSE_ERROR

    serve(talk)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_browser_is_told_what_this_is(method: str) -> None:
    async def talk(served: Served) -> None:
        response = await served.http(method)
        assert response.status == 200
        assert response.headers["Content-Type"].startswith("text/plain")
        assert (
            method == "HEAD"
            or f"curl -H 'Content-Type: application/json' {served.server.url}"
            in (response.body.decode())
        )

    serve(talk)


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "TRACE", "CONNECT"])
def test_other_methods_are_refused(method: str) -> None:
    async def talk(served: Served) -> None:
        path = f"127.0.0.1:{served.port}" if method == "CONNECT" else "/"
        assert (await served.http(method, path=path)).status == 405

    serve(talk)


@pytest.mark.slow
def test_long_bodies_are_refused_before_they_come() -> None:
    async def talk(served: Served) -> None:
        connection = await served.connect()
        await connection.send(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1001\r\n\r\n")
        response = await connection.response()
        assert response.status == 413
        assert response.json["error"] == {
            "code": INVALID_REQUEST,
            "message": "body too large: at most 1,000 bytes",
        }
        await connection.closed()

    serve(talk, options=ServerOptions(port=0, limits=Limits(body_bytes=1_000)))


@pytest.mark.parametrize("size", [1_001, 10_000_000])
def test_long_bodies_in_chunks_are_refused(size: int) -> None:
    async def talk(served: Served) -> None:
        body = message("echo", "x" * 900)
        assert (await served.http(body=body)).status == 200
        connection = await served.connect()
        await connection.send(
            b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"%x\r\n%b\r\n0\r\n\r\n" % (size, b"x" * size)
        )
        assert (await connection.response()).status == 413
        await connection.closed()

    serve(talk, options=ServerOptions(port=0, limits=Limits(body_bytes=1_000)))


def test_packed_bodies_are_refused() -> None:
    async def talk(served: Served) -> None:
        assert (await served.http(body=b"x", Content_Encoding="gzip")).status == 415
        body = message("echo", 1)
        assert (await served.http(body=body, Content_Encoding="identity")).status == 200

    serve(talk)


@pytest.mark.slow
def test_slow_senders_are_sent_away() -> None:
    async def talk(served: Served) -> None:
        silent, head, body = [await served.connect() for _ in range(3)]
        await head.send(b"POST / HTTP/1.1\r\nHost: local")
        await body.send(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n123")
        response = await body.response()
        assert response.status == 408
        assert b"within 0.2 seconds" in response.body
        for connection in (silent, head, body):
            await connection.closed()
        assert await served.ask("echo", 1) == [1]

    serve(talk, options=ServerOptions(port=0, idle_seconds=0.3, body_seconds=0.2))


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "10.0.0.1", "[", ":"]
)
def test_other_hosts_are_refused(host: str) -> None:
    async def talk(served: Served) -> None:
        for method in ("GET", "POST", "OPTIONS", "PUT"):
            response = await served.http(method, message("echo"), Host=host)
            assert response.status == 403
            assert response.body.startswith(b"Host ")
        assert served.service.calls == 0

    serve(talk)


def test_other_origins_are_refused() -> None:
    async def talk(served: Served) -> None:
        body = message("echo")
        for origin in ("https://evil.example", "null", "http://localhost.evil.example", "x://"):
            response = await served.http(body=body, Origin=origin)
            assert response.status == 403
            assert response.body.startswith(b"Origin ")
            assert "Access-Control-Allow-Origin" not in response.headers
        assert served.service.calls == 0
        response = await served.http(body=body, Origin="http://localhost:3000")
        assert response.status == 403
        assert response.body.endswith(b"--allow-origin http://localhost:3000\n")
        response = await served.http(body=body, Origin=f"http://127.0.0.1:{served.port}")
        assert response.status == 200
        assert "Access-Control-Allow-Origin" not in response.headers

    serve(talk)


def test_a_program_that_names_itself_in_its_origin_may_ask() -> None:
    async def talk(served: Served) -> None:
        response = await served.http(body=message("echo"), Origin="Titanoboa")
        assert response.status == 200
        assert "Access-Control-Allow-Origin" not in response.headers
        host = await served.http(body=message("echo"), Origin="Titanoboa", Host="evil.example")
        assert host.status == 403

    serve(talk)


def test_headers_that_contradict_each_other_are_refused() -> None:
    async def talk(served: Served) -> None:
        own = f"127.0.0.1:{served.port}"
        for head in (
            f"POST / HTTP/1.1\r\nHost: {own}\r\nOrigin: http://{own}\r\nOrigin: http://a.b",
            f"POST / HTTP/1.1\r\nHost: {own}\r\nHost: evil.example",
            f"POST http://evil.example/ HTTP/1.1\r\nHost: {own}",
        ):
            connection = await served.connect()
            await connection.send(f"{head}\r\nContent-Length: 0\r\n\r\n".encode())
            assert (await connection.response()).status == 400
        assert served.service.calls == 0
        response = await served.http(body=message("echo", 1), path=f"http://{own}/")
        assert response.status == 200

    serve(talk)


def test_a_page_may_ask_where_that_was_allowed() -> None:
    async def talk(served: Served) -> None:
        origin = "https://app.example"
        for body in (message("echo"), message("slow_echo"), b'{"jsonrpc":"2.0","method":"echo"}'):
            response = await served.http(body=body, Origin=origin)
            assert response.status in {200, 204}
            assert response.headers["Access-Control-Allow-Origin"] == origin
            assert response.headers["Vary"] == "Origin"
        preflight = await served.http(
            "OPTIONS",
            Origin=origin,
            Access_Control_Request_Method="POST",
            Access_Control_Request_Headers="content-type,x-any",
            Access_Control_Request_Private_Network="true",
        )
        assert preflight.status == 204
        assert preflight.headers["Access-Control-Allow-Origin"] == origin
        assert "POST" in preflight.headers["Access-Control-Allow-Methods"]
        assert preflight.headers["Access-Control-Allow-Headers"] == "content-type,x-any"
        assert preflight.headers["Access-Control-Allow-Private-Network"] == "true"
        other = await served.http("OPTIONS", Origin="http://localhost:3000")
        assert other.status == 403
        assert b"--allow-origin http://localhost:3000" in other.body

    serve(talk, options=ServerOptions(port=0, allowed_origins=frozenset({"https://app.example"})))


def test_answers_do_not_wait_for_a_computation() -> None:
    async def talk(served: Served) -> None:
        waiting = asyncio.create_task(served.ask("gate"))
        burning = asyncio.create_task(served.ask("burn"))
        await until(lambda: served.service.calls == 2)
        for method in ("echo", "slow_echo") * 10:
            assert await served.ask(method, 1) == [1]
        assert not waiting.done()
        assert not burning.done()
        served.service.gate.set()
        assert await waiting is True
        assert await burning == "burnt"

    serve(talk)


def test_too_many_that_wait_are_refused() -> None:
    async def talk(served: Served) -> None:
        first = asyncio.create_task(served.ask("gate"))
        second = asyncio.create_task(served.ask("gate"))
        await until(lambda: served.answering == 2)
        response = await served.http(body=message("gate", request_id=7))
        assert (response.status, response.json["id"]) == (200, 7)
        assert response.json["error"]["code"] == LIMIT_EXCEEDED
        served.service.gate.set()
        assert [await first, await second] == [True, True]

    serve(talk, options=ServerOptions(port=0, threads=2, waiting=1))


def test_a_client_that_leaves_takes_its_request_out_of_the_line() -> None:
    async def talk(served: Served) -> None:
        first = asyncio.create_task(served.ask("gate"))
        await until(lambda: served.answering == 1)
        leaver = await served.connect()
        await leaver.request(body=message("gate"))
        await until(lambda: served.answering == 2)
        await leaver.close()
        await until(lambda: served.answering == 1)
        served.service.gate.set()
        assert await first
        assert await served.ask("count") == 2

    serve(talk, options=ServerOptions(port=0, threads=2))


def test_a_client_that_dies_disturbs_nobody() -> None:
    async def talk(served: Served) -> None:
        for sent in (
            b"",
            b"POST",
            b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n",
        ):
            connection = await served.connect()
            await connection.send(sent)
            await connection.close()
        for method, value in (("slow_echo", 1), ("text", 10_000_000), ("wait", 0.1)):
            connection = await served.connect()
            await connection.request(body=message(method, value))
            await connection.close()
        await until(lambda: not served.answering)
        assert await served.ask("echo", 1) == [1]

    serve(talk)


def test_what_is_no_http_is_answered_400_or_not_at_all() -> None:
    async def talk(served: Served) -> None:
        for sent in (
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
            b"GET / HTTP/9.9\r\n\r\n",
            b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
            b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
            b"GET / HTTP/1.1\r\nX: " + b"x" * 100_000 + b"\r\n\r\n",
            b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 10_000 + b"\r\n",
            b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        ):
            connection = await served.connect()
            await connection.send(sent)
            answer = await connection.reader.read()
            assert answer == b"" or answer.startswith((b"HTTP/1.0 400 ", b"HTTP/1.1 400 ")), sent
        assert await served.ask("echo", 1) == [1]

    serve(talk)


def test_each_request_is_told() -> None:
    told: list[RequestLogEntry] = []

    async def talk(served: Served) -> None:
        await served.ask("echo")
        await served.ask("wait", 0.05)
        await served.http(body=message("nothing"))

    serve(talk, watch=told.append)
    assert [(each.method, each.error_code, each.transport) for each in told] == [
        ("echo", None, "http"),
        ("wait", None, "http"),
        ("nothing", -32601, "http"),
    ]
    assert told[1].milliseconds >= 50


def test_who_is_told_delays_nobody() -> None:
    async def talk(served: Served) -> None:
        for _ in range(20):
            await served.ask("echo")
        gate.set()

    gate = threading.Event()
    serve(talk, watch=lambda _: assert_set(gate))


def assert_set(gate: threading.Event) -> None:
    assert gate.wait(2 * HANG_SECONDS)


def test_who_never_waits_is_told_before_the_client_is() -> None:
    told: list[tuple[str, int]] = []

    def watch(answered: RequestLogEntry) -> None:
        told.append((answered.method, threading.get_ident()))

    async def talk() -> None:
        async with (
            Server(EchoService(), ServerOptions(port=0), watch=watch, may_watch_wait=False) as it,
            aiohttp.ClientSession() as session,
        ):
            for method in ("echo", "slow_echo"):
                async with session.post(it.url, data=message(method)) as response:
                    assert response.status == 200
                    assert told[-1][0] == method

    asyncio.run(talk())
    assert told[0][1] == threading.get_ident() != told[1][1]


def test_json_is_what_python_reads() -> None:
    async def talk(served: Served) -> None:
        response = await served.http(body=message("integer", 256))
        assert json.loads(response.body)["result"] == 2**256
        response = await served.http(body=message("deep", 1_000))
        assert response.body.count(b"[") == 1_000

    serve(talk)
