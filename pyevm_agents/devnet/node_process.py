"""Development nodes as processes: anvil, and this package's node without the executor."""

from __future__ import annotations

import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pyevm_agents.errors import AgentsError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PROGRAM = "anvil"
START_SECONDS, END_SECONDS = 60.0, 10.0
POLL_SECONDS = 0.02
LISTENING = re.compile(r"(?:Listening on |\"url\": ?\"http://)(127\.0\.0\.1:\d+)")
"""The address in the output of anvil, and of our node with --json-logs."""

VERSION = re.compile(r"\d+\.\d+\.\d+\S*")
FEW_WORDS = 300
"""Characters of a program's output that an error repeats."""


class AnvilError(AgentsError):
    """A node's program is missing, does not start, or answers with an error."""


def find_anvil(path: Path | None = None) -> Path | None:
    """Return the path of anvil: `path` if given, else the first on the PATH; None if absent.

    Raises: AnvilError: `path` is not an executable file.
    """
    program = shutil.which(PROGRAM if path is None else path)
    if program is None and path is not None:
        raise AnvilError(f"{path} is no program that can be started: check the path")
    return None if program is None else Path(program)


def find_npm_anvil(folder: Path) -> Path | None:
    """Return anvil in the `node_modules` of a folder or of one above it; None if absent.

    npm installs the program in a package for each platform.
    """
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    package = f"@foundry-rs/anvil-{platform.system().lower()}-{machine}"
    for parent in (folder, *folder.parents):
        program = parent / "node_modules" / package / "bin" / PROGRAM
        if os.access(program, os.X_OK):
            return program
    return None


def read_version(program: Path) -> str:
    """Return the version that a program prints.

    Raises: AnvilError: no version.
    """
    try:
        process = subprocess.run(
            [program, "--version"],
            capture_output=True,
            text=True,
            timeout=START_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise AnvilError(f"{program} --version failed: {error}") from error
    match = VERSION.search(process.stdout)
    if match is None:
        line = (process.stdout + process.stderr).strip().partition("\n")[0][:FEW_WORDS]
        raise AnvilError(f"{program} is no {PROGRAM}: its --version names none, but says {line!r}")
    return match[0]


@contextmanager
def run_anvil(program: Path, *options: str) -> Iterator[str]:
    """Run anvil on a free port for the duration of the context; yield its URL.

    Raises: AnvilError: no start.
    """
    with _run_node([str(program), "--port", "0", *options], PROGRAM) as url:
        yield url


@contextmanager
def run_plain_node(*options: str) -> Iterator[str]:
    """Run this package's node without the executor, on a free port; yield its URL.

    Raises: AnvilError: no start.
    """
    command = [sys.executable, "-m", "pyevm_agents", "node", "--no-model", "--json-logs"]
    with _run_node([*command, "--port", "0", *options], "pyevm-agents node") as url:
        yield url


@contextmanager
def _run_node(command: Sequence[str], name: str) -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="pyevm-agents-node-") as folder:
        log = Path(folder) / "log"
        with log.open("wb") as log_file:
            try:
                # In a session of its own: processes started by a package manager's script end with
                # it.
                process = subprocess.Popen(
                    command, cwd=folder, stdout=log_file, stderr=log_file, start_new_session=True
                )
            except OSError as error:
                raise AnvilError(f"{name} can't be started: {error}") from error
        try:
            yield f"http://{_wait_for_address(process, log, name)}"
        finally:
            _terminate(process)


def _wait_for_address(process: subprocess.Popen[bytes], log: Path, name: str) -> str:
    """Return the address of a process as soon as the process listens."""
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        has_ended = process.poll() is not None  # Before its words are read, so that they are all.
        text = log.read_text(encoding="utf-8", errors="replace")
        if match := LISTENING.search(text):
            return match[1]
        if has_ended:
            raise AnvilError(f"{name} ended with status {process.returncode}: {text[-FEW_WORDS:]}")
        time.sleep(POLL_SECONDS)
    raise AnvilError(f"{name} did not listen within {START_SECONDS:g} s")


def _terminate(process: subprocess.Popen[bytes]) -> None:
    """End a process and the children."""
    for signal_number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal_number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(END_SECONDS)
            return
