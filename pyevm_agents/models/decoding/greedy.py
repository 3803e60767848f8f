"""The choice of one token, and how close it was."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyevm_agents.errors import GrammarError
from pyevm_agents.models.decoding.token_walk import MAX_CANDIDATES

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from pyevm_agents.models.decoding.token_walk import (
        ConstrainedText,
        TokenCandidate,
        TokenRanking,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TopTwoMargin:
    """The closest of the choices so far."""

    gap: float
    token_index: int
    chosen: int
    other: int


def choose_token(
    walk: ConstrainedText,
    ranking: TokenRanking,
    logits: NDArray[np.float32],
    closest: TopTwoMargin | None,
) -> TopTwoMargin | None:
    """Consume the next token of a walk, and return the closest choice so far.

    A choice's gap is the logit of the token that is taken less that of the next one that the rule
    admits as well (`token_walk.py`); where it admits none, that of the next one that the grammar
    admits. A choice with one possibility has no gap, and of two equal gaps the earlier one counts.

    Raises:
        GrammarError: the grammar admits nothing, or llguidance gives it up.
        EngineFault: the logit of a token that the grammar admits is not a finite number.
    """
    index = len(walk.tokens)
    chosen, other = _take_best_two(walk, ranking.iter_candidates(logits, walk.get_bitmask), closest)
    if other is None or not _is_closer(chosen, other, closest):
        return closest
    return TopTwoMargin(
        gap=chosen.logit - other.logit, token_index=index, chosen=chosen.token, other=other.token
    )


def _take_best_two(
    walk: ConstrainedText, candidates: Iterator[TokenCandidate], closest: TopTwoMargin | None
) -> tuple[TokenCandidate, TokenCandidate | None]:
    """Consume the next token, and return it with the next best, if that comes close enough."""
    admitted: list[TokenCandidate] = []
    passed: list[TokenCandidate] = []
    for candidate in candidates:
        if admitted and not _is_closer(admitted[0], candidate, closest):
            break
        if not (candidate.is_allowed or walk.is_allowed(candidate.token)):
            continue
        (admitted if walk.is_admissible(candidate.token) else passed).append(candidate)
        if len(admitted) > 1 or len(admitted) + len(passed) == MAX_CANDIDATES:
            break
    ranked = admitted or passed
    if not ranked:
        raise GrammarError(
            "The grammar admits no token of this vocabulary here; make its alternatives spellable"
        )
    (walk.accept if admitted else walk.accept_break)(ranked[0].token)
    return ranked[0], ranked[1] if len(ranked) > 1 else None


def _is_closer(chosen: TokenCandidate, other: TokenCandidate, closest: TopTwoMargin | None) -> bool:
    return closest is None or chosen.logit - other.logit < closest.gap
