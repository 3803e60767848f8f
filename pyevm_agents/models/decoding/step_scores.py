"""Scores of a step: which tool the router prefers, and how sure the model was.

In the short format, after the thought, the choice between acting and refusing, and between tools,
is made by the language model's logit plus the router's score. A token's score is that of the best
tool whose name continues with the token; the refusal scores 0. A name of several tokens is thus
chosen token by token, and no other branch is evaluated. Logits are rounded to 2^-16 first. Other
choices are the language model's alone.

The surprisal is summed from the logits without the router, over the whole vocabulary, over the
chosen tokens that `language_model.Confidence` names: all after the thought in the short format,
those that decide between acting, answering and tools in the free format.

Source: docs/architecture.md#router, #gate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyevm_agents.models.decoding.fixed_point import SCALE, compute_surprisal, to_fixed_point

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from precompiles.language_model import ScoredClause, Scoring
    from pyevm_agents.models.decoding.router import Router

WEIGHT_ONE = 256
"""A router weight of one."""

MAX_BIAS = 64 * SCALE
"""Upper bound of the router's part of a score, in size: the sum with a logit below 192 is exact in
float32."""

ACTION, REFUSAL = b"Action: ", b"Final"
ANSWER = b"Final Answer:"


class StepScorer:
    """The scores of one generation."""

    def __init__(self, scoring: Scoring, router: Router | None) -> None:
        """Start a generation; without a router, or with a weight of 0, tools have no scores."""
        self.surprisal = 0
        self.tool_scores: tuple[int, ...] = ()
        self._scoring = scoring
        self._router = router if scoring.router_weight else None
        self._clauses = {clause.text.encode(): clause for clause in scoring.clauses}
        self._options: list[tuple[bytes, int]] = []

    def adjust(
        self,
        text: bytes,
        logits: NDArray[np.float32],
        list_allowed: Callable[[], Iterable[int]],
        piece: Callable[[int], bytes],
    ) -> NDArray[np.float32]:
        """Return the logits with the router's scores.

        Input:
            text: the text up to now.
            list_allowed: returns the tokens that the grammar admits next.
            piece: returns the bytes of a token.

        Raises:
            EngineFault: the logit of an admitted token is not finite, or the size is not below
                2^31.
        """
        thought, newline, rest = text.partition(b"\n")
        clause = self._clauses.get(thought.removeprefix(b" "))
        if not newline or clause is None or not clause.tools or self._router is None:
            return logits
        if not self._options:
            self._score_tools(clause, self._router)
        if any(rest.startswith(option) for option, _ in self._options):
            return logits
        adjusted = logits.copy()
        for token in list_allowed():
            longer = rest + piece(token)
            scores = [
                score
                for option, score in self._options
                if option.startswith(longer) or longer.startswith(option)
            ]
            if scores:
                fixed = int(to_fixed_point(logits[token : token + 1])[0]) + max(scores)
                adjusted[token] = np.float32(fixed / SCALE)
        return adjusted

    def add(self, text: bytes, logits: NDArray[np.float32], token: int) -> None:
        """Add a chosen token's surprisal, if counted.

        Input:
            text: the text before the token.
            logits: the logits without the router's scores.

        Raises:
            EngineFault: a logit is not finite, or its size is not below 2^31.
        """
        _, newline, rest = text.partition(b"\n")
        if newline and (self._scoring.clauses or _is_deciding(rest)):
            self.surprisal += compute_surprisal(logits, token)

    def _score_tools(self, clause: ScoredClause, router: Router) -> None:
        scoring = self._scoring
        self.tool_scores = tuple(router.score(clause.words, tool) for tool in scoring.tools)
        self._options = [(REFUSAL, 0)]
        for index in clause.tools:
            score = self.tool_scores[index] * scoring.router_weight // WEIGHT_ONE
            bounded = min(max(score, -MAX_BIAS), MAX_BIAS)
            self._options.append((ACTION + scoring.names[index].encode() + b"\n", bounded))


def _is_deciding(rest: bytes) -> bool:
    """Return whether the text after a thought leaves open which tool, or no tool, is used."""
    return b"\n" not in rest and not rest.startswith(ANSWER)
