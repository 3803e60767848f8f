"""Greedy choice of one token, and the margin over the runner-up."""

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
    """The smallest margin of the choices so far."""

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
    """Choose and consume the next token; return the smallest margin so far.

    The gap of a choice is the chosen token's logit minus that of the next admissible token
    (`token_walk.py`), or, without one, that of the next token admitted by the grammar. A choice
    with a single candidate has no gap. Of two equal gaps, the earlier one is returned.

    Raises:
        GrammarError: the grammar admits no token, or llguidance fails.
        EngineFault: the logit of a token admitted by the grammar is not finite.
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
    """Consume and return the next token, with the runner-up if the gap could be the smallest."""
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
            "The grammar admits no token of this vocabulary here; use text that it can spell"
        )
    (walk.accept if admitted else walk.accept_break)(ranked[0].token)
    return ranked[0], ranked[1] if len(ranked) > 1 else None


def _is_closer(chosen: TokenCandidate, other: TokenCandidate, closest: TopTwoMargin | None) -> bool:
    return closest is None or chosen.logit - other.logit < closest.gap
