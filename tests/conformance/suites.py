"""Folders of the external test suites."""

from __future__ import annotations

import subprocess
from pathlib import Path

SUITES = Path("shared/conformance")
REPOSITORY = Path(__file__).parents[2]


def suite(name: str) -> Path | None:
    """Return a suite's folder: beside the checkout, or beside that which this is a worktree of.

    None where it is not there.
    """
    command = ["git", "rev-parse", "--path-format=absolute", "--git-common-dir"]
    told = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    places = [REPOSITORY, Path(told.stdout.strip())]
    folders = (parent / SUITES / name for place in places for parent in place.parents)
    return next((folder for folder in folders if folder.is_dir()), None)
