"""Reliability: bins, calibration error and a gate's curve, on runs written by hand."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from eth_abi import encode

from benchmarks.accuracy_tables import Result
from benchmarks.agent_runs import AgentRun, Use
from benchmarks.reliability import (
    GradedUse,
    as_json,
    bins_table,
    compute_error,
    curve_table,
    cut_by_mass,
    cut_by_width,
    draw_curve,
    grade_uses,
    measure,
    measure_all,
)
from benchmarks.shares import Share
from benchmarks.task_bench import TaskRun
from benchmarks.task_marks import marks_of, right_ledger
from precompiles.language_model import NAT, Confidence
from tests.benchmarks.sample_tasks import ACTS, ACTS_TWICE, DAI, UNSERVED, USDC

if TYPE_CHECKING:
    from training.tasks import Task


def graded(confidence: float, *, is_right: bool) -> GradedUse:
    return GradedUse(surprisal=round(-NAT * math.log(confidence)), is_right=is_right)


def use(tool: str, token: str, amount: int, nats: float | None = 0.0) -> Use:
    confidence = nats if nats is None else Confidence(surprisal=int(nats * NAT))
    return Use(
        tool=tool,
        arguments=encode(["address", "uint256"], [token, amount]),
        encodes=True,
        shown="{}",
        observation="Done",
        confidence=confidence,
    )


def result(task: Task, *uses: Use, is_done: bool = True) -> Result:
    run = AgentRun(uses=uses, answer="Done.", failure=None, gas_used=1, seconds=1.0)
    done = TaskRun(run=run, ledger=right_ledger(task) if is_done else (("else", b""),))
    return Result(number=0, task=task, done=done, marks=marks_of(task, done))


RIGHT = result(ACTS, use("deposit", USDC, 10, 0.5))
WRONG = result(ACTS, use("deposit", USDC, 11, 2.0), is_done=False)
OVERZEALOUS = result(UNSERVED, use("deposit", USDC, 1, 3.0), is_done=False)
HELPLESS = result(UNSERVED)


def test_a_use_is_right_if_it_is_the_next_step() -> None:
    other, first = use("deposit", USDC, 11, 1.0), use("withdraw", DAI, 5, 0.25)
    second = use("deposit", USDC, 10, 0.5)
    marks = [one.is_right for one in grade_uses([result(ACTS_TWICE, other, first, second, second)])]
    assert marks == [False, True, True, False]
    assert [one.is_right for one in grade_uses([result(ACTS_TWICE, second, first)])] == [
        False,
        True,
    ]
    assert grade_uses([result(ACTS, use("deposit", USDC, 10, None))]) == ()


def test_confidence_is_the_probability_of_the_tokens() -> None:
    assert grade_uses([RIGHT])[0].confidence == pytest.approx(math.exp(-0.5))
    assert GradedUse(surprisal=0, is_right=True).confidence == 1
    assert GradedUse(surprisal=2**32, is_right=True).confidence == 0


def test_bins_of_equal_width_hold_no_and_full_confidence() -> None:
    uses = [
        GradedUse(surprisal=2**32, is_right=False),
        *(graded(share, is_right=share > 0.6) for share in (0.05, 0.499, 0.501, 0.7)),
        GradedUse(surprisal=0, is_right=True),
    ]
    bins = cut_by_width(uses, 2)
    assert [one.right for one in bins] == [Share(0, 3), Share(2, 3)]
    assert bins[0].confidence == pytest.approx((0 + 0.05 + 0.499) / 3, abs=1e-4)
    assert len(cut_by_width(uses, 10)) == 5


def test_bins_of_equal_mass_differ_by_one_use() -> None:
    uses = [graded(share / 100, is_right=share > 50) for share in range(1, 100)]
    bins = cut_by_mass(uses, 10)
    assert sorted(one.right.total for one in bins) == [9, *[10] * 9]
    assert [one.confidence for one in bins] == sorted(one.confidence for one in bins)
    assert sum(one.right.count for one in bins) == 49
    assert [one.right.total for one in cut_by_mass(uses[:3], 10)] == [1, 1, 1]


def test_equal_confidences_favour_neither_right_nor_wrong() -> None:
    uses = [GradedUse(surprisal=0, is_right=place % 2 == 0) for place in range(40)]
    assert {one.right for one in cut_by_mass(uses, 10)} == {Share(2, 4)}


def test_the_calibration_error_weighs_bins_by_their_uses() -> None:
    uses = [
        *(graded(0.9, is_right=place < 6) for place in range(8)),
        *(graded(0.2, is_right=False) for _ in range(2)),
    ]
    expected = 0.8 * abs(0.75 - 0.9) + 0.2 * 0.2
    assert compute_error(cut_by_width(uses, 10)) == pytest.approx(expected, abs=1e-4)
    assert compute_error(()) == 0


def test_sure_and_right_is_calibrated() -> None:
    uses = [GradedUse(surprisal=0, is_right=True)] * 7
    assert compute_error(cut_by_width(uses)) == compute_error(cut_by_mass(uses)) == 0


def test_the_curve_trades_coverage_for_precision() -> None:
    curve = draw_curve([RIGHT, WRONG, OVERZEALOUS, HELPLESS])
    assert [one.max_surprisal / NAT for one in curve] == [0.5, 2.0, 3.0]
    assert [one.precision for one in curve] == [Share(1, 1), Share(1, 2), Share(1, 3)]
    assert [one.coverage for one in curve] == [Share(1, 2)] * 3
    assert [one.withheld for one in curve] == [Share(2, 4), Share(1, 4), Share(0, 4)]
    assert len(draw_curve([RIGHT, WRONG, OVERZEALOUS], 2)) == 2


def test_what_the_rules_decide_passes_every_gate_and_is_not_graded() -> None:
    decided = replace(use("deposit", USDC, 10, None), is_decided=True)
    done = result(ACTS, decided)
    assert grade_uses([done]) == ()
    assert measure([done]) is None
    (only,) = draw_curve([done, OVERZEALOUS])
    assert (only.precision, only.coverage) == (Share(1, 2), Share(1, 1))
    assert only.withheld == Share(0, 2)


def test_contenders_with_a_gate_or_without_confidence_have_no_reliability() -> None:
    free = result(ACTS, use("deposit", USDC, 10, None))
    found = measure_all(
        {"gated": [RIGHT], "ungated": [RIGHT, WRONG], "free": [free], "none": []},
        {"gated": {"short_format": 2, "max_surprisal": 9}, "ungated": {"short_format": 2}},
    )
    assert [*found] == ["ungated"]
    assert len(found["ungated"].uses) == 2


def test_tables_and_json_have_both_errors() -> None:
    found = measure([RIGHT, WRONG, OVERZEALOUS])
    assert found is not None
    bins = bins_table("ungated", found)
    assert sum("calibration error" in str(cell) for cell in bins.columns[3].cells) == 2
    assert [*curve_table("ungated", found).columns[1].cells] == ["0 %", "50 %", "66.7 %"]
    form = json.loads(json.dumps(as_json(found)))
    assert form["uses"] == 3
    assert form["gate"][0]["precision"] == {"count": 1, "total": 1}
    expected = sum((1 - math.exp(-0.5), math.exp(-2.0), math.exp(-3.0))) / 3
    assert form["calibration_error_equal_mass"] == pytest.approx(expected)
