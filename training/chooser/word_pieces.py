"""Tokens of BERT's uncased vocabulary. A text never becomes a special token.

Source: Devlin et al., BERT, 2018: `tokenization.py`.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

UNKNOWN, BEGINNING, END = "[UNK]", "[CLS]", "[SEP]"
MAX_WORD_CHARACTERS = 100
"""A longer word is the unknown token."""

_WORDS = re.compile(r"[^\W_]+|[^\s]")


class WordPieces:
    """A vocabulary."""

    def __init__(self, pieces: tuple[str, ...]) -> None:
        """Keep the pieces, each at the place of its token.

        Raises: ValueError: a special token is missing.
        """
        self._tokens = {piece: token for token, piece in enumerate(pieces)}
        missing = [one for one in (UNKNOWN, BEGINNING, END) if one not in self._tokens]
        if missing:
            raise ValueError(f"the vocabulary lacks {', '.join(missing)}; pass a BERT vocabulary")
        self.beginning, self.end = self._tokens[BEGINNING], self._tokens[END]
        self._split = lru_cache(maxsize=200_000)(self._find_pieces)

    def encode(self, text: str) -> list[int]:
        """Return a text's tokens, without special ones."""
        plain = unicodedata.normalize("NFD", text.lower())
        plain = "".join(
            c for c in plain if unicodedata.category(c) not in {"Mn", "Cc", "Cf"} or c.isspace()
        )
        return [token for word in _WORDS.findall(plain) for token in self._split(word)]

    def _find_pieces(self, word: str) -> tuple[int, ...]:
        unknown = (self._tokens[UNKNOWN],)
        if len(word) > MAX_WORD_CHARACTERS:
            return unknown
        found: list[int] = []
        start = 0
        while start < len(word):
            for end in range(len(word), start, -1):
                piece = word[start:end] if start == 0 else f"##{word[start:end]}"
                if piece in self._tokens:
                    break
            else:
                return unknown
            found.append(self._tokens[piece])
            start = end
        return tuple(found)


def read_vocabulary(path: Path) -> WordPieces:
    """Read `vocab.txt`, one piece a line.

    Raises: OSError, ValueError: the file can't be read, or is no vocabulary.
    """
    return WordPieces(tuple(path.read_text("utf-8").removesuffix("\n").split("\n")))
