"""Hexadecimal words of a text: the values that `bytesN` and `bytes` copy in the short format.

A word is whole bytes, with or without `0x`, between characters that are neither letters nor digits;
its value has lower-case digits and no `0x`. `0x` and 40 digits are an address, right or wrong, and
no such word. A word without `0x` is a value of `bytes` if it has a letter and at least four bytes:
an amount or `be` is none.

Source: docs/architecture.md#typed-texts, #short-format.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from precompiles.spec import MAX_COPIES, MAX_TYPED_BYTES

if TYPE_CHECKING:
    from collections.abc import Mapping

_ADDRESS_DIGITS = 40
_LEAST_DIGITS = 8
"""Digits of a selector, the shortest data of a call."""

_START = r"(?:(?<![0-9A-Za-z])|(?<=\\[nr]))"
"""Behind the letter of an escaped line break begins a word as well."""

_DIGITS = "(?P<digits>[0-9A-Fa-f]++)(?![0-9A-Za-z])"
_WORD = re.compile(f"{_START}(?P<prefix>0[xX])?{_DIGITS}")
_LETTER = re.compile("[a-f]")
_PREFIXED = re.compile(f"{_START}0[xX]{_DIGITS}")
_QUOTED_OR_PREFIXED = re.compile(
    rf'"[^"]*(?:"|\Z)|“[^”]*(?:”|\Z)|«[^»]*(?:»|\Z)|(?P<word>{_PREFIXED.pattern})'
)


ANY_SIZE = 0
"""Key of the values of `bytes` among those of `bytesN` by N."""


def read_hexadecimal_words(text: str) -> Mapping[int, tuple[str, ...]]:
    """Return the values of a text's hexadecimal words by their sizes in bytes.

    Output: the first `MAX_COPIES` different values of each `bytesN`, by N, and those of `bytes`,
            by `ANY_SIZE`, in order.
    """
    found: dict[int, dict[str, None]] = {}
    for match in _WORD.finditer(text):
        digits, is_prefixed = match["digits"].lower(), match["prefix"] is not None
        if is_prefixed and len(digits) == _ADDRESS_DIGITS:
            continue
        if len(digits) % 2 or len(digits) > 2 * MAX_TYPED_BYTES:
            continue
        sizes = [len(digits) // 2]
        if is_prefixed or (len(digits) >= _LEAST_DIGITS and _LETTER.search(digits)):
            sizes.append(ANY_SIZE)
        for size in sizes:
            values = found.setdefault(size, {})
            if len(values) < MAX_COPIES:
                values[digits] = None
    return {size: tuple(values) for size, values in found.items()}


def has_prefixed_word(text: str) -> bool:
    """Return whether a text is a hexadecimal word with `0x`, and no address."""
    match = _PREFIXED.fullmatch(text)
    return match is not None and len(match["digits"]) != _ADDRESS_DIGITS


def quote_hexadecimal_words(question: str) -> str:
    """Return a question in which the words with `0x` that no quotation has are quotations.

    A thought has no `0x`, so a clause with such a word would be no thought.
    """

    def quote(match: re.Match[str]) -> str:
        word = match["word"]
        return f'"{word}"' if word and has_prefixed_word(word) else match[0]

    return _QUOTED_OR_PREFIXED.sub(quote, question)
