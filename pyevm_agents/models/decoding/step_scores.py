"""The surprisal of a step: how sure the model was.

It is summed over the whole vocabulary, over the chosen tokens that `language_model.Confidence`
names: all after the thought in the short format, those that decide between acting, answering and
tools in the free format.

Source: docs/architecture.md#gate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from precompiles.language_model import Scoring
from pyevm_agents.models.decoding.fixed_point import compute_surprisal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ANSWER = b"Final Answer:"


class StepScorer:
    """The surprisal of one generation."""

    def __init__(self, scoring: Scoring) -> None:
        """Start a generation."""
        self.surprisal = 0
        self._scoring = scoring

    def add(self, text: bytes, logits: NDArray[np.float32], token: int) -> None:
        """Add a chosen token's surprisal, if counted.

        Input:
            text: the text before the token.

        Raises:
            EngineFault: a logit is not finite, or its size is not below 2^31.
        """
        _, newline, rest = text.partition(b"\n")
        if newline and (self._scoring is Scoring.AFTER_THOUGHT or _is_deciding(rest)):
            self.surprisal += compute_surprisal(logits, token)


def _is_deciding(rest: bytes) -> bool:
    """Return whether the text after a thought leaves open which tool, or no tool, is used."""
    return b"\n" not in rest and not rest.startswith(ANSWER)
