"""Metrics and health of a worker over HTTP."""

from __future__ import annotations

import json
import urllib.request
from contextlib import closing
from http.client import HTTPConnection
from urllib.error import HTTPError

import pytest

from pyevm_agents.client.worker_log import EVENTS, CountingLog
from pyevm_agents.errors import ConfigError
from pyevm_agents.server.metrics_server import MetricsServer
from tests.deadlines import HANG_SECONDS


class Observed:
    is_healthy = True

    def __init__(self) -> None:
        self.log = CountingLog()

    def render_metrics(self) -> str:
        return self.log.render()

    def describe_health(self) -> tuple[bool, dict[str, object]]:
        return self.is_healthy, {"healthy": self.is_healthy}


def read(url: str) -> str:
    with urllib.request.urlopen(url, timeout=HANG_SECONDS) as answer:  # noqa: S310 - a loopback address
        return str(answer.read().decode())


def test_metrics_count_events() -> None:
    observed = Observed()
    observed.log.write("sent")
    observed.log.write("sent")
    observed.log.set_gauge("open_requests", 3)
    with MetricsServer(observed, 0) as server:
        lines = read(f"{server.url}/metrics").splitlines()
    assert 'pyevm_agents_oracle_events_total{event="sent"} 2' in lines
    assert "pyevm_agents_oracle_open_requests 3" in lines
    assert sum("events_total{" in line for line in lines) == len(EVENTS)


def test_health_is_a_status() -> None:
    observed = Observed()
    with MetricsServer(observed, 0) as server:
        assert json.loads(read(f"{server.url}/health")) == {"healthy": True}
        observed.is_healthy = False
        with pytest.raises(HTTPError, match="503") as caught:
            read(f"{server.url}/health")
        caught.value.close()
        with pytest.raises(HTTPError, match="404") as caught:
            read(f"{server.url}/")
        caught.value.close()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "localhost"}, 200),
        ({"Host": "prometheus.example:1"}, 200),
        ({"Host": "evil.example"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Transfer-Encoding": "chunked", "Content-Length": "0"}, 400),
    ],
)
def test_other_hosts_and_pages_read_nothing(headers: dict[str, str], status: int) -> None:
    allowed = frozenset({"prometheus.example"})
    with MetricsServer(Observed(), 0, allowed_hosts=allowed) as server:
        for path in ("/metrics", "/health"):
            connection = HTTPConnection(server.url.removeprefix("http://"), timeout=HANG_SECONDS)
            with closing(connection):
                connection.request("GET", path, headers=headers)
                with connection.getresponse() as answer:
                    assert answer.status == status
                    assert (b"event" in answer.read()) == (status == 200 and path == "/metrics")


def test_a_taken_port_is_an_error() -> None:
    with MetricsServer(Observed(), 0) as server:
        port = int(server.url.rpartition(":")[2])
        with pytest.raises(ConfigError, match="--metrics-port"):
            MetricsServer(Observed(), port)
