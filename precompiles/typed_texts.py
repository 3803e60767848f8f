r"""Typed texts: values of Solidity types, written in a text.

The ERC's parameters have ten types. A text whose description ends with a marker `[abi:TYPE]`
(`abi_types.py`) has the form of that type, and a contract can always encode the text:

| type | text |
|---|---|
| `uintN`, `intN` | a decimal in the range, without leading zeros |
| `bool` | `true` or `false` |
| `address` | a handle; an address in the returned data |
| `bytesN`, `bytes` | two lower-case hexadecimal digits a byte, without `0x` |
| `string` | `'it\'s'`: in single quotes, with the escapes `\'`, `\\`, `\n`, `\r`, `\t` |
| `T[]`, `T[k]` | `[a, b]`: at most 64 items, precisely k |
| `(T, U)` | `(a, b)` |

`[]` is a list without items; a list whose one item is an empty `bytes` has no text. A text of
`address`, `bool` or `string` alone is no typed text, since the ERC has these types.

Handles are expanded in addresses and strings, and nowhere else: `cafe` is two bytes, although an
address may have that name.

Source: docs/architecture.md#typed-texts.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from precompiles.abi import ParamType
from precompiles.abi_types import AbiType, Kind, read_marker
from precompiles.escaping import CONTROL_CLASS
from precompiles.integer_patterns import build_range_pattern
from precompiles.spec import (
    MAX_ARRAY_ITEMS,
    MAX_TEXT_CHARACTERS,
    MAX_TOOL_PARTS,
    MAX_TYPED_BYTES,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from precompiles.abi import ParamDescription
    from precompiles.address_handles import AddressBook

NO_HEX = "/([^0]|0+[^0xX])*0*/"
"""Texts without `0x`, as a terminal.

Without a complement: llguidance fails (`too many expressions`) on `~/.*0[xX].*/` in the first mask
after a zero, if the text also has a length limit.
"""

_PLAIN = frozenset((Kind.ADDRESS, Kind.BOOL, Kind.STRING))
_QUOTED = re.compile(rf"'(?P<raw>(?:[^'\\{CONTROL_CLASS}]|\\['\\nrt])*+)'")
_ESCAPE = re.compile(r"(\\['\\nrt])")
_HEXADECIMAL = re.compile("0[xX]")
_UNESCAPED = {r"\'": "'", r"\\": "\\", r"\n": "\n", r"\r": "\r", r"\t": "\t"}
_ESCAPES = str.maketrans({value: escape for escape, value in _UNESCAPED.items()})
_PATTERNS = {
    Kind.UINT: re.compile(r"0|[1-9][0-9]{0,77}"),
    Kind.INT: re.compile(r"0|-?[1-9][0-9]{0,77}"),
    Kind.BOOL: re.compile(r"true|false"),
    Kind.ADDRESS: re.compile(r"[0-9A-Za-z_.\-]+"),
    Kind.BYTES: re.compile(rf"(?:[0-9a-f]{{2}}){{0,{MAX_TYPED_BYTES}}}"),
    Kind.STRING: _QUOTED,
}
_FIXED = {size: re.compile(f"[0-9a-f]{{{2 * size}}}") for size in range(1, 33)}
"""Patterns of `bytesN` by N."""

_WORDS = {
    Kind.ADDRESS: "an address",
    Kind.BOOL: "true or false",
    Kind.BYTES: f"two lower-case hexadecimal digits a byte, at most {MAX_TYPED_BYTES} bytes",
    Kind.STRING: r"a text in single quotes, with \' for a quote and \\ for a backslash",
}


class TypedTextError(ValueError):
    """A text does not have the form of the type."""


@dataclass(frozen=True, slots=True)
class LeafValue:
    """An elementary value in a typed text."""

    abi_type: AbiType
    index: int
    """The place of its type in `AbiType.leaves`; equal for the items of an array."""

    start: int
    end: int
    text: str
    """The characters from `start` to `end`."""


def attach_types(parameters: Sequence[ParamDescription]) -> tuple[ParamDescription, ...]:
    """Return the parameters of a tool with the types of the markers.

    A marker that does not fit the parameter counts as no marker, as does one with which the
    parameters up to there have more than `MAX_TOOL_PARTS` parts.
    """
    attached: list[ParamDescription] = []
    parts = 0
    for parameter in parameters:
        of = read_marker(parameter.description)
        if of is None or not _fits(of, parameter.kind) or parts + of.part_count > MAX_TOOL_PARTS:
            attached.append(parameter)
            parts += 1
        else:
            attached.append(replace(parameter, abi_type=of))
            parts += of.part_count
    return tuple(attached)


def _fits(of: AbiType, kind: ParamType) -> bool:
    """Return whether a marker's type can be that of a parameter, or of a list's items."""
    if kind is ParamType.STRING:
        return of.kind not in _PLAIN
    return (of.kind, kind) in {(Kind.UINT, ParamType.UINT), (Kind.INT, ParamType.INT)}


# -- grammar -- #


def needs_address(of: AbiType) -> bool:
    """Return whether each text of a type has an address: not only in a list of any length."""
    if of.kind is Kind.ARRAY:
        return False
    return of.kind is Kind.ADDRESS or any(map(needs_address, of.parts))


class TypedRules:
    """The rules and terminals of typed texts in a grammar in llguidance's Lark, each once."""

    def __init__(self, handles: Sequence[str]) -> None:
        """Start without rules. Input: the handles of the addresses in the prompt."""
        self._handles = tuple(handles)
        self._parts: dict[AbiType, str] = {}
        self._rules: dict[str, str] = {}
        self._terminals: dict[str, str] = {}

    @property
    def lines(self) -> tuple[str, ...]:
        """The rules and terminals."""
        rules = [f"{name}: {body}" for body, name in self._rules.items()]
        return (*rules, *(f"{name}: {body}" for name, body in self._terminals.items()))

    def add(self, of: AbiType) -> str:
        """Return the name of the rule of a typed text in JSON."""
        return self._add_rule("typed", f'"\\"" {self._add_part(of)} "\\""')

    def _add_part(self, of: AbiType) -> str:
        """Return the expression of a value of a type."""
        if of not in self._parts:
            build = self._add_composite if of.parts else self._add_leaf
            self._parts[of] = build(of)
        return self._parts[of]

    def _add_composite(self, of: AbiType) -> str:
        if of.kind is Kind.TUPLE:
            members = ' ", " '.join(map(self._add_part, of.parts))
            return self._add_rule("part", f'"(" {members} ")"')
        (item,) = of.parts
        if of.kind is Kind.ARRAY and not self._handles and needs_address(item):
            return self._add_rule("part", '"[]"')
        part = self._add_part(item)
        if of.kind is Kind.FIXED_ARRAY:
            more = f' (", " {part}){{{of.size - 1}}}' if of.size > 1 else ""
            return self._add_rule("part", f'"[" {part}{more} "]"')
        items = f'{part} (", " {part}){{0,{MAX_ARRAY_ITEMS - 1}}}'
        return self._add_rule("part", f'"[" ({items})? "]"')

    def _add_leaf(self, of: AbiType) -> str:
        if of.kind is Kind.ADDRESS:
            self._terminals["handle"] = " | ".join(map(json.dumps, self._handles))
            return "handle"
        name = f"TYPED_{str(of).upper()}"
        self._terminals[name] = _build_terminal(of)
        # llguidance has no empty terminals.
        return f"{name}?" if of.kind is Kind.BYTES else name

    def _add_rule(self, prefix: str, body: str) -> str:
        """Return the name of the rule with a body; of one body there is one rule."""
        return self._rules.setdefault(body, f"{prefix}{len(self._rules)}")


