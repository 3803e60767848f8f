from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.bench.measurement.least_squares import fit, solve_non_negative

TIMES = st.floats(1e-6, 10.0)


@given(a=TIMES, b=TIMES, c=TIMES)
def test_exact_times_give_their_coefficients(a: float, b: float, c: float) -> None:
    xs = [0.0, 1.0, 2.0, 3.0, 5.0, 8.0]
    found = fit([(1, x, x * x) for x in xs], [[a + b * x + c * x * x] * 3 for x in xs])
    assert found.fitted == pytest.approx(found.measured, rel=1e-6)
    assert found.evaluate((1, 4, 16)).middle == pytest.approx(a + 4 * b + 16 * c, rel=1e-4)


def test_no_coefficient_is_negative() -> None:
    found = fit([(1, x) for x in (1, 2, 3, 4)], [[5.0], [4.0], [3.0], [2.0]])
    assert found.coefficients[1] == 0
    assert (found.resampled >= 0).all()
    assert found.get_coefficient(1).high >= 0


def test_relative_errors_count_alike() -> None:
    # 10 % off at a second and 10 % off at a millisecond: the line of one column is between both.
    found = fit([(1.0,), (1000.0,)], [[1.1e-3], [0.9]])
    assert found.coefficients[0] == pytest.approx((1 / 1.1 + 1 / 0.9) / (1 / 1.21 + 1 / 0.81) / 1e3)


@given(
    st.integers(0, 2**32 - 1).map(np.random.default_rng),
    st.integers(1, 4),
)
def test_what_is_not_negative_is_best_among_its_like(
    chance: np.random.Generator, columns: int
) -> None:
    design = chance.uniform(0, 1, (8, columns))
    target = chance.uniform(-0.5, 1, (8, 1))
    best = solve_non_negative(design, target)
    assert (best >= 0).all()
    # Karush, Kuhn, Tucker: no step that is allowed makes it better.
    slope = design.T @ (design @ best - target)
    assert (slope >= -1e-9).all()
    assert np.abs(slope * best).max() < 1e-9


def test_intervals_hold_the_truth_about_as_often_as_they_say() -> None:
    xs = np.array([16, 32, 64, 128, 256, 512, 1024])
    truth = np.array([0.02, 4e-3, 2e-6])
    rows = np.stack([np.ones_like(xs), xs, xs**2], axis=1)
    held = 0
    for seed in range(100):
        chance = np.random.default_rng(seed)
        off = np.exp(chance.normal(0, 0.05, (len(xs), 5)))
        found = fit(rows.tolist(), ((rows @ truth)[:, None] * off).tolist())
        it = found.evaluate((0, 1, 2 * 512))
        held += it.low <= truth[1] + 2 * 512 * truth[2] <= it.high
    assert held >= 85


def test_too_few_measurements_are_refused() -> None:
    with pytest.raises(ValueError, match="1 measurements for 2 coefficients"):
        fit([(1, 2)], [[1.0]])
    with pytest.raises(ValueError, match=r"the shortest of 0\.0 s"):
        fit([(1,), (1,)], [[0.0], [1.0]])
