"""How many threads the engine computes with. Their number changes the time, never the result."""

from __future__ import annotations

import os
from pathlib import Path

from pyevm_agents.errors import ConfigError

MAX_THREADS = 512
"""More would abort. Source: ggml.h, `GGML_MAX_N_THREADS`."""

MAX_DEFAULT_THREADS = 4
"""Decoding waits for memory: a small model gains nothing from more than this many."""

CPU_DIRECTORY = Path("/sys/devices/system/cpu")


def checked_threads(threads: int | None) -> int:
    """Return the number of threads asked for, or a sensible one.

    Raises:
        ConfigError: it is no whole number from 1 to `MAX_THREADS`.
    """
    if threads is None:
        return min(physical_cores(), MAX_DEFAULT_THREADS)
    if isinstance(threads, bool) or not isinstance(threads, int) or not 1 <= threads <= MAX_THREADS:
        raise ConfigError(
            f"threads is {threads!r}; it must be a whole number from 1 to {MAX_THREADS}, or None "
            f"for {min(physical_cores(), MAX_DEFAULT_THREADS)}"
        )
    return threads


def physical_cores(directory: Path = CPU_DIRECTORY) -> int:
    """Return the cores that this process may use, hyperthreads not counted where Linux tells."""
    if not hasattr(os, "sched_getaffinity"):
        return os.cpu_count() or 1
    cores: set[str] = set()
    for cpu in os.sched_getaffinity(0):
        try:
            cores.add(
                (directory / f"cpu{cpu}" / "topology" / "thread_siblings_list").read_text(
                    encoding="ascii"
                )
            )
        except OSError:
            cores.add(f"cpu{cpu}")
    return max(1, len(cores))
