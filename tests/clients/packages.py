"""The clients' packages of npm and PyPI: installed once, outside of the tree."""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest

HERE = Path(__file__).parent
INSTALLED = Path.home() / ".cache" / "pyevm-agents-clients"
"""Not pytest's folder: installing takes up to a minute, and the next session finds it there."""

INSTALL_SECONDS = 300
UV = Path(__file__).parents[2] / "scripts" / "uv"
# Install scripts do not run.
# Not `npm ci`: it refuses a lock file without packages for other platforms that the registry lacks.
NPM = ("npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")


def installed(tool: str, source: Path | None = None) -> Path:
    """Return the `node_modules` of a tool's lock file; skip the test where npm can't install it.

    Input:
        source: the folder of the lock file; by default that of the tool's name, here.
    """
    source = source or HERE / tool
    lock = source / "package-lock.json"
    folder = INSTALLED / f"{tool}-{hashlib.sha256(lock.read_bytes()).hexdigest()[:16]}"
    if not folder.is_dir():
        _install(tool, source, folder)
    return folder / "node_modules"


def _install(tool: str, source: Path, folder: Path) -> None:
    if shutil.which("npm") is None:
        pytest.skip("there is no npm here")
    INSTALLED.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=f"{tool}-", dir=INSTALLED))
    try:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(source / name, made)
        ended = subprocess.run(
            NPM, cwd=made, capture_output=True, text=True, check=False, timeout=INSTALL_SECONDS
        )
        if ended.returncode:
            pytest.skip(f"npm can't install {tool} here: {ended.stderr.strip()[-300:]}")
        with suppress(OSError):  # Another process was first.
            made.rename(folder)
    except subprocess.TimeoutExpired:
        pytest.skip(f"npm did not install {tool} within {INSTALL_SECONDS} s")
    finally:
        shutil.rmtree(made, ignore_errors=True)


def python_with(tool: str, source: Path) -> Path:
    """Return a Python in an environment of its own with a tool's pinned packages.

    What such a tool requires need not agree with this package. Skip the test where uv can't install
    it.

    Input:
        source: the folder of its `requirements.txt`.
    """
    pins = source / "requirements.txt"
    digest = hashlib.sha256(pins.read_bytes() + sys.version.encode()).hexdigest()[:16]
    folder = INSTALLED / f"{tool}-{digest}"
    # An environment can't be moved: a file tells that it is complete.
    complete = folder / "complete"
    INSTALLED.mkdir(parents=True, exist_ok=True)
    with (INSTALLED / f"{tool}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not complete.is_file():
            _run_uv(tool, "venv", "--clear", "--python", sys.executable, str(folder))
            _run_uv(tool, "pip", "install", "--python", str(folder), "--requirements", str(pins))
            complete.touch()
    return folder / "bin" / "python"


def _run_uv(tool: str, *arguments: str) -> None:
    # A cache of its own: asking the registry anew makes entries of the user's stale, among them
    # the compiled engine.
    environment = {**os.environ, "UV_CACHE_DIR": str(INSTALLED / "uv")}
    try:
        ended = subprocess.run(
            (UV, "--no-config", "--quiet", *arguments),
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=INSTALL_SECONDS,
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"uv did not install {tool} within {INSTALL_SECONDS} s")
    if ended.returncode:
        pytest.skip(f"uv can't install {tool} here: {ended.stderr.strip()[-300:]}")


def node_program() -> str:
    """Return Node.js; skip the test where there is none."""
    found = shutil.which("node")
    if found is None:
        pytest.skip("there is no node here")
    return found


def foundry_program(name: str, tool: str = "foundry") -> Path:
    """Return a program of Foundry's: npm's package has it ready-made for each platform.

    Input:
        tool: whose lock file names the package.
    """
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    package = f"@foundry-rs/{name}-{platform.system().lower()}-{machine}"
    program = installed(tool) / package / "bin" / name
    if not program.is_file():
        pytest.skip(f"npm has no {package}")
    return program


def without_colours() -> dict[str, str]:
    """Return the environment of a program whose words are read."""
    return {**os.environ, "NO_COLOR": "1"}
