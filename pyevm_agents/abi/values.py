"""Contract ABIs in JSON: errors, functions and events, and the decoding of arguments.

Entries come from files and clients, and data from contracts: both are untrusted. Types, sizes and
nesting have limits, and malformed entries are left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from eth_abi import decode
from eth_abi.exceptions import ABITypeError, DecodingError, ParseError
from eth_abi.grammar import ABIType, BasicType, TupleType, parse
from eth_utils import keccak, to_checksum_address
from eth_utils.abi import collapse_if_tuple

MAX_ABI_ENTRIES = 4_096
MAX_TYPE_CHARACTERS = 1_024
MAX_NAME_CHARACTERS = 256
MAX_NESTING = 16
"""Tuples in each other, in a type."""

MAX_TOPICS = 4
CACHED_SELECTORS = 65_536

MAX_DECODED_BYTES = (1 << 20, 16 << 10, 2 << 10)
"""The most data that are decoded: without arrays, with arrays, with arrays in arrays. Items may
share their bytes, so the decoded size grows with a power of this number."""

MAX_SHOWN_BYTES = 64
MAX_SHOWN_CHARACTERS = 300
MAX_SHOWN_ITEMS = 16
"""The most of a value that its text has."""

PLAIN_NUMBER = 9_999
"""The largest number without an exponent beside it. Source: forge's traces."""

_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_TYPE = re.compile(r"(?!.*\(\))[a-z0-9(),\[\]]+")
_ALIAS = re.compile(r"(?<![a-z])u?int(?![0-9a-z])")
"""Types that people write for `uint256` and `int256`."""

_FIXED_SIZE = re.compile(r"\[(?:0[0-9]*|[0-9]{5,})\]")
"""Array sizes of zero, or of more items than any error has."""


# -- definitions -- #

