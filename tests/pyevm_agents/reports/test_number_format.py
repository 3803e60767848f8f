"""Numbers for people."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.reports import number_format
from pyevm_agents.reports.number_format import Interval


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (61_234, "61,200"),
        (999.9, "1,000"),
        (7.8, "7.80"),
        (0.04567, "0.0457"),
        (-3.14159, "\N{MINUS SIGN}3.14"),
        (1e-7, "1.00e\N{MINUS SIGN}07"),
        (math.inf, "∞"),
        (-math.inf, "\N{MINUS SIGN}∞"),
        (math.nan, "\N{EN DASH}"),
    ],
)
def test_a_number_has_three_digits(value: float, text: str) -> None:
    assert number_format.format_number(value) == text


@given(st.floats(min_value=1e-3, max_value=1e11))
def test_a_number_is_right_to_three_digits(value: float) -> None:
    assert float(number_format.format_number(value).replace(",", "")) == pytest.approx(
        value, rel=0.0051
    )


@pytest.mark.parametrize(
    ("low", "middle", "high", "text"),
    [
        (0, 0, 1_750, "< 1,750"),
        (0, 12, 1_750, "< 1,750"),
        (1, 12, 1_750, "12.0"),
        (0, 0, 0, "0"),
        (math.inf, math.inf, math.inf, "∞"),
        (math.nan, math.nan, math.nan, "\N{EN DASH}"),
    ],
)
def test_a_figure_whose_interval_holds_zero_is_an_upper_bound(
    low: float, middle: float, high: float, text: str
) -> None:
    value = Interval(low=low, middle=middle, high=high)
    assert number_format.format_estimate(value) == text
    assert bool(number_format.format_span(value)) == (text == "12.0")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (4.5e-8, "45.0 ns"),
        (0.00621, "6.21 ms"),
        (9e-6, "9.00 µs"),
        (59.94, "59.9 s"),
        (599, "599 s"),
        (912.4, "15.2 min"),
        (40_000, "11.1 h"),
        (36_300_000, "420 days"),
        (2.9e-14, "29.0 fs"),
        (math.inf, "∞ s"),
    ],
)
def test_a_time_has_the_unit_that_fits(seconds: float, text: str) -> None:
    assert number_format.format_seconds(seconds) == text


def test_a_span_has_the_unit_of_its_middle() -> None:
    assert (
        number_format.format_seconds_span(Interval(middle=0.001, low=0.0009, high=1.2))
        == "0.900 to 1,200"
    )
    assert (
        number_format.format_seconds_span(Interval(middle=36_000, low=3_600, high=36_000))
        == "1.00 to 10.0"
    )
    assert number_format.format_span(Interval(middle=2, low=2, high=2)) == ""
    assert number_format.format_span(Interval(middle=2, low=1, high=math.inf)) == "1.00 to ∞"
    assert number_format.format_span(Interval(middle=math.nan, low=math.nan, high=1)) == ""


def test_words() -> None:
    assert number_format.join_names([]) == ""
    assert number_format.join_names(["a"]) == "a"
    assert number_format.join_names(["a", "b", "c"]) == "a, b and c"
    assert number_format.format_count(134_515_008) == "135 million"
    assert number_format.format_bytes(144_811_456) == "145 MB"
    assert number_format.format_percent(0.0213) == "2.1 %"
    assert number_format.format_timestamp("2026-11-21T23:40:00+00:00") == "2026-11-21 23:40 UTC"
    assert number_format.format_timestamp("yesterday") == "yesterday"
