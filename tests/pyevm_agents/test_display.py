"""Texts of strangers, as people may see them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.display import MAX_SHOWN_CHARACTERS, count_steps, pluralize, sanitize


@given(st.text() | st.text("\x1b\x00\u202e\u200b\u2028\n\r\x9b[", max_size=40))
def test_a_strangers_text_steers_no_terminal(text: str) -> None:
    told = sanitize(text)
    assert all(one.isprintable() or one == "\t" or not one.isascii() for one in told)
    assert not set(told) & set("\x1b\x9b\u2028\u2029\u202e\u200b\ufeff\u2066")
    assert len(told.splitlines()) <= 1


def test_a_long_text_is_its_beginning() -> None:
    told = sanitize("x" * 5_000)
    assert told == "x" * MAX_SHOWN_CHARACTERS + " … (5,000 characters)"


def test_steps_that_the_rules_decided_are_counted_apart() -> None:
    assert count_steps(3, 0) == "3 steps"
    assert count_steps(3, 2) == "3 steps, 2 of them decided by the rules"
    assert count_steps(1, 1) == "1 step, decided by the rules"


def test_one_is_not_many() -> None:
    assert [pluralize(count, "block") for count in (0, 1, 1_000)] == [
        "0 blocks",
        "1 block",
        "1,000 blocks",
    ]
