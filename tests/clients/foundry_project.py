"""Foundry's programs as a test runs them: with the node's address, and npm's solc."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.clients.packages import HERE, foundry_program, installed, node_program

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.clients.running_node import RunningNode

CONTRACTS = Path(__file__).parents[2] / "contracts"
COMMAND_SECONDS = 240

FIRST_KEY = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"


def compiled_project(of_session: Path) -> Path:
    """Return a Foundry project with our contracts, compiled once for all workers of a session."""
    node_program()
    ready = of_session / "foundry"
    if not ready.is_dir():
        made = Path(tempfile.mkdtemp(prefix="foundry-", dir=of_session)) / "project"
        shutil.copytree(HERE / "foundry", made)
        (made / "node_modules").symlink_to(installed("foundry"))
        leave = shutil.ignore_patterns("node_modules", "build")
        shutil.copytree(CONTRACTS, made / "lib" / "contracts", ignore=leave)
        Foundry("forge", "", made)("build")
        with suppress(OSError):  # Another worker was first.
            made.rename(ready)
    return ready


class FailedError(Exception):
    """A command that failed; the message is its output."""


class Foundry:
    """One of Foundry's programs, pointed at a node."""

    def __init__(self, name: str, url: str, folder: Path, **environment: str) -> None:
        self.command = [str(foundry_program(name))]
        self.folder = folder
        self.seconds = COMMAND_SECONDS
        self.environment = {
            **os.environ,
            "ETH_RPC_URL": url,
            "FOUNDRY_DISABLE_NIGHTLY_WARNING": "1",
            "NO_COLOR": "1",
            "ETH_RPC_TIMEOUT": str(COMMAND_SECONDS),
            **environment,
        }

    def __call__(self, *arguments: object) -> str:
        """Run a command; return its output."""
        ended = subprocess.run(
            [*self.command, *map(str, arguments)],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=self.seconds,
        )
        if ended.returncode:
            raise FailedError(ended.stderr + ended.stdout)
        return ended.stdout.strip()

    def json(self, *arguments: object) -> Any:  # noqa: ANN401 - JSON
        """Run a command that prints JSON."""
        return json.loads(self(*arguments))

    @contextmanager
    def heard(self, node: RunningNode, *arguments: object) -> Iterator[Iterator[str]]:
        """Run a command that subscribes; yield its output line by line.

        cast does not report when it has subscribed. The node does.
        """
        before = node.asked("eth_subscribe")
        with subprocess.Popen(
            [*self.command, *map(str, arguments)],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            silence = threading.Timer(COMMAND_SECONDS, process.kill)
            silence.start()
            try:
                while node.asked("eth_subscribe") == before:
                    assert process.poll() is None, "the command ended before it subscribed"
                    time.sleep(0.01)
                assert process.stdout is not None
                yield iter(process.stdout)
            finally:
                silence.cancel()
                process.kill()
