"""`agent serve` as a process of its own, and short requests to its chain."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
import urllib.request
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tests.checkout import ROOT
from tests.deadlines import HANG_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAM = [sys.executable, "-m", "pyevm_agents", "agent", "serve"]

LAST_URL = "JSON-RPC"
"""Printed when everything is served."""


@contextmanager
def serve_process(*words: str) -> Iterator[dict[str, str]]:
    """Run `agent serve` inside a context; give what it prints, such as its URLs, by name."""
    command = [*PROGRAM, *words, "--port", "0", "--rpc-port", "0"]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        lines: list[str] = []
        try:
            for line in process.stderr:
                lines.append(line)
                if line.startswith(LAST_URL):
                    break
            else:
                raise AssertionError("".join(lines))
            # What is printed later must not fill the pipe.
            threading.Thread(target=process.stderr.read, daemon=True).start()
            yield find_urls("".join(lines))
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=HANG_SECONDS)


def find_urls(printed: str) -> dict[str, str]:
    """Return what `agent serve` printed, by name: URLs, and the treasury's address."""
    return dict(re.findall(r"^(\S+) (\S+?)(?:/docs)?$", printed, re.MULTILINE))


def call_rpc(url: str, method: str, *params: object) -> Any:  # noqa: ANN401 - JSON
    """Return the result of a method of a node."""
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)}
    request = urllib.request.Request(  # noqa: S310 - HTTP
        url, json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request) as answer:
        form = json.loads(answer.read())
    assert "error" not in form, form
    return form["result"]
