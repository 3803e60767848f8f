"""Vectors of words from a folder in WordNet's format."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from training.wordnet import PARTS, WordNet, read_wordnet, word_vectors

if TYPE_CHECKING:
    from pathlib import Path

LICENCE = "  1 This software and database is being provided to you\n"
VERBS = {
    "00000011": '41 v 02 deposit 0 bank 1 001 @ 00000044 v 0000 01 + 08 00 | put money; "He banks"',
    "00000022": "41 v 02 stash 0 bank 0 002 @ 00000044 v 0000 ! 00000033 v 0101 00 | keep money",
    "00000033": "41 v 01 withdraw 0 000 00 | take away",
    "00000044": "41 v 01 put 0 001 ~ 00000011 v 0000 00 | move into a place",
    "00000055": "32 v 02 vote 0 ballot 0 001 + 00000066 n 0101 00 | express a choice",
}
NOUNS = {"00000066": "04 n 01 vote 0 001 + 00000055 v 0101 | a choice expressed by ballot"}
INDEX = {
    "noun": ("vote n 1 1 + 1 1 00000066",),
    "verb": (
        "ballot v 1 1 + 1 0 00000055",
        "bank v 2 1 @ 2 1 00000011 00000022",
        "deposit v 1 1 @ 1 1 00000011",
        "put v 1 1 ~ 1 1 00000044",
        "stash v 1 1 @ 1 0 00000022",
        "vote v 1 1 + 1 1 00000055",
        "withdraw v 1 0 1 1 00000033",
    ),
    "adj": (),
    "adv": (),
}
WORDS = ("deposit", "deposited", "banking", "stashes", "withdraw", "vote", "ballot", "gwei")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    data = {"noun": NOUNS, "verb": VERBS, "adj": {}, "adv": {}}
    for part in PARTS:
        lines = [f"{offset} {line}  \n" for offset, line in data[part].items()]
        (tmp_path / f"data.{part}").write_text(LICENCE + "".join(lines))
        lines = [f"{line}  \n" for line in INDEX[part]]
        (tmp_path / f"index.{part}").write_text(LICENCE + "".join(lines))
    return tmp_path


@pytest.fixture
def wordnet(folder: Path) -> WordNet:
    return read_wordnet(folder)


def test_senses_keep_their_order_and_definitions_lose_their_examples(wordnet: WordNet) -> None:
    assert wordnet.senses["bank"] == [["v00000011", "v00000022"]]
    assert wordnet.senses["vote"] == [["n00000066"], ["v00000055"]]
    assert wordnet.synsets["v00000011"].related == (("@", "v00000044"),)
    assert wordnet.synsets["v00000011"].gloss == ("money", "put")


@pytest.mark.parametrize(
    ("word", "bases"),
    [
        ("deposits", ["deposit"]),
        ("deposited", ["deposit"]),
        ("putting", ["put"]),
        ("voting", ["vote"]),
        ("stashes", ["stash"]),
        ("gwei", []),
    ],
)
def test_inflected_words_have_the_senses_of_their_base(
    wordnet: WordNet, word: str, bases: list[str]
) -> None:
    assert wordnet.bases(word) == bases


def test_a_commoner_sense_weighs_more_and_antonyms_are_not_related(wordnet: WordNet) -> None:
    row = wordnet.columns("bank")
    assert row["v00000011"] == 1.0
    assert row["v00000022"] == 0.5
    assert "v00000033" not in row


def test_synonyms_are_more_alike_than_other_words(wordnet: WordNet) -> None:
    vectors = dict(zip(WORDS, word_vectors(wordnet, WORDS, 6, 1), strict=True))
    for one, other in (("deposit", "banking"), ("stashes", "banking"), ("vote", "ballot")):
        for far in ("withdraw", "vote" if one != "vote" else "deposit"):
            assert vectors[one] @ vectors[other] > vectors[one] @ vectors[far] + 0.2
    assert vectors["deposit"] @ vectors["deposited"] == pytest.approx(1, abs=1e-4)
    assert not vectors["gwei"].any()


def test_vectors_repeat_to_the_bit(wordnet: WordNet) -> None:
    first, again = (word_vectors(wordnet, WORDS, 6, 1) for _ in range(2))
    assert np.array_equal(first, again)


def test_a_missing_file_is_named(folder: Path) -> None:
    (folder / "index.adv").unlink()
    with pytest.raises(FileNotFoundError, match=r"index\.adv"):
        read_wordnet(folder)
