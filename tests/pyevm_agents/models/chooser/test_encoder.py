"""The encoder: equal to Python's integers at every edge, and no float32 sum rounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.errors import EngineFault
from pyevm_agents.models.chooser import encoder
from pyevm_agents.models.chooser.encoder import (
    MAX_HEAD_WIDTH,
    MAX_INPUTS,
    MAX_PROJECTION,
    MAX_WEIGHT,
    MAX_WIDTH,
    NUMBER_END,
    SCALE_END,
    SUM_BITS,
    Linear,
    Norm,
    apply_linear,
    apply_norm,
    attend,
    measure_rows,
    require_exact_products,
)
from tests.pyevm_agents.models.chooser import oracles

if TYPE_CHECKING:
    from numpy.typing import NDArray

SEEDS = st.integers(0, 2**32 - 1)


def make_linear(weights: NDArray[np.int64], scale: int = SCALE_END - 1, bias: int = 0) -> Linear:
    """Return a layer; weights are outputs x inputs."""
    outputs = len(weights)
    return Linear(
        weights=np.ascontiguousarray(weights.T, np.float32),
        scales=np.full(outputs, scale, np.float64),
        biases=np.full(outputs, bias, np.float64),
    )


def exact(numbers: NDArray[Any]) -> NDArray[Any]:
    """Return whole numbers as Python's integers."""
    return numbers.astype(np.int64).astype(object)


def require_equal_linear(linear: Linear, rows: NDArray[np.int64], unit_bits: int = 16) -> None:
    found = apply_linear(linear, rows.astype(np.float64), unit_bits)
    weights, scales, biases = exact(linear.weights.T), exact(linear.scales), exact(linear.biases)
    wanted = oracles.apply_linear(weights, scales, biases, exact(rows), unit_bits)
    assert found.tolist() == wanted.tolist()


@given(SEEDS, st.integers(1, 40), st.integers(0, 40), st.sampled_from([10, 16]))
def test_a_linear_layer_is_that_of_integers(
    seed: int, inputs: int, bits: int, unit_bits: int
) -> None:
    chance = np.random.default_rng(seed)
    weights = chance.integers(-MAX_WEIGHT, MAX_WEIGHT + 1, (3, inputs))
    linear = Linear(
        weights=weights.T.astype(np.float32),
        scales=chance.integers(0, SCALE_END, 3).astype(np.float64),
        biases=chance.integers(1 - NUMBER_END, NUMBER_END, 3).astype(np.float64),
    )
    rows = np.rint(chance.standard_cauchy((2, inputs)).clip(-99, 99) * 2.0**bits / 100)
    require_equal_linear(linear, rows.astype(np.int64), unit_bits)


