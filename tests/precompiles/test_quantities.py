"""Numbers of a text: digits and English number words, in full or not at all."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precompiles.quantities import find_number_spans

ONES = "one two three four five six seven eight nine".split()  # noqa: SIM905 - as it is said
TEENS = (
    "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()  # noqa: SIM905
)
TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()  # noqa: SIM905


def say_below_thousand(number: int) -> str:
    hundreds, rest = divmod(number, 100)
    tens, ones = divmod(rest, 10)
    words = [f"{ONES[hundreds - 1]} hundred"] if hundreds else []
    if rest:
        small = [*ONES, *TEENS][rest - 1] if rest < 20 else TENS[tens - 2]
        words.append(small if rest < 20 or not ones else f"{small}-{ONES[ones - 1]}")
    return " and ".join(words)


def say(number: int) -> str:
    """Return a positive number in words, as an independent writer does."""
    scales = ["", " thousand", " million", " billion", " trillion"]
    words = []
    for power in range(4, -1, -1):
        group = number // 1_000**power % 1_000
        if group:
            words.append(say_below_thousand(group) + scales[power])
    return " ".join(words)


def numbers(text: str) -> list[str]:
    return [str(value) for _, _, value in find_number_spans(text)]


@given(st.integers(1, 10**15 - 1), st.booleans())
def test_number_words_have_the_value_that_a_writer_meant(number: int, is_upper: bool) -> None:
    said = say(number).upper() if is_upper else say(number)
    assert numbers(f"send {said} USDC to bob") == [str(number)]


@given(st.integers(-(10**77), 10**77))
def test_digits_have_their_value_with_and_without_commas(number: int) -> None:
    assert numbers(f"{number}") == numbers(f"pay {number:,} now") == [str(number)]


@given(st.lists(st.integers(0, 999), max_size=20))
def test_every_number_of_a_list_is_read_in_order(those: list[int]) -> None:
    assert numbers(", ".join(map(str, those))) == list(map(str, those))


@given(st.text(alphabet='1290.,-\u2212 "/exk%andone hundred', max_size=60))
def test_spans_are_disjoint_and_in_order(text: str) -> None:
    reached = 0
    for start, end, value in find_number_spans(text):
        assert reached <= start < end <= len(text)
        assert isinstance(value, Fraction)
        reached = end


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2,500.75", ["10003/4"]),
        ("2.5k and 3m and 4bn", ["2500", "3000000", "4000000000"]),
        ("5 million, 2.5 hundred thousand", ["5000000", "250000"]),
        ("a dozen; an hundred; a hundred thousand million", ["12", "100", "100000000000"]),
        ("half a million", ["500000"]),
        ("a stake of a hundred for me", ["100"]),
        ("two and a half million, 2 and a half", ["2500000", "5/2"]),
        ("two point five million", ["2500000"]),
        ("twelve hundred", ["1200"]),
        ("five hundred and two hundred", ["500", "200"]),
        ("five hundred and twenty two hundred", ["500", "2200"]),
        ("two hundred and fifty thousand and one", ["250001"]),
        ("one two twenty-three", ["1", "2", "23"]),
        ("minus 5, negative two, -3, (-4), $-6, \u22127", ["-5", "-2", "-3", "-4", "-6", "-7"]),
        ("3-5", ["3", "5"]),
        ("5USDC", ["5"]),
        ("0", ["0"]),
    ],
)
def test_reads(text: str, expected: list[str]) -> None:
    assert numbers(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "", "addr1", "0x12", "v2", "1/2", "1e18", "1_000", "1.2.3", "hundred", "half of a million",
        "a third of a hundred",
        "tone", "stone", "9" * 79, "9" * 5_000, "1." + "9" * 79, "\u0663\u0664", "\uff15",
    ],
)  # fmt: skip
def test_is_no_number(text: str) -> None:
    assert numbers(text) == []
