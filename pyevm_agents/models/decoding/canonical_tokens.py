"""Whether tokens are the ones that their own text gives when it is read again.

What a model said comes back as the history of the next prompt, as text. Where its tokens are those
of `tokenize_data`, the next prompt begins with the very tokens that the engine has evaluated.
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
"""Values of `tokenizer.ggml.pre` whose splitting, before any merge, always parts a text between a
visible character and a space with a letter after it. Source: the regular expressions in llama.cpp's
`llama-vocab.cpp`; `test_canonical.py` holds the default model's vocabulary against it."""

MAX_KNOWN_TEXTS = 4096
"""Texts whose tokens are remembered, a word or two each as a rule: some 2 MB."""

WORD = re.compile(rb" [A-Za-z]")
VISIBLE = frozenset(range(0x21, 0x7F))
INSIDE_CHARACTER = range(0x80, 0xC0)
"""Bytes of UTF-8 that begin no character."""


class CanonicalMatch(Enum):
    """How tokens stand to the canonical tokens of their text."""

    NO = "they are others, whatever follows"
    OPEN = "they begin the canonical tokens of a longer text, or end inside a character"
    WHOLE = "they are the canonical tokens of their text as it stands"


class TextVocabulary(VocabularySource, Protocol):
    """What this asks of a vocabulary."""

    vocabulary_tokens: int

    def metadata(self, key: str) -> str:
        """Return an entry of the file's metadata as text, or an empty text."""


class CanonicalTokenizer:
    """A vocabulary's canonical tokens, with what is asked often kept in tables."""

    def __init__(self, vocabulary: TextVocabulary, cutter: SpecialTokenSplitter) -> None:
        """Take a vocabulary; the tables (0.1 s) are made at the first use."""
        self._vocabulary = vocabulary
        self._cutter = cutter
        self._known: dict[str, list[int]] = {}
        self._can_split = vocabulary.metadata("tokenizer.ggml.pre") in SPLIT_AT_SPACES and not any(
            WORD.search(spelling.encode()) for spelling in cutter.spellings
        )

    @cached_property
    def pieces(self) -> list[bytes]:
        """The bytes that each token stands for."""
        return [
            self._vocabulary.piece(token) for token in range(self._vocabulary.vocabulary_tokens)
        ]

    @cached_property
    def kinds(self) -> list[TokenKind]:
        """What each token is for."""
        return [self._vocabulary.kind(token) for token in range(self._vocabulary.vocabulary_tokens)]

    @cached_property
    def _begins_word(self) -> list[bool]:
        return [WORD.match(piece) is not None for piece in self.pieces]

    @cached_property
    def _ends_visibly(self) -> list[bool]:
        return [piece[-1:] != b"" and piece[-1] in VISIBLE for piece in self.pieces]

    def piece(self, token: int) -> bytes:
        """Return the bytes that a token stands for."""
        return self.pieces[token]

    def kind(self, token: int) -> TokenKind:
        """Return what a token is for."""
        return self.kinds[token]

    def tokenize(self, text: str, *, parse_special: bool) -> list[int]:
        """Return the tokens of a text by itself."""
        return self._vocabulary.tokenize(text, parse_special=parse_special)

    def get_canonical_tokens(self, text: str) -> list[int]:
        """Return the canonical tokens of a text: `tokenize_data`."""
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
        """Compare `tokens[start:]` with the canonical tokens of their text.

        Only the last words are read again, where the vocabulary lets words be read singly: those
        before were compared when they were the last.

        Input:
            forced: the bytes that will follow in any case. The tokens must begin the canonical
                ones of the text with them.
            is_whole_before: whether the tokens but the last one are known to be `WHOLE`.

        Output:
            `OPEN` with forced bytes that fit, with a text that ends inside of a character, and
            where the white space that a text ends with is cut differently as soon as a letter
            follows it, and then as it is here.
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
        """Return how many tokens of a run continue the canonical tokens of a text.

        Input:
            forced: the bytes that the run's tokens are of.
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
        """Return the tokens of those texts that are one token each."""
        return [tokens[0] for tokens in map(self.get_canonical_tokens, texts) if len(tokens) == 1]

    def _decode_text(self, own: Sequence[int], forced: bytes) -> tuple[str | None, int]:
        """Return the text of tokens and of what follows, up to its last whole character.

        Output:
            None where the tokens themselves end inside of a character, and how many of the forced
            bytes the text holds.
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
        """Whether the text parts between two tokens, so that they never merge."""
        return self._can_split and self._begins_word[token] and self._ends_visibly[last]

    def _find_window(self, tokens: Sequence[int], start: int, last_tokens: int = 2) -> int:
        """Return from where on tokens decide whether the last ones fit."""
        if self._can_split:
            for index in range(len(tokens) - last_tokens, start, -1):
                if self._begins_word[tokens[index]] and self._ends_visibly[tokens[index - 1]]:
                    return index
        # After a break inside of a character: from the next one on.
        while start < len(tokens) and self.pieces[tokens[start]][:1] in _CONTINUATIONS:
            start += 1
        return start


_CONTINUATIONS = frozenset(bytes([byte]) for byte in INSIDE_CHARACTER)
