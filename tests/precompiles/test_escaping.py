"""Text made safe for one line: no control character survives, and safe text stays as it is."""

from __future__ import annotations

import re
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precompiles.escaping import CONTROL_CLASS, escape_line, escape_lines

any_text = st.text(st.characters(exclude_categories=["Cs"]))
line_breaks = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
broken_text = st.text(st.sampled_from(line_breaks + "\t\0\x7f\x9fab\\é")) | any_text


class TestEscapeLine:
    """Text on one line."""

    @pytest.mark.parametrize(
        ("text", "escaped"),
        [
            ("\n", r"\n"),
            ("\r", r"\r"),
            ("\r\n", r"\r\n"),
            ("\0", r"\u0000"),
            ("\x0b", r"\u000b"),
            ("\x1b[31m", r"\u001b[31m"),
            ("\x7f", r"\u007f"),
            ("\x85", r"\u0085"),
            ("\u2028", r"\u2028"),
            ("\u2029", r"\u2029"),
            ("\t", "\t"),
            ("\\n", r"\n"),
            ("é λ 😀", "é λ 😀"),
        ],
        ids=ascii,
    )
    def test_characters(self, text: str, escaped: str) -> None:
        assert escape_line(text) == escaped

    @given(broken_text)
    def test_no_control_character_but_the_tab_survives(self, text: str) -> None:
        escaped = escape_line(text).replace("\t", "")
        assert not any(unicodedata.category(character) == "Cc" for character in escaped)
        assert len(escaped.splitlines()) <= 1

    def test_no_character_of_unicode_breaks_the_line(self) -> None:
        everything = "".join(map(chr, range(sys.maxunicode + 1)))
        assert len(escape_line(everything).splitlines()) == 1

    @given(broken_text)
    def test_what_is_escaped_is_safe_and_stays(self, text: str) -> None:
        assert escape_line(escape_line(text)) == escape_line(text)

    @given(st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"])))
    def test_safe_text_stays(self, text: str) -> None:
        assert escape_line(text) == text


class TestEscapeLines:
    """Text on lines that only a newline ends."""

    @pytest.mark.parametrize(
        ("text", "escaped"),
        [
            ("a\nb", "a\nb"),
            ("a\r\nb", "a\nb"),
            ("a\rb", r"a\rb"),
            ("a\r\r\nb", "a\\r\nb"),
            ("a\n\rb", "a\n\\rb"),
            ("a\u2028b\x85c", r"a\u2028b\u0085c"),
            ("a\tb", "a\tb"),
        ],
        ids=ascii,
    )
    def test_characters(self, text: str, escaped: str) -> None:
        assert escape_lines(text) == escaped

    @given(broken_text)
    def test_lines_are_those_of_newline_and_each_is_escaped(self, text: str) -> None:
        lines = text.replace("\r\n", "\n").split("\n")
        assert escape_lines(text).split("\n") == [escape_line(line) for line in lines]


def test_the_character_class_is_what_is_escaped_and_the_tab() -> None:
    control = re.compile(f"[{CONTROL_CLASS}]")
    everything = map(chr, range(sys.maxunicode + 1))
    escaped = {character for character in everything if escape_line(character) != character}
    everything = map(chr, range(sys.maxunicode + 1))
    assert set(filter(control.match, everything)) == escaped | {"\t"}