def _build_terminal(of: AbiType) -> str:
    """Return the body of the terminal of an elementary type, within a text in JSON."""
    numbers = of.numbers
    if numbers is not None:
        return f"/{build_range_pattern(numbers)}/"
    match of.kind:
        case Kind.FIXED_BYTES:
            return f"/[0-9a-f]{{{2 * of.size}}}/"
        case Kind.BYTES:
            return f"/([0-9a-f]{{2}}){{1,{MAX_TYPED_BYTES}}}/"
        case Kind.STRING:
            character = rf"""([^"'\\{CONTROL_CLASS}]|\\"|\\\\['nrt]|\\\\\\\\)"""
            return f"/'{character}{{0,{MAX_TEXT_CHARACTERS}}}'/ & {NO_HEX}"
    return "/true|false/"


# -- parsing -- #


def read_typed_text(of: AbiType, text: str, *, least_items: int = 0) -> tuple[LeafValue, ...]:
    """Parse a typed text; return the leaves in order. Handles are not resolved.

    Input:
        of: the type.
        text: the text, decoded from JSON, with handles in place of addresses.
        least_items: lower bound of the items of each `T[]`.

    Raises: TypedTextError: the text does not have the form of the type.
    """
    reader = _Reader(text, least_items)
    reader.read(of, 0)
    if reader.at != len(text):
        raise TypedTextError(f"{_place(text, reader.at)}: must be the end of {of}")
    return tuple(reader.leaves)


