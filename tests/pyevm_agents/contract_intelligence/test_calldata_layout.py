"""Positions of values in calldata."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.contract_intelligence.calldata_layout import (
    Candidates,
    build_value,
    encode_arguments,
    fit_number,
    get_at,
    list_leaves,
    replace_at,
    resize,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

SELECTOR = b"abcd"
ADDRESS = "0x" + "11" * 20

ELEMENTS = st.sampled_from(["uint256", "uint8", "int16", "address", "bool", "bytes4", "bytes"])


def extend_types(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        inner.map(lambda text: f"{text}[]"),
        inner.map(lambda text: f"{text}[2]"),
        st.lists(inner, min_size=1, max_size=3).map(lambda texts: f"({','.join(texts)})"),
    )


TYPES = st.lists(st.recursive(ELEMENTS, extend_types, max_leaves=4), max_size=4)


@given(types=TYPES, number=st.integers(0, 2**256 - 1), items=st.integers(0, 3))
def test_leaves_are_where_the_values_are(types: list[str], number: int, items: int) -> None:
    candidates = Candidates(address=ADDRESS, number=number, array_items=items)
    values = [build_value(text, candidates) for text in types]
    data = encode_arguments(SELECTOR, types, values)
    for leaf in list_leaves(types, data):
        word = int.from_bytes(data[leaf.offset : leaf.offset + 32], "big")
        value = get_at(values, leaf.path)
        if leaf.is_length:
            assert word == len(as_sequence(value))
        elif leaf.abi_type == "address":
            assert word == int(str(value), 16)
        elif not isinstance(value, bytes):
            assert word == int(str(int(bool(value)) if leaf.abi_type == "bool" else value)) % 2**256


def as_sequence(value: object) -> Sequence[object]:
    assert isinstance(value, (tuple, bytes, str))
    return value


def test_values_are_replaced_at_any_depth() -> None:
    values = (1, ((2, 3), (4, 5)))
    assert replace_at(values, (1, 1, 0), 9) == (1, ((2, 3), (9, 5)))
    assert values == (1, ((2, 3), (4, 5)))


@pytest.mark.parametrize(
    ("abi_type", "number", "expected"),
    [
        ("uint8", 256, 255),
        ("uint8", -1, 0),
        ("int8", 128, 127),
        ("int8", -129, -128),
        ("uint256", 2**256, 2**256 - 1),
    ],
)
def test_numbers_are_brought_into_range(abi_type: str, number: int, expected: int) -> None:
    assert fit_number(abi_type, number) == expected


def test_arrays_are_filled_up_and_cut() -> None:
    assert resize((1, 2), 4, 0) == (1, 2, 2, 2)
    assert resize((), 2, 7) == (7, 7)
    assert resize((1, 2, 3), 1, 0) == (1,)
