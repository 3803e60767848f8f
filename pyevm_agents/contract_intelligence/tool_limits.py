"""Limits of the contracts of `AbiToolFactory`'s tools, and the types that can be read.

A plan within the limits can be deployed; `tests/contracts/test_tool_limits.py` compares the limits
with the contracts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from precompiles.spec import WORD_BYTES

MAX_TYPE_DEPTH = 16
"""Arrays and tuples within each other. Source: AbiTypes.sol."""

MAX_TYPE_BYTES = 2_048
"""Characters of the types of a function's parameters, or of its outputs. Source: AbiTypes.sol."""

MAX_MEMBERS = 64
"""Members of a tuple, and parameters of a function. Source: AbiTypes.sol."""

MAX_WORDS = 65_536
"""Words of a static type. Source: AbiTypes.sol."""

MAX_BASIS_POINTS = 10_000
"""Upper bound of a slippage. Source: AbiToolCheck.sol."""

MAX_SECONDS = 2**32 - 1
"""Upper bound of a deadline. Source: AbiToolCheck.sol."""

MAX_DECIMALS = 76
"""Decimals of a unit. Source: AbiToolTexts.sol."""

MAX_SPEC_BYTES = 24_576 - 45
"""Bytes of a tool's encoded data. Source: AbiToolFactory.sol, EIP-170."""

LAST_PRECOMPILE = 0xFFFF
"""Addresses up to this one are no targets. Source: AgentAccount.sol."""

WORD_BITS, BYTE_BITS = 256, 8
_ELEMENTARY = re.compile("(?P<word>[a-z]{1,8})(?P<size>[1-9][0-9]{0,2})?")
_ITEMS = re.compile(r"\[(?P<items>[1-9][0-9]{0,4})?\]")
_PLAIN = frozenset({"bool", "address", "string", "bytes"})
_FUNCTION = re.compile(r"(?<![a-z])function(?![a-z0-9])")
_FIXED = re.compile(r"(?<![a-z])u?fixed(?:[0-9]+x[0-9]+)?(?![a-z0-9])")


class TypeFlawError(ValueError):
    """A type that the contracts do not read; the message has the reason."""


@dataclass(frozen=True, slots=True)
class _Shape:
    """The properties of a type that the limits count."""

    depth: int = 0
    words: int = 1
    is_dynamic: bool = False


def find_type_flaw(types: str) -> str:
    """Return why the contracts can't have types of parameters or outputs; empty for valid types.

    Input: a tuple such as `(address,uint256)`, or `()`.
    """
    try:
        _check_types(types)
    except TypeFlawError as flaw:
        return str(flaw)
    return ""


def fit_outputs(types: str) -> str:
    """Return types as which a tool can read outputs; `()` for outputs that are left out.

    A function's address and selector, and decimals, are read as bytes, whose text is hexadecimal.
    """
    fitting = _FIXED.sub("bytes32", _FUNCTION.sub("bytes24", types))
    return "()" if find_type_flaw(fitting) else fitting


def _check_types(types: str) -> None:
    if types == "()":
        return
    if len(types) > MAX_TYPE_BYTES:
        raise TypeFlawError(
            f"types of {len(types):,} characters: must be at most {MAX_TYPE_BYTES:,}"
        )
    if not types.startswith("("):
        raise TypeFlawError("types must be a tuple")
    _, end = _read_type(types, 0, 0)
    if end != len(types) or not types.endswith(")"):
        raise TypeFlawError(f"types end at character {end}: must be one tuple")


def _read_type(text: str, at: int, depth: int) -> tuple[_Shape, int]:
    """Return the type that starts at a place, and the end."""
    if depth > MAX_TYPE_DEPTH:
        raise TypeFlawError(f"more than {MAX_TYPE_DEPTH} arrays and tuples within each other")
    is_tuple = text[at : at + 1] == "("
    shape, at = _read_tuple(text, at, depth) if is_tuple else _read_word(text, at)
    while text[at : at + 1] == "[":
        items = _ITEMS.match(text, at)
        if items is None:
            raise TypeFlawError(f"array at character {at}: must have 1 to 99,999 items, or []")
        count, at = int(items["items"] or 0), items.end()
        is_dynamic = not count or shape.is_dynamic
        shape = _Shape(shape.depth + 1, 1 if is_dynamic else count * shape.words, is_dynamic)
        _check_shape(shape)
    _check_shape(shape)
    return shape, at


def _read_tuple(text: str, at: int, depth: int) -> tuple[_Shape, int]:
    members: list[_Shape] = []
    sign = "("
    while sign != ")":
        if len(members) == MAX_MEMBERS:
            raise TypeFlawError(f"more than {MAX_MEMBERS} members of a tuple, or parameters")
        member, at = _read_type(text, at + 1, depth + 1)
        members.append(member)
        sign = text[at : at + 1]
        if sign not in {",", ")"}:
            raise TypeFlawError(f"tuple at character {at}: must go on with a comma, or end")
    is_dynamic = any(each.is_dynamic for each in members)
    words = 1 if is_dynamic else sum(each.words for each in members)
    shape = _Shape(1 + max(each.depth for each in members), words, is_dynamic)
    _check_shape(shape)
    return shape, at + 1


def _check_shape(shape: _Shape) -> None:
    if shape.depth > MAX_TYPE_DEPTH:
        raise TypeFlawError(f"more than {MAX_TYPE_DEPTH} arrays and tuples within each other")
    if shape.words > MAX_WORDS:
        raise TypeFlawError(f"a static type of more than {MAX_WORDS:,} words")


def _read_word(text: str, at: int) -> tuple[_Shape, int]:
    found = _ELEMENTARY.match(text, at)
    if found is None:
        raise TypeFlawError(f"no type at character {at}")
    word, size = found["word"], int(found["size"] or 0)
    is_integer = word in {"uint", "int"} and 0 < size <= WORD_BITS and size % BYTE_BITS == 0
    is_bytes = word == "bytes" and 0 < size <= WORD_BYTES
    if not is_integer and not is_bytes and (size or word not in _PLAIN):
        raise TypeFlawError(f"type {found[0]}: is none that a tool can have")
    return _Shape(is_dynamic=word in {"string", "bytes"} and not size), found.end()
