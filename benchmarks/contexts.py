"""Record the tests that execute each line of the packages, and the CPU time of each test.

    python -m benchmarks.contexts FOLDER [PYTEST'S ARGUMENTS]
    python -m benchmarks.contexts FOLDER --rooms

Runs the default suite under coverage on two workers, with a coverage context per test. Writes to
FOLDER `coverage.sqlite3`, for `coverage report --data-file` and `benchmarks.mutations`, and
`seconds.json`: CPU seconds by test, of its process and its ended child processes. `--rooms` prints
the covered lines and branches of each room of an earlier run, with its code as it is now.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import coverage
import pytest

from scripts.rooms import ROOT, get_room, name_module

if TYPE_CHECKING:
    from collections.abc import Generator

FOLDER = "PYEVM_AGENTS_CONTEXTS"
WORKER = os.environ.get("PYTEST_XDIST_WORKER")
PACKAGES = ["precompiles", "pyevm_agents"]


class Recorder:
    """Coverage of an xdist worker. A forked process records nothing."""

    def __init__(self, folder: Path, worker: str) -> None:
        """Start immediately: pytest imports the product before it configures plugins."""
        self._folder, self._worker, self._process = folder, worker, os.getpid()
        self.seconds: dict[str, float] = {}
        self.coverage = coverage.Coverage(
            data_file=str(folder / f".coverage.{worker}"),
            branch=True,
            source=PACKAGES,
            config_file=False,
        )
        self.coverage.start()

    def switch(self, test: str) -> None:
        """Attribute the following lines to a test; an empty ID means no test."""
        if os.getpid() == self._process:
            self.coverage.switch_context(test)

    def finish(self) -> None:
        """Write the worker's coverage and CPU times."""
        if os.getpid() == self._process:
            self.coverage.stop()
            self.coverage.save()
            file = self._folder / f"seconds.{self._worker}.json"
            file.write_text(json.dumps(self.seconds))


RECORDER = Recorder(Path(os.environ[FOLDER]), WORKER) if WORKER and FOLDER in os.environ else None


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Record a test and its fixtures."""
    if RECORDER is None:
        return (yield)
    before = cpu_seconds()
    RECORDER.switch(item.nodeid)
    try:
        return (yield)
    finally:
        RECORDER.switch("")
        RECORDER.seconds[item.nodeid] = cpu_seconds() - before


def pytest_unconfigure() -> None:
    """Write the worker's files."""
    if RECORDER is not None:
        RECORDER.finish()


def cpu_seconds() -> float:
    """Return the CPU time of this process and its ended child processes."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def count_by_room(folder: Path) -> dict[str, Counter[str]]:
    """Return lines, covered lines, branches and covered branches of each room."""
    read = coverage.Coverage(
        data_file=str(folder / "coverage.sqlite3"), branch=True, config_file=False
    )
    read.load()
    with tempfile.TemporaryDirectory() as temporary:
        file = Path(temporary, "report.json")
        read.json_report(outfile=str(file))
        files = json.loads(file.read_text())["files"]
    rooms: dict[str, Counter[str]] = defaultdict(Counter)
    for name, report in sorted(files.items()):
        rooms[get_room(name_module(ROOT / name))].update(
            {key: value for key, value in report["summary"].items() if isinstance(value, int)}
        )
    return rooms


def print_rooms(folder: Path) -> None:
    """Print the covered shares of lines and of branches, a room each line."""
    print(f"{'room':34} {'lines':>7} {'covered':>8} {'branches':>9} {'covered':>8}")
    for room, counts in count_by_room(folder).items():
        lines, branches = counts["num_statements"], counts["num_branches"]
        of_lines = counts["covered_lines"] / max(lines, 1)
        of_branches = counts["covered_branches"] / max(branches, 1)
        print(f"{room:34} {lines:7,} {of_lines:8.1%} {branches:9,} {of_branches:8.1%}")


def main() -> None:
    """Run the suite and merge the workers' files."""
    folder = Path(sys.argv[1]).absolute()
    if sys.argv[2:] == ["--rooms"]:
        print_rooms(folder)
        return
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pytest", "-n", "2", "--dist", "loadfile", "-q"]
    done = subprocess.run(
        [*command, "-p", "benchmarks.contexts", *sys.argv[2:]],
        env={**os.environ, FOLDER: str(folder)},
        check=False,
    )
    data = coverage.CoverageData(basename=str(folder / "coverage.sqlite3"))
    data.erase()
    seconds: dict[str, float] = {}
    for file in sorted(folder.glob(".coverage.gw*")):
        part = coverage.CoverageData(basename=str(file))
        part.read()
        data.update(part)
        file.unlink()
    for file in sorted(folder.glob("seconds.gw*.json")):
        seconds |= json.loads(file.read_text())
        file.unlink()
    data.write()
    (folder / "seconds.json").write_text(json.dumps(seconds, indent=0))
    print(f"{len(seconds):,} tests, {sum(seconds.values()):,.0f} CPU seconds with coverage")
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
