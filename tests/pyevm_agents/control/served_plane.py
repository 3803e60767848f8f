"""A control plane on a port of its own, and a REST client of it."""

from __future__ import annotations

import asyncio
import json
import threading
import urllib.error
import urllib.request
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pyevm_agents.control.app import bind_socket, build_app, build_server
from pyevm_agents.control.development_plane import open_development_plane
from pyevm_agents.server.origin_checks import AccessPolicy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyevm_agents.control.plane import ControlPlane

PAGE = "https://page.example"


class RestClient:
    """Short requests to a control plane."""

    def __init__(self, url: str) -> None:
        self.url = url

    def send(
        self, method: str, path: str, body: object = None, **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers by lower-case names, and body; also of an error."""
        data = None if body is None else json.dumps(body).encode()
        return self.send_bytes(method, path, data, **headers)

    def send_bytes(
        self, method: str, path: str, data: bytes | None, **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        """Send a body as it is; return what `send` does."""
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        request = urllib.request.Request(  # noqa: S310 - HTTP
            self.url + path, data, {"Content-Type": "application/json", **names}, method=method
        )
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request) as answer:
                found = answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                found = error.code, error.headers, error.read()
        return found[0], {name.lower(): value for name, value in found[1].items()}, found[2]

    def get(self, path: str, status: int = 200) -> Any:  # noqa: ANN401 - JSON
        found, _, body = self.send("GET", path)
        assert found == status, body
        return json.loads(body)

    def post(self, path: str, body: object = None, status: int = 202) -> Any:  # noqa: ANN401 - JSON
        found, _, answer = self.send("POST", path, {} if body is None else body)
        assert found == status, answer
        return json.loads(answer)


@contextmanager
def serve_plane(plane: ControlPlane) -> Iterator[RestClient]:
    """Serve a control plane from a thread inside a context."""
    policy = AccessPolicy(bound_host="127.0.0.1", allowed_origins=frozenset({PAGE}))
    server = build_server(build_app(plane, policy))
    with bind_socket("127.0.0.1", 0) as bound:
        thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[bound])))
        thread.start()
        try:
            # Requests wait in the socket's queue until the server accepts them.
            yield RestClient(f"http://127.0.0.1:{bound.getsockname()[1]}")
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def open_served_plane(folder: Path, store: Path, **options: Any) -> Iterator[RestClient]:  # noqa: ANN401 - of the plane
    """Serve an agent's folder on a development chain inside a context."""
    with open_development_plane([folder], store, **options) as plane, serve_plane(plane) as client:
        yield client
