"""Random values of every parameter of real contracts, through texts and the ERC's types.

A value is written as the action input that a model generates, with handles for addresses, and
parsed by the precompile. Where the ERC has a type for it, the parsed value is encoded; else its
typed text is read and encoded. On the chain, the whole value is a typed text. eth_abi encodes the
value itself: the bytes must be equal, and decode to the value.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eth_abi import decode, encode
from eth_typing import Address
from eth_utils import to_canonical_address, to_checksum_address
from eth_utils.abi import get_abi_input_types

from benchmarks.contract_world import REAL_CONTRACTS, load_real_artifact
from precompiles.abi import ParamDescription, ParamType, ToolUse
from precompiles.abi_types import MARKER, AbiType, Kind, parse_type
from precompiles.address_handles import AddressBook
from precompiles.react import GrammarViolationError, parse
from precompiles.spec import MAX_ARRAY_ITEMS, MAX_TEXT_CHARACTERS, MAX_TYPED_BYTES
from precompiles.tool_metadata import Tool
from precompiles.typed_texts import (
    attach_types,
    quote_text,
    read_typed_text,
    unquote_text,
)
from pyevm_agents.devnet.swap_world import UNISWAP_CONTRACTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from precompiles.typed_texts import LeafValue

    TextEncoder = Callable[[str, Sequence[str]], Sequence[bytes]]
    """Encodes typed texts of a type: what `AbiText.encode` does on the chain."""

    ValueEncoder = Callable[[AbiType, Sequence[object], Sequence[str]], Sequence[bytes]]
    """Encodes values of a type, whose addresses are given."""

MANY_ITEMS_SHARE = 0.01
"""Share of arrays with up to `MAX_ARRAY_ITEMS` items. The others have at most `FEW_ITEMS`."""

FEW_ITEMS = 4
EDGE_SHARE = 0.2
"""Share of integers at an edge of their range."""

ADDRESSES = 32
"""Addresses of the values of a type: the precompile names at most 64."""

SHOWN_FAILURES = 3

_HEXADECIMAL = re.compile("0[xX]")
_ERC_TYPES = {
    Kind.STRING: ParamType.STRING,
    Kind.ADDRESS: ParamType.ADDRESS,
    Kind.BOOL: ParamType.BOOL,
    Kind.INT: ParamType.INT,
    Kind.UINT: ParamType.UINT,
}
"""Types that the ERC has, and lists of which it has."""

LETTERS = "abcx XYZ 0189 ,()[]'\\\"-_.:/äß€語🙂"
"""Characters of random texts: those that a typed text separates or escapes by, and others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodingCount:
    """What the values of a type came to."""

    abi_type: str
    parameters: int
    """Parameters that have the type."""

    values: int
    equal: int
    failures: tuple[str, ...] = field(default=())
    """The first of them, with their texts."""


def collect_types() -> Mapping[str, int]:
    """Return the types of the parameters of all functions of the real contracts, with counts."""
    return Counter(
        abi_type
        for name in (*REAL_CONTRACTS, *UNISWAP_CONTRACTS)
        for element in load_real_artifact(name).abi
        if element["type"] == "function"
        for abi_type in get_abi_input_types(element)
    )


def count_encodings(count: int, seed: int = 0) -> Iterator[EncodingCount]:
    """Encode random values of each type as a tool's arguments: parsed by the precompile.

    Input:  count: values of each type.
    """
    return _count_each(count, seed, _encode_arguments)


def count_text_encodings(
    encode_texts: TextEncoder, count: int, seed: int = 0
) -> Iterator[EncodingCount]:
    """Encode random values of each type as typed texts, with whole addresses.

    Input:  encode_texts: such as `AbiText.encode` on the chain; count: values of each type.
    """

    def encode_values(of: AbiType, values: Sequence[object], _: Sequence[str]) -> Sequence[bytes]:
        return encode_texts(str(of), [write_text(of, value) for value in values])

    return _count_each(count, seed, encode_values)


