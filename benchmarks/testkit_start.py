"""The plugin's cost for a suite that does not use it: CPU time of its start.

Whole processes differ by more than the plugin's cost, in CPU time as well, since other programs
take the caches. The two parts of the cost are measured separately: imports, in new processes; and
hooks, in one process that runs the same suite with and without them in turns.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

PLUGIN = "pyevm_agents.pytest_plugin.plugin"
EMPTY_SUITE = "def test_nothing():\n    pass\n"

TIMED_IMPORT = f"""
import time
import pytest
begun = time.process_time()
import {PLUGIN}
print(time.process_time() - begun)
"""
"""The plugin's imports beside pytest's."""

TURNS = 25
"""Runs of a suite in one process, with and without the plugin."""

TIMED_RUNS = f"""
import contextlib, io, sys, time
import pytest
import {PLUGIN}
took = [], []
for turn in range({TURNS} + 1):
    for index in (0, 1) if turn % 2 else (1, 0):
        way = ["-p", "no:{PLUGIN}"] if index else []
        with contextlib.redirect_stdout(io.StringIO()):
            begun = time.process_time()
            code = pytest.main(["-q", "-p", "no:cacheprovider", *way])
            seconds = time.process_time() - begun
        assert code == 0, code
        if turn:
            took[index].append(seconds)
pairs = sorted(one - other for one, other in zip(*took))
print(pairs[len(pairs) // 2])
"""
"""The cost of the plugin's hooks in an unrelated suite: the median difference of neighbours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Took:
    """Duration of a process."""

    seconds: float
    processor_seconds: float


def run_suite(python: str, folder: Path, *arguments: str) -> Took:
    """Run a folder's tests in a process of its own.

    Raises: RuntimeError: a test failed.
    """
    command = [python, "-m", "pytest", "-q", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    begun, begun_processor = time.perf_counter(), _of_children()
    run = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    took = Took(
        seconds=time.perf_counter() - begun, processor_seconds=_of_children() - begun_processor
    )
    if run.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{run.stdout[-4_000:]}{run.stderr}")
    return took


def starts(folder: Path, count: int) -> tuple[list[float], list[float]]:
    """Return the CPU times of empty suites, with and without the plugin, in turns."""
    folder.mkdir()
    (folder / "test_nothing.py").write_text(EMPTY_SUITE, encoding="utf-8")
    ways: tuple[tuple[str, ...], ...] = ((), ("-p", f"no:{PLUGIN}"))
    for way in ways:
        run_suite(sys.executable, folder, *way)  # Writes bytecode, and pytest's cache.
    took: tuple[list[float], list[float]] = ([], [])
    for number in range(count):
        # Each is first in a pair equally often: the first one warms the caches.
        for index in (0, 1) if number % 2 else (1, 0):
            run = run_suite(sys.executable, folder, *ways[index])
            took[index].append(run.processor_seconds)
    return took


def imports(count: int) -> list[float]:
    """Return the CPU times of the plugin's imports in new processes."""
    return [_timed(TIMED_IMPORT, ROOT) for _ in range(count)]


def hooks(folder: Path, count: int) -> list[float]:
    """Return the CPU times of the plugin's hooks in a folder's suite."""
    return [_timed(TIMED_RUNS, folder) for _ in range(count)]


def _timed(program: str, folder: Path) -> float:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return float(run.stdout)


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
