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
    from collections.abc import Iterator
    from pathlib import Path


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
        headers = {"Content-Type": "application/json"}  # anvil insists.
        request = urllib.request.Request(self.url, json.dumps(body).encode(), headers)  # noqa: S310 - a loopback address
        with urllib.request.urlopen(request, timeout=HANG_SECONDS) as told:  # noqa: S310 - as above
            answer = json.load(told)
        if "error" in answer:
            raise RefusedError(f"{method}: {answer['error']}")
        return answer["result"]


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
