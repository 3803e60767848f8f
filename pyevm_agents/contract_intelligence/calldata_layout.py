"""Layout of calldata: places of a function's arguments, and candidates for the values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eth_abi import encode
from eth_abi.grammar import BasicType, TupleType, parse

from precompiles.spec import SELECTOR_BYTES, WORD_BYTES
from pyevm_agents.abi.values import is_abi_type

if TYPE_CHECKING:
    from eth_abi.grammar import ABIType

MAX_LEAVES = 256
"""The most values of one call whose positions are known."""

KNOWN_BASES = frozenset({"address", "bool", "bytes", "int", "string", "uint"})

Path = tuple[int, ...]
"""Indices that lead to a value: of the argument, then of members and items."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CalldataLeaf:
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


def list_leaves(types: Sequence[str], data: bytes) -> list[CalldataLeaf]:
    """Return the values of calldata with their positions; at most `MAX_LEAVES`."""
    leaves: list[CalldataLeaf] = []
    _walk([parse(text) for text in types], data, SELECTOR_BYTES, (), leaves)
    return leaves


def _walk(
    kinds: Sequence[ABIType], data: bytes, start: int, path: Path, leaves: list[CalldataLeaf]
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


def _walk_value(
    kind: ABIType, data: bytes, at: int, path: Path, leaves: list[CalldataLeaf]
) -> None:
    text = _format(kind)
    if kind.is_array:
        dimension = kind.arrlist[-1] if kind.arrlist else ()
        count = dimension[0] if dimension else int.from_bytes(data[at : at + WORD_BYTES], "big")
        if not dimension:
            leaves.append(CalldataLeaf(path=path, abi_type=text, offset=at, is_length=True))
            at += WORD_BYTES
        _walk([kind.item_type] * min(count, MAX_LEAVES), data, at, path, leaves)
    elif isinstance(kind, TupleType):
        _walk(kind.components, data, at, path, leaves)
    else:
        leaves.append(CalldataLeaf(path=path, abi_type=text, offset=at, is_length=kind.is_dynamic))


def _measure(kind: ABIType) -> int:
    """Return the size of a static value in bytes."""
    if kind.is_array:
        dimension = kind.arrlist[-1] if kind.arrlist else (1,)
        return dimension[0] * _measure(kind.item_type)
    if isinstance(kind, TupleType):
        return sum(map(_measure, kind.components))
    return WORD_BYTES


def can_build(types: Sequence[str]) -> bool:
    """Return whether values of types can be built: known types, of at most `MAX_LEAVES` items."""
    if not all(map(is_abi_type, types)):
        return False
    return sum(_count_items(parse(text)) for text in types) <= MAX_LEAVES


def _count_items(kind: ABIType) -> int:
    """Return the number of values, with an item in each dynamic array; too many if unknown."""
    if kind.is_array:
        dimension = kind.arrlist[-1] if kind.arrlist else ()
        return (dimension[0] if dimension else 1) * _count_items(kind.item_type)
    if isinstance(kind, TupleType):
        return sum(map(_count_items, kind.components))
    return 1 if isinstance(kind, BasicType) and kind.base in KNOWN_BASES else MAX_LEAVES + 1


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
    if kind.base in {"uint", "int"}:
        return fit_number(_format(kind), candidates.number)
    values: dict[str, object] = {
        "address": candidates.address,
        "bool": candidates.number != 0,
        "string": candidates.text,
        "bytes": bytes(kind.sub or 0),
    }
    return values[kind.base]


def _build_item(kind: ABIType, candidates: Candidates, index: int) -> object:
    is_address = isinstance(kind, BasicType) and kind.base == "address" and not kind.is_array
    if is_address and index < len(candidates.contracts):
        return candidates.contracts[index]
    return _build(kind, candidates)


def fit_number(abi_type: str, number: int) -> int:
    """Return a number brought into the range of an integer type."""
    kind = parse(abi_type)
    assert isinstance(kind, BasicType)  # noqa: S101 - callers have integers
    bits: int = kind.sub if isinstance(kind.sub, int) else 256
    lowest, highest = (-(1 << bits - 1), (1 << bits - 1) - 1)
    if kind.base != "int":
        lowest, highest = 0, (1 << bits) - 1
    return max(lowest, min(number, highest))


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
    """Return an array with `count` items, filled up with an own item or another one."""
    assert isinstance(value, Sequence)  # noqa: S101 - callers have arrays
    items = tuple(value)[:count]
    return items + (items[-1] if items else filler,) * (count - len(items))


def _format(kind: ABIType) -> str:
    return str(kind.to_type_str())  # type: ignore[no-untyped-call]
