"""A client of the process of `benchmarks.yardsticks`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any, Self


class Yardstick:
    """The process of `benchmarks.yardsticks`."""

    def __init__(self, *, variables: dict[str, str]) -> None:
        """Start it with these environment variables beside our own."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.yardsticks"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **variables},
        )

    def ask(self, **job: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
        """Run a job there."""
        requests, replies = self._process.stdin, self._process.stdout
        if requests is None or replies is None:
            raise RuntimeError("the yardstick has no pipes")
        print(json.dumps(job), file=requests, flush=True)
        line = replies.readline()
        if not line:
            raise RuntimeError(f"the yardstick died over {job['job']}")
        reply: dict[str, Any] = json.loads(line)
        return reply

    def __enter__(self) -> Self:
        """Return the yardstick itself."""
        return self

    def __exit__(self, *_error: object) -> None:
        """End it."""
        self._process.kill()
        self._process.communicate()
