"""The front of a GGUF file: its entries, and the name, type and shape of each tensor."""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from pyevm_agents.models.gguf.files import HEADER

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from typing import BinaryIO

FLOAT32, STRING, ARRAY = 6, 8, 9
"""Types of entries that are told apart. Source: ggml/include/gguf.h, `gguf_type`."""

SCALARS = {
    kind: struct.Struct(f"<{letter}")
    for kind, letter in {
        0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d",
    }.items()
}  # fmt: skip
"""Type of an entry to its bytes, those of texts and arrays aside."""

COUNT = struct.Struct("<Q")
KIND = struct.Struct("<I")

MAX_DIMENSIONS = 4
"""Dimensions of a tensor. Source: ggml.h, `GGML_MAX_DIMS`."""

HEAD_BYTES = 4096
"""Bytes that are read where only an entry near the beginning is asked for."""

Scalar: TypeAlias = "str | int | float | bool"


@dataclass(frozen=True, slots=True)
class MetadataEntry:
    """An entry of a file's metadata."""

    kind: int
    value: Scalar | None
    """None for an array, which is passed over."""


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """What a file says of a tensor."""

    name: str
    kind: int
    """Its numbers' type. Source: ggml.h, `ggml_type`."""

    shape: tuple[int, ...]
    """The length of a row first, as GGUF has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GgufHeader:
    """Everything that a file says before its tensors' numbers."""

    entries: Mapping[str, MetadataEntry]
    tensors: tuple[TensorInfo, ...]

    def get_text(self, key: str) -> str:
        """Return an entry that is a text, or an empty text."""
        entry = self.entries.get(key)
        return entry.value if entry is not None and isinstance(entry.value, str) else ""


def read_header(path: Path) -> GgufHeader:
    """Read what a file says before its tensors' numbers.

    Input: a file that `files.check_file` admits.

    Raises:
        ValueError: it is not GGUF as it should be, or ends too early; the message says where.
        OSError: it can't be read.
    """
    with path.open("rb") as file:
        _, _, tensors, entries = HEADER.unpack(file.read(HEADER.size))
        reading = _HeaderReader(file, os.fstat(file.fileno()).st_size)
        return GgufHeader(
            entries=dict(reading.read_entry() for _ in range(entries)),
            tensors=tuple(reading.read_tensor() for _ in range(tensors)),
        )


def read_arrays(path: Path, keys: Sequence[str]) -> Mapping[str, tuple[Scalar, ...]]:
    """Read entries that are arrays, such as a vocabulary's tokens.

    Raises:
        ValueError: an entry is missing, or the file is not GGUF as it should be.
        OSError: it can't be read.
    """
    with path.open("rb") as file:
        _, _, _, entries = HEADER.unpack(file.read(HEADER.size))
        reading = _HeaderReader(file, os.fstat(file.fileno()).st_size)
        arrays = dict(reading.read_array(keys) for _ in range(entries))
    missing = [key for key in keys if key not in arrays]
    if missing:
        raise ValueError(f"there is no entry {missing[0]!r}")
    return {key: arrays[key] for key in keys}


def read_general_type(path: Path) -> str:
    """Return what a GGUF file says it is near its beginning: `model`, `adapter`, or an empty text.

    Raises:
        OSError: it can't be read.
    """
    with path.open("rb") as file:
        reading = _HeaderReader(file, HEAD_BYTES)
        try:
            while True:
                key, entry = reading.read_entry()
                if key == "general.type":
                    return entry.value if isinstance(entry.value, str) else ""
        except ValueError:
            return ""


class _HeaderReader:
    """A file that is read one item after the other, and no item beyond a size."""

    def __init__(self, file: BinaryIO, size_bytes: int) -> None:
        """Begin behind the header."""
        self.file = file
        self.size_bytes = size_bytes
        self.position = file.seek(HEADER.size)

    def read_entry(self) -> tuple[str, MetadataEntry]:
        """Read an entry with its key."""
        key = self._read_text()
        kind = self._read_number(KIND)
        return key, MetadataEntry(kind, self._read_value(kind))

    def read_array(self, keys: Sequence[str]) -> tuple[str, tuple[Scalar, ...]]:
        """Read an entry with its key: all of an array that is asked for, nothing of others."""
        key = self._read_text()
        kind = self._read_number(KIND)
        if key not in keys:
            self._read_value(kind)
            return key, ()
        if kind != ARRAY:
            raise ValueError(f"the entry {key!r} is no array")
        element, count = self._read_number(KIND), self._read_number(COUNT)
        if element != STRING and element not in SCALARS:
            raise ValueError(f"an array at byte {self.position} is of the unknown type {element}")
        values = [self._read_value(element) for _ in range(count)]
        return key, tuple(value for value in values if value is not None)

    def read_tensor(self) -> TensorInfo:
        """Read what is said of a tensor."""
        name = self._read_text()
        dimensions = self._read_number(KIND)
        if dimensions > MAX_DIMENSIONS:
            raise ValueError(f"the tensor {name!r} has {dimensions} dimensions")
        shape = tuple(self._read_number(COUNT) for _ in range(dimensions))
        kind = self._read_number(KIND)
        self._read_number(COUNT)  # Where its numbers are.
        return TensorInfo(name, kind, shape)

    def _read_value(self, kind: int) -> Scalar | None:
        if kind == STRING:
            return self._read_text()
        if kind == ARRAY:
            self._skip_array()
            return None
        if kind not in SCALARS:
            raise ValueError(f"an entry at byte {self.position} is of the unknown type {kind}")
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
            raise ValueError(f"an array at byte {self.position} is of the unknown type {element}")

    def _read_text(self) -> str:
        return self._read_bytes(self._read_number(COUNT)).decode("utf-8", "replace")

    def _read_number(self, form: struct.Struct) -> int:
        number: int = form.unpack(self._read_bytes(form.size))[0]
        return number

    def _read_bytes(self, count: int) -> bytes:
        self._advance(count)
        data = self.file.read(count)
        if len(data) < count:
            raise ValueError(f"it ends before byte {self.position}")
        return data

    def _skip_bytes(self, count: int) -> None:
        self._advance(count)
        self.file.seek(self.position)

    def _advance(self, count: int) -> None:
        if self.position + count > self.size_bytes:
            raise ValueError(f"it ends inside of what begins at byte {self.position}")
        self.position += count
