"""The application of a control plane, called without sockets."""

from __future__ import annotations

import asyncio
import json
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from pyevm_agents.control.app import build_app
from pyevm_agents.server.origin_checks import AccessPolicy

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyevm_agents.control.access import AsgiApp, Message
    from pyevm_agents.control.plane import ControlPlane

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


class InProcessClient:
    """Sends requests to an application, one after the other."""

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

    def send_all(self, requests: Sequence[RawRequest]) -> list[Answer]:
        """Send requests in their order."""

        async def run() -> list[Answer]:
            return [await self._send(each) for each in requests]

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
def call_in_process(plane: ControlPlane) -> Iterator[InProcessClient]:
    """Call the application of a control plane inside a context."""
    policy = AccessPolicy(bound_host="127.0.0.1")
    with InProcessClient(build_app(plane, policy)) as client:
        yield client
