"""A grammar and a scoring as one text: each comes back, and the text is still a grammar."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precompiles.language_model import ClauseWords, ScoredClause, Scoring, ToolWords
from pyevm_agents.models.store.scored_grammar import MARK, join_scoring, split_scoring

if TYPE_CHECKING:
    from pyevm_agents.models.decoding.guided import GuidedDecoder

texts = st.text(st.characters(exclude_categories=["Cs"])) | st.just(f"a{MARK}b\n\u2028")


def make_scoring(text: str, router_weight: int = 256) -> Scoring:
    none = (0, 0, 0)
    return Scoring(
        tools=(ToolWords((text,), (), (), none),),
        names=(text,),
        clauses=(ScoredClause(text=text, words=ClauseWords((text,), none), tools=(0,)),),
        router_weight=router_weight,
    )


@given(texts, texts)
def test_grammar_and_scoring_come_back(grammar: str, text: str) -> None:
    scoring = make_scoring(text)
    joined = join_scoring(grammar, scoring)
    assert split_scoring(joined) == (grammar, scoring)
    assert "\n" not in joined.rpartition(MARK)[2]


@pytest.mark.parametrize("grammar", ["", 'start: "a"\n', 'start: "// scoring: {}"\n'])
def test_a_grammar_without_scoring_stays_as_it_is(grammar: str) -> None:
    assert join_scoring(grammar, None) == grammar
    assert split_scoring(grammar) == (grammar, None)


def test_each_part_of_a_scoring_is_part_of_the_text() -> None:
    scoring = make_scoring("pay")
    (clause,) = scoring.clauses
    others = [
        replace(scoring, router_weight=0),
        replace(scoring, names=("send",)),
        replace(scoring, tools=()),
        replace(scoring, clauses=(replace(clause, tools=()),)),
        replace(scoring, clauses=(replace(clause, text="pa"),)),
    ]
    assert len({join_scoring("", one) for one in (None, scoring, *others)}) == 2 + len(others)


def test_a_scoring_is_a_comment_of_the_grammar(guide: GuidedDecoder) -> None:
    joined = join_scoring('start: "a"', make_scoring('"\n/* é \u2028'))
    assert guide.encode_given_text("a", joined, 9).is_complete
