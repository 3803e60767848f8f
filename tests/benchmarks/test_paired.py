"""Paired comparison: counts, McNemar's exact test and Newcombe's interval, as published."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.paired import Paired, pair_marks

COUNTS = st.tuples(*[st.integers(0, 300)] * 4)


def paired(counts: tuple[int, ...]) -> Paired:
    both, only_first, only_second, neither = counts
    return Paired(both=both, only_first=only_first, only_second=only_second, neither=neither)


@pytest.mark.parametrize(
    ("counts", "low", "high"),
    [
        # R. G. Newcombe, Statistics in Medicine 17 (1998), pp. 2635-2650, method 10
        ((36, 12, 2, 0), 0.0569, 0.3404),
        ((54, 0, 0, 0), -0.0664, 0.0664),
        # M. W. Fagerland et al., Statistics in Medicine 33 (2014), airway hyper-responsiveness
        ((1, 1, 7, 12), -0.507, -0.026),
    ],
)
def test_the_interval_is_newcombes(counts: tuple[int, ...], low: float, high: float) -> None:
    assert paired(counts).interval == pytest.approx((low, high), abs=5e-4)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ((1, 1, 7, 12), 0.0703125),  # as above: the exact conditional test
        ((0, 0, 5, 0), 0.0625),
        ((0, 6, 0, 0), 0.03125),
        ((9, 3, 3, 9), 1.0),
        ((9, 3, 4, 9), 1.0),
        ((100, 0, 0, 100), 1.0),
        ((0, 0, 0, 0), 1.0),
    ],
)
def test_p_is_that_of_mcnemars_exact_test(counts: tuple[int, ...], expected: float) -> None:
    assert paired(counts).p_value == pytest.approx(expected, abs=1e-12)


def test_p_of_thousands_of_tasks_is_a_number() -> None:
    assert 0 < paired((0, 900, 1_100, 0)).p_value < 0.0001


@given(COUNTS)
def test_the_interval_holds_the_difference_and_mirrors(counts: tuple[int, ...]) -> None:
    both, only_first, only_second, neither = counts
    pair, swapped = paired(counts), paired((both, only_second, only_first, neither))
    low, high = pair.interval
    assert -1 <= low <= pair.difference <= high <= 1
    assert swapped.interval == pytest.approx((-high, -low))
    assert swapped.p_value == pair.p_value


def test_no_tasks_have_no_difference() -> None:
    assert pair_marks([]).interval == (-1.0, 1.0)
    assert pair_marks([]).difference == 0


def test_pairs_are_counted() -> None:
    marks = [(True, True), (True, False), (True, False), (False, True), *[(False, False)] * 3]
    pair = pair_marks(marks)
    assert pair == paired((1, 2, 1, 3))
    assert (str(pair.first)[:3], str(pair.second)[:3], pair.total) == ("3/7", "2/7", 7)
    assert pair.difference == pytest.approx(1 / 7)
