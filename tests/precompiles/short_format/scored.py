"""A chooser with given scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from precompiles.chooser import MAX_SENTENCE_TOKENS, ChooserLimitError
from precompiles.language_model import NAT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SURE, LIKELY, UNLIKELY = 4 * NAT, NAT, -4 * NAT
"""Probabilities of 98, 73 and 2 %."""


class ScoredChooser:
    """Gives a sentence or a call the score of the first words in it. Implements `Chooser`.

    A word of a text is a token.
    """

    digest = bytes(31) + b"\x01"

    def __init__(
        self,
        calls: Mapping[str, int] | None = None,
        moods: Mapping[str, int] | None = None,
        *,
        otherwise: int = SURE,
    ) -> None:
        self._calls, self._moods = calls or {}, moods or {}
        self._otherwise = otherwise
        self.moods: list[str] = []
        self.calls: list[tuple[str, str]] = []
        """The texts that were scored."""

    def count_mood_tokens(self, sentence: str) -> int:
        count = len(sentence.split())
        if not 0 < count <= MAX_SENTENCE_TOKENS:
            raise ChooserLimitError(f"{count} tokens")
        return count

    def count_call_tokens(self, sentence: str, call: str) -> int:
        return self.count_mood_tokens(sentence) + len(call.split())

    def score_moods(self, sentences: Sequence[str]) -> tuple[int, ...]:
        self.moods += sentences
        return tuple(self._find(self._moods, sentence) for sentence in sentences)

    def score_calls(self, pairs: Sequence[tuple[str, str]]) -> tuple[int, ...]:
        self.calls += pairs
        return tuple(self._find(self._calls, call) for _, call in pairs)

    def _find(self, scores: Mapping[str, int], text: str) -> int:
        return next((score for words, score in scores.items() if words in text), self._otherwise)
