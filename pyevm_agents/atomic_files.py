"""Files that are there whole or not at all, whatever happens while they are written."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from pyevm_agents.errors import ConfigError


def write_whole(path: Path, data: bytes) -> None:
    """Write a file; what was there before stays where that fails.

    Raises: ConfigError: the file can't be written.
    """
    try:
        replace_whole(path, data)
    except OSError as error:
        raise ConfigError(f"{path}: can't be written: {error.strerror}") from error


def is_stream(path: Path) -> bool:
    """Return whether there is something that nothing may take the place of: /dev/null, a pipe."""
    return path.exists() and not path.is_file() and not path.is_dir()


def replace_whole(path: Path, data: bytes) -> None:
    """Write a file as `write_whole` does; a link leads to it, a device or a pipe is written to.

    Raises: OSError: it can't be written.
    """
    if is_stream(path):
        path.write_bytes(data)
        return
    path = Path(os.path.realpath(path))
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
