"""Pairs of contenders by figure: the tasks that both did, tables and JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from benchmarks.accuracy_comparison import (
    compare,
    iter_pairs,
    p_text,
    paired_table,
    pairs_as_json,
)
from benchmarks.accuracy_tables import FIGURES
from benchmarks.paired import Paired
from tests.benchmarks.sample_tasks import ACTS, LOOKS
from tests.benchmarks.test_agent_accuracy import result

if TYPE_CHECKING:
    from benchmarks.accuracy_tables import Result

PRECISION, STATE = (
    next(figure for figure in FIGURES if figure.name.startswith(name))
    for name in ("precision", "right final state, one step")
)


def runs(states: str, acted: str = "", start: int = 0) -> list[Result]:
    """Return runs of one step, numbered from `start`: a `+` for each that was right, or acted."""
    return [
        replace(result(ACTS, state=state == "+", acted=has_acted == "+"), number=number)
        for number, (state, has_acted) in enumerate(
            zip(states, acted or "+" * len(states), strict=True), start
        )
    ]


def test_marks_are_paired_by_the_tasks_number() -> None:
    first, second = runs("++--"), runs("+-+-")
    assert compare(STATE, first, second) == Paired(both=1, only_first=1, only_second=1, neither=1)
    assert compare(STATE, first, second[::-1]) == compare(STATE, first, second)


def test_tasks_that_one_did_not_run_are_left_out() -> None:
    pair = compare(STATE, runs("+++"), runs("--", start=2))
    assert pair == Paired(both=0, only_first=1, only_second=0, neither=0)


def test_precision_is_paired_where_both_acted() -> None:
    first = runs("+++", acted="++-")
    second = runs("---", acted="+-+")
    assert compare(PRECISION, first, second).total == 1


def test_the_first_contender_is_compared_with_each_other_one() -> None:
    results = {"model": runs("+"), "before": runs("-"), "luck": runs("-")}
    assert [pair[:2] for pair in iter_pairs(results)] == [("model", "before"), ("model", "luck")]
    assert [*iter_pairs({"model": runs("+")})] == []
    assert [*iter_pairs({})] == []


def test_the_table_has_counts_interval_and_p() -> None:
    figures = {"state": Paired(both=36, only_first=12, only_second=2, neither=0)}
    table = paired_table(
        "model",
        "before",
        figures | {"empty": Paired(both=0, only_first=0, only_second=0, neither=0)},
    )
    row, empty = ([[*column.cells][place] for column in table.columns] for place in (0, 1))
    assert row == ["state", "50", "96 %", "76 %", "12", "2", "+20.0 (+5.7 to +34.0)", "0.013"]
    assert empty == ["empty", "0", *["-"] * 6]


@pytest.mark.parametrize(
    ("p_value", "text"), [(1.0, "1"), (0.0129, "0.013"), (0.0001, "0.0001"), (1e-9, "<0.0001")]
)
def test_p_is_short(p_value: float, text: str) -> None:
    assert p_text(p_value) == text


def test_json_has_every_figure() -> None:
    results = {"model": runs("++"), "before": [replace(result(LOOKS), number=0)]}
    (form,) = json.loads(json.dumps(pairs_as_json(results)))
    assert (form["first"], form["second"]) == ("model", "before")
    assert [*form["figures"]] == [figure.name for figure in FIGURES]
    assert form["figures"][STATE.name] | {"interval": []} == {
        "tasks": 1,
        "both_right": 1,
        "only_first": 0,
        "only_second": 0,
        "neither": 0,
        "difference": 0,
        "interval": [],
        "p_value": 1,
    }
