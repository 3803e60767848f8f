"""Choices of a tool: a clause, an agent's tools, and the right one or none.

Each request of an agent gives up to four choices: `plain` has the agent's tools, `none` lacks the
right one, `near` adds a near-duplicate of it, and `twin` requests that near-duplicate. `idle` is a
request unrelated to any tool.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

from precompiles.abi import ParamDescription
from training.agents import make_agent
from training.compose import question
from training.kinds import IDLE
from training.kinds.composed import OPERATIONS, THINGS, composed
from training.patterns import ADDRESS, UINT
from training.requests import make_request

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from training.agents import Agent, AgentTool
    from training.patterns import Kind, Pattern, Wording
    from training.requests import Request
    from training.tasks import TaskTool

Setting: TypeAlias = Literal["plain", "none", "near", "twin", "idle"]

_T = TypeVar("_T")

COMPOSED = "composed"
"""Family of all composed kinds."""

COMPOSED_SHARE = 0.12
"""Share of training agents of a composed kind, as in `sample.training_groups`."""

WHOLE_SHARE = 0.5
"""Share of training clauses that are whole questions."""

IDLE_SHARE = 0.1
"""Share of training requests followed by one that is unrelated to any tool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A clause, the tools to choose from, and the right one."""

    clause: str
    names: frozenset[str]
    """Names that the base prompt defines in lines `NAME = 0x…`."""

    tools: tuple[TaskTool, ...]
    right: int | None
    """Index of the right tool; None if no tool serves the request."""

    family: str
    key: str
    """Key of the requested tool's pattern."""

    setting: Setting


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Families to generate choices from: hand-written kinds, and nouns and operations."""

    kinds: tuple[Kind, ...]
    things: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Twin:
    """A near-duplicate of a tool: templates of its name, description and requests."""

    name: str
    description: str
    wordings: tuple[str, str]
    parameters: Literal["same", "none", "day", "owner"] = "same"


TRAINED_TWINS = (
    Twin(
        "preview {name}",
        "Preview only, nothing changes: {description}",
        ("preview what happens if I {c}", "show me a preview: {c}"),
    ),
    Twin(
        "schedule {name}",
        "Schedules for a later day: {description}",
        ("schedule for day 12: {c}", "plan to {c} on day 7"),
        "day",
    ),
    Twin(
        "{name} history",
        "Lists earlier calls: {description}",
        ("list the times when we wanted to {c}", "show the history of this: {c}"),
        "none",
    ),
    Twin(
        "emergency {name}",
        "Only in an emergency: {description}",
        ("this is an emergency, {c}", "use the emergency way to {c}"),
    ),
)
MEASURED_TWINS = (
    Twin(
        "cancel {name}",
        "Cancels a pending request: {description}",
        ("cancel my request to {c}", "call off the pending order to {c}"),
    ),
    Twin(
        "simulate {name}",
        "Dry run without effect: {description}",
        ("simulate this: {c}", "do a dry run: {c}"),
    ),
    Twin(
        "{name} fee",
        "Returns the fee of this tool: {description}",
        ("tell me the fee to {c}", "look up which fee it takes to {c}"),
        "none",
    ),
    Twin(
        "{name} on behalf",
        "For the account of somebody else: {description}",
        (
            "on behalf of 0x00000000000000000000000000000000000000aA: {c}",
            "for the account of 0x00000000000000000000000000000000000000aA, {c}",
        ),
        "owner",
    ),
)
_ADDED = {
    "day": ParamDescription(param_type=UINT, name="day", description="number of the day"),
    "owner": ParamDescription(param_type=ADDRESS, name="owner", description="the other account"),
}


def folds(kinds: Sequence[Kind], count: int, seed: int) -> list[tuple[Source, Source]]:
    """Deal kinds, nouns and operations into folds; return what each trains on and leaves out."""
    rng = random.Random(f"folds {seed}")
    dealt_kinds = _deal(kinds, count, rng)
    dealt_things, dealt_operations = (_deal(all_, count, rng) for all_ in (THINGS, OPERATIONS))

    def source(parts: Sequence[int]) -> Source:
        return Source(
            kinds=tuple(one for part in parts for one in dealt_kinds[part]),
            things=tuple(one for part in parts for one in dealt_things[part]),
            operations=tuple(one for part in parts for one in dealt_operations[part]),
        )

    return [
        (source([part for part in range(count) if part != out]), source([out]))
        for out in range(count)
    ]


def training_choices(source: Source, count: int, seed: int) -> list[Choice]:
    """Generate choices of every setting; wordings held out by `sample.held_out` do not occur."""
    rng = random.Random(f"choices {seed}")
    found: list[Choice] = []
    while len(found) < count:
        is_composed = bool(source.things) and rng.random() < COMPOSED_SHARE
        kind = _composed(source, rng) if is_composed else rng.choice(source.kinds)
        agent = make_agent(kind, source.kinds, rng)
        for _ in range(4):
            request = make_request(agent, rng.choice(agent.tools), rng, measures=False)
            is_whole = rng.random() < WHOLE_SHARE
            found += _settings(agent, request, TRAINED_TWINS, rng, is_whole=is_whole)
            if rng.random() < IDLE_SHARE:
                found.append(_idle(agent, rng, measures=False, is_whole=is_whole))
    return found[:count]


def measured_choices(
    source: Source, requests: int, seed: int, *, is_whole: bool, held_out_wordings: bool = False
) -> list[Choice]:
    """Generate choices for measuring: the same number of requests of each family.

    Input:
        requests: number of requests of each hand-written family, and of all composed ones.
        is_whole: whether the clause is the whole question.
        held_out_wordings: whether only wordings occur that training excludes.
    """
    found: list[Choice] = []
    for kind in (*source.kinds, *((None,) if source.things else ())):
        name = COMPOSED if kind is None else kind.name
        rng = random.Random(f"measured {seed} {name}")
        made = 0
        while made < requests:
            one = _composed(source, rng) if kind is None else kind
            agent = make_agent(one, source.kinds, rng)
            own = [tool for tool in agent.tools if tool.pattern in one.patterns]
            tool = rng.choice(own)
            text = _held_out_wording(tool.pattern, rng) if held_out_wordings else None
            if held_out_wordings and text is None:
                made += 1
                continue
            request = make_request(agent, tool, rng, measures=True, text=text)
            found += _settings(agent, request, MEASURED_TWINS, rng, is_whole=is_whole)
            if made % 10 == 0:
                found.append(_idle(agent, rng, measures=True, is_whole=is_whole))
            made += 1
    return found


def _deal(all_: Sequence[_T], count: int, rng: random.Random) -> list[list[_T]]:
    shuffled = rng.sample(list(all_), len(all_))
    return [shuffled[part::count] for part in range(count)]


def _composed(source: Source, rng: random.Random) -> Kind:
    return composed(rng, things=source.things, operations=source.operations)


def _held_out_wording(pattern: Pattern, rng: random.Random) -> Wording | None:
    kept = [one for one in pattern.wordings if one.is_held_out]
    return rng.choice(kept) if kept else None


def _settings(
    agent: Agent, request: Request, twins: Sequence[Twin], rng: random.Random, *, is_whole: bool
) -> Iterator[Choice]:
    text = question([request], rng) if is_whole else request.clause
    tools, right = agent.task_tools, agent.tools.index(request.tool)
    plain = Choice(
        clause=text,
        names=frozenset(re.findall(r"^(\S+) = 0x", agent.base_prompt, re.MULTILINE)),
        tools=tools,
        right=right,
        family=COMPOSED if agent.kind.name.startswith(COMPOSED) else agent.kind.name,
        key=request.tool.pattern.key,
        setting="plain",
    )
    yield plain
    # A tool that shares a name with the right one might serve the request as well.
    names = set(request.tool.pattern.names)
    left = tuple(one.tool for one in agent.tools if not names & set(one.pattern.names))
    if left:
        yield replace(plain, tools=left, right=None, setting="none")
    twin = rng.choice(twins)
    made = make_twin(twin, request.tool)
    place = rng.randrange(len(tools) + 1)
    more = (*tools[:place], made, *tools[place:])
    yield replace(plain, tools=more, right=right + (place <= right), setting="near")
    if not request.is_sentence:
        clause = rng.choice(twin.wordings).format(c=request.clause)
        text = question([replace(request, clause=clause)], rng) if is_whole else clause
        yield replace(plain, clause=text, tools=more, right=place, setting="twin")


def make_twin(twin: Twin, one: AgentTool) -> TaskTool:
    """Return the near-duplicate of a tool; a parameter that only it has is the last one."""
    tool = one.tool
    name = twin.name.format(name=tool.name)
    if "_" in tool.name:
        name = name.replace(" ", "_")
    else:
        first, *rest = name.split()
        name = first + "".join(word[0].upper() + word[1:] for word in rest)
    parameters = () if twin.parameters == "none" else tool.parameters
    if twin.parameters in _ADDED:
        parameters = (*parameters, _ADDED[twin.parameters])
    return replace(
        tool,
        name=name,
        description=twin.description.format(description=tool.description),
        parameters=parameters,
    )


def _idle(agent: Agent, rng: random.Random, *, measures: bool, is_whole: bool) -> Choice:
    pattern = rng.choice(IDLE.patterns)
    wording = rng.choice([one for one in pattern.wordings if one.is_held_out is measures])
    return Choice(
        clause=wording.text if not is_whole or wording.is_sentence else f"Please {wording.text}.",
        names=frozenset(),
        tools=agent.task_tools,
        right=None,
        family="idle",
        key=pattern.key,
        setting="idle",
    )
