"""Surprisals in integers: near the exact ones, within bounds, independent of the order of sums."""

from __future__ import annotations

import hashlib
from decimal import Context, Decimal
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.errors import EngineFault
from pyevm_agents.models.decoding.fixed_point import (
    MAX_LOGIT,
    MAX_NATS,
    SCALE,
    build_exponentials,
    build_logarithms,
    compute_surprisal,
    to_fixed_point,
)

if TYPE_CHECKING:
    import random

EXACT = Context(prec=50)
BOUND = Decimal("0.001")

LOGITS = st.lists(st.floats(-60, 60, width=32), min_size=1, max_size=40)


def exact_surprisal(logits: list[float], token: int) -> Decimal:
    """Return -log p in nats, by `decimal`."""
    total = sum((EXACT.exp(Decimal(logit)) for logit in logits), Decimal(0))
    return EXACT.ln(total) - Decimal(logits[token])


def surprisal(logits: list[float], token: int = 0) -> int:
    return compute_surprisal(np.array(logits, np.float32), token)


@given(LOGITS, st.data())
def test_a_surprisal_is_the_exact_one_to_a_thousandth(
    logits: list[float], data: st.DataObject
) -> None:
    token = data.draw(st.integers(0, len(logits) - 1))
    found = Decimal(surprisal(logits, token)) / SCALE
    assert abs(found - exact_surprisal(logits, token)) < BOUND


@pytest.mark.parametrize("size", [1, 2, 3, 1_000, 49_152])
def test_a_vocabulary_of_equal_logits_has_the_logarithm_of_its_size(size: int) -> None:
    found = Decimal(compute_surprisal(np.full(size, -7.25, np.float32), size - 1)) / SCALE
    assert abs(found - EXACT.ln(Decimal(size))) < BOUND


def test_the_sum_of_four_million_equal_weights_fits() -> None:
    found = Decimal(compute_surprisal(np.zeros(1 << 22, np.float32), 0)) / SCALE
    assert abs(found - 22 * EXACT.ln(Decimal(2))) < BOUND


def test_a_real_distribution_is_near_the_exact_one() -> None:
    chance = np.random.default_rng(3)
    logits = chance.normal(0, 4, 1_000).astype(np.float32)
    numbers = logits.tolist()
    for token in (int(logits.argmax()), int(logits.argmin()), 17):
        found = Decimal(compute_surprisal(logits, token)) / SCALE
        assert abs(found - exact_surprisal(numbers, token)) < BOUND


def test_a_certain_token_has_no_surprisal() -> None:
    assert surprisal([5.0]) == 0
    assert surprisal([5.0, 5.0 - MAX_NATS, -1e9]) == 0


@given(LOGITS)
def test_a_surprisal_is_never_negative(logits: list[float]) -> None:
    assert min(surprisal(logits, token) for token in range(len(logits))) >= 0


@given(LOGITS, st.randoms(use_true_random=False))
def test_a_shuffled_vocabulary_has_the_same_integers(
    logits: list[float], chance: random.Random
) -> None:
    order = list(range(len(logits)))
    chance.shuffle(order)
    shuffled = [logits[place] for place in order]
    assert [surprisal(shuffled, place) for place in range(len(order))] == [
        surprisal(logits, place) for place in order
    ]


def test_equal_logits_have_equal_surprisals_and_a_higher_one_a_lower() -> None:
    assert surprisal([1.5, 0.0, 1.5], 0) == surprisal([1.5, 0.0, 1.5], 2)
    assert surprisal([1.5, 1.5 + 1 / SCALE], 0) == surprisal([1.5, 1.5 + 1 / SCALE], 1) + 1


def test_a_logit_is_rounded_half_to_even() -> None:
    halves = np.array([0.5, 1.5, 2.5, -0.5, -1.5], np.float32) / SCALE
    assert to_fixed_point(halves.astype(np.float32)).tolist() == [0, 2, 2, 0, -2]


@pytest.mark.parametrize(
    "logit", [float("nan"), float("inf"), float("-inf"), 2.0**31, -(2.0**31), 3e38]
)
@pytest.mark.parametrize("place", [0, 1])
def test_a_logit_that_no_integer_holds_is_a_fault(logit: float, place: int) -> None:
    logits = [1.0, 2.0]
    logits[place] = logit
    with pytest.raises(EngineFault, match=r"not finite, or of 2\^31 or more"):
        surprisal(logits)


def test_the_largest_logits_overflow_nothing() -> None:
    top = float(np.nextafter(np.float32(MAX_LOGIT), np.float32(0)))
    assert surprisal([top, -top], 0) == 0
    assert surprisal([top, -top], 1) == 2 * int(top) * SCALE


def test_the_tables_are_those_of_every_machine() -> None:
    coarse, fine = build_exponentials()
    logs, log_two = build_logarithms()
    numbers = [*coarse.tolist(), *fine.tolist(), *logs, log_two]
    digest = hashlib.sha256(",".join(map(str, numbers)).encode()).hexdigest()
    assert digest == "322ffa865f09ccd7a08457a123a44106231acf93b0ef80d2e427cee8b2345dc4"
