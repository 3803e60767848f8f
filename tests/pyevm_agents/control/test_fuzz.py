"""No request to REST or MCP ends the process, is a fault, or stores what can't be answered."""

from __future__ import annotations

import http.client
import logging
import multiprocessing
import random
import re
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing, contextmanager
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from pyevm_agents.control.development_plane import open_development_plane
from tests.deadlines import HANG_SECONDS
from tests.pyevm_agents.control.agents_of_tests import make_agent
from tests.pyevm_agents.control.in_process import HOST, PlaneSlot, RawRequest, call_in_process
from tests.pyevm_agents.control.mutated_requests import RequestMutator

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.pyevm_agents.control.in_process import InProcessClient
    from tests.samples import Sample

REQUESTS_OF_A_PLANE = 2_000
"""A control plane keeps every task: lists of many would take most of the time."""

PLANES_OF_A_SHARD = 25
"""Control planes that one process opens one after the other; shards run on all cores."""

AT_ONCE = 8
"""Requests on their way to one control plane, as several clients send them."""

WARM_PLANES = 3
"""After these, the process has loaded and cached what it will."""

MAX_GROWTH_BYTES = 64 * 2**20
"""Of a process from the first warm plane to its last one: a kept request has some KiB."""

REST_LINE = re.compile(r"^REST http://([0-9.:]+)/docs$", re.MULTILINE)
"""What `agent serve` writes when it listens."""

POLL_SECONDS = 0.05

INTERNAL_ERROR = b'"code":-32603'
"""Of an answer of MCP to a request that is a fault. Source: JSON-RPC 2.0, "Error object"."""

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


class ErrorList(logging.Handler):
    """The errors that are logged inside a context: faults of a run or of a tool are logged."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.errors: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.errors.append(self.format(record))

    def __enter__(self) -> list[str]:
        logging.getLogger().addHandler(self)
        return self.errors

    def __exit__(self, *_: object) -> None:
        logging.getLogger().removeHandler(self)


def send_to_planes(seed: int, count: int, folder: Path) -> Counter[str]:
    """Send requests to control planes, and read what they stored before and after a restart.

    Output: the number of answers of each status, and the figures of the report.
    """
    mutator = RequestMutator(random.Random(seed))  # noqa: S311 - repeatable, no secret
    slot, warm_bytes = PlaneSlot(), 0
    figures: Counter[str] = Counter()
    with call_in_process(slot) as client, ErrorList() as errors:
        for start in range(0, count, REQUESTS_OF_A_PLANE):
            size = min(REQUESTS_OF_A_PLANE, count - start)
            requests = [mutator.build() for _ in range(size)]
            store = folder / str(start)
            agent = make_agent(store).path
            with open_development_plane([agent], store) as plane:
                slot.put(plane)
                answers = client.send_all(requests, AT_ONCE)
                for request, answer in zip(requests, answers, strict=True):
                    figures[f"status {answer.status:d}"] += 1
                    assert answer.status < 500, (request, answer)
                    assert INTERNAL_ERROR not in answer.body, (request, answer)
                    answer.body.decode("utf-8", "strict")
                stored = read_all(client)
            with open_development_plane([agent], store) as plane:
                slot.put(plane)
                assert read_all(client) == stored
            assert errors == []
            figures.update(requests=size, stored=stored, planes=1)
            if figures["planes"] == WARM_PLANES:
                warm_bytes = measure_resident_bytes()
    if figures["planes"] > WARM_PLANES:
        figures["KiB of growth"] = max(0, measure_resident_bytes() - warm_bytes) >> 10
    return figures


@pytest.mark.sample(count=600, seed=20261201)
def test_no_request_is_a_fault_or_stores_what_cannot_be_answered(
    sample: Sample, tmp_path: Path
) -> None:
    size = REQUESTS_OF_A_PLANE * PLANES_OF_A_SHARD
    shards = [
        (sample.seed + at, min(size, sample.count - start), tmp_path / f"shard-{at}")
        for at, start in enumerate(range(0, sample.count, size))
    ]
    if len(shards) == 1:
        results = [send_to_planes(*shards[0])]
    else:
        spawn = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(mp_context=spawn) as pool:
            results = list(pool.map(send_to_planes, *zip(*shards, strict=True)))
    figures = sum(results, Counter[str]())
    assert figures["status 200"]
    assert figures["status 201"]
    assert figures["status 422"]
    growth = max(each["KiB of growth"] for each in results)
    sample.figures.update(figures, **{"KiB of growth": growth})
    assert growth << 10 <= MAX_GROWTH_BYTES


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


def send_on_connection(netloc: str, requests: Sequence[RawRequest]) -> Counter[int]:
    """Send requests on a connection; return the number of answers of each status, 0 for none."""
    host, _, port = netloc.partition(":")
    statuses: Counter[int] = Counter()
    with closing(http.client.HTTPConnection(host, int(port), timeout=HANG_SECONDS)) as connection:
        for request in requests:
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
    return statuses


@pytest.mark.slow
@pytest.mark.sample(count=300, seed=20261201)
def test_no_request_ends_the_process(sample: Sample, tmp_path: Path) -> None:
    mutator = RequestMutator(random.Random(sample.seed))  # noqa: S311 - repeatable, no secret
    requests = [mutator.build() for _ in range(sample.count)]
    with (
        serve_in_process_of_its_own(tmp_path) as (process, netloc),
        ThreadPoolExecutor(AT_ONCE) as pool,
    ):
        parts = [requests[at::AT_ONCE] for at in range(AT_ONCE)]
        results = pool.map(send_on_connection, repeat(netloc), parts)
        statuses = sum(results, Counter[int]())
        assert process.poll() is None
        assert send_on_connection(netloc, [RawRequest(method="GET", path="/tasks")])[200]
    assert statuses[200]
    sample.figures.update(requests=statuses.total(), unanswered=statuses[0])
