from __future__ import annotations

import pytest

from training.chooser.word_pieces import MAX_WORD_CHARACTERS, WordPieces

PIECES = (
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "send",
    "##ing",
    "un",
    "##s",
    "5",
    "[",
    "]",
    "sep",
    ".",
)


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("Send 5.", "send 5 ."),
        ("sending S\u00e9nd", "send ##ing send"),
        ("sends_5", "send ##s [UNK] 5"),
        ("sendx", "[UNK]"),
        ("[SEP]", "[ sep ]"),
        (" \n\t", ""),
        ("un" + "s" * (MAX_WORD_CHARACTERS - 2), "un" + " ##s" * (MAX_WORD_CHARACTERS - 2)),
        ("un" + "s" * (MAX_WORD_CHARACTERS - 1), "[UNK]"),
    ],
)
def test_a_text_has_the_longest_pieces_from_the_left(text: str, pieces: str) -> None:
    tokens = WordPieces(PIECES).encode(text)
    assert [PIECES[token] for token in tokens] == pieces.split()


def test_special_tokens_are_needed() -> None:
    with pytest.raises(ValueError, match=r"lacks \[CLS\]"):
        WordPieces(("[UNK]", "[SEP]"))
