"""Places of tensors: packed constants, and memory that is used again when a value is dead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from precompiles.spec import WORD_BYTES
from pyevm_agents.models.numeric.solidity.templates import (
    COUNT_BITS,
    INNER_AT,
    OUTER_AT,
    POINTER_BITS,
    STRIDE_BITS,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDTHS = (1, 2, 4, 8)


@dataclass(frozen=True, slots=True)
class Place:
    """Consecutive elements: `d` constants, `i` inputs, `m` memory, `o` outputs."""

    base: str
    offset: int
    width: int

    def write(self, start: int = 0, inner: int = 0, outer: int = 0) -> str:
        """Return the operand from an element on, with strides in elements."""
        shift = 8 * (WORD_BYTES - self.width)
        number = self.offset + start * self.width
        number += shift << POINTER_BITS
        number += (inner * self.width) << INNER_AT
        number += (outer * self.width) << OUTER_AT
        if max(inner, outer) * self.width >= 1 << STRIDE_BITS:
            raise ValueError(f"stride {max(inner, outer)}: must be less than 2^{STRIDE_BITS} bytes")
        return f"{self.base} + {number:#x}" if number else self.base

    def write_result(self, start: int = 0) -> str:
        """Return the pointer to an element."""
        number = self.offset + start * self.width
        return f"{self.base} + {number:#x}" if number else self.base


class ConstantData:
    """Packed constants; equal ones are stored once."""

    def __init__(self) -> None:
        """Start empty."""
        self.data = bytearray()
        self.bytes_of_width = dict.fromkeys(WIDTHS, 0)
        self._places: dict[bytes, Place] = {}

    def add(self, values: np.ndarray, width: int | None = None) -> Place:
        """Store integers in the least width that holds all; return their place."""
        if width is None:
            width = next(w for w in WIDTHS if _fits(values, w))
        packed = values.ravel().astype(f">i{width}").tobytes()
        key = bytes([width]) + packed
        if key not in self._places:
            self._places[key] = Place("d", len(self.data), width)
            self.data += packed
            self.bytes_of_width[width] += len(packed)
        return self._places[key]


def _fits(values: np.ndarray, width: int) -> bool:
    limit: int = 1 << (8 * width - 1)
    least, most = int(values.min()), int(values.max())
    return not (least < -limit or most >= limit)


class Memory:
    """Plans which bytes each value takes; freed bytes are taken again."""

    def __init__(self) -> None:
        """Start empty."""
        self.size = 0
        self._free: list[tuple[int, int]] = []

    def take(self, elements: int) -> Place:
        """Return the place of words: the first gap that is large enough, else the end."""
        size = elements * WORD_BYTES
        for index, (offset, room) in enumerate(self._free):
            if room >= size:
                rest = [(offset + size, room - size)] if room > size else []
                self._free[index : index + 1] = rest
                return Place("m", offset, WORD_BYTES)
        offset = self.size
        if self._free and sum(self._free[-1]) == self.size:
            offset = self._free.pop()[0]
        self.size = offset + size
        return Place("m", offset, WORD_BYTES)

    def release(self, place: Place, elements: int) -> None:
        """Free a place."""
        gaps = sorted([*self._free, (place.offset, elements * WORD_BYTES)])
        joined: list[tuple[int, int]] = []
        for offset, room in gaps:
            if joined and sum(joined[-1]) == offset:
                joined[-1] = (joined[-1][0], joined[-1][1] + room)
            else:
                joined.append((offset, room))
        self._free = joined


@dataclass(frozen=True, slots=True)
class Nest:
    """Two loops that read each operand in order: `start + o * outer + i * inner`."""

    outer: int
    inner: int
    strides: tuple[tuple[int, int, int], ...]
    """Start, inner and outer stride of each operand, in elements."""

    @property
    def word(self) -> str:
        """Number of all results, and of the inner loop's."""
        return f"{(self.outer * self.inner << COUNT_BITS) + self.inner:#x}"


def find_nest(shape: Sequence[int], maps: Sequence[np.ndarray]) -> Nest | None:
    """Return the loops over a result that read operands by index maps; None if two are too few.

    Input:
        maps: the operand's element for each element of the result.
    """
    total = maps[0].size
    sizes = [total]
    for size in shape:
        sizes.append(sizes[-1] // size)
    for inner in dict.fromkeys(sizes):
        strides = [_find_strides(each.reshape(-1, inner)) for each in maps]
        if all(each is not None for each in strides):
            found = tuple(each for each in strides if each is not None)
            return Nest(total // inner, inner, found)
    return None


def _find_strides(grid: np.ndarray) -> tuple[int, int, int] | None:
    start = int(grid[0, 0])
    inner = int(grid[0, 1]) - start if grid.shape[1] > 1 else 0
    outer = int(grid[1, 0]) - start if len(grid) > 1 else 0
    if inner < 0 or outer < 0:
        return None
    rows, columns = np.indices(grid.shape)
    is_affine = bool((grid == start + rows * outer + columns * inner).all())
    return (start, inner, outer) if is_affine else None


def fold_repeats(lines: Sequence[str]) -> list[str]:
    """Return the lines with consecutive repetitions of a block in a loop."""
    folded: list[str] = []
    at = 0
    while at < len(lines):
        length, count = _find_repeat(lines, at)
        block = [*lines[at : at + length]]
        if count > 1:
            head = f"for (uint256 step = 0; step < {count}; ++step) {{"
            folded += [head, *(f"    {line}" for line in block), "}"]
        else:
            folded += block
        at += length * count
    return folded


def _find_repeat(lines: Sequence[str], at: int) -> tuple[int, int]:
    """Return length and count of the repeated block at a line that saves most."""
    best = (1, 1)
    for length in range(1, (len(lines) - at) // 2 + 1):
        count = 1
        while lines[at : at + length] == lines[at + count * length : at + (count + 1) * length]:
            count += 1
        if count > 1 and length * (count - 1) > best[0] * (best[1] - 1):
            best = (length, count)
    return best
