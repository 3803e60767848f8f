"""Regular expressions of ranges of integers."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from precompiles.integer_patterns import build_range_pattern

LINES = "\n".join([*map(str, range(-130, 131)), "", "00", "01", "-0", "-01", "1e1", "1000"])
BOUNDS = st.integers(-(2**255), 2**256 - 1) | st.integers(-30, 30)


def test_it_is_exact_for_small_ranges() -> None:
    for low in range(-121, 122, 3):
        for high in range(low, 122):
            pattern = build_range_pattern(range(low, high + 1))
            found = [match[0] for match in re.finditer(rf"(?m)^(?:{pattern})$", LINES)]
            assert found == [str(number) for number in range(low, high + 1)], (low, high)


@given(BOUNDS, BOUNDS, BOUNDS, st.integers(-2, 2))
def test_it_is_exact_for_large_ranges(low: int, high: int, number: int, near: int) -> None:
    low, high = sorted((low, high))
    pattern = re.compile(build_range_pattern(range(low, high + 1)))
    for one in (number, low + near, high + near):
        assert bool(pattern.fullmatch(str(one))) == (low <= one <= high)
