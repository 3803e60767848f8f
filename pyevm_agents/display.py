"""Display of untrusted text: contracts and models may write anything."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from precompiles.escaping import ADDRESS, escape_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from precompiles.language_model import Margin

MAX_SHOWN_CHARACTERS = 1_000
"""Upper bound of one displayed text. A transaction's trace has the whole text."""

VALUE_CHARACTERS = 80
"""Upper bound of a value in an error message."""

LINE_CHARACTERS = 200
"""Upper bound of a longer value, such as a step or a generation, in an error message."""

STEERING = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
"""Characters without width, or that change the direction of text: they could hide text."""


def sanitize(text: str, max_characters: int = MAX_SHOWN_CHARACTERS) -> str:
    """Return untrusted text on one line, without terminal control characters, truncated."""
    text = STEERING.sub("", escape_line(text))
    if len(text) > max_characters:
        return f"{text[:max_characters].rstrip()} … ({len(text):,} characters)"
    return text


def truncate(text: str, max_characters: int = VALUE_CHARACTERS) -> str:
    """Return the beginning of a text, with an ellipsis if more follows."""
    return text if len(text) <= max_characters else f"{text[:max_characters]}…"


def pluralize(count: int, thing: str) -> str:
    """Return a count with the noun, such as `1 step` or `2 steps`."""
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"


def count_steps(count: int, decided: int) -> str:
    """Return a number of steps, such as `3 steps, 2 of them decided by the rules`.

    Input:  the steps, and the steps without a model's decision.
    """
    if not decided:
        return pluralize(count, "step")
    of = "" if decided == count else f"{decided:,} of them "
    return f"{pluralize(count, 'step')}, {of}decided by the rules"


def shorten_address(address: str) -> str:
    """Return the first and the last digits of an address, such as `0x5FbD…0aa3`."""
    return f"{address[:6]}…{address[-4:]}"


def name_addresses(text: str, names: Mapping[str, str]) -> str:
    """Return a text with `Name (0x5FbD…0aa3)` in place of each address that has a name.

    Input: the text; names by checksummed address.
    """

    def add_name(match: re.Match[str]) -> str:
        name = lowered.get(match[0].lower())
        return match[0] if name is None else f"{name} ({shorten_address(match[0])})"

    lowered = {address.lower(): name for address, name in names.items()}
    return ADDRESS.sub(add_name, text) if lowered else text


SHOWN_AS_ETHER, SHOWN_AS_GWEI = 10**14, 10**6
"""From so many wei on an amount is shown in ether, or in gwei."""


def format_amount(wei: int) -> str:
    """Return an exact amount in the unit of a short form, such as `0.0021 ether`."""
    if wei >= SHOWN_AS_ETHER or wei == 0:
        return f"{_scale(wei, 18)} ether"
    return f"{_scale(wei, 9)} gwei" if wei >= SHOWN_AS_GWEI else f"{wei:,} wei"


def _scale(wei: int, digits: int) -> str:
    whole, fraction = divmod(wei, 10**digits)
    text = f"{fraction:0{digits}d}".rstrip("0")
    return f"{whole:,}{'.' + text if text else ''}"


SMALL_GAP = 0.1
"""Smaller gaps are printed with two significant digits in place of two decimals."""


def format_margin(margin: Margin) -> str:
    """Return a margin as text: the gap, the token's index, both candidate tokens."""
    gap = f"{margin.gap:.2f}" if margin.gap >= SMALL_GAP else f"{margin.gap:.2g}"
    return (
        f"{gap} at token {margin.token_index}: "
        f"{json.dumps(margin.chosen, ensure_ascii=False)} over "
        f"{json.dumps(margin.other, ensure_ascii=False)}"
    )
