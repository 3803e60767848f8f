"""anvil, a development node without agents: one process, from its genesis on."""

from __future__ import annotations

import re
import subprocess
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.clients.packages import foundry_program, without_colours
from tests.clients.running_node import RunningNode
from tests.deadlines import HANG_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LISTENING = re.compile(r"Listening on (127\.0\.0\.1:\d+)")


@contextmanager
def running_anvil(folder: Path, *options: str) -> Iterator[RunningNode]:
    """Run anvil inside a context; its output is in the folder."""
    command = [str(foundry_program("anvil", "anvil")), "--port", "0", *options]
    log = folder / "anvil.log"
    with log.open("w") as said:
        process = subprocess.Popen(command, stdout=said, stderr=said, env=without_colours())
    try:
        end = time.monotonic() + HANG_SECONDS
        while not (found := LISTENING.search(log.read_text())):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.05)
        yield RunningNode(f"http://{found[1]}")
    finally:
        process.terminate()
        process.wait(timeout=HANG_SECONDS)
