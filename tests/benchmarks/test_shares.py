"""Shares and Wilson's interval, against published values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.shares import Share, percent, share_of


@pytest.mark.parametrize(
    ("count", "total", "low", "high"),
    [
        # R. G. Newcombe, Statistics in Medicine 17 (1998), table I, method 3
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
        (20, 20, 0.8389, 1.0000),
    ],
)
def test_interval_is_wilsons(count: int, total: int, low: float, high: float) -> None:
    assert Share(count, total).interval == pytest.approx((low, high), abs=5e-5)


@given(st.integers(1, 2_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_interval_holds_the_share_and_mirrors(numbers: tuple[int, int]) -> None:
    count, total = numbers
    low, high = Share(count, total).interval
    assert 0 <= low <= count / total <= high <= 1
    other_low, other_high = Share(total - count, total).interval
    assert (low, high) == pytest.approx((1 - other_high, 1 - other_low))


def test_nothing_is_no_share() -> None:
    assert Share(0, 0).interval == (0.0, 1.0)
    assert Share(0, 0).value == 0
    assert str(Share(0, 0)) == "-"


def test_shares_are_written_with_their_interval() -> None:
    assert str(Share(54, 60)) == "54/60 90 % (80-95)"
    assert share_of([True, False, True]) == Share(2, 3)


@pytest.mark.parametrize(
    ("share", "text"), [(1.0, "100"), (0.0, "0"), (2 / 3, "66.7"), (0.9996, "100"), (0.98, "98")]
)
def test_per_cent_are_short(share: float, text: str) -> None:
    assert percent(share) == text
