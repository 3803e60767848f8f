"""Splitting and tokenizing of data with hostile synthetic vocabularies."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.errors import EngineFault
from pyevm_agents.models.decoding.tokenizer import (
    SpecialTokenSplitter,
    TokenKind,
    require_tokens,
    tokenize_data,
    tokenize_segments,
)

KINDS = {
    "p": TokenKind.PLAIN,
    "?": TokenKind.UNKNOWN,
    "u": TokenKind.USER_DEFINED,
    "c": TokenKind.CONTROL,
}


@dataclass(frozen=True)
class Invented:
    """Takes the longest entry each time, including control tokens, as SentencePiece may."""

    entries: tuple[tuple[str, str], ...]

    def tokenize(self, text: str, *, parse_special: bool) -> list[int]:  # noqa: ARG002 - it always does
        tokens = []
        while text:
            fitting = [
                i
                for i, (spelling, kind) in enumerate(self.entries)
                if text.startswith(spelling) and kind != "?"
            ]
            best = max(fitting, key=lambda i: len(self.entries[i][0]), default=0)
            tokens.append(best)
            text = text[len(self.entries[best][0]) if fitting else 1 :]
        return tokens

    def piece(self, token: int) -> bytes:
        return self.entries[token][0].encode()

    def kind(self, token: int) -> TokenKind:
        return KINDS[self.entries[token][1]]


VOCABULARY = Invented(
    (
        ("<unk>", "?"),
        ("<s>", "c"),
        ("</s>", "c"),
        ("  ", "u"),
        ("\t", "u"),
        *((c, "p") for c in "<>/skuna b"),
    )
)


def test_special_spellings_are_cut_where_they_overlap() -> None:
    cutter = SpecialTokenSplitter(["<s>", "s><", "<s><s>", "x"])
    assert cutter.split("<s><s>x") == ["<", "s", "><", "s>x"]


@given(text=st.text("<s>/a "), spellings=st.lists(st.text("<s>/a ", min_size=2)))
def test_no_piece_contains_a_spelling_and_together_they_are_the_text(
    text: str, spellings: list[str]
) -> None:
    pieces = SpecialTokenSplitter(spellings).split(text)
    assert "".join(pieces) == text
    assert not any(spelling in piece for piece in pieces for spelling in spellings)


@given(text=st.text("<s>/a u\n\t", max_size=30))
def test_data_holds_no_special_token_even_without_a_cutter(text: str) -> None:
    for cutter in (
        SpecialTokenSplitter([]),
        SpecialTokenSplitter([spelling for spelling, kind in VOCABULARY.entries if kind != "p"]),
    ):
        tokens = tokenize_data(VOCABULARY, cutter, text)
        assert not {1, 2, 3} & set(tokens)
        assert (0 in tokens) == ("\n" in text)
        assert (4 in tokens) == ("\t" in text), (
            "a single character that only a user-defined token has"
        )


class Counting(Invented):
    """Counts the calls."""

    asked: ClassVar[Counter[str]] = Counter()

    def tokenize(self, text: str, *, parse_special: bool) -> list[int]:
        self.asked["tokens_of"] += 1
        return super().tokenize(text, parse_special=parse_special)

    def kind(self, token: int) -> TokenKind:
        self.asked["kind"] += 1
        return super().kind(token)


@pytest.mark.parametrize("text", ["a" * 5_000, "un " * 2_000, "<s>" * 2_000, "</s>a" * 2_000])
def test_a_long_text_asks_little_beside_its_tokens(text: str) -> None:
    source = Counting(VOCABULARY.entries)
    source.asked.clear()
    tokens = tokenize_data(source, SpecialTokenSplitter(["<s>", "</s>"]), text)
    assert b"".join(map(source.piece, tokens)) == text.encode()
    # 400,000 kinds were nine tenths of a refused call's time.
    assert max(source.asked.values()) < 20


@given(text=st.text("<s>/au \t", max_size=40))
def test_a_text_twice_has_its_tokens_twice_where_it_is_cut_between(text: str) -> None:
    cutter = SpecialTokenSplitter(["<s>", "</s>"])
    once = [
        tokenize_data(VOCABULARY, SpecialTokenSplitter([]), piece) for piece in cutter.split(text)
    ]
    assert tokenize_data(VOCABULARY, cutter, text) == [token for part in once for token in part]


def test_a_character_that_is_a_control_token_is_refused() -> None:
    with pytest.raises(EngineFault, match="control token for a character"):
        tokenize_data(Invented((("\x01", "c"),)), SpecialTokenSplitter([]), "\x01")


@pytest.mark.parametrize(
    ("segments", "tokens"),
    [
        ([], [1]),
        ([("<s>", True)], [1]),
        ([("a", False)], [1, 12]),
        ([("<s>", True), ("a", False)], [1, 12]),
        ([("<s><s>", True)], [1, 1]),
    ],
)
def test_a_beginning_comes_once(segments: list[tuple[str, bool]], tokens: list[int]) -> None:
    found = tokenize_segments(VOCABULARY, SpecialTokenSplitter(["<s>"]), segments, 1)
    assert found == [
        token if token != 12 else VOCABULARY.tokenize("a", parse_special=False)[0]
        for token in tokens
    ]


@pytest.mark.parametrize("token", [-1, 10])
def test_what_is_no_token_is_refused(token: int) -> None:
    require_tokens([0, 9], 10)
    with pytest.raises(EngineFault, match=f"not a token: {token}; the vocabulary has 10"):
        require_tokens([0, token], 10)
