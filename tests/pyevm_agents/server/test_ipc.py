"""IPC connections: how messages are told apart, requests, notifications, the socket's file."""

from __future__ import annotations

import asyncio
import json
import socket
import tempfile
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.errors import ConfigError
from pyevm_agents.rpc.codec import Limits
from pyevm_agents.rpc.errors import INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR
from pyevm_agents.server import ServerOptions
from pyevm_agents.server.ipc import JsonSplitter
from tests.deadlines import HANG_SECONDS
from tests.serving import Served, message, serve, until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

DOCUMENTS = st.recursive(
    st.none() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
).filter(lambda value: isinstance(value, list | dict))


class Client:
    """An IPC client: it sends bytes and reads answers, one on each line."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    async def receive(self) -> Any:  # noqa: ANN401 - JSON
        return json.loads(await asyncio.wait_for(self.reader.readline(), HANG_SECONDS))


@pytest.fixture
def path() -> Iterator[Path]:
    # The path of a socket has at most 108 bytes, and pytest's folders have long names.
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder) / "node.ipc"


@asynccontextmanager
async def connect(path: Path) -> AsyncIterator[Client]:
    reader, writer = await asyncio.open_unix_connection(path, limit=2**26)
    try:
        yield Client(reader, writer)
    finally:
        writer.close()
        with suppress(ConnectionError):
            await asyncio.wait_for(writer.wait_closed(), HANG_SECONDS)


def serve_ipc(
    path: Path,
    talk: Callable[[Served, Client], Awaitable[None]],
    options: ServerOptions | None = None,
) -> None:
    async def run(served: Served) -> None:
        async with connect(path) as client:
            await talk(served, client)

    serve(run, options=options or ServerOptions(port=0, ipc_path=path))


@given(
    documents=st.lists(DOCUMENTS, max_size=5), cuts=st.lists(st.integers(0, 400)), data=st.data()
)
def test_documents_are_told_apart_however_they_arrive(
    documents: list[Any], cuts: list[int], data: st.DataObject
) -> None:
    stream = b""
    for document in documents:
        is_ascii = data.draw(st.booleans())
        stream += json.dumps(document, ensure_ascii=is_ascii).encode("utf-8", "surrogatepass")
        stream += data.draw(st.sampled_from([b"", b"\n", b" \r\n\n"]))
    splitter, found, begin = JsonSplitter(1 << 20), list[bytes](), 0
    for end in [*sorted(cut for cut in cuts if cut < len(stream)), len(stream)]:
        found += splitter.split(stream[begin:end])
        begin = end
    assert [json.loads(one.decode("utf-8", "surrogatepass")) for one in found] == documents


def test_what_is_no_json_ends_with_its_line() -> None:
    splitter = JsonSplitter(100)
    assert splitter.split(b'hello "wor') == []
    assert splitter.split(b'ld\n]\n{"a":"}\\"{"}5\n') == [
        b'hello "world',
        b"]",
        b'{"a":"}\\"{"}',
        b"5",
    ]


def test_a_document_has_a_limit() -> None:
    assert JsonSplitter(10).split(b"[12345678]") == [b"[12345678]"]
    assert JsonSplitter(10).split(b"[123456789") == []
    with pytest.raises(ValueError, match="message too large: at most 10 bytes"):
        JsonSplitter(10).split(b"[1234567890")


def test_requests_are_answered(path: Path) -> None:
    async def talk(served: Served, client: Client) -> None:
        client.send(message("echo", "ü", request_id="a") + message("slow_echo", 1, request_id="b"))
        answers = {
            answer["id"]: answer["result"] for answer in [await client.receive() for _ in "ab"]
        }
        assert answers == {"a": ["ü"], "b": [1]}
        client.send(b"[" + message("echo", 2) + b"]")
        assert [answer["result"] for answer in await client.receive()] == [[2]]
        client.send(b"nonsense\n" + message("nothing"))
        assert (await client.receive())["error"]["code"] == PARSE_ERROR
        assert (await client.receive())["error"]["code"] == METHOD_NOT_FOUND
        assert await served.ask("echo", 3) == [3]

    serve_ipc(path, talk)
    assert not path.exists()


def test_a_computation_delays_no_other_answer(path: Path) -> None:
    async def talk(served: Served, client: Client) -> None:
        client.send(message("gate", request_id="last"))
        for number in range(50):
            client.send(message("slow_echo" if number % 2 else "echo", request_id=number))
        assert {(await client.receive())["id"] for _ in range(50)} == set(range(50))
        served.service.gate.set()
        assert (await client.receive())["id"] == "last"

    serve_ipc(path, talk)


def test_subscriptions_end_with_the_connection(path: Path) -> None:
    async def talk(served: Served) -> None:
        async with connect(path) as client:
            client.send(message("subscribe"))
            assert (await client.receive())["result"] == "subscribed"
            assert await client.receive() == {"first": True}
            (session,) = served.service.sessions
            assert session.is_open
        await until(lambda: not session.is_open)

    serve(talk, options=ServerOptions(port=0, ipc_path=path))


def test_a_message_that_is_too_long_ends_the_connection(path: Path) -> None:
    async def talk(_: Served, client: Client) -> None:
        client.send(b"[" + b"1" * 1_000)
        assert (await client.receive())["error"]["code"] == INVALID_REQUEST
        assert await client.reader.read() == b""

    limits = Limits(body_bytes=1_000)
    serve_ipc(path, talk, ServerOptions(port=0, ipc_path=path, limits=limits))


def test_only_the_owner_may_open_the_socket(path: Path) -> None:
    def read_mode() -> int:
        return path.stat().st_mode & 0o777

    async def talk(_: Served) -> None:
        assert read_mode() == 0o600

    serve(talk, options=ServerOptions(port=0, ipc_path=path))


def test_a_socket_that_a_killed_node_left_is_replaced(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))

    async def talk(_: Served, client: Client) -> None:
        client.send(message("echo", 1))
        assert (await client.receive())["result"] == [1]

    serve_ipc(path, talk)


def test_another_file_or_a_socket_in_use_stays(path: Path) -> None:
    async def talk(_: Served) -> None:
        pytest.fail("it began")

    options = ServerOptions(port=0, ipc_path=path)
    with socket.socket(socket.AF_UNIX) as used:
        used.bind(str(path))
        used.listen()
        with pytest.raises(ConfigError, match="another process listens on it; pass another path"):
            serve(talk, options=options)
    path.unlink()
    path.write_text("a file")
    with pytest.raises(ConfigError, match="is another file; pass another path"):
        serve(talk, options=options)
    assert path.read_text() == "a file"
    missing = ServerOptions(port=0, ipc_path=path.parent / "none" / "x")
    with pytest.raises(ConfigError, match="No such file or directory; pass another"):
        serve(talk, options=missing)
