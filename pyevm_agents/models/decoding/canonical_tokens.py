"""Canonical tokens: whether a text tokenizes to the generated tokens.

A generation's text becomes part of the next prompt's history. If the text's tokens are those of
`tokenize_data`, the next prompt starts with tokens that the engine has already evaluated.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from pyevm_agents.models.decoding.tokenizer import TokenKind, VocabularySource, tokenize_data

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyevm_agents.models.decoding.tokenizer import SpecialTokenSplitter

SPLIT_AT_SPACES = frozenset({"gpt-2", "llama-bpe", "qwen2", "smollm"})
"""Values of `tokenizer.ggml.pre` whose pre-tokenizer always splits between a visible character and
a space followed by a letter. Source: the regular expressions in llama.cpp's `llama-vocab.cpp`;
`test_canonical.py` checks the default model's vocabulary."""

MAX_KNOWN_TEXTS = 4096
"""Texts (usually one or two words each) whose tokens are cached: about 2 MB."""

WORD = re.compile(rb" [A-Za-z]")
VISIBLE = frozenset(range(0x21, 0x7F))
INSIDE_CHARACTER = range(0x80, 0xC0)
"""UTF-8 continuation bytes."""


class CanonicalMatch(Enum):
    """Result of comparing tokens with the canonical tokens of the same text."""

    NO = "different, whatever follows"
    OPEN = "a prefix of the canonical tokens of a longer text, or ends inside a character"
    WHOLE = "the canonical tokens of their text"


class TextVocabulary(VocabularySource, Protocol):
    """The vocabulary interface that `CanonicalTokenizer` uses."""

    vocabulary_tokens: int

    def metadata(self, key: str) -> str:
        """Return a metadata entry of the GGUF file as text; empty if missing."""


class CanonicalTokenizer:
    """Canonical tokens of a vocabulary, with tables and a cache for frequent lookups."""

    def __init__(self, vocabulary: TextVocabulary, cutter: SpecialTokenSplitter) -> None:
        """Create a tokenizer; the tables (0.1 s) are built on first use."""
        self._vocabulary = vocabulary
        self._cutter = cutter
        self._known: dict[str, list[int]] = {}
        self._can_split = vocabulary.metadata("tokenizer.ggml.pre") in SPLIT_AT_SPACES and not any(
            WORD.search(spelling.encode()) for spelling in cutter.spellings
        )

    @cached_property
    def pieces(self) -> list[bytes]:
        """Bytes of each token."""
        return [
            self._vocabulary.piece(token) for token in range(self._vocabulary.vocabulary_tokens)
        ]

    @cached_property
    def kinds(self) -> list[TokenKind]:
        """Kind of each token."""
        return [self._vocabulary.kind(token) for token in range(self._vocabulary.vocabulary_tokens)]

    @cached_property
    def _begins_word(self) -> list[bool]:
        return [WORD.match(piece) is not None for piece in self.pieces]

    @cached_property
    def _ends_visibly(self) -> list[bool]:
        return [piece[-1:] != b"" and piece[-1] in VISIBLE for piece in self.pieces]

    def piece(self, token: int) -> bytes:
        """Return the bytes of a token."""
        return self.pieces[token]

    def kind(self, token: int) -> TokenKind:
        """Return the kind of a token."""
        return self.kinds[token]

    def tokenize(self, text: str, *, parse_special: bool) -> list[int]:
        """Return the tokens of a text."""
        return self._vocabulary.tokenize(text, parse_special=parse_special)

    def get_canonical_tokens(self, text: str) -> list[int]:
        """Return the canonical tokens of a text (those of `tokenize_data`)."""
        known = self._known.get(text)
        if known is None:
            if len(self._known) == MAX_KNOWN_TEXTS:
                self._known.clear()
            known = self._known[text] = tokenize_data(self, self._cutter, text)
        return known

    def match_tokens(
        self,
        tokens: Sequence[int],
        start: int = 0,
        forced: bytes = b"",
        *,
        is_whole_before: bool = False,
    ) -> CanonicalMatch:
        """Compare `tokens[start:]` with the canonical tokens of the same text.

        If the vocabulary allows words to be tokenized separately, only the last words are compared:
            earlier ones were compared in earlier calls.

        Input:
            forced: bytes that follow in any case. The tokens must be a prefix of the canonical
                tokens of the text including these bytes.
            is_whole_before: whether all tokens but the last are known to be `WHOLE`.

        Output:
            `OPEN` also for fitting tokens before forced bytes, for a text that ends inside a
            character, and for trailing white space that tokenizes differently now but like this
            once a letter follows.
        """
        own = list(tokens[self._find_window(tokens, start, 1 if is_whole_before else 2) :])
        text, rest_bytes = self._decode_text(own, forced)
        if text is None:
            return CanonicalMatch.OPEN
        canonical_tokens = self.get_canonical_tokens(text)
        if canonical_tokens == own and not forced:
            return CanonicalMatch.WHOLE
        if canonical_tokens[: len(own)] == own:
            return CanonicalMatch.OPEN
        if rest_bytes == 0 and text[-1:].isspace():
            return (
                CanonicalMatch.OPEN
                if self.get_canonical_tokens(text + "a")[: len(own)] == own
                else CanonicalMatch.NO
            )
        return CanonicalMatch.NO

    def count_shared_tokens(
        self, tokens: Sequence[int], start: int, forced: bytes, run: Sequence[int]
    ) -> int:
        """Return how many tokens of `run` continue the canonical tokens of a text.

        Input:
            forced: the bytes that the tokens of `run` spell.
        """
        own = list(tokens[self._find_window(tokens, start) :])
        text, _ = self._decode_text(own, forced)
        if text is None:
            return 0
        canonical_tokens = self.get_canonical_tokens(text)
        if canonical_tokens[: len(own)] != own:
            return 0
        pairs = zip(run, canonical_tokens[len(own) :], strict=False)
        return next((n for n, (token, other) in enumerate(pairs) if token != other), len(run))

    def find_single_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the tokens of those texts that are a single token."""
        return [tokens[0] for tokens in map(self.get_canonical_tokens, texts) if len(tokens) == 1]

    def _decode_text(self, own: Sequence[int], forced: bytes) -> tuple[str | None, int]:
        """Decode tokens and the bytes that follow, up to the last whole character.

        Output:
            The text, or None if the tokens themselves end inside a character; and how many of the
            forced bytes the text includes.
        """
        data = b"".join([self.pieces[token] for token in own])
        try:
            return (data + forced).decode(), len(forced)
        except UnicodeDecodeError as error:
            held_bytes = error.start - len(data)
            if held_bytes < 0:
                return None, 0
            return (data + forced)[: error.start].decode(), held_bytes

    def is_word_boundary(self, last: int, token: int) -> bool:
        """Return whether the pre-tokenizer splits between two tokens, which then never merge."""
        return self._can_split and self._begins_word[token] and self._ends_visibly[last]

    def _find_window(self, tokens: Sequence[int], start: int, last_tokens: int = 2) -> int:
        """Return the index from which tokens decide whether the last ones are canonical."""
        if self._can_split:
            for index in range(len(tokens) - last_tokens, start, -1):
                if self._begins_word[tokens[index]] and self._ends_visibly[tokens[index - 1]]:
                    return index
        # After a break inside a character, start at the next character.
        while start < len(tokens) and self.pieces[tokens[start]][:1] in _CONTINUATIONS:
            start += 1
        return start


_CONTINUATIONS = frozenset(bytes([byte]) for byte in INSIDE_CHARACTER)