class _Reader:
    """A cursor in a typed text. Each character is read once, and the type bounds the recursion."""

    def __init__(self, text: str, least_items: int) -> None:
        self.at = 0
        self.leaves: list[LeafValue] = []
        self._text = text
        self._least_items = least_items

    def read(self, of: AbiType, index: int) -> None:
        """Read a value of a type, whose first leaf has an index."""
        if of.kind is Kind.TUPLE:
            self._read_tuple(of, index)
        elif of.parts:
            self._read_items(of, index)
        else:
            self._read_leaf(of, index)

    def _read_tuple(self, of: AbiType, index: int) -> None:
        separator = "("
        for member in of.parts:
            self._skip(separator, of)
            self.read(member, index)
            index += len(member.leaves)
            separator = ", "
        self._skip(")", of)

    def _read_items(self, of: AbiType, index: int) -> None:
        (item,) = of.parts
        least = of.size or self._least_items
        most = of.size or MAX_ARRAY_ITEMS
        count = 0
        self._skip("[", of)
        is_empty = not of.size and self._text.startswith("]", self.at)
        while not is_empty and (count == 0 or self._text.startswith(", ", self.at)):
            if count == most:
                raise TypedTextError(
                    f"{_place(self._text, self.at)}: {of} has at most {most} items"
                )
            self._skip(", " if count else "", of)
            self.read(item, index)
            count += 1
        if count < least:
            raise TypedTextError(f"{_place(self._text, self.at)}: {of} has at least {least} items")
        self._skip("]", of)

    def _read_leaf(self, of: AbiType, index: int) -> None:
        pattern = _FIXED[of.size] if of.kind is Kind.FIXED_BYTES else _PATTERNS[of.kind]
        match = pattern.match(self._text, self.at)
        if match is None or not _is_value(of, match[0]):
            raise TypedTextError(f"{_place(self._text, self.at)}: must be {_describe_leaf(of)}")
        self.leaves.append(LeafValue(of, index, self.at, match.end(), match[0]))
        self.at = match.end()

    def _skip(self, sign: str, of: AbiType) -> None:
        if not self._text.startswith(sign, self.at):
            raise TypedTextError(f"{_place(self._text, self.at)}: must be '{sign}' of {of}")
        self.at += len(sign)


def _is_value(of: AbiType, text: str) -> bool:
    """Return whether a text of a leaf's form is within the limits."""
    numbers = of.numbers
    if numbers is not None:
        return int(text) in numbers
    if of.kind is Kind.STRING:
        characters = len(text) - len("''") - len(_ESCAPE.findall(text))
        return characters <= MAX_TEXT_CHARACTERS and not _HEXADECIMAL.search(text)
    return True


def _describe_leaf(of: AbiType) -> str:
    numbers = of.numbers
    if numbers is not None:
        return f"{of}: a whole number from {numbers.start} to {numbers.stop - 1}"
    if of.kind is Kind.FIXED_BYTES:
        return f"{of}: {2 * of.size} lower-case hexadecimal digits without 0x"
    return f"{of}: {_WORDS[of.kind]}"


def _place(text: str, at: int) -> str:
    """Return a place and the character there."""
    rest = text[at : at + 20]
    return f"character {at}, {json.dumps(rest)}" if rest else f"character {at}, the end"


def expand_typed_text(of: AbiType, text: str, book: AddressBook) -> str:
    """Return a typed text with addresses in place of the handles in addresses and strings.

    Raises: TypedTextError: the text does not have the form of the type. KeyError: unknown handle.
    """
    pieces: list[str] = []
    reached = 0
    for leaf in read_typed_text(of, text):
        pieces += text[reached : leaf.start], _expand_leaf(leaf, book)
        reached = leaf.end
    return "".join([*pieces, text[reached:]])


def _expand_leaf(leaf: LeafValue, book: AddressBook) -> str:
    if leaf.abi_type.kind is Kind.ADDRESS:
        return book.resolve(leaf.text)
    if leaf.abi_type.kind is Kind.STRING:
        # An escape's letter is not part of the word behind it.
        return "".join(
            piece if is_escape else book.expand(piece)
            for piece, is_escape in split_escapes(leaf.text)
        )
    return leaf.text


def intern_typed_text(text: str, book: AddressBook) -> str:
    """Replace the addresses in a typed text by handles: the inverse of `expand_typed_text`.

    No type is needed: hexadecimal digits of other leaves have no `0x`.
    """
    return "".join(
        piece if is_escape else book.intern(piece) for piece, is_escape in split_escapes(text)
    )


def split_escapes(text: str) -> list[tuple[str, bool]]:
    """Return the escapes of a typed text and the pieces between, each with whether an escape."""
    return [(piece, place % 2 == 1) for place, piece in enumerate(_ESCAPE.split(text))]


def quote_text(text: str) -> str:
    """Return a text as a `string` in a typed text."""
    return f"'{text.translate(_ESCAPES)}'"


def unquote_text(text: str) -> str:
    """Return the text of a `string` in a typed text."""
    return _ESCAPE.sub(lambda match: _UNESCAPED[match[0]], text[1:-1])


# -- the short format -- #


def compose_typed_text(of: AbiType, values: Sequence[str]) -> str:
    """Return the typed text of values, each in JSON, in the order of the type's leaves."""
    return _compose(of, iter(values))


def _compose(of: AbiType, values: Iterator[str]) -> str:
    if of.kind is Kind.TUPLE:
        return f"({', '.join(_compose(part, values) for part in of.parts)})"
    if of.parts:
        return f"[{', '.join(_compose(of.parts[0], values) for _ in range(of.size or 1))}]"
    value = next(values)
    text = json.loads(value) if value.startswith('"') else value
    return quote_text(text) if of.kind is Kind.STRING else str(text)