def test_the_largest_sums_of_a_linear_layer_fit_float32() -> None:
    # Half of each input is rounded away at most, so a row's sum grows by half of the inputs.
    assert MAX_WEIGHT * (2**SUM_BITS + MAX_INPUTS // 2) < 2**24
    assert MAX_WEIGHT * (2**SUM_BITS + MAX_INPUTS) > 2**24 - 2**18


@pytest.mark.parametrize("number", [63, 64, 127, 2**9 - 1, 3 * 2**7 - 1, 2**26 + 2**25 - 1, 2**27])
@pytest.mark.parametrize("signs", ["equal", "alternating", "one half"])
def test_sums_are_exact_where_all_numbers_are_extreme(number: int, signs: str) -> None:
    # 127 is rounded up to 64 units of 2, so that all 2,048 inputs are worth 2^17.
    row = np.full(MAX_INPUTS, number)
    weights = np.full((4, MAX_INPUTS), MAX_WEIGHT)
    if signs == "alternating":
        row[::2] *= -1
        weights[:2, ::2] *= -1
    elif signs == "one half":
        weights[:2, MAX_INPUTS // 2 :] *= -1
    weights[1::2, -1] -= 1  # An odd sum of 24 bits.
    require_equal_linear(make_linear(weights, bias=NUMBER_END - 1), np.array([row, -row]))


@pytest.mark.parametrize("number", [2**SUM_BITS - 1, 2**SUM_BITS, 2**SUM_BITS + 1, 2**36 - 1])
def test_one_large_number_is_exact(number: int) -> None:
    row = np.zeros(MAX_INPUTS, np.int64)
    row[7] = number
    require_equal_linear(make_linear(np.full((2, MAX_INPUTS), MAX_WEIGHT)), np.array([row, -row]))


def test_a_row_of_zeros_gives_the_biases() -> None:
    linear = make_linear(np.full((2, 8), MAX_WEIGHT), bias=-5)
    assert apply_linear(linear, np.zeros((1, 8))).tolist() == [[-5, -5]]


@given(SEEDS, st.integers(1, 40), st.integers(0, 42))
def test_a_norm_is_that_of_integers(seed: int, width: int, bits: int) -> None:
    chance = np.random.default_rng(seed)
    rows = np.rint(chance.uniform(-1, 1, (2, width)) ** 3 * 2.0**bits)
    gains, biases = chance.integers(1 - NUMBER_END, NUMBER_END, (2, width)).astype(np.float64)
    found = apply_norm(Norm(gains=gains, biases=biases), rows)
    assert found.tolist() == oracles.apply_norm(*map(exact, (gains, biases, rows))).tolist()


@pytest.mark.parametrize("pattern", ["equal", "one", "halves"])
def test_a_norm_is_exact_where_all_numbers_are_extreme(pattern: str) -> None:
    row = np.full(MAX_WIDTH, 2**43 - 1)
    if pattern == "one":
        row[1:] *= -1
    elif pattern == "halves":
        row[MAX_WIDTH // 2 :] *= -1
    most = NUMBER_END - 1
    norm = Norm(gains=np.full(MAX_WIDTH, most, float), biases=np.full(MAX_WIDTH, most, float))
    found = apply_norm(norm, row[None].astype(np.float64))
    expected = oracles.apply_norm(*map(exact, (norm.gains, norm.biases, row[None])))
    assert found.tolist() == expected.tolist()
    assert np.abs(found).max() <= 2 * NUMBER_END


def test_equal_numbers_have_no_direction() -> None:
    norm = Norm(gains=np.full(4, 99.0), biases=np.arange(4.0))
    assert apply_norm(norm, np.full((1, 4), 123.0)).tolist() == [[0, 1, 2, 3]]
    assert [part.tolist() for part in measure_rows(np.zeros((1, 2)))] == [[[0, 0]], [[1]]]


@pytest.mark.parametrize(("tokens", "heads", "size"), [(1, 1, 3), (5, 2, 4), (40, 1, 128)])
@pytest.mark.parametrize("spread", [0.02, 0.2, 1.0])
def test_attention_is_that_of_integers(tokens: int, heads: int, size: int, spread: float) -> None:
    assert size <= MAX_HEAD_WIDTH
    chance = np.random.default_rng(tokens)
    projected = np.rint(chance.normal(0, spread, (tokens, 3 * heads * size)) * MAX_PROJECTION)
    projected = projected.clip(-MAX_PROJECTION, MAX_PROJECTION)
    expected = oracles.attend(exact(projected), heads)
    assert attend(projected, heads).tolist() == expected.tolist()


def test_attention_of_the_longest_text_is_exact_at_the_edge() -> None:
    projected = np.full((227, 3 * MAX_HEAD_WIDTH), float(MAX_PROJECTION))
    assert attend(projected, 1).tolist() == projected[:, :MAX_HEAD_WIDTH].tolist()
    projected[1:, MAX_HEAD_WIDTH : 2 * MAX_HEAD_WIDTH] *= -1  # Keys as far away as can be.
    projected[0, 2 * MAX_HEAD_WIDTH :] = -7
    assert set(attend(projected, 1).ravel().tolist()) == {-7}


def test_a_library_that_multiplies_with_fewer_bits_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    require_exact_products()

    def shorten(array: NDArray[np.float32]) -> NDArray[np.float32]:
        """Keep 11 bits of each number, as fast modes of some processors do."""
        return (array.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)

    real = encoder.multiply
    monkeypatch.setattr(encoder, "multiply", lambda a, b: real(shorten(a), shorten(b)))
    with pytest.raises(EngineFault, match="products of integers are not exact; unset"):
        require_exact_products()
