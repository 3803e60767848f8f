"""Comparison of expected values with a tool's arguments."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.testing.matching import format_expected, is_text, is_value, normalize_address

ADDRESS = "0x5FbDB2315678afecb367f032d93F642f64180aa3"

JSON = st.recursive(
    st.integers() | st.booleans() | st.text(), lambda inner: st.lists(inner, max_size=3)
)


@given(JSON)
def test_a_value_is_itself(value: object) -> None:
    assert is_value(value, value)


@given(st.binary(min_size=20, max_size=20))
def test_an_address_is_the_same_in_every_form(address: bytes) -> None:
    text = "0x" + address.hex()
    forms = (address, text, text.upper().replace("0X", "0x"))
    assert all(is_value(form, text) for form in forms)
    assert not is_value(address, 5)


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        (1, True),
        (True, 1),
        (2, "2"),
        ("3", 3),
        ([1], [1, 2]),
        ([1, 2], 1),
        ("a", "A"),
        (re.compile("a"), 5),
        (lambda value: value > 1, 1),
        (ADDRESS, ADDRESS[:-1] + "4"),
    ],
)
def test_another_value_is_another(expected: object, actual: object) -> None:
    assert not is_value(expected, actual)


def test_texts_are_whole_or_found_or_judged() -> None:
    assert is_text("done", "done")
    assert not is_text("don", "done")
    assert is_text(re.compile("^d.n"), "done")
    assert is_text(str.islower, "done")
    assert not is_text(str.isupper, "done")


def test_what_is_no_address_has_none() -> None:
    nothing: tuple[object, ...] = ("0x12", b"x", 5, [ADDRESS], re.compile("x"), None, ADDRESS + "0")
    assert [normalize_address(one) for one in nothing] == [None] * len(nothing)


def test_expectations_are_told_as_they_are_written() -> None:
    def is_large(value: int) -> bool:
        return value > 1

    assert format_expected([1, "a", re.compile("b"), is_large, lambda: 1]) == (
        "[1, 'a', re.compile('b'), is_large(…), a predicate]"
    )
    assert format_expected(bytes(20)) == "0x" + "0" * 40
    assert format_expected(ADDRESS) == repr(ADDRESS)
