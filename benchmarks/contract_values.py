"""Random values of Solidity types, as typed texts, and read from these.

Values are as eth_abi takes them. A text has whole addresses in place of handles.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from precompiles.abi_types import AbiType, Kind
from precompiles.spec import MAX_ARRAY_ITEMS, MAX_TEXT_CHARACTERS, MAX_TYPED_BYTES
from precompiles.typed_texts import quote_text, read_typed_text, unquote_text

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from precompiles.typed_texts import LeafValue

MANY_ITEMS_SHARE = 0.01
"""Share of arrays with up to `MAX_ARRAY_ITEMS` items. The others have at most `FEW_ITEMS`."""

FEW_ITEMS = 4
EDGE_SHARE = 0.2
"""Share of integers at an edge of their range."""

LETTERS = "abcx XYZ 0189 ,()[]'\\\"-_.:/äß€語🙂"
"""Characters of random texts: those that a typed text separates or escapes by, and others."""

_HEXADECIMAL = re.compile("0[xX]")


def draw_value(of: AbiType, chance: random.Random, addresses: Sequence[str]) -> object:
    """Return a random value of a type, as eth_abi takes it, within the limits of typed texts.

    A list of one empty `bytes` has the text of an empty list, so it is not drawn.
    """
    if of.kind is Kind.TUPLE:
        return tuple(draw_value(part, chance, addresses) for part in of.parts)
    if of.parts:
        most = MAX_ARRAY_ITEMS if chance.random() < MANY_ITEMS_SHARE else FEW_ITEMS
        items = of.size or chance.randint(0, most)
        drawn = tuple(draw_value(of.parts[0], chance, addresses) for _ in range(items))
        return () if drawn == (b"",) and of.kind is Kind.ARRAY else drawn
    return _draw_leaf(of, chance, addresses)


def _draw_leaf(of: AbiType, chance: random.Random, addresses: Sequence[str]) -> object:
    numbers = of.numbers
    if numbers is not None:
        if chance.random() < EDGE_SHARE:
            return chance.choice((numbers[0], numbers[-1], 0, 1))
        return chance.randrange(numbers[0], numbers[-1] + 1) >> chance.randrange(of.size)
    match of.kind:
        case Kind.BOOL | Kind.ADDRESS:
            return chance.choice((True, False) if of.kind is Kind.BOOL else addresses)
        case Kind.FIXED_BYTES:
            return chance.randbytes(of.size)
        case Kind.BYTES:
            return chance.randbytes(chance.choice((0, 1, chance.randint(0, MAX_TYPED_BYTES))))
        case _:
            size = chance.choice((0, 1, 20, 60, chance.randint(0, MAX_TEXT_CHARACTERS)))
            return _HEXADECIMAL.sub("0_", "".join(chance.choices(LETTERS, k=size)))


def write_text(of: AbiType, value: object) -> str:
    """Return the typed text of a value, with whole addresses."""
    match value:
        case bool():
            return "true" if value else "false"
        case bytes():
            return value.hex()
        case tuple() if of.kind is Kind.TUPLE:
            members = zip(of.parts, value, strict=True)
            return f"({', '.join(write_text(part, member) for part, member in members)})"
        case tuple():
            return f"[{', '.join(write_text(of.parts[0], item) for item in value)}]"
        case str() if of.kind is Kind.STRING:
            return quote_text(value)
        case _:
            return str(value)


def read_value(of: AbiType, text: str) -> object:
    """Return the value of a typed text.

    Raises: TypedTextError: the text does not have the form of the type.
    """
    leaves = list(reversed(read_typed_text(of, text)))
    return _Builder(text, leaves).build(of)


class _Builder:
    """Builds a value of a text from its leaves, which are taken from the end of a list."""

    def __init__(self, text: str, leaves: list[LeafValue]) -> None:
        self._text = text
        self._leaves = leaves
        self._at = 0

    def build(self, of: AbiType) -> object:
        if of.kind is Kind.TUPLE:
            self._at += len("(")
            members = []
            for index, part in enumerate(of.parts):
                self._at += len(", ") if index else 0
                members.append(self.build(part))
            self._at += len(")")
            return tuple(members)
        if of.parts:
            self._at += len("[")
            items: list[object] = []
            while self._text[self._at] != "]":
                self._at += len(", ") if items else 0
                items.append(self.build(of.parts[0]))
            self._at += len("]")
            return tuple(items)
        leaf = self._leaves.pop()
        self._at = leaf.end
        return _read_leaf(leaf)


def _read_leaf(leaf: LeafValue) -> object:
    match leaf.abi_type.kind:
        case Kind.UINT | Kind.INT:
            return int(leaf.text)
        case Kind.BOOL:
            return leaf.text == "true"
        case Kind.BYTES | Kind.FIXED_BYTES:
            return bytes.fromhex(leaf.text)
        case Kind.STRING:
            return unquote_text(leaf.text)
        case _:
            return leaf.text
