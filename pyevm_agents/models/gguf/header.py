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
class Entry:
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
class Front:
    """Everything that a file says before its tensors' numbers."""

    entries: Mapping[str, Entry]
    tensors: tuple[TensorInfo, ...]

    def text(self, key: str) -> str:
        """Return an entry that is a text, or an empty text."""
        entry = self.entries.get(key)
        return entry.value if entry is not None and isinstance(entry.value, str) else ""


def read_front(path: Path) -> Front:
    """Read what a file says before its tensors' numbers.

    Input: a file that `files.check_file` admits.

    Raises:
        ValueError: it is not GGUF as it should be, or ends too early; the message says where.
        OSError: it can't be read.
    """
    with path.open("rb") as file:
        _, _, tensors, entries = HEADER.unpack(file.read(HEADER.size))
        reading = _Reading(file, os.fstat(file.fileno()).st_size)
        return Front(
            entries=dict(reading.entry() for _ in range(entries)),
            tensors=tuple(reading.tensor() for _ in range(tensors)),
        )


def read_arrays(path: Path, keys: Sequence[str]) -> Mapping[str, tuple[Scalar, ...]]:
    """Read entries that are arrays, such as a vocabulary's tokens.

    Raises:
        ValueError: an entry is missing, or the file is not GGUF as it should be.
        OSError: it can't be read.
    """
    with path.open("rb") as file:
        _, _, _, entries = HEADER.unpack(file.read(HEADER.size))
        reading = _Reading(file, os.fstat(file.fileno()).st_size)
        found = dict(reading.array(keys) for _ in range(entries))
    missing = [key for key in keys if key not in found]
    if missing:
        raise ValueError(f"there is no entry {missing[0]!r}")
    return {key: found[key] for key in keys}


def general_type(path: Path) -> str:
    """Return what a GGUF file says it is near its beginning: `model`, `adapter`, or an empty text.

    Raises:
        OSError: it can't be read.
    """
    with path.open("rb") as file:
        reading = _Reading(file, HEAD_BYTES)
        try:
            while True:
                key, entry = reading.entry()
                if key == "general.type":
                    return entry.value if isinstance(entry.value, str) else ""
        except ValueError:
            return ""


class _Reading:
    """A file that is read one item after the other, and no item beyond a size."""

    def __init__(self, file: BinaryIO, size_bytes: int) -> None:
        """Begin behind the header."""
        self.file = file
        self.size_bytes = size_bytes
        self.position = file.seek(HEADER.size)

    def entry(self) -> tuple[str, Entry]:
        """Read an entry with its key."""
        key = self._text()
        kind = self._number(KIND)
        return key, Entry(kind, self._value(kind))

    def array(self, keys: Sequence[str]) -> tuple[str, tuple[Scalar, ...]]:
        """Read an entry with its key: all of an array that is asked for, nothing of others."""
        key = self._text()
        kind = self._number(KIND)
        if key not in keys:
            self._value(kind)
            return key, ()
        if kind != ARRAY:
            raise ValueError(f"the entry {key!r} is no array")
        element, count = self._number(KIND), self._number(COUNT)
        if element != STRING and element not in SCALARS:
            raise ValueError(f"an array at byte {self.position} is of the unknown type {element}")
        values = [self._value(element) for _ in range(count)]
        return key, tuple(value for value in values if value is not None)

    def tensor(self) -> TensorInfo:
        """Read what is said of a tensor."""
        name = self._text()
        dimensions = self._number(KIND)
        if dimensions > MAX_DIMENSIONS:
            raise ValueError(f"the tensor {name!r} has {dimensions} dimensions")
        shape = tuple(self._number(COUNT) for _ in range(dimensions))
        kind = self._number(KIND)
        self._number(COUNT)  # Where its numbers are.
        return TensorInfo(name, kind, shape)

    def _value(self, kind: int) -> Scalar | None:
        if kind == STRING:
            return self._text()
        if kind == ARRAY:
            self._pass_array()
            return None
        if kind not in SCALARS:
            raise ValueError(f"an entry at byte {self.position} is of the unknown type {kind}")
        form = SCALARS[kind]
        value: int | float | bool = form.unpack(self._bytes(form.size))[0]
        return value

    def _pass_array(self) -> None:
        element, count = self._number(KIND), self._number(COUNT)
        if element == STRING:
            for _ in range(count):
                self._pass(self._number(COUNT))
        elif element in SCALARS:
            self._pass(count * SCALARS[element].size)
        else:
            raise ValueError(f"an array at byte {self.position} is of the unknown type {element}")

    def _text(self) -> str:
        return self._bytes(self._number(COUNT)).decode("utf-8", "replace")

    def _number(self, form: struct.Struct) -> int:
        number: int = form.unpack(self._bytes(form.size))[0]
        return number

    def _bytes(self, count: int) -> bytes:
        self._advance(count)
        data = self.file.read(count)
        if len(data) < count:
            raise ValueError(f"it ends before byte {self.position}")
        return data

    def _pass(self, count: int) -> None:
        self._advance(count)
        self.file.seek(self.position)

    def _advance(self, count: int) -> None:
        if self.position + count > self.size_bytes:
            raise ValueError(f"it ends inside of what begins at byte {self.position}")
        self.position += count
