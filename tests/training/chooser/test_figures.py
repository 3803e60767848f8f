from __future__ import annotations

import math

import pytest

from benchmarks.shares import Share
from training.chooser.figures import (
    ScoredChoice,
    ScoredPair,
    apply_confidence,
    find_score,
    find_thresholds,
    logit,
    sigmoid,
    tabulate_accepted,
    tabulate_choices,
    tabulate_precision,
    tabulate_reliability,
)


def pair(kind: str, *, accepts: bool, call: float, orders: bool | None = None) -> ScoredPair:
    return ScoredPair(part="a", kind=kind, accepts=accepts, orders=orders, call=call, mood=call / 2)


def choice(right: int | None, *scores: float, setting: str = "plain") -> ScoredChoice:
    return ScoredChoice(part="a", setting=setting, wording="orders", right=right, scores=scores)


PAIRS = [
    pair("plain", accepts=True, call=5.0, orders=True),
    pair("plain", accepts=True, call=-1.0, orders=True),
    pair("past", accepts=False, call=-5.0, orders=False),
    pair("verb", accepts=False, call=2.0),
]
CHOICES = [
    choice(0, 3.0, 1.0),
    choice(1, 2.0, 1.0),
    choice(0, -1.0),
    choice(None, -2.0, 1.0, setting="none"),
    choice(None, -2.0, setting="idle"),
]


def test_a_logit_is_that_of_the_probability() -> None:
    assert sigmoid(logit(0.7)) == pytest.approx(0.7)
    assert logit(0.5) == 0


def test_accepted_pairs_are_counted_by_kind() -> None:
    table = tabulate_accepted(PAIRS)
    assert [*table] == ["order: plain", "no: past", "no: verb"]
    assert table["order: plain"]["call > 0.5"] == Share(1, 2)
    assert table["order: plain"]["mood > 0.9"] == Share(1, 2)
    assert table["no: verb"]["call > 0.7"] == Share(1, 1)
    assert table["no: verb"]["call > 0.9"] == Share(0, 1)
    assert table["no: verb"]["mood > 0.5"] == Share(0, 0)
    assert table["no: verb"]["both > 0.5"] == Share(1, 1)


def test_precision_and_recall_are_those_of_a_threshold() -> None:
    table = tabulate_precision(PAIRS)
    assert table["call > 0.5"] == {"precision": Share(1, 2), "recall": Share(1, 2)}
    assert table["call > 0.9"] == {"precision": Share(1, 1), "recall": Share(1, 2)}
    assert table["mood > 0.5"] == {"precision": Share(1, 1), "recall": Share(1, 2)}


def test_reliability_is_the_share_that_is_right_in_each_tenth() -> None:
    table = tabulate_reliability(PAIRS)
    # 5 nats are 99 %, 2 are 88 %, -1 are 27 %, -5 are 1 %.
    assert table["call 0.9 to 1.0"] == {"right": Share(1, 1)}
    assert table["call 0.8 to 0.9"] == {"right": Share(0, 1)}
    assert table["call 0.2 to 0.3"] == {"right": Share(1, 1)}
    assert table["call 0.0 to 0.1"] == {"right": Share(0, 1)}
    assert [name for name in table if name.startswith("mood")] == [
        "mood 0.0 to 0.1",
        "mood 0.3 to 0.4",
        "mood 0.9 to 1.0",
    ]


@pytest.mark.parametrize(
    ("rows", "precision", "score"),
    [
        ([(3.0, True), (2.0, False), (1.0, True), (0.0, True)], 0.75, 0.0),
        ([(3.0, True), (2.0, False), (1.0, True), (0.0, True)], 0.9, 3.0),
        ([(3.0, True), (3.0, False)], 0.9, None),
        ([], 0.9, None),
    ],
)
def test_the_least_score_with_a_precision_is_found(
    rows: list[tuple[float, bool]], precision: float, score: float | None
) -> None:
    assert find_score(rows, precision) == score


def test_thresholds_are_probabilities() -> None:
    found = find_thresholds(PAIRS)
    assert found["call"]["95%"] == pytest.approx(sigmoid(5.0))
    assert found["mood"]["99%"] == pytest.approx(sigmoid(-0.5))


def test_confidence_is_the_softmax_with_none() -> None:
    one = choice(0, 1.0, 0.0)
    assert one.confidence == pytest.approx(math.e / (math.e + 2))
    assert choice(0, -800.0).confidence == 0
    assert choice(0, 800.0).confidence == 1


def test_choices_are_counted_with_and_without_none() -> None:
    table = tabulate_choices(CHOICES)
    assert table["tool, none not admitted"]["right"] == Share(2, 3)
    assert table["of two or more"]["right"] == Share(1, 2)
    assert table["tool with none"]["right"] == Share(1, 3)
    assert table["none: with none"]["right"] == Share(0, 1)
    assert table["idle: with none"]["right"] == Share(1, 1)
    assert table["none, precision"]["right"] == Share(1, 2)
    # The surest choice is right, the next one is wrong.
    assert table["right at 95%"]["right"] == Share(1, 3)


def test_a_confidence_is_fitted_on_other_choices() -> None:
    table = apply_confidence(CHOICES, CHOICES)
    (name, row), *_ = table.items()
    assert name == f"fitted for 95%: {CHOICES[0].confidence:.3f}"
    assert row == {"precision": Share(1, 1), "right": Share(1, 3)}
    row = apply_confidence([choice(1, 3.0, 1.0)], CHOICES)["fitted for 99%: no confidence"]
    assert row == {"precision": Share(0, 0), "right": Share(0, 3)}
