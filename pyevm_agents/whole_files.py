"""Files that are there whole or not at all, whatever happens while they are written."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path


def write_whole(path: Path, data: bytes) -> None:
    """Write a file; what was there before stays where that fails.

    Raises: ConfigError: the file can't be written.
    """
    try:
        replace_whole(path, data)
    except OSError as error:
        raise ConfigError(f"{path}: can't be written: {error.strerror}") from error


def replace_whole(path: Path, data: bytes) -> None:
    """Write a file as `write_whole` does.

    Raises: OSError: it can't be written.
    """
    # Workers of pytest-xdist may write the same file at once.
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with draft.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
