"""The scores of a chooser: two heads on a sentence encoder, and late interaction.

The input of a mood is `[CLS] sentence [SEP]`, that of a call `[CLS] sentence [SEP] call [SEP]`.
Both heads read the first token's hidden state and the mean of all. Late interaction is the mean,
over the sentence's own tokens, of the best cosine with one of the call's own tokens.

    mood = head([first; mean])
    call = head([first; mean]) + 15 * (late - late at the start of training)

Source: Khattab and Zaharia, ColBERT, 2020; docs/architecture.md#chooser.
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from precompiles.chooser import (
    CALL_SPECIALS,
    MAX_CALL_TOKENS,
    MAX_SENTENCE_TOKENS,
    SENTENCE_SPECIALS,
    ChooserLimitError,
)
from pyevm_agents.models.chooser.encoder import (
    Encoder,
    apply_linear,
    measure_rows,
)
from pyevm_agents.models.chooser.tables import UNIT_BITS, compute_tanh

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pyevm_agents.models.chooser.encoder import EncoderWeights, Linear
    from pyevm_agents.models.chooser.wordpiece import WordPiece

    Floats: TypeAlias = NDArray[np.float64]
    Tokens: TypeAlias = tuple[int, ...]
    Input: TypeAlias = tuple[Tokens, ...]

LATE_WEIGHT = 15
"""Nats of a late interaction of 1."""

DIRECTION_BITS = 20
"""Unit vectors are integers in units of 2^-20, so that their products are below 2^53."""

LATE_BITS = 24
"""Cosines are integers in units of 2^-24."""

BATCH_TOKENS = 160
"""Tokens that are evaluated at once, of four or five pairs. More leave the processor's cache."""

CACHED_SCORES = 1_024
"""Scores that are kept, for a transaction is estimated, mined and traced: some kB each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """Two linear layers with tanh between them, from two hidden states to a logit."""

    inner: Linear
    outer: Linear


@dataclass(frozen=True, slots=True, kw_only=True)
class ChooserWeights:
    """The numbers of a chooser."""

    encoder: EncoderWeights
    mood: Head
    call: Head
    late_start: int
    """Late interaction at the start of training, in units of 2^-24."""


class SentenceChooser:
    """Implements `precompiles.chooser.Chooser`. Threads may share one."""

    def __init__(self, weights: ChooserWeights, wordpiece: WordPiece, digest: bytes) -> None:
        """Create a chooser.

        Raises:
            EngineFault: this machine's products of float32 are not exact.
        """
        self._weights = weights
        self._wordpiece = wordpiece
        self._encoder = Encoder(weights.encoder)
        self._cache: dict[Input, int] = {}
        self._lock = Lock()
        self.digest = digest

    def count_mood_tokens(self, sentence: str) -> int:
        """Count an input's tokens: see `Chooser.count_mood_tokens`."""
        return len(self._read_sentence(sentence)) + SENTENCE_SPECIALS

    def count_call_tokens(self, sentence: str, call: str) -> int:
        """Count an input's tokens: see `Chooser.count_call_tokens`."""
        return self.count_mood_tokens(sentence) + len(self._read_call(call)) + CALL_SPECIALS

    def score_moods(self, sentences: Sequence[str]) -> tuple[int, ...]:
        """Score moods: see `Chooser.score_moods`."""
        return self._score([(self._read_sentence(sentence),) for sentence in sentences])

    def score_calls(self, pairs: Sequence[tuple[str, str]]) -> tuple[int, ...]:
        """Score calls: see `Chooser.score_calls`."""
        return self._score(
            [(self._read_sentence(sentence), self._read_call(call)) for sentence, call in pairs]
        )

    def _read_sentence(self, text: str) -> Tokens:
        return self._read(text, "sentence", MAX_SENTENCE_TOKENS)

    def _read_call(self, text: str) -> Tokens:
        return self._read(text, "call", MAX_CALL_TOKENS)

    def _read(self, text: str, kind: str, most: int) -> Tokens:
        tokens = tuple(self._wordpiece.tokenize(text))
        if not 1 <= len(tokens) <= most:
            raise ChooserLimitError(
                f"{kind} of {len(tokens):,} tokens: must have 1 to {most}; shorten or split it"
            )
        return tokens

    def _score(self, inputs: Sequence[Input]) -> tuple[int, ...]:
        """Return the scores of inputs of one kind. Equal ones are evaluated once."""
        with self._lock:
            known = {each: self._cache.get(each) for each in inputs}
        missing = [each for each, score in known.items() if score is None]
        for batch in split_batches(missing):
            known.update(zip(batch, self._evaluate(batch), strict=True))
        scores = {each: score for each, score in known.items() if score is not None}
        with self._lock:
            for each, score in scores.items():
                self._cache.pop(each, None)
                self._cache[each] = score
            for oldest in list(self._cache)[:-CACHED_SCORES]:
                del self._cache[oldest]
        return tuple(scores[each] for each in inputs)

    def _evaluate(self, inputs: Sequence[Input]) -> list[int]:
        """Return the scores of inputs of one kind."""
        wordpiece, weights = self._wordpiece, self._weights
        ends = (wordpiece.end,)
        texts = [sum((text + ends for text in texts), (wordpiece.beginning,)) for texts in inputs]
        states = self._encoder.encode(texts)
        means = [np.floor(each.sum(axis=0) / len(each)) for each in states]
        rows = np.array(
            [np.append(each[0], mean) for each, mean in zip(states, means, strict=True)]
        )
        if len(inputs[0]) == 1:
            return score_head(weights.mood, rows)
        lates = [
            measure_late_interaction(each, len(sentence))
            for each, (sentence, _) in zip(states, inputs, strict=True)
        ]
        return [
            score + (LATE_WEIGHT * (late - weights.late_start) >> (LATE_BITS - UNIT_BITS))
            for score, late in zip(score_head(weights.call, rows), lates, strict=True)
        ]


def split_batches(inputs: Sequence[Input]) -> list[list[Input]]:
    """Return inputs in batches of at most `BATCH_TOKENS` tokens, or of one input."""
    batches: list[list[Input]] = []
    room = 0
    for each in inputs:
        size = sum(map(len, each))
        if size > room:
            batches.append([])
            room = BATCH_TOKENS
        batches[-1].append(each)
        room -= size
    return batches


def score_head(head: Head, rows: Floats) -> list[int]:
    """Return the logits of rows, in units of 2^-16."""
    outer = apply_linear(head.outer, compute_tanh(apply_linear(head.inner, rows)))
    return [int(score) for score in outer[:, 0]]


def measure_late_interaction(states: Floats, sentence_tokens: int) -> int:
    """Return the late interaction of a sentence and a call, in units of 2^-24, rounded down.

    Input:  hidden states of `[CLS] sentence [SEP] call [SEP]`.
    """
    short, lengths = measure_rows(states)
    directions = np.floor(short * (1 << DIRECTION_BITS) / lengths)
    sentence = directions[1 : sentence_tokens + 1]
    call = directions[sentence_tokens + SENTENCE_SPECIALS : -CALL_SPECIALS]
    best = (sentence @ call.T).max(axis=1)
    best = np.rint(best * 2.0 ** (LATE_BITS - 2 * DIRECTION_BITS))
    return int(best.sum()) // sentence_tokens
