"""Tokenizer of prompts: data never becomes a control token, and pieces never affect each other.

`llama_tokenize(parse_special=False)` still matches user-defined tokens, and the merges of
SentencePiece vocabularies find control tokens by their text. Data is therefore split inside
every spelling of a special token, and the resulting tokens are checked.

Source: docs/architecture.md#text-is-data
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Protocol

from pyevm_agents.errors import EngineFault

if TYPE_CHECKING:
    from collections.abc import Iterable


class TokenKind(Enum):
    """Kind of a vocabulary entry."""

    PLAIN = "an ordinary piece of text, a byte, or a stand-in for a single character"
    UNKNOWN = "text that the vocabulary has no piece for"
    USER_DEFINED = "a text that is never split, such as a tag or a run of spaces"
    CONTROL = "not text: beginning, end, change of speaker, or unused"


PLAIN_OR_UNKNOWN = frozenset({TokenKind.PLAIN, TokenKind.UNKNOWN})
"""Kinds of tokens that data may become."""


class VocabularySource(Protocol):
    """A vocabulary as read by llama.cpp from a GGUF file."""

    def tokenize(self, text: str, *, parse_special: bool) -> list[int]:
        """Return the tokens of a text."""

    def piece(self, token: int) -> bytes:
        """Return the bytes of a token, including the spelling of a special token."""

    def kind(self, token: int) -> TokenKind:
        """Return the kind of a token."""


@dataclass(slots=True)
class SpecialTokenSplitter:
    """Splits text inside every occurrence of a special token, overlapping ones included."""

    spellings: Iterable[str]
    _by_first: dict[str, tuple[str, ...]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Group spellings by first character; one that starts with another adds nothing."""
        by_first: dict[str, list[str]] = {}
        for spelling in sorted({spelling for spelling in self.spellings if len(spelling) > 1}):
            group = by_first.setdefault(spelling[0], [])
            if not group or not spelling.startswith(group[-1]):
                group.append(spelling)
        self._by_first = {first: tuple(group) for first, group in by_first.items()}

    def split(self, text: str) -> list[str]:
        """Split a text into pieces that contain no spelling; joined, the pieces are the text."""
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
    """Return the tokens of data: plain tokens, and unknown tokens for text not in the vocabulary.

    A character that only a user-defined token spells becomes that token, being indivisible. A byte
    that is not in the vocabulary is left out, as in llama.cpp: in the default model, some control
    characters and the first byte of planes 4 to 11, which have no characters.

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
    """Return the tokens of data that contains no spelling of a special token."""
    piece_tokens = source.tokenize(piece, parse_special=False)
    # Look each kind up once: a text of 64 KiB may be 400,000 tokens, few of them distinct.
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
            f"The model's vocabulary has a control token for a character of the data {text!r}; use "
            "another model"
        )
    return tokens


def tokenize_segments(
    source: VocabularySource,
    cutter: SpecialTokenSplitter,
    segments: list[tuple[str, bool]],
    first_token: int | None,
) -> list[int]:
    """Return the tokens of a prompt: those of the segments, concatenated.

    Input:
        segments: each text, and whether it is a literal of the chat template.
        first_token: the beginning-of-text token, if required by the vocabulary. Added at most once.
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
    """Reject tokens outside the vocabulary, for which llama.cpp would read out of bounds.

    Raises:
        EngineFault: names the first of these tokens.
    """
    for token in tokens:
        if not 0 <= token < vocabulary_tokens:
            raise EngineFault(
                f"not a token: {token}; the vocabulary has {vocabulary_tokens} tokens (0 to "
                f"{vocabulary_tokens - 1}). Pass the result of `tokenize`"
            )
