"""Header of a GGUF file: metadata entries, and the name, type and shape of each tensor."""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from pyevm_agents.models.gguf.files import HEADER

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from typing import BinaryIO

FLOAT32, STRING, ARRAY = 6, 8, 9
"""Entry types with special handling. Source: ggml/include/gguf.h, `gguf_type`."""

SCALARS = {
    kind: struct.Struct(f"<{letter}")
    for kind, letter in {
        0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d",
    }.items()
}  # fmt: skip
"""Binary format of each entry type, except texts and arrays."""

COUNT = struct.Struct("<Q")
KIND = struct.Struct("<I")

MAX_DIMENSIONS = 4
"""Maximum dimensions of a tensor. Source: ggml.h, `GGML_MAX_DIMS`."""

ALIGNMENT, DEFAULT_ALIGNMENT = "general.alignment", 32
"""Entry with the alignment of tensor data, in bytes. Source: ggml/include/gguf.h."""

HEAD_BYTES = 16_384
"""Bytes read when only entries near the start of the file are needed."""

Scalar: TypeAlias = "str | int | float | bool"


@dataclass(frozen=True, slots=True)
class MetadataEntry:
    """An entry of a file's metadata."""

    kind: int
    value: Scalar | None
    """None for an array, whose contents are skipped."""


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """Description of a tensor in the header."""

    name: str
    kind: int
    """Type of the tensor's numbers. Source: ggml.h, `ggml_type`."""

    shape: tuple[int, ...]
    """Dimensions in GGUF's order: the length of a row first."""

    offset: int = field(default=0, compare=False)
    """Position of its numbers after `GgufHeader.data_start`, in bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GgufHeader:
    """Everything in a file before the tensor data."""

    entries: Mapping[str, MetadataEntry]
    tensors: tuple[TensorInfo, ...]
    data_start: int
    """Position of the tensor data in the file, in bytes."""

    def get_text(self, key: str) -> str:
        """Return a text entry; empty if missing or not a text."""
        entry = self.entries.get(key)
        return entry.value if entry is not None and isinstance(entry.value, str) else ""


def read_header(path: Path) -> GgufHeader:
    """Read the header of a file that `files.check_file` accepts.

    Raises:
        ValueError: the header is malformed or truncated; the message contains the position.
        OSError: the file can't be read.
    """
    with path.open("rb") as file:
        _, _, tensors, entries = HEADER.unpack(file.read(HEADER.size))
        reading = _HeaderReader(file, os.fstat(file.fileno()).st_size)
        found = dict(reading.read_entry() for _ in range(entries))
        return GgufHeader(
            entries=found,
            tensors=tuple(reading.read_tensor() for _ in range(tensors)),
            data_start=_align(reading.position, found.get(ALIGNMENT)),
        )


def _align(position: int, entry: MetadataEntry | None) -> int:
    """Return the next position that the file's alignment divides."""
    alignment = DEFAULT_ALIGNMENT if entry is None else entry.value
    if not isinstance(alignment, int) or alignment < 1:
        raise ValueError(f"{ALIGNMENT} is {alignment}: must be a positive number")
    return -(-position // alignment) * alignment


def read_arrays(path: Path, keys: Sequence[str]) -> Mapping[str, tuple[Scalar, ...]]:
    """Read array entries, such as a vocabulary's tokens.

    Raises:
        ValueError: an entry is missing, or the header is malformed.
        OSError: the file can't be read.
    """
    with path.open("rb") as file:
        _, _, _, entries = HEADER.unpack(file.read(HEADER.size))
        reading = _HeaderReader(file, os.fstat(file.fileno()).st_size)
        found = dict(reading.read_array(keys) for _ in range(entries))
    missing = [key for key in keys if key not in found]
    if missing:
        raise ValueError(f"missing metadata entry {missing[0]!r}")
    return {key: found[key] for key in keys}


def read_first_entries(path: Path) -> Mapping[str, MetadataEntry]:
    """Return the entries near the file's start: before the vocabulary, or the first malformed one.

    Raises:
        OSError: the file can't be read.
    """
    found: dict[str, MetadataEntry] = {}
    with path.open("rb") as file:
        _, _, _, entries = HEADER.unpack(file.read(HEADER.size))
        reading = _HeaderReader(file, HEAD_BYTES)
        try:
            for _ in range(entries):
                key, entry = reading.read_entry()
                found[key] = entry
        except ValueError:
            pass
    return found


class _HeaderReader:
    """Reads items of a header in sequence, up to a maximum position."""

    def __init__(self, file: BinaryIO, size_bytes: int) -> None:
        """Start after the fixed-size header."""
        self.file = file
        self.size_bytes = size_bytes
        self.position = file.seek(HEADER.size)

    def read_entry(self) -> tuple[str, MetadataEntry]:
        """Read an entry and the key."""
        key = self._read_text()
        kind = self._read_number(KIND)
        return key, MetadataEntry(kind, self._read_value(kind))

    def read_array(self, keys: Sequence[str]) -> tuple[str, tuple[Scalar, ...]]:
        """Read an entry's key, and the items of a requested array."""
        key = self._read_text()
        kind = self._read_number(KIND)
        if key not in keys:
            self._read_value(kind)
            return key, ()
        if kind != ARRAY:
            raise ValueError(f"metadata entry {key!r} is not an array")
        element, count = self._read_number(KIND), self._read_number(COUNT)
        if element != STRING and element not in SCALARS:
            raise ValueError(f"array at byte {self.position} has the unknown type {element}")
        values = [self._read_value(element) for _ in range(count)]
        return key, tuple(value for value in values if value is not None)

    def read_tensor(self) -> TensorInfo:
        """Read the description of a tensor."""
        name = self._read_text()
        dimensions = self._read_number(KIND)
        if dimensions > MAX_DIMENSIONS:
            raise ValueError(
                f"tensor {name!r} has {dimensions} dimensions, more than {MAX_DIMENSIONS}"
            )
        shape = tuple(self._read_number(COUNT) for _ in range(dimensions))
        kind = self._read_number(KIND)
        return TensorInfo(name, kind, shape, self._read_number(COUNT))

    def _read_value(self, kind: int) -> Scalar | None:
        if kind == STRING:
            return self._read_text()
        if kind == ARRAY:
            self._skip_array()
            return None
        if kind not in SCALARS:
            raise ValueError(f"metadata entry at byte {self.position} has the unknown type {kind}")
        form = SCALARS[kind]
        value: int | float | bool = form.unpack(self._read_bytes(form.size))[0]
        return value

    def _skip_array(self) -> None:
        element, count = self._read_number(KIND), self._read_number(COUNT)
        if element == STRING:
            for _ in range(count):
                self._skip_bytes(self._read_number(COUNT))
        elif element in SCALARS:
            self._skip_bytes(count * SCALARS[element].size)
        else:
            raise ValueError(f"array at byte {self.position} has the unknown type {element}")

    def _read_text(self) -> str:
        return self._read_bytes(self._read_number(COUNT)).decode("utf-8", "replace")

    def _read_number(self, form: struct.Struct) -> int:
        number: int = form.unpack(self._read_bytes(form.size))[0]
        return number

    def _read_bytes(self, count: int) -> bytes:
        self._advance(count)
        data = self.file.read(count)
        if len(data) < count:
            raise ValueError(f"the file ends before byte {self.position}")
        return data

    def _skip_bytes(self, count: int) -> None:
        self._advance(count)
        self.file.seek(self.position)

    def _advance(self, count: int) -> None:
        if self.position + count > self.size_bytes:
            raise ValueError(f"the file ends inside the item at byte {self.position}")
        self.position += count
