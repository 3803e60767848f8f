"""A process of `pyevm-agents node`, with requests over HTTP."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tests.deadlines import HANG_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


BATCH = 1_000
"""Requests in a batch; our nodes take no longer ones."""


class RefusedError(Exception):
    """An answer that is an error."""


class RunningNode:
    """A node's process, and requests of a test beside the client under test."""

    def __init__(self, url: str, log: Path | None = None) -> None:
        self.url, self._log = url, log

    def asked(self, method: str) -> int:
        """Return how often a method was answered, as the node's log has it."""
        assert self._log is not None
        lines = self._log.read_text().splitlines()
        return sum(f'"{method}"' in line for line in lines)

    def ask(self, method: str, *params: object) -> Any:  # noqa: ANN401 - whatever it answers
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = _post(self.url, body)
        if "error" in answer:
            raise RefusedError(f"{method}: {answer['error']}")
        return answer["result"]


def request_batch(url: str, requests: Sequence[tuple[str, Sequence[object]]]) -> list[Any]:
    """Ask a node several things, a thousand in a batch; return the results in order."""
    results: list[Any] = []
    for start in range(0, len(requests), BATCH):
        forms = [
            {"jsonrpc": "2.0", "id": index, "method": method, "params": params}
            for index, (method, params) in enumerate(requests[start : start + BATCH])
        ]
        answers = {each["id"]: each for each in _post(url, forms)}
        for form in forms:
            answer = answers[form["id"]]
            if "error" in answer:
                raise RefusedError(f"{form['method']}: {answer['error']}")
            results.append(answer["result"])
    return results


def _post(url: str, form: object) -> Any:  # noqa: ANN401 - JSON
    headers = {"Content-Type": "application/json"}  # anvil insists.
    request = urllib.request.Request(url, json.dumps(form).encode(), headers)  # noqa: S310 - a loopback address
    with urllib.request.urlopen(request, timeout=HANG_SECONDS) as told:  # noqa: S310 - as above
        return json.load(told)


@contextmanager
def running_node(folder: Path, *options: str) -> Iterator[RunningNode]:
    """Run a node inside a context; its output is in the folder."""
    command = [sys.executable, "-m", "pyevm_agents", "node", "--port", "0", "--json-logs", *options]
    log, errors = folder / "node.log", folder / "node.err"
    with log.open("w") as said, errors.open("w") as complained:
        process = subprocess.Popen(command, stdout=said, stderr=complained)
    try:
        while not (first := log.read_text()).endswith("\n"):
            assert process.poll() is None, errors.read_text()
            time.sleep(0.05)
        yield RunningNode(json.loads(first.splitlines()[0])["url"], log)
    finally:
        process.terminate()
        process.wait(timeout=HANG_SECONDS)
