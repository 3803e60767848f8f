"""Scores of a step: the router's part of a choice, and the surprisal."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
import pytest

from precompiles.gate import FREE_SCORING
from precompiles.language_model import ClauseWords, ScoredClause, Scoring, ToolWords
from pyevm_agents.errors import EngineFault
from pyevm_agents.models.decoding.fixed_point import SCALE, compute_surprisal
from pyevm_agents.models.decoding.step_scores import MAX_BIAS, WEIGHT_ONE, StepScorer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pyevm_agents.models.decoding.router import Router

NAMES = ("pay", "payAll", "payLater", "get", "unusable")
THOUGHT = b" pay bob\n"
PIECES = (b"Action", b"Final", b": ", b"pay", b"p", b"\n", b"All", b"Later", b"get", b"payA",
          b" ", b"Action: get\nAction Input", b"unusable")  # fmt: skip
NONE = (0, 0, 0)


class FixedRouter:
    """Gives each tool a score by its name, and counts its calls."""

    def __init__(self, scores: dict[str, int]) -> None:
        self.scores = scores
        self.calls = 0

    def score(self, clause: ClauseWords, tool: ToolWords) -> int:
        self.calls += 1
        assert clause.words == ("pay", "bob")
        return self.scores.get(tool.name[0], 0)


def make_scoring(weight: int = WEIGHT_ONE) -> Scoring:
    return Scoring(
        tools=tuple(ToolWords((name,), (), (), NONE) for name in NAMES),
        names=NAMES,
        clauses=(
            ScoredClause(
                text="pay bob", words=ClauseWords(("pay", "bob"), NONE), tools=(0, 1, 2, 3)
            ),
            ScoredClause(text="wait", words=ClauseWords(("wait",), NONE), tools=()),
            ScoredClause(text='say "…"', words=ClauseWords(("pay", "bob"), NONE), tools=(3,)),
        ),
        router_weight=weight,
    )


def make_scorer(weight: int = WEIGHT_ONE, **scores: int) -> StepScorer:
    return StepScorer(make_scoring(weight), cast("Router", FixedRouter(scores)))


def adjust(
    scorer: StepScorer,
    text: bytes,
    logits: NDArray[np.float32] | None = None,
    *allowed: bytes,
) -> list[float]:
    """Return the adjusted logits in the order of `PIECES`."""
    given = np.zeros(len(PIECES), np.float32) if logits is None else logits
    tokens = [PIECES.index(piece) for piece in allowed] or range(len(PIECES))
    adjusted = scorer.adjust(text, given, lambda: tokens, PIECES.__getitem__)
    return [float(one) for one in adjusted]


def test_nothing_is_scored_before_the_thought_ends() -> None:
    scorer = make_scorer(pay=3 * SCALE)
    assert adjust(scorer, b" pay bob") == [0] * len(PIECES)
    assert scorer.tool_scores == ()


def test_acting_has_the_best_usable_tools_score_and_refusing_none() -> None:
    scorer = make_scorer(pay=-SCALE, payAll=3 * SCALE, get=2 * SCALE, unusable=9 * SCALE)
    found = adjust(scorer, THOUGHT, None, b"Action", b"Final")
    assert found[:2] == [3, 0]
    assert scorer.tool_scores == (-SCALE, 3 * SCALE, 0, 2 * SCALE, 9 * SCALE)


def test_refusing_scores_0_even_if_every_tool_is_worse() -> None:
    scores = dict.fromkeys(NAMES, -5 * SCALE)
    assert adjust(make_scorer(**scores), THOUGHT, None, b"Action", b"Final")[:2] == [-5, 0]


def test_a_token_has_the_score_of_the_best_name_that_continues_with_it() -> None:
    scorer = make_scorer(pay=SCALE, payAll=4 * SCALE, payLater=2 * SCALE, get=3 * SCALE)
    found = adjust(scorer, THOUGHT + b"Action: ", None, b"p", b"pay", b"payA", b"get")
    assert [found[PIECES.index(piece)] for piece in (b"p", b"pay", b"payA", b"get")] == [4, 4, 4, 3]


def test_a_name_that_begins_another_is_chosen_by_its_end() -> None:
    scorer = make_scorer(pay=5 * SCALE, payAll=4 * SCALE, payLater=-2 * SCALE)
    found = adjust(scorer, THOUGHT + b"Action: pay", None, b"\n", b"All", b"Later")
    assert [found[PIECES.index(piece)] for piece in (b"\n", b"All", b"Later")] == [5, 4, -2]


def test_a_token_that_spans_the_name_has_its_score() -> None:
    whole = b"Action: get\nAction Input"
    found = adjust(make_scorer(get=2 * SCALE), THOUGHT, None, whole, b"Final")
    assert found[PIECES.index(whole)] == 2


@pytest.mark.parametrize(
    "text", [b"Final", b"Final Answer: ", b"Action: get\n", b"Action: pay\nAction Input: {"]
)
def test_nothing_is_scored_after_the_choice(text: bytes) -> None:
    assert adjust(make_scorer(pay=SCALE, get=SCALE), THOUGHT + text) == [0] * len(PIECES)


@pytest.mark.parametrize("thought", [b" wait\n", b" All done.\n", b" pay bo\n", b"\n"])
def test_a_thought_without_tools_is_not_scored(thought: bytes) -> None:
    scorer = make_scorer(pay=SCALE)
    assert adjust(scorer, thought) == [0] * len(PIECES)
    assert scorer.tool_scores == ()


def test_a_thought_with_a_masked_quotation_is_found() -> None:
    found = adjust(make_scorer(get=SCALE), ' say "…"\n'.encode(), None, b"Action", b"Final")
    assert found[:2] == [1, 0]


def test_tools_are_scored_once() -> None:
    router = FixedRouter({})
    scorer = StepScorer(make_scoring(), cast("Router", router))
    for text in (b"", b"Action", b"Action: ", b"Action: pay"):
        adjust(scorer, THOUGHT + text, None, b"pay")
    assert router.calls == len(NAMES)


def test_without_a_router_or_a_weight_logits_stay() -> None:
    given = np.arange(len(PIECES)).astype(np.float32)
    for scorer in (StepScorer(make_scoring(), None), make_scorer(0, pay=SCALE)):
        assert adjust(scorer, THOUGHT, given) == given.tolist()
        assert scorer.tool_scores == ()


@pytest.mark.parametrize(("weight", "expected"), [(128, 1.5), (256, 3), (1024, 12), (1 << 16, 64)])
def test_scores_are_weighted_and_bounded(weight: int, expected: float) -> None:
    for sign in (1, -1):
        scorer = make_scorer(weight, **dict.fromkeys(NAMES, sign * 3 * SCALE))
        assert adjust(scorer, THOUGHT, None, b"Action")[0] == sign * expected
    assert MAX_BIAS == 64 * SCALE


def test_logits_are_rounded_so_that_the_lowest_token_wins_ties() -> None:
    given = np.zeros(len(PIECES), np.float32)
    given[PIECES.index(b"get")] = 0.4 / SCALE
    found = np.array(adjust(make_scorer(), THOUGHT + b"Action: ", given, b"p", b"pay", b"get"))
    assert found[PIECES.index(b"get")] == 0
    assert int(found.argmax()) == 0


@pytest.mark.parametrize("logit", [float("nan"), float("inf"), float("-inf"), 1e30])
def test_a_logit_that_is_not_finite_is_a_fault(logit: float) -> None:
    given = np.zeros(len(PIECES), np.float32)
    given[1] = logit
    with pytest.raises(EngineFault, match="not finite"):
        adjust(make_scorer(), THOUGHT, given, b"Action", b"Final")
    with pytest.raises(EngineFault, match="not finite"):
        make_scorer().add(THOUGHT, given, 0)


def test_the_surprisal_is_of_the_tokens_after_the_thought() -> None:
    scorer, given = make_scorer(), np.arange(5).astype(np.float32)
    scorer.add(b" pay", given, 3)
    assert scorer.surprisal == 0
    scorer.add(THOUGHT, given, 4)
    scorer.add(THOUGHT + b"Action", given, 0)
    assert scorer.surprisal == compute_surprisal(given, 4) + compute_surprisal(given, 0)


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        (b" pay bob", False),
        (b" pay bob\n", True),
        (b" pay bob\nAction", True),
        (b" pay bob\nAction: pay", True),
        (b" pay bob\nAction: pay\n", False),
        (b" pay bob\nAction: pay\nAction Input: {", False),
        (b" pay bob\nFinal", True),
        (b" pay bob\nFinal Answer", True),
        (b" pay bob\nFinal Answer:", False),
        (b" pay bob\nFinal Answer: I", False),
    ],
)
def test_in_the_free_format_the_surprisal_is_of_the_decision(text: bytes, counts: bool) -> None:
    scorer, given = StepScorer(FREE_SCORING, None), np.arange(5).astype(np.float32)
    scorer.add(text, given, 1)
    assert scorer.surprisal == (compute_surprisal(given, 1) if counts else 0)


def test_in_the_free_format_logits_stay() -> None:
    given = np.arange(len(PIECES)).astype(np.float32)
    router = cast("Router", FixedRouter({"pay": SCALE}))
    assert adjust(StepScorer(FREE_SCORING, router), THOUGHT, given) == given.tolist()
