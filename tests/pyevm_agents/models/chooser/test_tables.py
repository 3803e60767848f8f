"""Tables of exp, GELU and tanh: near the real functions, and the same on every machine."""

from __future__ import annotations

import hashlib
import math

import numpy as np
import pytest

from pyevm_agents.models.chooser.tables import (
    ATTENDED_NATS,
    GELU_LIMIT,
    build_gelu,
    build_weights,
    compute_tanh,
)


def test_weights_are_exponentials() -> None:
    weights = build_weights()
    exact = np.exp(-np.arange(ATTENDED_NATS * 1024) / 1024) * 2**20
    assert np.abs(weights[:-1] - exact).max() <= 1.001
    assert (weights[0], weights[-2], weights[-1]) == (2**20, 0, 0)
    assert (np.diff(weights) <= 0).all()


@pytest.mark.parametrize("sign", [1, -1])
def test_gelu_is_that_of_erf(sign: int) -> None:
    table = build_gelu()
    assert len(table) == 2 * GELU_LIMIT
    for step in (*range(6 * 1024), 8 * 1024, GELU_LIMIT - 1):
        x = sign * step / 1024
        exact = x * math.erfc(-x / math.sqrt(2)) / 2 * 2**16
        assert abs(table[sign * step] - exact) <= 0.5 + 1e-9, x


def test_tanh_is_near_the_exact_one_and_odd() -> None:
    steps = np.array([*range(0, 12 * 2**16, 997), 16 * 2**16, 2**21, 2**43], np.float64)
    found = compute_tanh(steps)
    assert np.abs(found - np.tanh(steps / 2**16) * 2**16).max() <= 1.001
    assert compute_tanh(-steps).tolist() == (-found).tolist()
    assert (found[0], found[-1]) == (0, 2**16)


def test_the_tables_are_those_of_every_machine() -> None:
    numbers = [*build_weights(), *build_gelu(), *compute_tanh(np.arange(0.0, 2**20, 37))]
    digest = hashlib.sha256(",".join(str(int(x)) for x in numbers).encode()).hexdigest()
    assert digest == "63d609ec1ee5578d6f39528228b3db9fd9d917e0253d4260f4071683738a70f1"
