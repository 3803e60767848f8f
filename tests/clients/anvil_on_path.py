"""Programs that start the `anvil` of PATH: the real one, or this node under its name."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal

from tests.clients.packages import foundry_program

if TYPE_CHECKING:
    from pathlib import Path

    NodeName = Literal["anvil", "ours"]

STORY_SECONDS = 600
OWN_NODE = f"""#!/bin/sh
exec '{sys.executable}' -m pyevm_agents node "$@"
"""


def put_on_path(folder: Path, node: NodeName) -> str:
    """Return a PATH whose `anvil` is a node, by a link or a script in a folder."""
    program = folder / "bin" / "anvil"
    program.parent.mkdir()
    if node == "anvil":
        program.symlink_to(foundry_program("anvil", "anvil"))
    else:
        program.write_text(OWN_NODE)
        program.chmod(0o755)
    return f"{program.parent}{os.pathsep}{os.environ['PATH']}"


def tell(folder: Path, node: NodeName, *command: str) -> Any:  # noqa: ANN401 - JSON
    """Run a story in a folder, which is its home, beside a node; return what it writes.

    The processes that it started end with it.
    """
    environment = {**os.environ, "HOME": str(folder), "PATH": put_on_path(folder, node)}
    log = folder / "story.log"
    with (
        log.open("w") as said,
        subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdout=said,
            stderr=said,
            start_new_session=True,
        ) as process,
    ):
        try:
            process.wait(timeout=STORY_SECONDS)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 0, log.read_text()[-10_000:]
    return json.loads((folder / "told.json").read_text())
