"""Interval arithmetic is exact up to the edges of 64 bits, and raises beyond them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyevm_agents.models.numeric import bounds
from pyevm_agents.models.numeric.errors import OutOfRange
from pyevm_agents.models.numeric.operators import OPERATORS
from pyevm_agents.models.numeric.plan import NodeCall, Operand

if TYPE_CHECKING:
    from collections.abc import Callable

LEAST, MOST = -(2**63), 2**63 - 1
EDGES = st.one_of(
    st.integers(LEAST, MOST),
    st.sampled_from(
        [LEAST, LEAST + 1, -(2**62), -(2**32), -3, -1, 0, 1, 2, 3, 2**31, 2**32, 2**62, MOST]
    ),
    st.integers(-(2**33), 2**33),
)


@pytest.mark.parametrize(
    ("compute", "exact"),
    [
        (bounds.add, int.__add__),
        (bounds.subtract, int.__sub__),
        (bounds.multiply, int.__mul__),
    ],
)
@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(a=EDGES, b=EDGES)
def test_arithmetic_is_exact_or_raises(
    compute: Callable[..., object], exact: Callable[[int, int], int], a: int, b: int
) -> None:
    wanted = exact(a, b)
    arrays = (np.array([0, a]), np.array([0, b]))
    if LEAST <= wanted <= MOST:
        assert np.asarray(compute(*arrays)).tolist() == [0, wanted]
    else:
        with pytest.raises(OutOfRange) as raised:
            compute(*arrays)
        assert raised.value.value == wanted


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(data=st.data())
def test_sums_of_products_are_bounded_exactly(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 4))
    low = data.draw(st.lists(EDGES, min_size=count, max_size=count))
    high = [data.draw(st.integers(each, MOST)) for each in low]
    weights = data.draw(st.lists(st.integers(-3, 3), min_size=count, max_size=count))
    pairs = [sorted((a * w, b * w)) for a, b, w in zip(low, high, weights, strict=True)]
    least = sum(min(each[0], 0) for each in pairs)
    most = sum(max(each[1], 0) for each in pairs)
    a, b = (np.array([low]), np.array([high])), np.array(weights).reshape(-1, 1)
    if least >= LEAST and most <= MOST:
        partial, lows, highs = bounds.combine_products(np.matmul, a, (b, b))
        assert partial == (least, most)
        assert lows.tolist() == [[sum(each[0] for each in pairs)]]
        assert highs.tolist() == [[sum(each[1] for each in pairs)]]
    else:
        with pytest.raises(OutOfRange):
            bounds.combine_products(np.matmul, a, (b, b))


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(data=st.data())
def test_the_range_of_a_lookup_is_exact(data: st.DataObject) -> None:
    size, rows, count = (data.draw(st.integers(1, top)) for top in (9, 2, 4))
    numbers = st.lists(st.integers(-50, 50), min_size=rows * size, max_size=rows * size)
    low = np.array(data.draw(numbers)).reshape(rows, size)
    high = low + np.abs(np.array(data.draw(numbers)).reshape(rows, size))
    ranges = [
        sorted(data.draw(st.tuples(*[st.integers(-size, size - 1)] * 2))) for _ in range(count)
    ]
    least, most = np.array(ranges).T
    call = NodeCall(
        label="node",
        operator="Gather",
        opset=17,
        attributes={"axis": 1},
        operands=(
            Operand(type="int64", low=low, high=high, is_constant=False),
            Operand(type="int64", low=least, high=most, is_constant=False),
        ),
    )
    lows, highs = OPERATORS["Gather"].plan(call).bound()
    for row in range(rows):
        for at, (first, last) in enumerate(ranges):
            places = range(first, last + 1)
            assert lows[row, at] == min(low[row, place] for place in places)
            assert highs[row, at] == max(high[row, place] for place in places)
