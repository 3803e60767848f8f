"""Ranking of tokens, single checks before the mask, and logits that are not finite."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.errors import EngineFault
from pyevm_agents.models.decoding.token_walk import TokenRanking, unpack_bitmask

SIZE = 40
ENDS = [38, 5]


def bits(*tokens: int, size: int = SIZE) -> bytes:
    mask = np.zeros(size, dtype=np.uint8)
    mask[list(tokens)] = 1
    return np.packbits(mask, bitorder="little").tobytes()


def logits(**values: float) -> np.ndarray:
    scores = np.full(SIZE, 100.0, dtype=np.float32)
    for token, value in values.items():
        scores[int(token[1:])] = value
    return scores


def order(scores: np.ndarray, *allowed: int) -> list[int]:
    """Return the allowed tokens in ranking order."""
    found = TokenRanking(SIZE, ENDS).iter_candidates(scores, lambda: bits(*allowed))
    return [each.token for each in found if each.is_allowed or each.token in allowed]


def test_the_highest_allowed_logit_comes_first() -> None:
    assert order(logits(t3=1.0, t17=2.5, t39=-4.0), 3, 17, 39) == [17, 3, 39]


def test_ties_go_to_the_lowest_token() -> None:
    assert order(logits(t9=2.5, t17=2.5, t20=2.5), 20, 17, 9) == [9, 17, 20]
    assert order(logits(t9=-0.0, t17=0.0), 9, 17) == [9, 17]


def test_the_ends_are_one_candidate_with_the_best_of_their_logits() -> None:
    assert order(logits(t38=1.0, t5=3.0, t7=2.0, t8=4.0), 38, 5, 7, 8) == [8, 38, 7]
    assert order(logits(t38=3.0, t5=float("-1e30"), t7=2.0), 38, 5, 7) == [38, 7]
    assert order(logits(t5=float("nan"), t38=float("nan"), t7=2.0), 7) == [7]


def test_nothing_allowed_leaves_no_candidate() -> None:
    assert order(logits()) == []


def test_the_mask_is_asked_for_late_and_once() -> None:
    asked = []

    def bitmask() -> bytes:
        asked.append(1)
        return bits(*range(SIZE))

    scores = np.arange(SIZE, dtype=np.float32)
    candidates = TokenRanking(SIZE, ENDS).iter_candidates(scores, bitmask)
    assert [each.token for each in islice(candidates, 3)] == [39, 38, 37]
    assert not asked
    assert [each.token for each in islice(candidates, 3)] == [36, 35, 34]
    assert len(asked) == 1


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_is_none_is_a_fault_where_it_may_be_chosen(value: float) -> None:
    with pytest.raises(EngineFault, match=f"computed {value} as the logit of token 17"):
        order(logits(t3=1.0, t17=value), 3, 17)
    assert order(logits(t3=1.0, t17=value), 3) == [3]


def test_a_mask_longer_than_the_vocabulary_is_cut() -> None:
    assert unpack_bitmask(bits(3, 41, size=48), SIZE).nonzero()[0].tolist() == [3]


@given(
    st.sets(st.integers(0, SIZE - 1).filter(lambda token: token not in ENDS)),
    st.lists(st.floats(-5, 5, width=32), min_size=SIZE, max_size=SIZE),
)
def test_the_order_is_that_of_the_logits(tokens: set[int], values: list[float]) -> None:
    scores = np.array(values, dtype=np.float32)
    assert unpack_bitmask(bits(*tokens), SIZE).nonzero()[0].tolist() == sorted(tokens)
    assert order(scores, *tokens) == sorted(tokens, key=lambda token: (-scores[token], token))
