"""Figures of classes and forecasts, against values computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from training.numeric import metrics


def test_accuracy_and_macro_f1() -> None:
    truth, guess = np.array([1, 1, 0, -1]), np.array([1, 0, 0, 0])
    assert metrics.accuracy(truth, guess) == 0.5
    assert metrics.macro_f1(truth, guess) == pytest.approx((2 / 3 + 0.5 + 0) / 3)


def test_correlation_of_a_constant_is_zero() -> None:
    assert metrics.correlation(np.array([1.0, 2.0]), np.array([3.0, 3.0])) == 0
    assert metrics.correlation(np.array([1.0, 2.0]), np.array([3.0, 5.0])) == pytest.approx(1)


def test_wilson_interval() -> None:
    low, high = metrics.wilson_interval(51, 60)
    assert low == pytest.approx(0.739, abs=0.001)
    assert high == pytest.approx(0.919, abs=0.001)


def test_signs_of_zero_do_not_count() -> None:
    found = metrics.hit_rate(np.array([1.0, -1.0, 0.0, 2.0]), np.array([3.0, 1.0, 1.0, 0.0]))
    assert (found["share"], found["tries"]) == (0.5, 2)
    assert metrics.hit_rate(np.zeros(2), np.ones(2))["tries"] == 0


def test_days_are_drawn_whole() -> None:
    days = np.repeat(["a", "b"], 50)
    values = np.repeat([0.0, 1.0], 50)
    low, high = metrics.day_interval(days, lambda rows: float(values[rows].mean()), seed=1)
    assert (low, high) == (0.0, 1.0)
