"""Text to tokens, so that data never becomes a control token and pieces never change each other.

`llama_tokenize(parse_special=False)` still matches user-defined tokens, and the merges of
SentencePiece vocabularies find control tokens by their text. So the text of data is cut inside of
whatever spells an entry that is not plain, and what comes back is checked (architecture, 9).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Protocol

from pyevm_agents.errors import EngineFault

if TYPE_CHECKING:
    from collections.abc import Iterable


class TokenKind(Enum):
    """What a vocabulary has an entry for."""

    PLAIN = "an ordinary piece of text, or a byte, or whatever stands for a single character"
    UNKNOWN = "whatever the vocabulary has no piece for"
    USER_DEFINED = "a text that is never cut, such as a tag or a run of spaces"
    CONTROL = "no text: beginning, end, a change of speaker, or unused"


PLAIN_OR_UNKNOWN = frozenset({TokenKind.PLAIN, TokenKind.UNKNOWN})
"""Kinds that data may become."""


class VocabularySource(Protocol):
    """A vocabulary as llama.cpp reads it from a GGUF file."""

    def tokenize(self, text: str, *, parse_special: bool) -> list[int]:
        """Return the tokens of a text by itself."""

    def piece(self, token: int) -> bytes:
        """Return the bytes that a token stands for, a special token's spelling included."""

    def kind(self, token: int) -> TokenKind:
        """Return what a token is for."""


@dataclass(slots=True)
class SpecialTokenSplitter:
    """Cuts text inside of every occurrence of a spelling, overlapping ones included."""

    spellings: Iterable[str]
    _by_first: dict[str, tuple[str, ...]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Sort spellings by first character; those that begin with another one add nothing."""
        by_first: dict[str, list[str]] = {}
        for spelling in sorted({spelling for spelling in self.spellings if len(spelling) > 1}):
            group = by_first.setdefault(spelling[0], [])
            if not group or not spelling.startswith(group[-1]):
                group.append(spelling)
        self._by_first = {first: tuple(group) for first, group in by_first.items()}

    def split(self, text: str) -> list[str]:
        """Return the pieces of a text: none contains a spelling, together they are the text."""
        positions = sorted(
            position + 1
            for first, group in self._by_first.items()
            for position in _find_occurrences(text, first)
            if text.startswith(group, position)
        )
        starts = [0, *positions]
        ends = [*positions, len(text)]
        return [text[start:end] for start, end in zip(starts, ends, strict=True) if start < end]


def _find_occurrences(text: str, character: str) -> Iterable[int]:
    position = text.find(character)
    while position >= 0:
        yield position
        position = text.find(character, position + 1)


def tokenize_data(source: VocabularySource, cutter: SpecialTokenSplitter, text: str) -> list[int]:
    """Return the tokens of data: plain ones, and unknown ones for what the vocabulary lacks.

    A character that only a user-defined token stands for is that token: it can't be cut further.
    A byte that the vocabulary lacks is left out, as llama.cpp leaves it out: in the default model's
    some control characters and the first byte of the planes 4 to 11, where no characters are.

    Raises:
        EngineFault: the vocabulary turns a single character into a control token.
    """
    tokens: list[int] = []
    known: dict[str, list[int]] = {}
    for piece in cutter.split(text):
        if piece not in known:
            known[piece] = _tokenize_piece(source, piece)
        tokens += known[piece]
    return tokens


def _tokenize_piece(source: VocabularySource, piece: str) -> list[int]:
    """Return the tokens of data in which nothing spells an entry that is not plain."""
    piece_tokens = source.tokenize(piece, parse_special=False)
    # Each kind is asked for once: a text of 64 KiB may be 400,000 tokens, most of them alike.
    odd = {token for token in set(piece_tokens) if source.kind(token) not in PLAIN_OR_UNKNOWN}
    if not odd:
        return piece_tokens
    tokens: list[int] = []
    for token in piece_tokens:
        if token in odd:
            text = source.piece(token).decode("utf-8", "replace")
            tokens += _tokenize_characters(source, text)
        else:
            tokens.append(token)
    return tokens


def _tokenize_characters(source: VocabularySource, text: str) -> list[int]:
    tokens = [
        token for character in text for token in source.tokenize(character, parse_special=False)
    ]
    if any(source.kind(token) is TokenKind.CONTROL for token in tokens):
        raise EngineFault(
            f"The vocabulary makes a control token of a character of {text!r}, which is data; use "
            "another model"
        )
    return tokens


def tokenize_segments(
    source: VocabularySource,
    cutter: SpecialTokenSplitter,
    segments: list[tuple[str, bool]],
    first_token: int | None,
) -> list[int]:
    """Return the tokens of a prompt: those of its segments, one after the other.

    Input:
        segments: text and whether it is the chat template's own.
        first_token: the beginning-of-text token, where the vocabulary asks for one. It comes once.
    """
    tokens: list[int] = []
    for text, is_template in segments:
        tokens += (
            source.tokenize(text, parse_special=True)
            if is_template
            else tokenize_data(source, cutter, text)
        )
    if first_token is not None and tokens[:1] != [first_token]:
        tokens.insert(0, first_token)
    return tokens


def require_tokens(tokens: list[int], vocabulary_tokens: int) -> None:
    """Refuse tokens that are none: llama.cpp would read outside of its tables.

    Raises:
        EngineFault: names the first one.
    """
    for token in tokens:
        if not 0 <= token < vocabulary_tokens:
            raise EngineFault(
                f"{token} is no token: the vocabulary has {vocabulary_tokens}; pass what "
                "`tokenize` returned"
            )
