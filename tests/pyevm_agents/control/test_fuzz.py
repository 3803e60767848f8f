"""No request to REST or MCP ends the process, is a fault, or stores what can't be answered."""

from __future__ import annotations

import http.client
import random
import re
import subprocess
import sys
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from pyevm_agents.control.development_plane import open_development_plane
from tests.deadlines import HANG_SECONDS
from tests.pyevm_agents.control.agents_of_tests import make_agent
from tests.pyevm_agents.control.in_process import HOST, call_in_process
from tests.pyevm_agents.control.mutated_requests import RequestMutator

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.pyevm_agents.control.in_process import InProcessClient
    from tests.samples import Sample

REQUESTS_OF_A_PLANE = 2_000
"""A control plane keeps every task: lists of many would take most of the time."""

WARM_PLANES = 3
"""After these, the process has loaded and cached what it will."""

MAX_GROWTH_BYTES = 64 * 2**20
"""Of the process during the requests to all later planes: a kept request has some KiB."""

REST_LINE = re.compile(r"^REST http://([0-9.:]+)/docs$", re.MULTILINE)
"""What `agent serve` writes when it listens."""

POLL_SECONDS = 0.05

STATM = Path("/proc/self/statm")
PAGE_BYTES = 4_096


def measure_resident_bytes() -> int:
    """Return the memory of this process; 0 where the system does not tell."""
    return int(STATM.read_text().split()[1]) * PAGE_BYTES if STATM.exists() else 0


def read_all(client: InProcessClient) -> int:
    """Read everything that is stored; return how much it is."""
    tasks, runs = client.get("/tasks"), client.get("/runs")
    for task in tasks:
        client.get(f"/tasks/{quote(task['taskId'])}")
    for run in runs:
        client.get(f"/runs/{quote(run['runId'])}")
        client.get(f"/runs/{quote(run['runId'])}/receipts")
    client.get("/.well-known/agent_log.json")
    return len(tasks) + len(runs)


@pytest.mark.sample(count=600, seed=20261201)
def test_no_request_is_a_fault_or_stores_what_cannot_be_answered(
    sample: Sample, tmp_path: Path
) -> None:
    mutator = RequestMutator(random.Random(sample.seed))  # noqa: S311 - repeatable, no secret
    statuses: Counter[int] = Counter()
    stored = planes = growth = 0
    for start in range(0, sample.count, REQUESTS_OF_A_PLANE):
        folder = tmp_path / str(start)
        agent = make_agent(folder).path
        size = min(REQUESTS_OF_A_PLANE, sample.count - start)
        requests = [mutator.build() for _ in range(size)]
        with (
            open_development_plane([agent], folder) as plane,
            call_in_process(plane) as client,
        ):
            before = measure_resident_bytes()
            answers = client.send_all(requests)
            if planes >= WARM_PLANES:
                growth += measure_resident_bytes() - before
            for request, answer in zip(requests, answers, strict=True):
                statuses[answer.status] += 1
                assert answer.status < 500, (request, answer)
                answer.body.decode("utf-8", "strict")
            stored += read_all(client)
        with (
            open_development_plane([agent], folder) as plane,
            call_in_process(plane) as client,
        ):
            read_all(client)
        planes += 1
    assert statuses[200]
    assert statuses[201]
    assert statuses[422]
    sample.figures.update(requests=statuses.total(), stored=stored, planes=planes)
    sample.figures["KiB of growth"] = growth >> 10
    assert growth <= MAX_GROWTH_BYTES


@contextmanager
def serve_in_process_of_its_own(folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """Start `agent serve`; give the process and its host and port."""
    command = [sys.executable, "-m", "pyevm_agents", "agent", "serve", str(make_agent(folder).path)]
    log = folder / "log"
    options = ["--no-model", "--no-store", "--port", "0", "--data", str(folder / "data")]
    with (
        log.open("w") as stderr,
        subprocess.Popen([*command, *options], stderr=stderr) as process,
    ):
        try:
            while (found := REST_LINE.search(log.read_text())) is None:
                assert process.poll() is None, log.read_text()
                time.sleep(POLL_SECONDS)
            yield process, found[1]
        finally:
            process.terminate()


@pytest.mark.slow
@pytest.mark.sample(count=300, seed=20261201)
def test_no_request_ends_the_process(sample: Sample, tmp_path: Path) -> None:
    mutator = RequestMutator(random.Random(sample.seed))  # noqa: S311 - repeatable, no secret
    statuses: Counter[int] = Counter()
    with serve_in_process_of_its_own(tmp_path) as (process, netloc):
        host, _, port = netloc.partition(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=HANG_SECONDS)
        for _ in range(sample.count):
            request = mutator.build()
            connection.putrequest(request.method, request.path, skip_host=True)
            for name, value in request.headers:
                if name != b"content-length":  # The server would wait for what does not come.
                    connection.putheader(name, netloc if value == HOST else value)
            connection.putheader("content-length", str(len(request.body)))
            connection.endheaders(request.body)
            try:
                with connection.getresponse() as answer:
                    answer.read()
                    statuses[answer.status] += 1
                    assert answer.status < 500, (request, answer.status)
            except (http.client.HTTPException, ConnectionError):
                statuses[0] += 1  # The body did not fit the head.
                connection.close()
        assert process.poll() is None
        connection.close()
        connection.request("GET", "/tasks")
        assert connection.getresponse().status == 200
        connection.close()
    assert statuses[200]
    sample.figures.update(requests=statuses.total(), unanswered=statuses[0])
