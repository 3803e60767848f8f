"""Synthetic tasks: all runs follow the rules, and held-out wordings are not in training."""

from __future__ import annotations

from collections import Counter
from itertools import islice, pairwise
from typing import TYPE_CHECKING

import pytest

from tests.byte_model import PROFILE
from training.kinds import HELD_OUT, IDLE, SEEN
from training.requests import wordings
from training.runs import turns
from training.sample import held_out, training_groups
from training.tasks import CATEGORIES, Task

if TYPE_CHECKING:
    from training.patterns import Kind


@pytest.fixture(scope="module")
def trained() -> list[Task]:
    return [task for group in islice(training_groups(3, requests=8), 100) for task in group]


@pytest.fixture(scope="module")
def measured() -> list[Task]:
    return list(held_out(200))


def test_the_rules_admit_every_run(trained: list[Task], measured: list[Task]) -> None:
    for task in [*trained, *measured]:
        run = list(turns(task, PROFILE))
        assert len(run) == len(task.steps) + 1
        for turn, following in pairwise(run):
            assert following.segments[: len(turn.segments)] == turn.segments


def test_a_group_shares_its_system_text() -> None:
    for group in islice(training_groups(4, requests=6), 20):
        opening = {tuple(next(turns(task, PROFILE)).segments[:3]) for task in group}
        assert len(opening) == 1


def test_a_seed_says_which_tasks() -> None:
    assert list(held_out(20, 1)) == list(held_out(20, 1)) != list(held_out(20, 2))
    first, again = (list(islice(training_groups(1, requests=3), 5)) for _ in range(2))
    assert first == again


def test_held_out_tasks_are_of_every_category_and_half_of_them_of_kinds_never_seen(
    measured: list[Task],
) -> None:
    counts = Counter((task.category, task.is_held_out) for task in measured)
    assert {category for category, _ in counts} == set(CATEGORIES)
    assert set(counts.values()) == {20}


def test_training_never_sees_a_held_out_kind_or_wording(trained: list[Task]) -> None:
    assert not {kind.name for kind in HELD_OUT} & {task.kind for task in trained}
    assert {kind.name for kind in SEEN} & {task.kind for task in trained}
    for kind in (*SEEN, *HELD_OUT):
        for pattern in kind.patterns:
            known, every = wordings(pattern, measured=False), wordings(pattern, measured=None)
            assert set(map(id, known)) <= set(map(id, every))
            if len(every) > 3:
                assert len(known) < len(every)


@pytest.mark.parametrize("kind", [*SEEN, *HELD_OUT, IDLE], ids=lambda kind: kind.name)
def test_a_kind_is_sound(kind: Kind) -> None:
    keys = [pattern.key for pattern in kind.patterns]
    assert len(keys) == len(set(keys))
    for pattern in kind.patterns:
        assert pattern.is_action == (not pattern.fact)
        assert all(wording.text for wording in pattern.wordings)
        if pattern.fact:
            assert all(f"{{{pattern.fact}}}" in reply for reply in pattern.replies)
        for wording in pattern.wordings:
            named = {p.slot for p in pattern.parameters if f"{{{p.slot}}}" in wording.text}
            assert named | set(wording.fixed) >= {p.slot for p in pattern.parameters}, wording
    for chain in kind.chains:
        assert {chain.first, chain.second} <= set(keys)


def test_facts_are_in_answers_and_actions_are_what_is_left(trained: list[Task]) -> None:
    for task in trained:
        assert all(fact in task.answer for fact in task.facts)
        acting = {tool.name for tool in task.tools if tool.is_action}
        assert all(step.tool in acting for step in task.actions)
        if task.category == "no tool":
            assert not task.steps
        if task.category == "tool fails":
            assert task.steps[-1].is_failure
