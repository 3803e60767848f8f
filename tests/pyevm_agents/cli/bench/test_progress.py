"""Progress of `pyevm-agents bench` where the output is not a terminal."""

from __future__ import annotations

import threading

from pyevm_agents.bench.heartbeat import Heartbeat
from pyevm_agents.cli.bench.progress import BenchProgress

DEADLINE_S = 240


def test_a_part_that_lasts_prints_lines() -> None:
    lines: list[str] = []
    has_line = threading.Event()

    def write(line: str) -> None:
        if "1 of 3" in line:
            lines.append(line)
            has_line.set()

    with BenchProgress(Heartbeat("bench", interval_s=0.001, write=write)) as progress:
        progress.begin_part("Inference", 3)
        progress.finish_step("16 cold tokens")
        assert has_line.wait(DEADLINE_S)
    assert "Inference, 1 of 3" in lines[0]
    assert lines[0].endswith("16 cold tokens")
