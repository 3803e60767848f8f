"""A grammar and a scoring as one text: each comes back, and the text is still a grammar."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precompiles.language_model import Scoring
from pyevm_agents.models.store.scored_grammar import MARK, join_scoring, split_scoring

if TYPE_CHECKING:
    from pyevm_agents.models.decoding.guided import GuidedDecoder

texts = st.text(st.characters(exclude_categories=["Cs"])) | st.just(f"a{MARK}b\n\u2028")


@given(texts, st.sampled_from(Scoring))
def test_grammar_and_scoring_come_back(grammar: str, scoring: Scoring) -> None:
    assert split_scoring(join_scoring(grammar, scoring)) == (grammar, scoring)


@pytest.mark.parametrize("grammar", ["", 'start: "a"\n', 'start: "// scoring: {}"\n'])
def test_a_grammar_without_scoring_stays_as_it_is(grammar: str) -> None:
    assert join_scoring(grammar, None) == grammar
    assert split_scoring(grammar) == (grammar, None)


@pytest.mark.parametrize("scoring", Scoring)
def test_a_scoring_is_a_comment_of_the_grammar(guide: GuidedDecoder, scoring: Scoring) -> None:
    assert guide.encode_given_text("a", join_scoring('start: "a"', scoring), 9).is_complete