def _count_each(count: int, seed: int, encode_values: ValueEncoder) -> Iterator[EncodingCount]:
    for abi_type, parameters in sorted(collect_types().items()):
        of = parse_type(abi_type)
        failures = ["not a type of typed texts"]
        if of is not None:
            chance = random.Random(f"{seed} {abi_type}")  # noqa: S311 - by its seed
            addresses = [to_checksum_address(chance.randbytes(20)) for _ in range(ADDRESSES)]
            values = [draw_value(of, chance, addresses) for _ in range(count)]
            found = encode_values(of, values, addresses)
            failures = [
                write_text(of, value)
                for value, data in zip(values, found, strict=True)
                if not _is_equal(abi_type, value, data)
            ]
        yield EncodingCount(
            abi_type=abi_type,
            parameters=parameters,
            values=count,
            equal=0 if of is None else count - len(failures),
            failures=tuple(failures[:SHOWN_FAILURES]),
        )


def _encode_arguments(
    of: AbiType, values: Sequence[object], addresses: Sequence[str]
) -> list[bytes]:
    """Encode values as a tool's arguments."""
    tool, book = _build_tool(of), AddressBook("", addresses)
    return [_encode_argument(of, value, tool, book) for value in values]


def _build_tool(of: AbiType) -> Tool:
    """Return a tool with one parameter of a type: of the ERC's, else a typed text.

    A list of elementary items is a list of the ERC's.
    """
    is_list = of.kind is Kind.ARRAY and not of.parts[0].parts
    item = of.parts[0] if is_list else of
    kind = _ERC_TYPES.get(item.kind, ParamType.STRING)
    param_type = ParamType(kind + ParamType.STRING_ARRAY) if is_list else kind
    described = ParamDescription(
        param_type=param_type, name="value", description=f"a value {MARKER}{item}]"
    )
    return Tool(
        address=Address(bytes(20)),
        name="call",
        description="Calls",
        parameters=attach_types([described]),
    )


def _encode_argument(of: AbiType, value: object, tool: Tool, book: AddressBook) -> bytes:
    """Encode a value that the precompile parses from an action input; nothing if it does not."""
    (parameter,) = tool.parameters
    item = parameter.text_type
    if item is None:
        given = _use_handles(value, book)
    elif isinstance(value, tuple) and parameter.param_type is ParamType.STRING_ARRAY:
        given = [book.intern(write_text(item, one)) for one in value]
    else:
        given = book.intern(write_text(item, value))
    arguments = json.dumps({"value": given}, ensure_ascii=False)
    try:
        use = parse(f" I call it.\nAction: call\nAction Input: {arguments}", [tool], book)
    except GrammarViolationError:
        return b""
    said: object = use.values[0] if isinstance(use, ToolUse) else None
    if item is not None:
        texts = said if isinstance(said, list) else [said]
        values = [read_value(item, str(text)) for text in texts]
        said = values if isinstance(said, list) else values[0]
    return encode([str(of)], [said])


def _use_handles(value: object, book: AddressBook) -> object:
    """Return a value of an ERC type as JSON has it, with handles in place of addresses."""
    match value:
        case tuple():
            return [_use_handles(item, book) for item in value]
        case str():
            return book.intern(value)
        case _:
            return value


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


def _is_equal(abi_type: str, value: object, data: bytes) -> bool:
    """Return whether data are a value's encoding, and decode to it."""
    if data != encode([abi_type], [value]):
        return False
    (decoded,) = decode([abi_type], data)
    return _canonical(decoded) == _canonical(value)


def _canonical(value: object) -> object:
    match value:
        case tuple() | list():
            return tuple(map(_canonical, value))
        case str() if len(value) == len("0x") + 40 and value.startswith("0x"):
            return to_canonical_address(value)
        case _:
            return value
