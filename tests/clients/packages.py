"""The clients' npm packages: installed once, outside of the tree, without install scripts."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest

HERE = Path(__file__).parent
INSTALLED = Path.home() / ".cache" / "pyevm-agents-clients"
"""Not pytest's folder: installing takes up to a minute, and the next session finds it there."""

INSTALL_SECONDS = 300
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
