"""Consensus and users' files equal the golden files: a change must be intended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.golden.consensus import uncovered_texts
from tests.golden.golden_files import COLLECTORS, FOLDER, difference, read

if TYPE_CHECKING:
    from pyevm_agents.models import Vocabulary

ADVICE = (
    "what consensus or a user's file sees is not what it was. If that is meant, run `make golden` "
    "and commit the file; else undo the change"
)


@pytest.mark.parametrize("name", COLLECTORS)
def test_is_as_the_golden_file_says(name: str, vocabulary: Vocabulary) -> None:
    found = difference(name, COLLECTORS[name](vocabulary))
    if found:
        pytest.fail(f"{ADVICE}\n\n{found}", pytrace=False)


def test_each_golden_file_is_compared() -> None:
    assert {path.stem for path in FOLDER.glob("*.json")} == set(COLLECTORS)


def test_each_text_of_the_rules_reverts_somewhere() -> None:
    assert uncovered_texts(read("consensus")["reverts"]) == []
