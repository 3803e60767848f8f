"""The text of a call, as a reader of the request would write it, and the request beside it.

    transfer: Sends coins to a person. to (who is paid) = Bob; value = 5 USDC
    post note: Adds a note to the board. text = "the lift is out"; pinned = ?

A judge of orders compares the two texts (`judge.py`). Both have handles in place of addresses, and
the first words alone of a long quotation. Each word costs tokens, so descriptions are cut as well.

Source: docs/architecture.md#short-format.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

UNKNOWN = "?"
"""The value of an argument that is left to a model."""

MAX_TOOL_WORDS = 24
"""Words read of a tool's description: two sentences of NatSpec; side conditions follow them."""

MAX_PARAMETER_WORDS = 8
"""Words read of a parameter's description."""

MAX_QUOTED_WORDS = 8
"""Words read of a quotation: which text it is, the rules have compared."""

_NAME = re.compile("[A-Z]?[a-z]+[0-9]*|[A-Z]+[0-9]*(?![a-z])|[0-9]+")
_WORD = re.compile("[0-9A-Za-z]+")
_QUOTED = re.compile('"([^"]*)"|\u201c([^\u201d]*)\u201d|\u00ab([^\u00bb]*)\u00bb')
_EMPTY = frozenset(("the", "a", "an", "of"))


@dataclass(frozen=True, slots=True)
class CallArgument:
    """An argument of a call: the parameter's name, its description without marker, the value."""

    name: str
    description: str
    value: str
    """As `show_number` and `show_text` return it, a handle, several of them joined by `, `, or
    `UNKNOWN`."""


def write_call(name: str, description: str, arguments: Sequence[CallArgument]) -> str:
    """Return the text of a call.

    Input:  the tool's name; its description without marker; the arguments, in order. Descriptions
            have handles in place of addresses.
    """
    words = split_name(name)
    if len(words) > 1 and words[-1] == "tool":
        words = words[:-1]
    head = " ".join(words) or name
    about = _cut(description, MAX_TOOL_WORDS)
    if about:
        head = f"{head}: {about}"
    return f"{head}. {'; '.join(map(_write_argument, arguments))}" if arguments else head


def _write_argument(argument: CallArgument) -> str:
    name = " ".join(split_name(argument.name)) or argument.name
    about = _cut(argument.description, MAX_PARAMETER_WORDS)
    said = {word.lower() for word in _WORD.findall(about)} - _EMPTY
    return (
        f"{name} = {argument.value}"
        if said <= set(name.split())
        else (f"{name} ({about}) = {argument.value}")
    )


def split_name(name: str) -> list[str]:
    """Return the words and numbers of an identifier in lower case: `sendToL2` is `send to l2`."""
    return [match.lower() for match in _NAME.findall(name)]


def show_number(number: int, decimals: int = 0, unit: str = "") -> str:
    """Return an integer in base units as a decimal number of units: 1500000 is `1.5 USDC`.

    Input:  the integer; base units as a power of ten; the unit's symbol, empty if it is unknown.
    """
    digits = str(abs(number)).rjust(decimals + 1, "0")
    whole, part = (digits[:-decimals], digits[-decimals:].rstrip("0")) if decimals else (digits, "")
    shown = ("-" if number < 0 else "") + whole + (f".{part}" if part else "")
    return f"{shown} {unit}" if unit else shown


def show_text(text: str) -> str:
    """Return a text in quotation marks, cut to its first words."""
    return f'"{_cut(text, MAX_QUOTED_WORDS)}"'


def shorten_quotations(request: str) -> str:
    """Return a request with its quotations as `show_text` writes them, and single spaces."""

    def cut_quotation(match: re.Match[str]) -> str:
        return show_text(next(group for group in match.groups() if group is not None))

    return " ".join(_QUOTED.sub(cut_quotation, request).split())


def hide_quotations(request: str) -> str:
    """Return a request with an ellipsis in each quotation: what it says is no part of an order."""
    return _QUOTED.sub('"\u2026"', request)


def _cut(text: str, count: int) -> str:
    """Return the first words of a text, without a full stop at the end."""
    words = text.split()
    return " ".join([*words[:count], "\u2026"] if len(words) > count else words).rstrip(".")
