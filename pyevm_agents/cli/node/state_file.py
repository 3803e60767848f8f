"""State dumps of a node: read at the start, written atomically at the end."""

from __future__ import annotations

import os
import tempfile
import zlib
from pathlib import Path

import orjson

from pyevm_agents.errors import AgentsError, ConfigError

MAX_BYTES = 2**30
"""Limit of a file, and of its uncompressed content."""

GZIP = b"\x1f\x8b"


def read_state(path: Path) -> object:
    """Return the JSON of a dump, gzipped or not.

    Raises: ConfigError: the file can't be read, or is not JSON.
    """
    path = _resolve_path(path)
    try:
        data = path.read_bytes() if path.stat().st_size <= MAX_BYTES else None
        if data is not None and data.startswith(GZIP):
            data = _decompress(data)
    except OSError as error:
        raise ConfigError(f"state file {path} can't be read: {error.strerror or error}") from error
    except (zlib.error, EOFError) as error:
        raise ConfigError(f"state file {path} is truncated or damaged: {error}") from error
    if data is None:
        raise ConfigError(f"state file {path}: must be at most {MAX_BYTES:,} bytes")
    try:
        return orjson.loads(data)
    except ValueError as error:
        raise ConfigError(
            f"state file {path}: not JSON: {error}; pass a file written by --dump-state"
        ) from error


def require_writable(path: Path, kind: str = "state file") -> Path:
    """Return the path of a dump: the file itself, or `state.json` in a folder, as in anvil.

    Input:  kind: the kind of file, for the error.

    Raises: ConfigError: the file can't be written.
    """
    path = _resolve_path(path)
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            return path
    except OSError as error:
        raise ConfigError(
            f"{kind} {path} can't be written: {error.strerror}; pass another file"
        ) from error


def write_state(path: Path, form: object) -> int:
    """Write a dump, replacing the file; return its size in bytes.

    Raises: AgentsError: see `write_json`.
    """
    return write_json(path, form, "state file")


def write_json(path: Path, form: object, kind: str) -> int:
    """Write a file that only its owner can read, replacing the old one; return its size in bytes.

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


def _resolve_path(path: Path) -> Path:
    return path / "state.json" if path.is_dir() else path


def _decompress(data: bytes) -> bytes | None:
    """Decompress gzip; None if the content is too large."""
    unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    text = unpacker.decompress(data, MAX_BYTES)
    if unpacker.unconsumed_tail:
        return None
    if not unpacker.eof:
        raise EOFError("the end is missing")
    return text
