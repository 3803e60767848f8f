"""Escaping of text from contracts and users to one line of a prompt.

A tool result can't forge an `Observation:` line. Source: docs/architecture.md#text-is-data.
"""

from __future__ import annotations

import re

ADDRESS = re.compile(r"(?<![0-9A-Za-z])0x[0-9A-Fa-f]{40}(?![0-9A-Za-z])")
"""An address in a text: `0x` and 40 digits, without an alphanumeric neighbour."""

# Every line break that Unicode knows, and the other control characters.
_CONTROLS = [*range(0x20), 0x7F, *range(0x80, 0xA0), 0x2028, 0x2029]
_SHORT = {0x09: "\t", 0x0A: "\\n", 0x0D: "\\r"}
_ESCAPES = {code: _SHORT.get(code, f"\\u{code:04x}") for code in _CONTROLS}
_ESCAPES_BUT_NEWLINE = {code: escape for code, escape in _ESCAPES.items() if code != ord("\n")}

_ESCAPED = {escape: chr(code) for code, escape in _ESCAPES.items() if code != ord("\t")}
_ESCAPE = re.compile("|".join(map(re.escape, _ESCAPED)))

CONTROL_CLASS = r"\x00-\x1f\x7f-\x9f\u2028\u2029"
"""The same characters as the inside of a regular expression's character class."""


def escape_line(text: str) -> str:
    r"""Escape line breaks and control characters: the text stays on one line."""
    return text.translate(_ESCAPES)


def escape_lines(text: str) -> str:
    r"""Escape control characters and every line break except `\n` (`\r\n` becomes `\n`)."""
    return text.replace("\r\n", "\n").translate(_ESCAPES_BUT_NEWLINE)


def unescape_line(line: str) -> str:
    r"""Undo `escape_line`; escaping the result again gives the same line.

    A backslash and `n` in the original text become a line break.
    """
    return _ESCAPE.sub(lambda match: _ESCAPED[match[0]], line)
