"""Texts of contracts, ABIs and explorers, as printable ASCII of a bounded length.

A text stays on one line, so no text can add a line to a prompt. A name obeys the rules of the
executor for names of tools and parameters.

Source: docs/architecture.md#text-is-data, #names-are-ascii.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from precompiles.spec import MAX_NAME_BYTES
from precompiles.tool_metadata import compute_look, find_name_flaw

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_DESCRIPTION_CHARACTERS = 240
"""Characters of a description. The sentences of ERCs have up to 150."""

MAX_LABEL_CHARACTERS = 32
"""Characters of the name of a contract, or of a token's symbol."""

MAX_READ_CHARACTERS = 4_096
"""Characters of a text that are read."""

NUMBER_CHARACTERS = 6
"""Characters of the number of a name that was taken, such as `_2`."""

_MARKER_START = re.compile(r"\[(?=(?:abi|call):)")
"""Start of a marker of a type, or of a call, which the text of a contract must not have."""

_SPEAKER = re.compile(
    r"(?i)\b(question|thought|action|action input|observation|final answer)(?:\s*:)+"
)
"""Words that begin a line of the executor's format. A contract's text loses their colon."""

_NOT_LABEL = re.compile(r"[^A-Za-z0-9 ._+-]+")
_NOT_HANDLE = re.compile("[^A-Za-z0-9]+")
_LETTER = re.compile("[A-Za-z]")


def clean_text(value: object, max_characters: int = MAX_DESCRIPTION_CHARACTERS) -> str:
    """Return a text as printable ASCII on one line; empty for another value.

    Letters with accents become letters without; other characters are left out. Words such as
    `Action:` lose the colon.
    """
    if not isinstance(value, str):
        return ""
    plain = unicodedata.normalize("NFKD", value[:MAX_READ_CHARACTERS])
    kept = (" " if each.isspace() else each for each in plain if each.isspace() or _is_plain(each))
    text = _SPEAKER.sub(r"\1 ", " ".join("".join(kept).split()))
    text = _MARKER_START.sub("(", " ".join(text.split()))
    if len(text) > max_characters:
        return f"{text[: max_characters - 3].rstrip()}..."
    return text


def clean_label(value: object, fallback: str) -> str:
    """Return the name of a contract or a token: words of letters, digits and `._+-`.

    Input: a text; the name if nothing of the text is left.
    """
    words = _NOT_LABEL.sub(" ", clean_text(value, MAX_READ_CHARACTERS)).split()
    label = " ".join(words)[:MAX_LABEL_CHARACTERS].strip()
    return label if _LETTER.search(label) and find_name_flaw(label) is None else fallback


def format_handle(label: str) -> str:
    """Return a label as one word, such as `UniswapV2Router02` or `Vault_Share`."""
    word = join_words(label)
    return word if word[:1].isalpha() else f"CONTRACT_{word}".rstrip("_")


def join_words(label: str) -> str:
    """Return the letters and digits of a label, with `_` in place of other characters."""
    return _NOT_HANDLE.sub("_", label).strip("_")


class NameTable:
    """Names that the executor takes together: each is valid, and looks like no other one."""

    def __init__(
        self,
        max_characters: int = MAX_NAME_BYTES,
        *,
        ignores_case: bool = False,
        reserved: Iterable[str] = (),
    ) -> None:
        """Start without names.

        Input: the most characters of a name; whether names that differ in case alone look alike;
               names that are taken.
        """
        self._max_characters, self._ignores_case = max_characters, ignores_case
        self._looks: set[str] = set()
        for name in reserved:
            self._take(name)

    def has(self, name: str) -> bool:
        """Whether a name looks like one that is taken."""
        return not self._looks.isdisjoint(self._list_looks(name))

    def add(self, *candidates: str) -> str:
        """Add the first valid candidate, with a number if an earlier name looks alike.

        Input: names, of which the last one is valid.
        """
        name = next(filter(self._is_valid, candidates))
        if self._take(name):
            return name
        base, number = name[: self._max_characters - NUMBER_CHARACTERS], 2
        while not self._take(f"{base}_{number}"):
            number += 1
        return f"{base}_{number}"

    def _is_valid(self, name: str) -> bool:
        # Lone surrogates have no UTF-8.
        is_short = len(name) <= self._max_characters and name.isascii()
        return is_short and find_name_flaw(name) is None

    def _take(self, name: str) -> bool:
        is_free = not self.has(name)
        self._looks.update(self._list_looks(name))
        return is_free

    def _list_looks(self, name: str) -> set[str]:
        look = compute_look(name)
        return {look, name.casefold(), look.casefold()} if self._ignores_case else {look}


def _is_plain(character: str) -> bool:
    return " " <= character <= "~"
