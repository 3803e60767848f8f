"""State dumps of a node: read at the start, written atomically at the end."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import orjson

from pyevm_agents.errors import AgentsError, ConfigError
from pyevm_agents.node.state_dump import decode_dump

MAX_BYTES = 2**30
"""Limit of a file and of its uncompressed content, in bytes."""


def read_state(path: Path) -> object:
    """Return the JSON of a dump, gzipped or not.

    Raises: ConfigError: the file can't be read, exceeds a limit, or is not JSON.
    """
    path = resolve_state_path(path)
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ConfigError(f"state file {path}: must be at most {MAX_BYTES:,} bytes")
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"state file {path} can't be read: {error.strerror or error}") from error
    try:
        return decode_dump(data, most_bytes=MAX_BYTES)
    except ConfigError as error:
        raise ConfigError(f"state file {path}: {error}") from error


def require_writable(path: Path, kind: str = "state file") -> Path:
    """Return the path of a dump: the file itself, or `state.json` in a folder, as in anvil.

    Input:  kind: the kind of file, for the error.

    Raises: ConfigError: the file can't be written.
    """
    path = resolve_state_path(path)
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            return path
    except OSError as error:
        raise ConfigError(
            f"{kind} {path} can't be written: {error.strerror}; pass another file"
        ) from error


def write_state(path: Path, form: object) -> int:
    """Write a dump, replacing the file; return the size in bytes.

    Raises: AgentsError: see `write_json`.
    """
    return write_json(path, form, "state file")


def write_json(path: Path, form: object, kind: str) -> int:
    """Write a file that only the owner can read, replacing the old one; return the size in bytes.

    Input:  kind: the kind of file, for the error.
    Raises: AgentsError: the disk is full, or the folder is gone. The file is unchanged.
    """
    data = orjson.dumps(form)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise AgentsError(
            f"{kind} {path} can't be written: {error.strerror}; the file is unchanged"
        ) from error
    return len(data)


def resolve_state_path(path: Path) -> Path:
    """Return the file of a dump: the path itself, or `state.json` in a folder, as in anvil."""
    return path / "state.json" if path.is_dir() else path
