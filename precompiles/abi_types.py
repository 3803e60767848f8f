"""Solidity types in markers: a parameter's description can end with `[abi:TYPE]`.

    the fee [abi:uint24]        the root [abi:bytes32]        the path [abi:(address,uint24)[]]

TYPE is in canonical form: `uint256`, not `uint`, and without spaces and names. A marker that is
malformed, unsupported or over a limit is plain text. Parsing takes linear time; recursion ends at
`MAX_TYPE_DEPTH`.

Source: Solidity, "Contract ABI Specification", types; docs/architecture.md#typed-texts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from precompiles.spec import (
    MAX_ARRAY_ITEMS,
    MAX_TYPE_CHARACTERS,
    MAX_TYPE_DEPTH,
    MAX_TYPE_LEAVES,
    WORD_BYTES,
)

MARKER = "[abi:"
"""Beginning of a marker, which ends with `]` at the end of the description."""

_ELEMENTARY = re.compile(
    r"(?P<integer>u?int)(?P<bits>[1-9][0-9]{0,2})|bytes(?P<bytes>[1-9][0-9]?)"
    r"|(?P<word>bool|address|string|bytes)"
)
_SUFFIX = re.compile(r"\[(?P<items>[1-9][0-9]?)?\]")
_BYTE_BITS = 8


class Kind(Enum):
    """Kinds of types."""

    UINT = "uint"
    INT = "int"
    BOOL = "bool"
    ADDRESS = "address"
    STRING = "string"
    BYTES = "bytes"
    FIXED_BYTES = "bytesN"
    ARRAY = "T[]"
    FIXED_ARRAY = "T[k]"
    TUPLE = "(T)"


@dataclass(frozen=True, slots=True)
class AbiType:
    """A Solidity type as a tree."""

    kind: Kind
    size: int = 0
    """Bits of an integer, bytes of `bytesN`, items of `T[k]`; else 0."""

    parts: tuple[AbiType, ...] = ()
    """The members of a tuple, or the type of an array's items."""

    def __str__(self) -> str:
        """Return the canonical form, such as `(address,uint24)[]`."""
        match self.kind:
            case Kind.TUPLE:
                return f"({','.join(map(str, self.parts))})"
            case Kind.ARRAY:
                return f"{self.parts[0]}[]"
            case Kind.FIXED_ARRAY:
                return f"{self.parts[0]}[{self.size}]"
            case Kind.FIXED_BYTES:
                return f"bytes{self.size}"
            case Kind.UINT | Kind.INT:
                return f"{self.kind.value}{self.size}"
        return str(self.kind.value)

    @property
    def leaves(self) -> tuple[AbiType, ...]:
        """Elementary types, in order: an elementary type alone; of an array, those of one item."""
        if not self.parts:
            return (self,)
        return tuple(leaf for part in self.parts for leaf in part.leaves)

    @property
    def part_count(self) -> int:
        """Number of elementary types, arrays and tuples."""
        return 1 + sum(part.part_count for part in self.parts)

    @property
    def numbers(self) -> range | None:
        """The numbers of an integer type; None for any other."""
        if self.kind is Kind.UINT:
            return range(2**self.size)
        if self.kind is Kind.INT:
            return range(-(2 ** (self.size - 1)), 2 ** (self.size - 1))
        return None


def read_marker(description: str) -> AbiType | None:
    """Return the type of the marker at the end of a description, or None."""
    start = description.rfind(MARKER)
    if start < 0 or not description.endswith("]"):
        return None
    start += len(MARKER)
    if len(description) - len("]") - start > MAX_TYPE_CHARACTERS:
        return None
    return parse_type(description[start:-1])


def strip_marker(description: str) -> str:
    """Return a description with a marker, without the marker."""
    return description[: description.rfind(MARKER)].rstrip(" ")


def parse_type(text: str) -> AbiType | None:
    """Parse a type in canonical form.

    Output: None for a type that is malformed, not supported, or over a limit of `spec.py`.
    """
    if len(text) > MAX_TYPE_CHARACTERS:
        return None
    parsed = _parse(text, 0, MAX_TYPE_DEPTH)
    if parsed is None or parsed[1] != len(text) or len(parsed[0].leaves) > MAX_TYPE_LEAVES:
        return None
    return parsed[0]


def _parse(text: str, at: int, depth: int) -> tuple[AbiType, int] | None:
    """Return the type that starts at a place, and the end; None if malformed, or above `depth`."""
    parsed = _parse_tuple(text, at, depth) if text[at : at + 1] == "(" else _read_word(text, at)
    if parsed is None:
        return None
    of, at = parsed
    height = _measure_depth(of)
    while suffix := _SUFFIX.match(text, at):
        items = int(suffix["items"] or 0)
        height += 1
        if items > MAX_ARRAY_ITEMS or height > depth:
            return None
        of, at = AbiType(Kind.FIXED_ARRAY if items else Kind.ARRAY, items, (of,)), suffix.end()
    return of, at


def _parse_tuple(text: str, at: int, depth: int) -> tuple[AbiType, int] | None:
    members: list[AbiType] = []
    closing = "("
    while closing != ")":
        parsed = _parse(text, at + 1, depth - 1) if depth else None
        if parsed is None:
            return None
        member, at = parsed
        closing = text[at : at + 1]
        if closing not in {",", ")"}:
            return None
        members.append(member)
    return AbiType(Kind.TUPLE, parts=tuple(members)), at + 1


def _read_word(text: str, at: int) -> tuple[AbiType, int] | None:
    """Return the elementary type that starts at a place, and the end."""
    match = _ELEMENTARY.match(text, at)
    if match is None:
        return None
    if match["word"]:
        return AbiType(Kind(match["word"])), match.end()
    if match["bytes"]:
        size = int(match["bytes"])
        return (AbiType(Kind.FIXED_BYTES, size), match.end()) if size <= WORD_BYTES else None
    bits = int(match["bits"])
    if bits % _BYTE_BITS or bits > _BYTE_BITS * WORD_BYTES:
        return None
    return AbiType(Kind(match["integer"]), bits), match.end()


def _measure_depth(of: AbiType) -> int:
    """Return how many arrays and tuples are within each other."""
    return 1 + max(map(_measure_depth, of.parts)) if of.parts else 0
