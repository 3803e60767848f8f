"""The same transaction in fresh processes: the same state root, the same gas, to the bit."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.deadlines import HANG_SECONDS

if TYPE_CHECKING:
    from tests.samples import Sample

COMMAND = [sys.executable, "-m", "pyevm_agents", "demo", "--json", "--no-store"]


def outcome(threads: int) -> tuple[str, str, int, str]:
    """Run the demo in a process of its own; return the values that consensus must agree on."""
    run = [*COMMAND, "--threads", str(threads)]
    printed = subprocess.run(
        run, capture_output=True, check=True, text=True, timeout=HANG_SECONDS
    ).stdout
    form = json.loads(printed)
    (sent,), details = form["transactions"], form["details"]
    steps = json.dumps(sent["steps"]) + str(details["answer"])
    return details["stateRoot"], sent["hash"], sent["gas"], steps


@pytest.mark.slow
@pytest.mark.sample(count=3, seed=0)
def test_processes_agree_whatever_their_threads(sample: Sample) -> None:
    outcomes = {outcome(threads=1 + number % 2) for number in range(sample.count)}
    sample.figures["processes"] = sample.count
    assert len(outcomes) == 1
