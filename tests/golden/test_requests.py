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
from precompiles.address_handles import AddressBook
from precompiles.short_format.base_prompt import read_native
from precompiles.short_format.roles import read_tool
from tests.golden.requests import FOLDER, list_worlds, plan_steps, read_world

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.golden.requests import Agent, RecordedRequest, RecordedWorld, Step

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

WITHOUT_EFFECT = {
    "freezer -18 -20",
    "release quest 3 to Moss",
    "The lorry brought 8 bags. Book them in!",
}
"""Requests for which the rules decide an act that should not be, and that changes nothing: the
contract refuses it, or its state is so already. The list may only become shorter."""

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


def list_all() -> Iterator[tuple[RecordedRequest, Agent]]:
    """Yield each recorded request, and its agent."""
    for name in WORLDS:
        world = read_once(name)
        for one in world.requests:
            yield one, world.agents[one.request.agent]


def test_where_nothing_may_happen_the_rules_decide_no_act() -> None:
    # A contract may refuse what the request asks for; what is done wrongly is counted below.
    found = {
        one.request.text
        for one, agent in list_all()
        if not one.request.is_doable
        and one.request.reason != "refused"
        and one.verdict is not Verdict.WRONG
        and any(is_act(step, agent) for step in one.steps)
    }
    assert found == WITHOUT_EFFECT


def is_act(step: Step, agent: Agent) -> bool:
    """Return whether the rules decide a call of a tool that neither reads nor is an agent."""
    if not step.is_decided or not step.calls:
        return False
    _, action, _ = step.calls[0].split("\n")
    return action.removeprefix("Action: ") in list_acts(agent)


@cache
def list_acts(agent: Agent) -> frozenset[str]:
    """Return the names of an agent's tools that neither read nor are agents, which plan anew."""
    book, native = AddressBook(agent.base_prompt, ()), read_native(agent.base_prompt)
    roles = [read_tool(place, tool, book, native) for place, tool in enumerate(agent.tools)]
    return frozenset(
        tool.name
        for tool, role in zip(agent.tools, roles, strict=True)
        if not (role.is_read or role.is_agent)
    )


@pytest.mark.parametrize(("part", "known"), KNOWN_WRONG.items())
def test_no_further_request_is_done_wrongly(part: str, known: int) -> None:
    found = [
        one.request.text
        for one, _ in list_all()
        if one.part == part and one.verdict is Verdict.WRONG
    ]
    assert len(found) == known, f"more: undo the change; fewer: lower KNOWN_WRONG: {found}"
