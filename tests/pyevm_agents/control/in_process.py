"""The application of a control plane, called without sockets."""

from __future__ import annotations

import asyncio
import json
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, cast

from pyevm_agents.control.app import build_app
from pyevm_agents.server.origin_checks import AccessPolicy

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyevm_agents.control.access import AsgiApp, Message
    from pyevm_agents.control.plane import ControlPlane
    from pyevm_agents.lifecycle.next_steps import Door

HOST = b"127.0.0.1:3001"
JSON_HEADERS = (
    (b"host", HOST),
    (b"content-type", b"application/json"),
    (b"accept", b"application/json, text/event-stream"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RawRequest:
    """A request: bytes, as a client sends them."""

    method: str = "POST"
    path: str
    """In ASCII, with the query."""

    body: bytes = b""
    headers: tuple[tuple[bytes, bytes], ...] = JSON_HEADERS


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a request."""

    status: int
    body: bytes

    def read(self) -> Any:  # noqa: ANN401 - JSON
        """Return the JSON, which must be in UTF-8 and have no half of a surrogate pair."""
        value = json.loads(self.body.decode("utf-8", "strict"))
        json.dumps(value, ensure_ascii=False).encode()
        return value


class PlaneSlot:
    """What an application takes for a control plane: the one that a test has put in last."""

    def __init__(self, door: Door | None = None) -> None:
        self._door = door
        self._planes: list[ControlPlane] = []

    def put(self, plane: ControlPlane) -> None:
        """Answer the next requests by a control plane."""
        self._planes[:] = [plane]

    def through(self, door: Door) -> PlaneSlot:
        """Return the same slot for a door."""
        slot = PlaneSlot(door)
        slot._planes = self._planes
        return slot

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - an operation
        (plane,) = self._planes
        return getattr(plane if self._door is None else plane.through(self._door), name)


class InProcessClient:
    """Sends requests to an application."""

    def __init__(self, app: AsgiApp) -> None:
        self._app = app
        self._runner = asyncio.Runner()
        self._stopping: asyncio.Event
        self._lifespan: asyncio.Task[None]

    def __enter__(self) -> Self:
        """Start the application."""
        self._runner.run(self._start())
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the application."""
        self._runner.run(self._stop())
        self._runner.close()

    async def _start(self) -> None:
        self._stopping, started = asyncio.Event(), asyncio.Event()
        events = iter(["lifespan.startup", "lifespan.shutdown"])

        async def receive() -> Message:
            kind = next(events)
            if kind == "lifespan.shutdown":
                await self._stopping.wait()
            return {"type": kind}

        async def send(message: Message) -> None:
            assert not message["type"].endswith("failed"), message
            started.set()

        scope = {"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}
        self._lifespan = asyncio.ensure_future(self._app(scope, receive, send))
        await started.wait()

    async def _stop(self) -> None:
        self._stopping.set()
        await self._lifespan

    def send(self, request: RawRequest) -> Answer:
        """Send a request."""
        return self._runner.run(self._send(request))

    def send_all(self, requests: Sequence[RawRequest], at_once: int) -> list[Answer]:
        """Send requests, several at once; return the answers in the order of the requests."""

        async def send(some: Sequence[RawRequest]) -> list[Answer]:
            return [await self._send(each) for each in some]

        async def run() -> list[Answer]:
            answers = await asyncio.gather(*(send(requests[i::at_once]) for i in range(at_once)))
            return [answers[i % at_once][i // at_once] for i in range(len(requests))]

        return self._runner.run(run())

    def get(self, path: str) -> Any:  # noqa: ANN401 - JSON
        """Return what is at a path."""
        answer = self.send(RawRequest(method="GET", path=path))
        assert answer.status == 200, (path, answer)
        return answer.read()

    async def _send(self, request: RawRequest) -> Answer:
        path, _, query = request.path.partition("?")
        messages: list[Message] = [{"type": "http.request", "body": request.body}]
        sent: list[Message] = []
        left = asyncio.Event()

        async def receive() -> Message:
            if messages:
                return messages.pop()
            await left.wait()
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "scheme": "http",
            "method": request.method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": list(request.headers),
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 3001),
            "state": {},
        }
        try:
            await self._app(scope, receive, send)
        finally:
            left.set()
        status = next(each["status"] for each in sent if each["type"] == "http.response.start")
        return Answer(status, b"".join(each.get("body", b"") for each in sent))


@contextmanager
def call_in_process(plane: ControlPlane | PlaneSlot) -> Iterator[InProcessClient]:
    """Call the application of a control plane inside a context."""
    policy = AccessPolicy(bound_host="127.0.0.1")
    with InProcessClient(build_app(cast("ControlPlane", plane), policy)) as client:
        yield client
