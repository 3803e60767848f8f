"""Foundry's programs as a test runs them: with the node's address, and npm's solc."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tests.clients.packages import foundry_program

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

COMMAND_SECONDS = 240
HEARD_SECONDS = 60
SUBSCRIBED_SECONDS = 2
"""cast doesn't say when it has subscribed."""

FIRST_KEY = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"


class FailedError(Exception):
    """A command that ended with an error; what it complained of is the message."""


class Foundry:
    """One of Foundry's programs, pointed at a node."""

    def __init__(self, name: str, url: str, folder: Path, **environment: str) -> None:
        self.command = [str(foundry_program(name))]
        self.folder = folder
        self.environment = {
            **os.environ,
            "ETH_RPC_URL": url,
            "FOUNDRY_DISABLE_NIGHTLY_WARNING": "1",
            "NO_COLOR": "1",
            **environment,
        }

    def __call__(self, *arguments: object) -> str:
        """Run a command; return what it prints."""
        ended = subprocess.run(
            [*self.command, *map(str, arguments)],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=COMMAND_SECONDS,
        )
        if ended.returncode:
            raise FailedError(ended.stderr + ended.stdout)
        return ended.stdout.strip()

    def json(self, *arguments: object) -> Any:  # noqa: ANN401 - JSON
        """Run a command that prints JSON."""
        return json.loads(self(*arguments))

    @contextmanager
    def heard(self, *arguments: object) -> Iterator[Iterator[str]]:
        """Run a command that subscribes to something; give what it prints, line by line."""
        with subprocess.Popen(
            [*self.command, *map(str, arguments)],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            silence = threading.Timer(HEARD_SECONDS, process.kill)
            silence.start()
            try:
                time.sleep(SUBSCRIBED_SECONDS)
                assert process.stdout is not None
                yield iter(process.stdout)
            finally:
                silence.cancel()
                process.kill()
