"""Texts of clients: bounded, encodable, and without control characters.

What is stored must be able to be answered, and what is shown must not steer a terminal. So every
text of a form, of an argument of a tool, of a path and of a query has one of these types.
"""

from __future__ import annotations

import unicodedata
from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

MAX_WORD_CHARACTERS = 256
"""A name, an ID or a phase; IDs have 64 characters at most."""

MAX_GOAL_CHARACTERS = 4_000
"""A goal is stored and shown, and a model reads it."""

MAX_URI_CHARACTERS = 8_192
"""A URI is stored on the chain, at 22,100 gas for 32 characters."""

BREAKS = frozenset("\n\t\r")
"""Control characters of a text that has lines."""


def require_line(text: str) -> str:
    """Return a text of one line. Raises: PydanticCustomError: control characters or surrogates."""
    return _require(text, frozenset())


def require_lines(text: str) -> str:
    """Return a text that may have lines. Raises: PydanticCustomError: see `require_line`."""
    return _require(text, BREAKS)


def _require(text: str, admitted: frozenset[str]) -> str:
    for character in text:
        if character not in admitted and unicodedata.category(character) in {"Cc", "Cs"}:
            raise PydanticCustomError(
                "text",
                "must have no control characters and no half of a surrogate pair; it has U+{code}",
                {"code": f"{ord(character):04X}"},
            )
    return text


Word = Annotated[str, Field(max_length=MAX_WORD_CHARACTERS), AfterValidator(require_line)]
"""A name, an ID, a phase."""

Uri = Annotated[str, Field(max_length=MAX_URI_CHARACTERS), AfterValidator(require_line)]
"""A URI."""

Goal = Annotated[
    str, Field(min_length=1, max_length=MAX_GOAL_CHARACTERS), AfterValidator(require_lines)
]
"""What an agent shall do, in lines."""
