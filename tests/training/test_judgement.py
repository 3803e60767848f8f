"""Tasks whose arguments depend on what was read."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

import pytest

from tests.byte_model import PROFILE
from training.kinds.judgement import MEASURES, judgement_groups
from training.runs import turns

if TYPE_CHECKING:
    from training.tasks import Task

STATED = replace(PROFILE, decoding=(("stated_values", 1),))


@pytest.fixture(scope="module")
def groups() -> list[tuple[Task, ...]]:
    return list(islice(judgement_groups(1, requests=4), 60))


@pytest.fixture(scope="module")
def tasks(groups: list[tuple[Task, ...]]) -> list[Task]:
    return [task for group in groups for task in group]


def of_kind(tasks: list[Task], kind: str) -> list[Task]:
    found = [task for task in tasks if task.kind == kind]
    assert len(found) > 20
    return found


def test_the_rules_admit_every_run(tasks: list[Task]) -> None:
    for task in tasks:
        assert len(list(turns(task, STATED))) == len(task.steps) + 1


def test_a_group_has_one_agent_and_a_seed_says_which(groups: list[tuple[Task, ...]]) -> None:
    for group in groups:
        assert len({(task.base_prompt, task.tools) for task in group}) == 1
    assert list(islice(judgement_groups(1, requests=4), 5)) == groups[:5]
    assert list(islice(judgement_groups(2, requests=4), 5)) != groups[:5]


def test_a_score_is_the_points_of_what_was_read(tasks: list[Task]) -> None:
    for task in of_kind(tasks, "scores"):
        points = re.search(r"Give (\d+) points?", task.base_prompt)
        assert points
        read, scored = task.steps
        assert scored.arguments["score"] == int(points[1]) * read.observation.count(": yes")
        assert task.facts == (str(scored.arguments["score"]),)


def test_a_score_out_of_the_range_is_no_step(tasks: list[Task]) -> None:
    task = of_kind(tasks, "scores")[0]
    read, scored = task.steps
    wrong = replace(scored, arguments={**scored.arguments, "score": 1_000})
    with pytest.raises(Exception, match="1000"):
        list(turns(replace(task, steps=(read, wrong)), STATED))


def test_a_decision_follows_the_reading(tasks: list[Task]) -> None:
    seen = set()
    for task in of_kind(tasks, "decisions"):
        read, decided = task.steps
        reading, limit = map(int, re.findall(r"\d+", read.observation))
        of = next(one for one in MEASURES if f"a {one.subject}." in task.base_prompt)
        right = of.below if reading < limit else of.above if reading > limit else of.equal
        assert decided.arguments["decision"] == right
        seen.add((reading > limit) - (reading < limit))
    assert seen == {-1, 0, 1}


def test_a_verdict_follows_both_opinions(tasks: list[Task]) -> None:
    seen = set()
    for task in of_kind(tasks, "verdicts"):
        *opinions, closed = task.steps
        votes = {"in favour" in one.observation for one in opinions}
        right = "split" if len(votes) == 2 else "approve" if votes == {True} else "reject"
        assert closed.arguments["verdict"] == right
        for one in opinions:
            assert one.observation.removesuffix(".").partition(": ")[2] in str(
                closed.arguments["summary"]
            )
        seen.add(right)
    assert seen == {"split", "approve", "reject"}
