"""Metrics and health of a worker over HTTP, on this machine alone."""

from __future__ import annotations

import json
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Protocol, Self

from pyevm_agents.errors import ConfigError
from pyevm_agents.server.origin_checks import AccessPolicy
from pyevm_agents.server.request_head import RequestHead, check_head

if TYPE_CHECKING:
    from collections.abc import Mapping

HOST = "127.0.0.1"
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""Source: Prometheus, "Exposition formats"."""


class Observed(Protocol):
    """A source of metrics and a health."""

    def render_metrics(self) -> str:
        """Return the metrics in Prometheus' text format."""
        ...

    def describe_health(self) -> tuple[bool, Mapping[str, object]]:
        """Return whether all is well, and facts in JSON."""
        ...


class MetricsServer:
    """Serves `/metrics` and `/health`; 503 for a worker that is not healthy."""

    def __init__(
        self, observed: Observed, port: int, *, allowed_hosts: frozenset[str] = frozenset()
    ) -> None:
        """Listen, in a thread.

        Input:  the observed worker; the port, 0 for a free one; names that `Host` may have besides
                loopback, `*` for all.
        Raises: ConfigError: the port is taken.
        """
        policy = AccessPolicy(bound_host=HOST, allowed_hosts=allowed_hosts)
        try:
            self._server = ThreadingHTTPServer((HOST, port), _build_handler(observed, policy))
        except OSError as error:
            raise ConfigError(
                f"metrics port {port}: {error.strerror}; pass another with --metrics-port"
            ) from error
        self._server.daemon_threads = True
        self.url = f"http://{HOST}:{self._server.server_address[1]}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, name="metrics", daemon=True
        )
        self._thread.start()

    def __enter__(self) -> Self:
        """Return the server."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the server."""
        self.close()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _build_handler(observed: Observed, policy: AccessPolicy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            headers = tuple((name.lower(), value) for name, value in self.headers.items())
            refusal = check_head(RequestHead(self.path, headers), policy.explain_refusal)
            if refusal is not None:
                self._reply(HTTPStatus(refusal.status), "text/plain", f"{refusal.reason}\n")
            elif self.path == "/metrics":
                self._reply(HTTPStatus.OK, METRICS_TYPE, observed.render_metrics())
            elif self.path == "/health":
                is_healthy, facts = observed.describe_health()
                status = HTTPStatus.OK if is_healthy else HTTPStatus.SERVICE_UNAVAILABLE
                self._reply(status, "application/json", json.dumps(facts))
            else:
                self._reply(HTTPStatus.NOT_FOUND, "text/plain", "there are /metrics and /health\n")

        def _reply(self, status: HTTPStatus, kind: str, text: str) -> None:
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - the base class' name
            """Log nothing: the worker's log is for events."""

    return Handler
