"""Where commands keep what is worth keeping between runs."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def get_cache_folder() -> Path | None:
    """Return this program's folder among the user's caches; None where the user has no folder."""
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
    """Return where models' facts are kept, so that a chain begins before its model is loaded."""
    folder = get_cache_folder()
    return None if folder is None else folder / "facts"


def get_generations_path() -> Path | None:
    """Return where generations are kept from run to run."""
    folder = get_cache_folder()
    return None if folder is None else folder / "generations.sqlite3"
