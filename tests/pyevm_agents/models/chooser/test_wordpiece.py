"""WordPiece: BERT's tokens on ASCII, fixed tables elsewhere, and text that stays text."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.models.chooser import wordpiece
from pyevm_agents.models.chooser.wordpiece import (
    SPECIAL_PIECES,
    WordPiece,
    is_reachable,
    split_words,
)
from tests.pyevm_agents.models.chooser.oracles import tokenize_as_bert
from tests.tiny_chooser import PIECES, UNREACHABLE

VOCABULARY = WordPiece(PIECES)
ASCII = st.text(st.characters(max_codepoint=127), max_size=60)
PROSE = st.lists(st.sampled_from(["Paying", "don't", "Alice", "[SEP]", "7.", "x-ray", "\t", "\0"]))


def tokenize(text: str) -> list[str]:
    return [PIECES[token] for token in VOCABULARY.tokenize(text)]


@given(ASCII | PROSE.map(" ".join))
def test_ascii_has_the_tokens_of_bert(text: str) -> None:
    assert tokenize(text) == tokenize_as_bert(text, PIECES)


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("", []),
        (" \t\n\r\u00a0", []),
        ("Paying ALICE.", ["pay", "##ing", "alice", "."]),
        ("don't", ["don", "'", "t"]),
        ("stop7", ["[UNK]"]),
        ("éÉe\u0301É\u0300", ["e", "##e", "##e", "##e"]),
        ("Æ æ”æ", ["æ", "æ", "”", "æ"]),
        ("pay中 pay", ["[UNK]", "pay"]),
        ("pay\u200b pay\u00ad \ud800", ["[UNK]", "[UNK]", "[UNK]"]),
        ("pay\u2028alice", ["[UNK]"]),
        ("[CLS] [SEP]", ["[UNK]", "c", "##l", "##s", "[UNK]", "[UNK]", "s", "##e", "##p", "[UNK]"]),
        ("##ing", ["[UNK]", "[UNK]", "i", "##n", "##g"]),
        ("a" * 100, ["a", *["##a"] * 99]),
        ("a" * 101, ["[UNK]"]),
    ],
)
def test_tokens_of_a_text(text: str, pieces: list[str]) -> None:
    assert tokenize(text) == pieces


def test_letters_with_accents_become_those_of_the_unicode_database() -> None:
    # Each version of Python has these characters, and equal decompositions of them.
    for letter, group in wordpiece._ACCENTS.items():  # noqa: SLF001 - the table under test
        for character in group:
            parts = unicodedata.normalize("NFD", character.lower())
            assert "".join(x for x in parts if not unicodedata.combining(x)) == letter
    marks = [x for x in wordpiece._PUNCTUATION if not x.isascii()]  # noqa: SLF001
    assert all(unicodedata.category(mark).startswith("P") for mark in marks)
    assert len(marks) == len(set(marks))
    for capital, small in wordpiece._CAPITALS.items():  # noqa: SLF001
        assert capital.lower() == small


@given(st.text(st.characters(max_codepoint=0x2100), max_size=12))
def test_a_text_has_one_normal_form_and_no_special_or_unreachable_piece(text: str) -> None:
    words = split_words(text)
    assert set(words).isdisjoint(SPECIAL_PIECES)
    assert split_words(" ".join(words)) == words
    assert all(is_reachable(piece) for piece in tokenize(text))


def test_pieces_that_a_text_can_become_are_reachable() -> None:
    assert [piece for piece in PIECES if not is_reachable(piece)] == [*UNREACHABLE]
    assert not is_reachable("##")
    assert not is_reachable("##.")
