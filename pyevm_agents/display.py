"""Texts of strangers as people may see them: contracts and models write what they like."""

from __future__ import annotations

import re

from precompiles.escaping import escape_line

MAX_SHOWN_CHARACTERS = 1_000
"""Of one text. The trace of a transaction has them all."""

STEERING = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
"""Characters that have no width or turn the direction of writing: a text could hide another."""


def sanitize(text: str, max_characters: int = MAX_SHOWN_CHARACTERS) -> str:
    """Return a stranger's text on one line, without what steers a terminal, and not too long."""
    text = STEERING.sub("", escape_line(text))
    if len(text) > max_characters:
        return f"{text[:max_characters].rstrip()} … ({len(text):,} characters)"
    return text


def pluralize(count: int, thing: str) -> str:
    """Return a number of things in words."""
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"
