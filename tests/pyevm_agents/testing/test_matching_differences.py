"""Descriptions of differences; `test_assertions.py` has whole messages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.testing.matching import (
    describe_action,
    describe_argument_differences,
    describe_text_difference,
    format_marks,
)
from tests.pyevm_agents.testing.sample_runs import ASSET, answered, used

if TYPE_CHECKING:
    from collections.abc import Mapping

STEP = used("Deploy", asset=ASSET, amount=5, tags=["a"], isFast=True)


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        ({}, None),
        ({"amount": 5, "asset": ASSET.lower(), "isFast": True}, None),
        ({"amount": 6}, "amount is 5, not 6"),
        ({"isFast": 1}, "isFast is true, not 1"),
        ({"tags": ["b"]}, "tags is [\"a\"], not ['b']"),
        ({"sum": 5}, "there is no argument sum; the arguments are asset, amount, tags, isFast"),
        (
            {"amount": 6, "sum": 5},
            "amount is 5, not 6\nthere is no argument sum; the arguments are",
        ),
    ],
)
def test_arguments(wanted: Mapping[str, object], told: str | None) -> None:
    found = describe_argument_differences(wanted, STEP)
    assert found is None if told is None else found is not None and found.startswith(told)


def test_a_tool_without_arguments_has_none() -> None:
    assert (
        describe_argument_differences({"a": 1}, used("View"))
        == "there is no argument a; the arguments are none"
    )


def test_texts() -> None:
    assert describe_text_difference("it said", "yes", "yes") is None
    assert describe_text_difference("it said", re.compile("e"), "yes") is None
    assert describe_text_difference("it said", "no", "yes") == "it said 'yes', not 'no'"
    assert describe_text_difference("it said", "y", None) == "it said empty: the tool reverted"
    part = describe_text_difference("it said", "ye", "yes")
    assert part is not None
    assert part.endswith("(a part of it: re.compile('ye') searches for parts)")


def test_what_was_done_and_where() -> None:
    assert (describe_action(STEP), describe_action(answered("x"))) == (
        "used Deploy",
        "gave its final answer",
    )
    assert format_marks({0: "a", 2: "b\nc"}) == "at step 1 a; at step 3 b and c"
