from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyevm_agents.bench.measurement.exponents import (
    LEAST,
    MOST,
    describe_growth,
    fit_exponent,
    fit_log_slope,
)
from pyevm_agents.reports.number_format import Interval

DOUBLINGS = (1, 2, 4, 8, 16, 32)


@settings(max_examples=20)
@given(
    p=st.floats(0.5, 2.5),
    start=st.floats(0.0, 100.0),
    growth=st.floats(1.0, 100.0),
)
def test_exponents_that_are_made_up_come_back(p: float, start: float, growth: float) -> None:
    found = fit_exponent(DOUBLINGS, [[start + growth * x**p] for x in DOUBLINGS])
    assert found.middle == pytest.approx(p, abs=0.02)
    assert found.low <= found.middle <= found.high
    assert found.high - found.low < 0.1


@settings(max_examples=20)
@given(st.sampled_from([0.5, 1.0, 1.5, 2.0]), st.data())
def test_noise_widens_the_interval_which_still_holds_the_exponent(
    p: float, data: st.DataObject
) -> None:
    noise = data.draw(
        st.lists(st.floats(-0.02, 0.02), min_size=len(DOUBLINGS), max_size=len(DOUBLINGS))
    )
    exact = [10 + 5 * x**p for x in DOUBLINGS]
    samples = [[y * (1 + n), y * (1 + n)] for y, n in zip(exact, noise, strict=True)]
    found = fit_exponent(DOUBLINGS, samples)
    assert found.low - 0.3 <= p <= found.high + 0.3


def test_samples_that_disagree_widen_the_interval() -> None:
    ys = [10 + 5 * x for x in DOUBLINGS]
    alike = fit_exponent(DOUBLINGS, [[y, y, y] for y in ys])
    shares = [(0.9, 1, 1.1)] * 3 + [(1.1, 1, 0.9)] * 3
    apart = fit_exponent(
        DOUBLINGS, [[y * n for n in each] for y, each in zip(ys, shares, strict=True)]
    )
    assert alike.high - alike.low < 0.05
    assert apart.low < 0.97
    assert apart.high > 1.03


def test_rounds_that_are_slow_as_a_whole_change_no_exponent() -> None:
    found = fit_exponent(DOUBLINGS, [[0.5 * y, y, 3 * y] for y in (10 + 5 * x for x in DOUBLINGS)])
    assert found.high - found.low < 0.05


def test_a_bend_is_no_single_power() -> None:
    """Twice as steep from the fourth on, as prompts that are read again are."""
    bent = [10 + 5 * x + 5 * max(0, x - 4) for x in range(1, 9)]
    found = fit_exponent(range(1, 9), [[y] for y in bent])
    assert found.low > 1
    assert found.high - found.low > 0.1
    assert describe_growth(found) == "faster than linear"


def test_three_points_tell_nothing_of_how_sure_they_are() -> None:
    found = fit_exponent((1, 2, 4), [[3], [5], [9]])
    assert found == Interval(middle=1.0, low=LEAST, high=MOST)
    assert describe_growth(found) == "not told from linear"


@pytest.mark.parametrize(
    ("xs", "samples"),
    [((1, 2), [[1], [2]]), ((0, 1, 2), [[1], [2], [3]]), ((1, 2, 3), [[1], [0], [2]])],
)
def test_too_few_places_and_what_is_not_above_zero_are_refused(
    xs: tuple[int, ...], samples: list[list[float]]
) -> None:
    with pytest.raises(ValueError, match="an exponent needs 3 places or more"):
        fit_exponent(xs, samples)


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (0.9, 1.1, "linear"),
        (1.01, 1.1, "faster than linear"),
        (0.8, 0.99, "slower than linear"),
        (0.5, 1.6, "not told from linear"),
    ],
)
def test_verdicts(low: float, high: float, said: str) -> None:
    assert describe_growth(Interval(middle=(low + high) / 2, low=low, high=high)) == said


@given(p=st.floats(-1.0, 2.0), factor=st.floats(0.1, 10.0), width=st.floats(1.0, 1.5))
def test_slopes_of_logarithms_come_back(p: float, factor: float, width: float) -> None:
    xs = (1e8, 5e8, 1.5e9)
    ys = [factor * (x / 1e8) ** p for x in xs]
    found = fit_log_slope(xs, [Interval(middle=y, low=y / width, high=y * width) for y in ys])
    assert found.middle == pytest.approx(p, abs=1e-6)
    assert found.middle - found.low == pytest.approx(found.high - found.middle, abs=1e-6)
    assert (found.high - found.low > 0.001) == (width > 1.001) or width < 1.01


def test_a_slope_of_one_place_is_refused() -> None:
    one = Interval(middle=1.0, low=1.0, high=1.0)
    with pytest.raises(ValueError, match="two places or more"):
        fit_log_slope([5, 5], [one, one])
    with pytest.raises(ValueError, match="all above 0"):
        fit_log_slope([1, 2], [one, Interval(middle=1.0, low=0.0, high=1.0)])
