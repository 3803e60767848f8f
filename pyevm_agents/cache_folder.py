"""The cache folder: files that commands keep between runs."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def get_cache_folder() -> Path | None:
    """Return this program's cache folder; None if the user has no home folder."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    if Path(named).is_absolute():
        return Path(named) / "pyevm-agents"
    try:
        home = Path.home()
    except RuntimeError:
        return None
    caches = home / "Library" / "Caches" if sys.platform == "darwin" else home / ".cache"
    return caches / "pyevm-agents"


def get_facts_folder() -> Path | None:
    """Return the folder of models' profile facts, which start a chain before the model is loaded.

    Output: None if the user has no home folder.
    """
    folder = get_cache_folder()
    return None if folder is None else folder / "facts"


def get_generations_path() -> Path | None:
    """Return the path of the generation store; None if the user has no home folder."""
    folder = get_cache_folder()
    return None if folder is None else folder / "generations.sqlite3"


def get_forks_folder() -> Path | None:
    """Return the folder of state read by forks; None if the user has no home folder."""
    folder = get_cache_folder()
    return None if folder is None else folder / "forks"


def get_abis_folder() -> Path | None:
    """Return the folder of ABIs from servers; None if the user has no home folder."""
    folder = get_cache_folder()
    return None if folder is None else folder / "abis"
