"""The interface between the rules of a format and the host: `Chooser`.

A chooser scores the mood of a sentence (is it an order for now?) and a call for a sentence (does
it order exactly this call?). A score is an integer: a logit in units of 2^-16 nats
(`language_model.NAT`), and 0 is even odds.

Determinism: a score decides what a block contains. It is a function of the chooser's digest and of
the texts alone, and the same on every machine: weights and activations are integers, each product
and sum is exact, and each rounding is to a stated unit. So batches, threads, processors and earlier
calls change nothing, and no engine profile is needed.

Source: docs/architecture.md#chooser.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_SENTENCE_TOKENS = 96
"""Upper bound of a sentence's own tokens, some 70 words of English. Bounds the work of a score."""

MAX_CALL_TOKENS = 128
"""Upper bound of a call's own tokens: name, description and some parameters with their values.
Bounds the work of a score; a sentence and a call have 34 on average."""

SENTENCE_SPECIALS, CALL_SPECIALS = 2, 1
"""Tokens that the chooser adds: a beginning and an end of the sentence, and an end of the call."""

MAX_INPUT_TOKENS = MAX_SENTENCE_TOKENS + SENTENCE_SPECIALS + MAX_CALL_TOKENS + CALL_SPECIALS
"""Upper bound of an input's tokens: both texts at their bounds, 227."""


class ChooserLimitError(Exception):
    """A sentence or a call has no token, or more than its bound.

    Never a fault of the host: the same texts give it on every machine. No text is truncated.
    """


class Chooser(Protocol):
    """A chooser on the host: pure functions of texts."""

    @property
    def digest(self) -> bytes:
        """SHA-256 of its file, 32 bytes."""
        ...

    def count_mood_tokens(self, sentence: str) -> int:
        """Return how many tokens the score of a mood reads, special ones included.

        Raises:
            ChooserLimitError: no token, or more than `MAX_SENTENCE_TOKENS`.
        """
        ...

    def count_call_tokens(self, sentence: str, call: str) -> int:
        """Return how many tokens the score of a call reads, special ones included.

        Raises:
            ChooserLimitError: no token, or more than `MAX_SENTENCE_TOKENS` or `MAX_CALL_TOKENS`.
        """
        ...

    def score_moods(self, sentences: Sequence[str]) -> tuple[int, ...]:
        """Return the score of each sentence's mood, in units of 2^-16 nats.

        A score does not depend on the other sentences.

        Raises:
            ChooserLimitError: as `count_mood_tokens`, for any of the sentences.
        """
        ...

    def score_calls(self, pairs: Sequence[tuple[str, str]]) -> tuple[int, ...]:
        """Return the score of each pair of a sentence and a call, in units of 2^-16 nats.

        A score does not depend on the other pairs.

        Raises:
            ChooserLimitError: as `count_call_tokens`, for any of the pairs.
        """
        ...
