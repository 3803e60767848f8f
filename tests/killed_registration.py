"""`pyevm-agents agent register` in processes that end themselves by `kill -9` at a moment.

    python -m tests.killed_registration < registrations

Each line of the input is a list as JSON: a moment, and the words that follow `agent register`. For
each line, a line of the output is the exit status. A process of its own is a fork of this one,
which has loaded everything and opened nothing.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from itertools import count
from typing import TYPE_CHECKING, Any

from pyevm_agents.cli.app import main
from pyevm_agents.client.accounts import NodeAccount
from pyevm_agents.control import identity
from pyevm_agents.manifests import agent_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

MOMENTS: Mapping[str, tuple[object, str, int]] = {
    "begun": (identity, "write_pending", 0),
    "unsent": (NodeAccount, "transact", 0),
    "sent": (NodeAccount, "_wait_for_receipt", 0),
    "mined": (agent_folder.AgentFolder, "write_manifest", 0),
    "manifest": (agent_folder, "write_atomically", 1),
    "documents": (identity, "remove_pending", 0),
    "removed": (identity, "_set_uri", 0),
    "uri": (NodeAccount, "transact", 1),
    "uri sent": (NodeAccount, "_wait_for_receipt", 1),
}
"""For each moment a function, and how many of its calls come before: the next one is the end."""


def end_at(owner: object, name: str, calls: int) -> None:
    """End the process in place of a call of a function."""
    function: Any = getattr(owner, name)
    numbers = count()

    def call(*arguments: object, **named: object) -> object:
        if next(numbers) == calls:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*arguments, **named)

    setattr(owner, name, call)


def register(moment: str, words: list[str]) -> int:
    """Register in a process that ends at a moment; return its status, negative for a signal."""
    process = os.fork()
    if process == 0:
        end_at(*MOMENTS[moment])
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        try:
            main(["agent", "register", *words])
        finally:
            os._exit(1)
    _, status = os.waitpid(process, 0)
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    for line in sys.stdin:
        moment, *words = json.loads(line)
        print(register(moment, words), flush=True)  # noqa: T201 - who started it reads it
