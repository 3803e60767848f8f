"""The tokens that a model would say next, the likeliest first."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pyevm_agents.errors import EngineFault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

UNMASKED_TOKENS = 3
"""Tokens that are tried singly before the grammar's whole mask is asked for: it costs as much as
some ten of them, and in free text the first one is nearly always admitted."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A token that may come next, and its logit."""

    token: int
    logit: float

    is_allowed: bool
    """Whether the grammar is known to admit it; else it is to be asked."""


class Ranking:
    """The tokens of a vocabulary in the order of their logits; ties go to the lowest token.

    All end-of-generation tokens are one candidate, since they say the same: the vocabulary's own
    one, with the highest logit among them.
    """

    def __init__(self, vocabulary_tokens: int, ends: Sequence[int]) -> None:
        """Make room for the logits of a vocabulary."""
        self._scores = np.empty(vocabulary_tokens, dtype=np.float32)
        self._ends = np.array(ends, dtype=np.intp)

    def candidates(
        self, logits: NDArray[np.float32], bitmask: Callable[[], bytes]
    ) -> Iterator[Candidate]:
        """Go through all tokens that the grammar admits, and a few others, highest logit first.

        Input:
            bitmask: what the grammar admits, a bit for each token; asked for once, if at all.

        Raises:
            EngineFault: the logit of a token that the grammar admits is not a finite number.
        """
        scores = self._scores
        np.copyto(scores, logits)
        unmasked_tokens = UNMASKED_TOKENS
        with np.errstate(over="ignore", invalid="ignore"):
            is_sound = math.isfinite(scores.sum())  # One that is not makes the sum none either.
        if not is_sound:
            require_finite(logits, mask_of(bitmask(), len(scores)))
            unmasked_tokens = 0
        self._unite_ends()
        for tried in itertools.count():
            if tried == unmasked_tokens:
                np.copyto(scores, -np.inf, where=~mask_of(bitmask(), len(scores)))
            token = int(scores.argmax())
            logit = float(scores[token])
            if logit == -math.inf:
                return
            yield Candidate(token, logit, tried >= unmasked_tokens)
            scores[token] = -np.inf

    def _unite_ends(self) -> None:
        scores = self._scores
        best = np.fmax.reduce(scores[self._ends])  # A number, where there is one.
        scores[self._ends] = -np.inf
        scores[self._ends[0]] = -np.inf if math.isnan(best) else best


def mask_of(bitmask: bytes, vocabulary_tokens: int) -> NDArray[np.bool_]:
    """Return for each token whether its bit is set."""
    bits = np.frombuffer(bitmask, dtype=np.uint8)
    return np.unpackbits(bits, count=vocabulary_tokens, bitorder="little").view(np.bool_)


def require_finite(logits: NDArray[np.float32], mask: NDArray[np.bool_]) -> None:
    """Refuse logits that can't be compared, where they could be chosen.

    Raises:
        EngineFault: names the first token.
    """
    broken = np.flatnonzero(mask & ~np.isfinite(logits))
    if len(broken):
        token = int(broken[0])
        raise EngineFault(
            f"The model computed {float(logits[token])} as the logit of token {token}: its file is "
            "damaged or its numbers overflow; "
            "check the file's SHA-256, or use another quantisation"
        )
