"""CPU time and memory of a process and its children. Linux only."""

from __future__ import annotations

import os
from pathlib import Path

TICK_SECONDS = 1 / os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process and its children."""
    total = 0.0
    for one in (pid, *_children(pid)):
        try:
            # The name, in brackets, may hold blanks.
            fields = Path(f"/proc/{one}/stat").read_text("ascii", "replace").rpartition(")")[2]
        except OSError:  # It has ended.
            continue
        user, system = fields.split()[11:13]
        total += (int(user) + int(system)) * TICK_SECONDS
    return total


def memory_mib(pid: int) -> float:
    """Return the memory of a process and its children."""
    total = 0
    for one in (pid, *_children(pid)):
        try:
            status = Path(f"/proc/{one}/status").read_text("ascii", "replace")
        except OSError:
            continue
        lines = [line for line in status.splitlines() if line.startswith("VmRSS:")]
        total += sum(int(line.split()[1]) for line in lines)
    return total / 1024


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            direct = [int(child) for child in path.read_text("ascii").split()]
        except OSError:
            continue
        found += direct
        for child in direct:
            found += _children(child)
    return found
