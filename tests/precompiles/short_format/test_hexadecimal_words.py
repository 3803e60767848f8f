"""Hexadecimal words: which ones a text has, and how a question quotes them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precompiles.short_format.clauses import mask_quotations
from precompiles.short_format.hexadecimal_words import (
    ANY_SIZE,
    has_prefixed_word,
    quote_hexadecimal_words,
    read_hexadecimal_words,
)

ADDRESS = "0x" + "ab" * 20


@pytest.mark.parametrize(
    ("text", "size_bytes", "words"),
    [
        ("set 0xCAFE now", 2, ["cafe"]),
        ("set cafe, 0Xbeef. (12ab)", 2, ["cafe", "beef", "12ab"]),
        ("0xcafe0 xcafe cafex _cafe 0x0xcafe", 2, ["cafe"]),
        ("caf cafe0 cafe00", 2, []),
        (r"sent\n0xcafe\rbeef\tface", 2, ["cafe", "beef"]),
        ("1234 0x5678", 2, ["1234", "5678"]),
        (f"{ADDRESS} {ADDRESS[2:]}", 20, ["ab" * 20]),
        ("be face 0xbe 0x 12345678 1234567a 0x12345678", 0, ["be", "1234567a", "12345678"]),
        ("0x" + "ab" * 512, 0, ["ab" * 512]),
        ("0x" + "ab" * 513, 0, []),
        ("0xabc", 0, []),
        (ADDRESS, 0, []),
        ("", 0, []),
    ],
)
def test_words(text: str, size_bytes: int, words: list[str]) -> None:
    assert read_hexadecimal_words(text).get(size_bytes, ()) == tuple(words)


def test_64_different_words_of_a_size_are_read() -> None:
    words = [f"{number:02x}" for number in range(65)]
    read = read_hexadecimal_words(" ".join(f"0x{word} {word}" for word in words))
    assert read[1] == read[ANY_SIZE] == tuple(words[:64])


@pytest.mark.parametrize(
    ("question", "quoted"),
    [
        ("set 0xcafe, then wait", 'set "0xcafe", then wait'),
        ('set "0xcafe" and “0xbeef”', 'set "0xcafe" and “0xbeef”'),
        ('set "0xcafe', 'set "0xcafe'),
        (f"pay {ADDRESS} 0x1", f'pay {ADDRESS} "0x1"'),
        ("set cafe and 0xg and x0x1", "set cafe and 0xg and x0x1"),
        ("a\n0xcafe\n", 'a\n"0xcafe"\n'),
    ],
)
def test_a_question_quotes_the_words_with_0x(question: str, quoted: str) -> None:
    assert quote_hexadecimal_words(question) == quoted


@given(st.lists(st.sampled_from(['"', "“", "”", "0xcafe", "0x", "a", " ", ADDRESS])).map("".join))
def test_quotations_stay_what_they_are(question: str) -> None:
    before = mask_quotations(question)[1]
    after = mask_quotations(quote_hexadecimal_words(question))[1]
    assert [text for text in after if not has_prefixed_word(text)] == [
        text for text in before if not has_prefixed_word(text)
    ]
