"""Drawn texts: admissible, of any length, with likely ones."""

from __future__ import annotations

import re

from hypothesis import find, given, settings
from hypothesis import strategies as st

from precompiles.escaping import CONTROL_CLASS
from pyevm_agents.testing.strategies import TextStrategy

MOST = 60
FREE = re.compile(rf"(?![^{CONTROL_CLASS}]*0[xX])[^ {CONTROL_CLASS}][^{CONTROL_CLASS}]*")
PATIENT = settings(max_examples=3_000, database=None, deadline=None)

ANYTHING = st.lists(st.text() | st.sampled_from(["0x", "00XX1", " \x00", "\n", "a\u2028b"]))


@given(st.data(), ANYTHING, ANYTHING)
def test_a_line_is_what_a_thought_or_an_answer_may_be(
    data: st.DataObject, likely: list[str], known: list[str]
) -> None:
    said = data.draw(TextStrategy("Hm", likely, known, most=MOST, is_line=True))
    assert FREE.fullmatch(said)
    assert len(said) <= MOST


@given(st.data(), ANYTHING, ANYTHING)
def test_a_text_may_be_empty_and_have_line_breaks(
    data: st.DataObject, likely: list[str], known: list[str]
) -> None:
    said = data.draw(TextStrategy("", likely, known, most=MOST, is_line=False))
    assert not re.search(rf"0[xX]|(?![\n\r\t])[{CONTROL_CLASS}]", said)
    assert len(said) <= MOST


def test_the_plain_one_is_the_simplest() -> None:
    texts = TextStrategy("Hm", ["likely"], ["known", "Hm"], most=MOST, is_line=True)
    assert find(texts, lambda _: True, settings=PATIENT) == "Hm"
    assert find(texts, lambda it: it != "Hm", settings=PATIENT) == "likely"
    assert find(texts, lambda it: it not in {"Hm", "likely"}, settings=PATIENT) == "known"
    assert repr(texts) == "Texts(['Hm', 'likely', 'known'])"


def test_some_are_as_long_as_they_may_be() -> None:
    texts = TextStrategy("", [], [], most=MOST, is_line=False)
    assert len(find(texts, lambda it: len(it) > MOST // 2 + 20, settings=PATIENT)) == MOST


def test_what_can_not_be_said_is_changed_or_left_out() -> None:
    texts = TextStrategy("Hm", ["\n", " 0xfF\x00", "a\nb"], [], most=3, is_line=True)
    assert repr(texts) == "Texts(['Hm', '0fF', 'a b'])"
    pages = TextStrategy("", ["\n", " 0xfF\x00", "a\nb"], [], most=3, is_line=False)
    assert repr(pages) == r"Texts(['', '\n', ' 0f', 'a\nb'])"