Members = tuple[tuple[str, "Members"], ...]
"""The members of a tuple: the name of each, empty if it has none, and its own members. An array has
those of its items; other types have none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AbiDefinition:
    """An entry of an ABI with a name and arguments."""

    name: str
    types: tuple[str, ...]
    argument_names: tuple[str, ...]
    argument_members: tuple[Members, ...] = ()
    """The members of each argument; empty if no argument has any."""

    @property
    def signature(self) -> str:
        """The name and the types, such as `Undone(uint256)`."""
        return f"{self.name}({','.join(self.types)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorDefinition(AbiDefinition):
    """A custom error of a contract."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionDefinition(AbiDefinition):
    """A function of a contract."""

    output_types: tuple[str, ...] = ()
    output_names: tuple[str, ...] = ()
    output_members: tuple[Members, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EventDefinition(AbiDefinition):
    """An event of a contract that is not anonymous."""

    indexed: tuple[bool, ...]
    """Whether each argument is a topic."""


def normalize_entry(entry: object) -> Mapping[str, Any] | None:
    """Return an entry with a type; None for a value that is no object.

    One without a type is a function. Source: Solidity's ABI specification.
    """
    if not isinstance(entry, Mapping):
        return None
    return entry if "type" in entry or "name" not in entry else {**entry, "type": "function"}


def parse_abi_entry(value: object) -> AbiDefinition | None:
    """Return an error's, a function's or an event's definition; None for others.

    Malformed entries and anonymous events have none.
    """
    entry = normalize_entry(value)
    # A tuple: a malformed type may be unhashable.
    if entry is None or entry.get("type") not in ("error", "event", "function"):
        return None
    name, inputs = entry.get("name"), _parse_parameters(entry.get("inputs", []))
    if not is_contract_name(name) or inputs is None:
        return None
    match entry["type"]:
        case "error":
            return ErrorDefinition(
                name=str(name),
                types=inputs.types,
                argument_names=inputs.names,
                argument_members=inputs.members,
            )
        case "function":
            outputs = _parse_parameters(entry.get("outputs", [])) or _Parameters((), (), ())
            return FunctionDefinition(
                name=str(name),
                types=inputs.types,
                argument_names=inputs.names,
                argument_members=inputs.members,
                output_types=outputs.types,
                output_names=outputs.names,
                output_members=outputs.members,
            )
        case _:
            indexed = tuple(bool(parameter.get("indexed")) for parameter in entry.get("inputs", []))
            if entry.get("anonymous") or sum(indexed) >= MAX_TOPICS:
                return None
            return EventDefinition(
                name=str(name),
                types=inputs.types,
                argument_names=inputs.names,
                argument_members=inputs.members,
                indexed=indexed,
            )


class _Parameters(NamedTuple):
    types: tuple[str, ...]
    names: tuple[str, ...]
    members: tuple[Members, ...]


def _parse_parameters(parameters: object) -> _Parameters | None:
    """Return the types, the names and the members of parameters; None if malformed."""
    if not isinstance(parameters, list | tuple):
        return None
    types = [_format_type(parameter) for parameter in parameters]
    if None in types or sum(len(text or "") for text in types) > MAX_TYPE_CHARACTERS:
        return None
    members = tuple(_list_members(parameter) for parameter in parameters)
    return _Parameters(
        types=tuple(text for text in types if text is not None),
        names=tuple(_format_name(parameter.get("name")) for parameter in parameters),
        members=members if any(members) else (),
    )


def _list_members(parameter: Mapping[str, Any]) -> Members:
    """Return the members of a well-formed parameter."""
    if not parameter["type"].startswith("tuple"):
        return ()
    return tuple(
        (_format_name(component.get("name")), _list_members(component))
        for component in parameter["components"]
    )


def is_contract_name(value: object) -> bool:
    """Return whether a value is a Solidity identifier of a reasonable length."""
    return (
        isinstance(value, str)
        and len(value) <= MAX_NAME_CHARACTERS
        and _NAME.fullmatch(value) is not None
    )


def _format_name(value: object) -> str:
    return str(value) if is_contract_name(value) else ""


def _format_type(parameter: object) -> str | None:
    """Return a parameter's type with tuples written out; None if malformed."""
    if not isinstance(parameter, Mapping) or not _is_well_formed(parameter):
        return None
    text = _ALIAS.sub(r"\g<0>256", collapse_if_tuple(dict(parameter)))
    return text if is_abi_type(text) else None


def _is_well_formed(parameter: Mapping[str, object], depth: int = 0) -> bool:
    text, components = parameter.get("type"), parameter.get("components", [])
    if not isinstance(text, str) or depth > MAX_NESTING:
        return False
    if not text.startswith("tuple"):
        return True
    # A tuple without components has no written form: an empty list is one.
    return (
        "components" in parameter
        and isinstance(components, list)
        and all(
            isinstance(component, Mapping) and _is_well_formed(component, depth + 1)
            for component in components
        )
    )


@lru_cache(CACHED_SELECTORS)
def is_abi_type(text: str) -> bool:
    """Return whether a text is an ABI type that decoding can handle within bounds."""
    if len(text) > MAX_TYPE_CHARACTERS or not _TYPE.fullmatch(text) or _FIXED_SIZE.search(text):
        return False
    try:
        parse(text).validate()
    except (ABITypeError, ParseError, ValueError):
        return False
    return True


@lru_cache(CACHED_SELECTORS)
def compute_topic(signature: str) -> bytes:
    """Return the hash of a signature: an event's first topic; the first four bytes are a function's
    or an error's selector.
    """  # noqa: D205 - one sentence
    return keccak(text=signature)


# -- values -- #


def decode_values(types: Sequence[str], data: bytes) -> tuple[object, ...] | None:
    """Return ABI-encoded values; None for data that do not decode, or exceed the limits."""
    if len(data) > get_max_decoded_bytes(types):
        return None
    try:
        return tuple(decode(types, data))
    except (DecodingError, ABITypeError, ParseError, UnicodeDecodeError, OverflowError):
        return None


def get_max_decoded_bytes(types: Sequence[str]) -> int:
    """Return how many bytes of data with these types are decoded at most."""
    arrays = max((text.count("[") for text in types), default=0)
    return MAX_DECODED_BYTES[min(arrays, 2)]


def decode_event(
    event: EventDefinition, topics: Sequence[bytes], data: bytes
) -> tuple[object, ...] | None:
    """Return the arguments of an event; None for another log.

    Arguments of dynamic types that are topics are hashed: theirs are the 32 bytes of the topic.
    """
    arguments = [*zip(event.types, event.indexed, strict=True)]
    in_data = decode_values([text for text, is_topic in arguments if not is_topic], data)
    if in_data is None or len(topics) != 1 + sum(event.indexed):
        return None
    rest, hashed = iter(in_data), iter(topics[1:])
    values: list[object] = []
    for text, is_topic in arguments:
        if not is_topic:
            values.append(next(rest))
            continue
        topic = next(hashed)
        own = None if is_hashed_topic(text) else decode_values([text], topic)
        values.append(topic if own is None else own[0])
    return tuple(values)


def is_hashed_topic(abi_type: str) -> bool:
    """Return whether a topic of a type is the hash of the value: of arrays, tuples and texts."""
    return abi_type in {"bytes", "string"} or abi_type.endswith((")", "]"))


def format_arguments(
    types: Sequence[str], names: Sequence[str], values: Sequence[object], separator: str = ": "
) -> str:
    """Return values as text, each after the name, if any, such as `to: 0x…, 5`."""
    return ", ".join(
        f"{name}{separator}{text}" if name else text
        for name, text in zip(
            names,
            (format_value(kind, value) for kind, value in zip(types, values, strict=True)),
            strict=True,
        )
    )


def format_value(abi_type: str, value: object) -> str:
    """Return a decoded value as text. Long ones are cut."""
    return _format_parsed(parse(abi_type), value)


def _format_parsed(kind: ABIType, value: object) -> str:
    if kind.is_array and isinstance(value, Sequence):
        return f"[{_format_items([kind.item_type] * len(value), value)}]"
    if isinstance(kind, TupleType) and isinstance(value, Sequence):
        return f"({_format_items(kind.components, value)})"
    if isinstance(value, bytes):
        return format_bytes(value)
    if isinstance(value, int):
        return str(value).lower() if isinstance(value, bool) else format_number(value)
    is_address = isinstance(kind, BasicType) and kind.base == "address"
    return _format_text(str(value), is_address=is_address)


def _format_text(text: str, *, is_address: bool) -> str:
    if is_address:
        return str(to_checksum_address(text))
    cut = f"{text[:MAX_SHOWN_CHARACTERS]}…" if len(text) > MAX_SHOWN_CHARACTERS else text
    return json.dumps(cut, ensure_ascii=False)


def _format_items(kinds: Sequence[ABIType], values: Sequence[object]) -> str:
    shown = [
        _format_parsed(kind, value)
        for kind, value in zip(kinds[:MAX_SHOWN_ITEMS], values[:MAX_SHOWN_ITEMS], strict=True)
    ]
    if len(values) > MAX_SHOWN_ITEMS:
        shown.append(f"… {len(values) - MAX_SHOWN_ITEMS:,} more")
    return ", ".join(shown)


def format_bytes(data: bytes) -> str:
    """Return bytes in hexadecimal. Long ones are cut, and their length is added."""
    if len(data) <= MAX_SHOWN_BYTES:
        return "0x" + data.hex()
    return f"0x{data[:MAX_SHOWN_BYTES].hex()}… ({len(data):,} bytes)"


def format_number(number: int) -> str:
    """Return a number, with an exponent beside a large one: `1500000 [1.5e6]`.

    Source: forge's traces.
    """
    digits = str(abs(number))
    if abs(number) <= PLAIN_NUMBER:
        return str(number)
    mantissa = f"{digits[0]}.{digits[1:4]}".rstrip("0").rstrip(".")
    return f"{number} [{'-' if number < 0 else ''}{mantissa}e{len(digits) - 1}]"
