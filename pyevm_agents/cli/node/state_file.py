"""A node's state in a file: read at the start, written at the end, whole or not at all."""

from __future__ import annotations

import os
import tempfile
import zlib
from pathlib import Path

import orjson

from pyevm_agents.errors import AgentsError, ConfigError

MAX_BYTES = 2**30
"""Of a file, and of what is in it once unpacked."""

GZIP = b"\x1f\x8b"


def read_state(path: Path) -> object:
    """Return what a file holds: a dump as JSON, gzipped or not.

    Raises: ConfigError: it can't be read, or is no JSON.
    """
    path = _resolve_path(path)
    try:
        data = path.read_bytes() if path.stat().st_size <= MAX_BYTES else None
        if data is not None and data.startswith(GZIP):
            data = _decompress(data)
    except OSError as error:
        raise ConfigError(
            f"the state in {path} can't be read: {error.strerror or error}"
        ) from error
    except (zlib.error, EOFError) as error:
        raise ConfigError(f"the state in {path} is cut off or damaged: {error}") from error
    if data is None:
        raise ConfigError(f"the state in {path} has more than {MAX_BYTES:,} bytes")
    try:
        return orjson.loads(data)
    except ValueError as error:
        raise ConfigError(
            f"the state in {path} is no JSON: {error}; want a file that --dump-state wrote"
        ) from error


def require_writable(path: Path) -> Path:
    """Return the file that a state will be written to; of a folder, as anvil does, `state.json`.

    Raises: ConfigError: nothing can be written there.
    """
    path = _resolve_path(path)
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            return path
    except OSError as error:
        raise ConfigError(
            f"no state can be written to {path}: {error.strerror}; name another file"
        ) from error


def write_state(path: Path, form: object) -> int:
    """Write a dump in the place of what is there; return its size in bytes.

    Raises: AgentsError: the disk is full, or the folder gone. What was there is there still.
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
            f"the state could not be written to {path}: {error.strerror}; what was there is there "
            "still"
        ) from error
    return len(data)


def _resolve_path(path: Path) -> Path:
    return path / "state.json" if path.is_dir() else path


def _decompress(data: bytes) -> bytes | None:
    """Unpack gzip; None where too much is in it."""
    unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    text = unpacker.decompress(data, MAX_BYTES)
    if unpacker.unconsumed_tail:
        return None
    if not unpacker.eof:
        raise EOFError("it has no end")
    return text
