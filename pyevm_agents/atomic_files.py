"""Atomic writes of files, and checks of output paths before the work."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from pyevm_agents.errors import AgentsError, ConfigError
from pyevm_agents.private_files import OWNER_ONLY


def write_atomically(path: Path, data: bytes, *, is_private: bool = False) -> None:
    """Write a file atomically; on failure the old content stays.

    Input:  is_private: whether only the owner may read the file, as in a state folder.
    Raises: ConfigError: the file can't be written.
    """
    try:
        replace_atomically(path, data, is_private=is_private)
    except OSError as error:
        raise ConfigError(f"{path}: can't be written: {error.strerror}") from error


def is_stream(path: Path) -> bool:
    """Whether a path is a device or a pipe, such as /dev/null, which must not be replaced."""
    return path.exists() and not path.is_file() and not path.is_dir()


def replace_atomically(path: Path, data: bytes, *, is_private: bool = False) -> None:
    """Write a file atomically. Links are followed; devices and pipes are written to directly.

    An existing file keeps its permissions, without those of others if it is private.

    Raises: OSError: the file can't be written.
    """
    if is_stream(path):
        path.write_bytes(data)
        return
    path = Path(os.path.realpath(path))
    # Workers of pytest-xdist may write the same file concurrently.
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    kept = path.stat().st_mode & 0o777 if path.exists() else None
    mode = (0o666 if kept is None else kept) & (OWNER_ONLY if is_private else 0o777)

    def create(name: str, flags: int) -> int:
        return os.open(name, flags, mode)  # The process' mask counts for a new file.

    try:
        with open(draft, "wb", opener=create) as file:
            if kept is not None:
                draft.chmod(mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def sync_folder(path: Path) -> None:
    """Wait until a folder's created, replaced and removed files are written to the disk.

    Raises: ConfigError: the folder can't be opened, or the disk fails.
    """
    try:
        number = os.open(path, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
    except OSError as error:
        raise ConfigError(f"{path}: can't be written: {error.strerror}") from error


def require_file_path(path: Path) -> None:
    """Reject a path at which no file can be written.

    Raises: ConfigError: a folder, or not writable.
    """
    if path.is_dir():
        raise ConfigError(f"{path} is a folder; name a file in it")
    if not is_stream(path):
        _require_writable(path, Path(os.path.realpath(path)).parent)
    elif not os.access(path, os.W_OK):
        raise ConfigError(f"{path} can't be written; name another place")


def require_folder_path(path: Path) -> None:
    """Reject a path at which no folder exists or can be created.

    Raises: ConfigError: a file, or not writable.
    """
    if path.exists() and not path.is_dir():
        raise ConfigError(f"{path} is a file; name a folder")
    _require_writable(path, path if path.is_dir() else path.parent)


def write_output_file(path: Path, content: str | bytes) -> None:
    """Write an output file atomically.

    Raises: AgentsError: not writable. The old content is unchanged.
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
    except FileNotFoundError as error:
        raise ConfigError(
            f"{path} can't be written: there is no folder {folder}; create it, or name another "
            "place"
        ) from error
    except OSError as error:
        raise ConfigError(
            f"{path} can't be written: {error.strerror}; name another place"
        ) from error
