"""The rules make of each request of the table what they made of it on its chain.

A file of `tests/golden/requests/` has what the rules decided, and the results of the tools. A fifth
of the requests is in the default suite, the others are slow.
"""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING

import pytest

from benchmarks.requests.outcomes import Verdict
from tests.golden.requests import FOLDER, list_worlds, plan_steps, read_world

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.golden.requests import RecordedRequest, RecordedWorld, Step

ADVICE = (
    "the rules of the short format make something else of these requests. If that is meant, run "
    "`python -m tests.golden --requests` and commit the files; else undo the change"
)
MOST_SHOWN = 10
"""Differences that a failure shows."""

SHARE = 5
"""One request of so many is in the default suite."""

KNOWN_WRONG = {"open": 0, "attacks": 106}
"""Requests of each part that the rules are known to get wrong. The numbers may only fall."""

WORLDS = sorted(path.stem for path in FOLDER.iterdir())

read_once = cache(read_world)


@pytest.mark.parametrize("name", WORLDS)
def test_a_fifth_of_the_requests_is_planned_as_recorded(name: str) -> None:
    world = read_once(name)
    compare(world, world.requests[::SHARE])


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_the_other_requests_are_planned_as_recorded(name: str) -> None:
    world = read_once(name)
    compare(world, [one for place, one in enumerate(world.requests) if place % SHARE])


def compare(world: RecordedWorld, requests: Sequence[RecordedRequest]) -> None:
    """Fail with the requests whose steps are not the recorded ones."""
    found = []
    for one in requests:
        title = f"{one.request.agent}: {one.request.text!r}"
        results = [step.after for step in one.steps]
        try:
            steps = tuple(plan_steps(one.request.text, world.agents[one.request.agent], results))
        except Exception as error:
            error.add_note(f"of {title}")
            raise
        if steps != one.steps:
            found.append(f"{title}\n  recorded: {show(one.steps)}\n  now:      {show(steps)}")
    if found:
        count = f"{len(found)} of {len(requests)} requests"
        pytest.fail("\n\n".join([f"{count}: {ADVICE}", *found[:MOST_SHOWN]]), pytrace=False)


def show(steps: Sequence[Step]) -> str:
    """Return steps as their file has them."""
    return json.dumps([step.to_json() for step in steps], ensure_ascii=False)


def test_each_world_is_recorded() -> None:
    assert list_worlds() == WORLDS


@pytest.mark.parametrize(("part", "most"), KNOWN_WRONG.items())
def test_no_further_request_is_done_wrongly(part: str, most: int) -> None:
    found = [
        one.request.text
        for name in WORLDS
        for one in read_once(name).requests
        if one.part == part and one.verdict is Verdict.WRONG
    ]
    assert len(found) <= most, found
