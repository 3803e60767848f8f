"""Files written whole or not at all, in places checked before the work."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from pyevm_agents.errors import AgentsError, ConfigError


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file; what was there before stays where that fails.

    Raises: ConfigError: the file can't be written.
    """
    try:
        replace_atomically(path, data)
    except OSError as error:
        raise ConfigError(f"{path}: can't be written: {error.strerror}") from error


def is_stream(path: Path) -> bool:
    """Return whether there is something that nothing may take the place of: /dev/null, a pipe."""
    return path.exists() and not path.is_file() and not path.is_dir()


def replace_atomically(path: Path, data: bytes) -> None:
    """Write a file atomically; a link leads to it, a device or a pipe is written to.

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


def require_file_path(path: Path) -> None:
    """Refuse a place where no file can be written.

    Raises: ConfigError.
    """
    if path.is_dir():
        raise ConfigError(f"{path} is a folder; name a file in it")
    if not is_stream(path):
        _require_writable(path, Path(os.path.realpath(path)).parent)
    elif not os.access(path, os.W_OK):
        raise ConfigError(f"{path} can't be written; name another place")


def require_folder_path(path: Path) -> None:
    """Refuse a place where no folder is and none can be made.

    Raises: ConfigError.
    """
    if path.exists() and not path.is_dir():
        raise ConfigError(f"{path} is a file; name a folder")
    _require_writable(path, path if path.is_dir() else path.parent)


def write_output_file(path: Path, content: str | bytes) -> None:
    """Write a file in the place of what is there.

    Raises: AgentsError: it can't be written. What was there is there still.
    """
    data = content.encode() if isinstance(content, str) else content
    try:
        replace_atomically(path, data)
    except OSError as error:
        raise AgentsError(
            f"{path} could not be written: {error.strerror}; what was there is there still"
        ) from error


def _require_writable(path: Path, folder: Path) -> None:
    try:
        with tempfile.TemporaryFile(dir=folder):
            return
    except OSError as error:
        raise ConfigError(
            f"{path} can't be written: {error.strerror}; name another place, or make its folder"
        ) from error
