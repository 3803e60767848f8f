"""Choices of a tool for the router: settings, and what a fold leaves out."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

import pytest

from training.choices import Source, folds, measured_choices, training_choices
from training.kinds import SEEN
from training.kinds.composed import OPERATIONS, THINGS

if TYPE_CHECKING:
    from training.choices import Choice


@pytest.fixture(scope="module")
def choices() -> list[Choice]:
    return training_choices(Source(kinds=SEEN[:4], things=THINGS, operations=OPERATIONS), 300, 1)


def test_folds_leave_out_each_family_noun_and_operation_once() -> None:
    pairs = folds(SEEN, 6, 1)
    for all_, of in ((SEEN, "kinds"), (THINGS, "things"), (OPERATIONS, "operations")):
        left_out = [one for _, source in pairs for one in getattr(source, of)]
        assert sorted(map(str, left_out)) == sorted(map(str, all_))
        for trained, source in pairs:
            assert not set(getattr(trained, of)) & set(getattr(source, of))
            assert {*getattr(trained, of), *getattr(source, of)} == set(all_)


def test_a_request_gives_a_choice_with_its_tool_without_it_and_with_a_near_duplicate(
    choices: list[Choice],
) -> None:
    requests = [list(group) for _, group in groupby(choices, lambda c: (c.names, c.key, c.family))]
    assert {c.setting for c in choices} == {"plain", "none", "near", "twin", "idle"}
    for group in requests:
        by = {choice.setting: choice for choice in group}
        if not {"plain", "none", "near"} <= by.keys() or len(group) > 4:
            continue
        assert by["plain"].right is not None
        assert by["near"].right is not None
        right = by["plain"].tools[by["plain"].right]
        assert by["none"].right is None
        assert right not in by["none"].tools
        assert by["near"].tools[by["near"].right] == right
        assert len(by["near"].tools) == len(by["plain"].tools) + 1


def test_a_seed_determines_choices(choices: list[Choice]) -> None:
    source = Source(kinds=SEEN[:4], things=THINGS, operations=OPERATIONS)
    assert training_choices(source, 300, 1) == choices
    assert training_choices(source, 300, 2) != choices


def test_each_measured_family_has_as_many_requests() -> None:
    source = Source(kinds=SEEN[:2], things=THINGS[:3], operations=OPERATIONS[:4])
    plain = [
        choice.family
        for choice in measured_choices(source, 7, 1, is_whole=True)
        if choice.setting == "plain"
    ]
    assert {family: plain.count(family) for family in plain} == {
        SEEN[0].name: 7,
        SEEN[1].name: 7,
        "composed": 7,
    }


def test_held_out_wordings_are_not_trained() -> None:
    source = Source(kinds=SEEN[:3])
    trained = {c.clause for c in training_choices(source, 400, 1) if c.setting == "plain"}
    measured = measured_choices(source, 30, 1, is_whole=False, held_out_wordings=True)
    assert measured
    assert not trained & {choice.clause for choice in measured if choice.setting == "plain"}
