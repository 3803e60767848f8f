"""WordPiece: the tokens of a text, by tables of this file and never by Python's Unicode database.

The database differs between versions of Python, and the tokens decide what a block contains.
Letters lose case and accents, and punctuation stands alone. A word becomes the longest piece of the
vocabulary that it begins with, then the longest that continues it, and so on. A word with any
character that the tables lack is the unknown token. Text never becomes another special token.

On ASCII the tokens are those of BERT's uncased tokenizer.
Source: Devlin et al., BERT, 2018: `tokenization.py`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

UNKNOWN, BEGINNING, END = "[UNK]", "[CLS]", "[SEP]"
SPECIAL_PIECES = (UNKNOWN, BEGINNING, END)
CONTINUATION = "##"
"""Begins a piece that continues a word."""

MAX_WORD_CHARACTERS = 100
"""A longer word is the unknown token. Source: BERT's `max_input_chars_per_word`."""

CACHED_WORDS = 4_096
"""Words whose tokens are kept: those of a few dozen agents and their requests."""

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_DIGITS = "0123456789"
_PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~" + "‐‑‒–—―‘’‚“”„•…′″‹›«»¡¿·§¶"  # noqa: RUF001
_OTHER_LETTERS = "ßæðøþđłœ£¥€"
"""Letters without a letter below the accent, and signs of currency, which are parts of words."""

_SPACES = "\t\n\r \u00a0\u2002\u2003\u2009\u202f"
_CAPITALS = {"Æ": "æ", "Ð": "ð", "Ø": "ø", "Þ": "þ", "Đ": "đ", "Ł": "ł", "Œ": "œ"}
_ACCENTS = {
    "a": "àáâãäåāăąÀÁÂÃÄÅĀĂĄ",
    "c": "çćĉċčÇĆĈĊČ",
    "d": "ďĎ",
    "e": "èéêëēĕėęěÈÉÊËĒĔĖĘĚ",
    "g": "ĝğġģĜĞĠĢ",
    "h": "ĥĤ",
    "i": "ìíîïĩīĭįÌÍÎÏĨĪĬĮİ",
    "j": "ĵĴ",
    "k": "ķĶ",
    "l": "ĺļľĹĻĽ",
    "n": "ñńņňÑŃŅŇ",
    "o": "òóôõöōŏőÒÓÔÕÖŌŎŐ",
    "r": "ŕŗřŔŖŘ",
    "s": "śŝşšșŚŜŞŠȘ",
    "t": "ţťțŢŤȚ",
    "u": "ùúûüũūŭůűųÙÚÛÜŨŪŬŮŰŲ",
    "w": "ŵŴ",
    "y": "ýÿŷÝŶŸ",
    "z": "źżžŹŻŽ",
}
"""Letters of Latin-1 and Latin Extended-A, and Romanian ones, by the letter below the accent."""

_COMBINING = range(0x300, 0x370)
"""Accents that follow their letter; they are dropped."""

_CONTROLS = (*range(9), 11, 12, *range(14, 32), 127)
"""ASCII's control characters without tab and line breaks; they are dropped, as BERT does."""


def _build_characters() -> dict[int, str]:
    """Return what each character becomes; one that is missing stays as it is."""
    pairs = [
        *((ord(capital), capital.lower()) for capital in _LETTERS.upper()),
        *((ord(each), letter) for letter, group in _ACCENTS.items() for each in group),
        *((ord(capital), small) for capital, small in _CAPITALS.items()),
        *((ord(mark), f" {mark} ") for mark in _PUNCTUATION),
        *((ord(space), " ") for space in _SPACES),
        *((dropped, "") for dropped in (*_COMBINING, *_CONTROLS)),
    ]
    return dict(pairs)


_CHARACTERS = _build_characters()
_OF_WORDS = frozenset(_LETTERS + _DIGITS + _OTHER_LETTERS)
_OF_MARKS = frozenset(_PUNCTUATION)


def is_reachable(piece: str) -> bool:
    """Return whether a text can become a piece of a vocabulary, or the encoder needs it."""
    if piece in SPECIAL_PIECES:
        return True
    body = piece.removeprefix(CONTINUATION)
    return bool(body) and (_OF_WORDS.issuperset(body) or piece in _OF_MARKS)


def split_words(text: str) -> list[str]:
    """Return a text's words and marks, in lower case and without accents."""
    return [word for word in text.translate(_CHARACTERS).split(" ") if word]


class WordPiece:
    """A tokenizer for a vocabulary."""

    def __init__(self, pieces: Sequence[str]) -> None:
        """Create a tokenizer.

        Input:  the pieces by token ID; each once, with the `SPECIAL_PIECES`.
        """
        self._tokens: Mapping[str, int] = {piece: token for token, piece in enumerate(pieces)}
        self._longest = max(map(len, pieces))
        self._split = lru_cache(CACHED_WORDS)(self._find_pieces)
        self.unknown, self.beginning, self.end = (self._tokens[piece] for piece in SPECIAL_PIECES)

    def tokenize(self, text: str) -> list[int]:
        """Return the tokens of a text, without special ones other than the unknown token."""
        return [token for word in split_words(text) for token in self._split(word)]

    def _find_pieces(self, word: str) -> tuple[int, ...]:
        if len(word) > MAX_WORD_CHARACTERS:
            return (self.unknown,)
        tokens: list[int] = []
        start = 0
        while start < len(word):
            prefix = CONTINUATION if start else ""
            for end in range(min(len(word), start + self._longest), start, -1):
                token = self._tokens.get(prefix + word[start:end])
                if token is not None:
                    tokens.append(token)
                    start = end
                    break
            else:
                return (self.unknown,)
        return tuple(tokens)
