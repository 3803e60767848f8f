"""The checkout's folder, its pyproject.toml and its files."""

from __future__ import annotations

import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PRODUCT = ("precompiles", "pyevm_agents")
"""The product's packages."""


def tracked_files() -> list[Path]:
    """Return the files that are, or are about to be, in the repository."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    files = [ROOT / name for name in listed.stdout.split("\0") if name]
    return [file for file in files if file.is_file()]


def product_modules() -> dict[str, Path]:
    """Return the product's Python files by the names of their modules."""
    files = sorted(file for package in PRODUCT for file in (ROOT / package).rglob("*.py"))
    return {".".join(file.relative_to(ROOT).with_suffix("").parts): file for file in files}
