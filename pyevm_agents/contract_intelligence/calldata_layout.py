"""Layout of calldata: where the values of a function's arguments stand, and candidates for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eth_abi import encode
from eth_abi.grammar import BasicType, TupleType, parse

if TYPE_CHECKING:
    from eth_abi.grammar import ABIType

WORD_BYTES = 32
SELECTOR_BYTES = 4
MAX_LEAVES = 256
"""The most values of one call whose positions are known."""

Path = tuple[int, ...]
"""Indices that lead to a value: of the argument, then of members and items."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """A word of calldata that is a value, or the length of an array or of bytes."""

    path: Path
    abi_type: str
    """Of the value; of the array or the bytes, for a length."""

    offset: int
    """In the calldata, the selector included."""

    is_length: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Values that arguments are built from."""

    address: str
    number: int
    contracts: tuple[str, ...] = ()
    """Items of arrays of addresses."""

    array_items: int = 1
    text: str = "a"


def encode_arguments(selector: bytes, types: Sequence[str], values: Sequence[object]) -> bytes:
    """Return the calldata of a function.

    Raises: EncodingError: a value is not of its type.
    """
    return bytes(selector) + encode(list(types), list(values))


def list_leaves(types: Sequence[str], data: bytes) -> list[Leaf]:
    """Return the values of calldata with their positions; at most `MAX_LEAVES`."""
    leaves: list[Leaf] = []
    _walk([parse(text) for text in types], data, SELECTOR_BYTES, (), leaves)
    return leaves


def _walk(
    kinds: Sequence[ABIType], data: bytes, start: int, path: Path, leaves: list[Leaf]
) -> None:
    head = start
    for index, kind in enumerate(kinds):
        if len(leaves) >= MAX_LEAVES:
            return
        if kind.is_dynamic:
            at = start + int.from_bytes(data[head : head + WORD_BYTES], "big")
            _walk_value(kind, data, at, (*path, index), leaves)
            head += WORD_BYTES
        else:
            _walk_value(kind, data, head, (*path, index), leaves)
            head += _measure(kind)


def _walk_value(kind: ABIType, data: bytes, at: int, path: Path, leaves: list[Leaf]) -> None:
    text = kind.to_type_str()
    if kind.is_array:
        dimension = kind.arrlist[-1] if kind.arrlist else ()
        count = dimension[0] if dimension else int.from_bytes(data[at : at + WORD_BYTES], "big")
        if not dimension:
            leaves.append(Leaf(path=path, abi_type=text, offset=at, is_length=True))
            at += WORD_BYTES
        _walk([kind.item_type] * min(count, MAX_LEAVES), data, at, path, leaves)
    elif isinstance(kind, TupleType):
        _walk(kind.components, data, at, path, leaves)
    else:
        leaves.append(Leaf(path=path, abi_type=text, offset=at, is_length=kind.is_dynamic))


def _measure(kind: ABIType) -> int:
    """Return the size of a static value in bytes."""
    if kind.is_array:
        dimension = kind.arrlist[-1] if kind.arrlist else (1,)
        return dimension[0] * _measure(kind.item_type)
    if isinstance(kind, TupleType):
        return sum(map(_measure, kind.components))
    return WORD_BYTES


def build_value(abi_type: str, candidates: Candidates) -> object:
    """Return a value of a type, built from candidates."""
    return _build(parse(abi_type), candidates)


def _build(kind: ABIType, candidates: Candidates) -> object:
    if kind.is_array:
        dimension = kind.arrlist[-1] if kind.arrlist else ()
        count = dimension[0] if dimension else candidates.array_items
        return tuple(_build_item(kind.item_type, candidates, index) for index in range(count))
    if isinstance(kind, TupleType):
        return tuple(_build(each, candidates) for each in kind.components)
    assert isinstance(kind, BasicType)  # noqa: S101 - the only other kind
    match kind.base:
        case "address":
            return candidates.address
        case "bool":
            return candidates.number != 0
        case "string":
            return candidates.text
        case "bytes":
            return bytes(kind.sub) if kind.sub else b""
        case _:
            return fit_number(kind.to_type_str(), candidates.number)


def _build_item(kind: ABIType, candidates: Candidates, index: int) -> object:
    is_address = isinstance(kind, BasicType) and kind.base == "address" and not kind.is_array
    if is_address and index < len(candidates.contracts):
        return candidates.contracts[index]
    return _build(kind, candidates)


def fit_number(abi_type: str, number: int) -> int:
    """Return a number brought into the range of an integer type."""
    kind = parse(abi_type)
    assert isinstance(kind, BasicType)  # noqa: S101 - callers have integers
    bits = kind.sub if isinstance(kind.sub, int) else 256
    if kind.base == "int":
        return max(-(2 ** (bits - 1)), min(number, 2 ** (bits - 1) - 1))
    return max(0, min(number, 2**bits - 1))


def get_at(values: Sequence[object], path: Path) -> object:
    """Return the value at a path."""
    value: object = values
    for index in path:
        assert isinstance(value, Sequence)  # noqa: S101 - as the path says
        value = value[index]
    return value


def replace_at(values: Sequence[object], path: Path, value: object) -> tuple[object, ...]:
    """Return values with the one at a path replaced."""
    first, *rest = path
    current = values[first]
    if rest:
        assert isinstance(current, Sequence)  # noqa: S101 - as the path says
        value = replace_at(current, tuple(rest), value)
    return (*values[:first], value, *values[first + 1 :])


def resize(value: object, count: int, filler: object) -> tuple[object, ...]:
    """Return an array with `count` items, filled up with one of its own or another."""
    assert isinstance(value, Sequence)  # noqa: S101 - callers have arrays
    items = tuple(value)[:count]
    return items + (items[-1] if items else filler,) * (count - len(items))
