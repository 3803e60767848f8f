"""The choice of a token, and the accounting of forced ones, on a model made of a table."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.errors import EngineFault, GrammarError
from pyevm_agents.models.grammar import allowed_tokens, choose


def bits(*tokens: int, size: int = 40) -> bytes:
    mask = np.zeros(size, dtype=np.uint8)
    mask[list(tokens)] = 1
    return np.packbits(mask, bitorder="little").tobytes()


def logits(**values: float) -> np.ndarray:
    scores = np.full(40, 100.0, dtype=np.float32)
    for token, value in values.items():
        scores[int(token[1:])] = value
    return scores


def test_the_highest_allowed_logit_is_chosen() -> None:
    assert choose(logits(t3=1.0, t17=2.5, t39=-4.0), bits(3, 17, 39)) == 17


def test_ties_go_to_the_lowest_token() -> None:
    assert choose(logits(t9=2.5, t17=2.5, t20=2.5), bits(20, 17, 9)) == 9
    assert choose(logits(t9=-0.0, t17=0.0), bits(9, 17)) == 9


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_is_none_is_a_fault_where_it_may_be_chosen(value: float) -> None:
    with pytest.raises(EngineFault, match=f"computed {value} as the logit of token 17"):
        choose(logits(t3=1.0, t17=value), bits(3, 17))
    assert choose(logits(t3=1.0, t17=value), bits(3)) == 3


def test_nothing_allowed_is_the_grammars_error() -> None:
    with pytest.raises(GrammarError, match="admits no token"):
        choose(logits(), bits())


def test_a_mask_longer_than_the_vocabulary_is_cut() -> None:
    assert choose(logits(t3=1.0), bits(3, 41, size=48)) == 3


@given(
    st.sets(st.integers(0, 39), min_size=1),
    st.lists(st.floats(-5, 5, width=32), min_size=40, max_size=40),
)
def test_the_choice_is_the_first_maximum(tokens: set[int], values: list[float]) -> None:
    scores = np.array(values, dtype=np.float32)
    assert allowed_tokens(bits(*tokens)).tolist() == sorted(tokens)
    assert choose(scores, bits(*tokens)) == min(tokens, key=lambda token: (-scores[token], token))
