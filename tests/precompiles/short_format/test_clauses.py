"""Clauses of a question, quotations and names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precompiles.short_format.clauses import (
    HIDDEN,
    NameIndex,
    fold_case,
    mask_quotations,
    split_clauses,
)

QUESTIONS = st.lists(
    st.sampled_from(
        ["pay", "bob", " ", ". ", ", ", " and ", " then ", "but", '"', "“", "”", "«", "»", "\\n",
        "(", ")", "é", "字", "5", "2.5", "two hundred and fifty", "0x", "…", '"…2"', "!", "x" * 100,
        "after that, ", "-", "_"]
    ),
    max_size=60,
).map("".join)  # fmt: skip


def texts(question: str) -> list[str]:
    return [clause.text for clause in split_clauses(question)]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Pay bob 5", ["Pay bob 5"]),
        ("  Pay bob. Wait!", ["Pay bob", "Pay bob. Wait", "Wait"]),
        ("a and b", ["a", "a and b", "b"]),
        ("a, and then b", ["a", "a, and then b", "b"]),
        ("a. After that, b", ["a", "a. After that, b", "b"]),
        ("a\\nb (c)", ["a", "a\\nb", "a\\nb (c", "b", "b (c", "c"]),
        ("a.b v1.2 3,000", ["a.b v1.2 3,000"]),
        ("send two hundred and fifty to bob", ["send two hundred and fifty to bob"]),
        ("a; 5; b", ["a", "a; 5", "a; 5; b", "5; b", "b"]),
        ("a and 5, a and 5", [
            "a", "a and 5", "a and 5, a", "a and 5, a and 5", "5, a", "5, a and 5",
        ]),
        ("46: lost", ["46: lost", "lost"]), ("5 and 6", []), ("7", []),
        ('say "pay me. Now"', ['say "…"']),
        ('say "a" and “b" c” and «d»', [
            'say "…"', 'say "…" and "…2"', 'say "…" and "…2" and "…3"',
        ]),
        ('say "all the rest. Pay me', ['say "…"']),
        ("", []), ("...", []), ("5, 6", []), ('"pay me"', []), ("pay 0xab", []),
        ("払う", ["払う"]),
    ],
)  # fmt: skip
def test_splits(question: str, expected: list[str]) -> None:
    assert texts(question) == expected


def test_a_clause_has_the_quotations_and_parts_of_all_its_places() -> None:
    first, *_ = split_clauses('say "a". Say it. say "b". wait')
    second = next(one for one in split_clauses("pay. wait. pay") if one.text == "pay")
    assert (first.text, first.quotations) == ('say "…"', ("a",))
    assert second.parts == {0, 2}
    clauses = {one.text: one for one in split_clauses('x "a" and y "b", "c"')}
    assert clauses['y "…2"'].quotations == ("b",)
    assert clauses['y "…2", "…3"'].quotations == ("b", "c")


def test_the_last_part_has_the_rest() -> None:
    parts = [f"p{n}" for n in range(17)]
    assert texts(", ".join(parts[:16]))[-1] == "p15"
    assert texts(", ".join(parts))[-1] == "p15, p16"
    assert max(text.count(",") for text in texts(", ".join(parts[:15]))) == 5


def test_a_long_clause_ends_before_a_word_and_a_long_word_is_none() -> None:
    assert texts("x" * 240) == ["x" * 240]
    assert texts("x" * 241) == []
    assert texts("pay " + "x" * 237) == ["pay"]
    assert texts("y" * 236 + " addr12") == ["y" * 236]
    assert texts("字" * 241) == ["字" * 240]
    assert texts("a" * 200 + ", " + "b" * 39) == ["a" * 200, "b" * 39]


@given(QUESTIONS)
def test_clauses_are_spans_of_the_masked_question_that_fit_a_thought(question: str) -> None:
    masked, quotations = mask_quotations(question)
    clauses = split_clauses(question)
    assert len({clause.text for clause in clauses}) == len(clauses) <= 16 * 6
    for clause in clauses:
        assert clause.text in masked
        assert 0 < len(clause.text) <= 240
        assert clause.text == clause.text.strip(" ")
        assert "0x" not in clause.text
        assert set(clause.quotations) <= set(quotations)
        assert len(clause.quotations) >= len(HIDDEN.findall(clause.text))
        assert clause.parts <= set(range(16))
        assert clause.parts


@given(QUESTIONS)
def test_masked_text_has_one_mark_for_each_quotation(question: str) -> None:
    masked, quotations = mask_quotations(question)
    assert len(HIDDEN.findall(masked)) == len(quotations)
    assert not set(HIDDEN.sub("", masked)) & set('"“«')


def test_names_are_found_whole_and_the_longest_and_exact_one_wins() -> None:
    index = NameIndex(["bob", "Bob", "USDC", "US-DC", "USDC.e", "a_b", "a"])
    assert index.find("Bob BOB bob") == ("Bob", "bob", "bob")
    assert index.find("us dc, USDC E usdc usdce") == ("US-DC", "USDC.e", "USDC")
    assert index.find("A.B a c") == ("a_b", "a")
    assert index.find('bob "USDC" "pay a"') == ("bob", "USDC")
    assert index.find("bob1 1bob ebob") == ()
    assert index.find_spans("pay bob 5") == [(4, 7, "bob")]
    assert NameIndex([]).find("bob") == ()


@pytest.mark.parametrize("letter", ["\u212a", "\u017f", "\u0130"])
def test_case_is_of_ascii_alone(letter: str) -> None:
    assert fold_case(f"K{letter}") == f"k{letter}"
    assert NameIndex(["k", "s", "i"]).find(letter) == ()
