"""Choices of a tool as the chooser makes them: a clause, calls with its values, the right one.

Settings: `plain` has the agent's tools, `none` lacks the right one, `near` adds
a near-duplicate, `twin` asks for it, `idle` is unrelated to any tool. A tool is left out whose
parameters the values of the clause do not fill, as the rules leave it out.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from benchmarks.nonsense_names import draw_name
from precompiles.short_format.call_text import UNKNOWN, shorten_quotations
from training.agents import make_agent
from training.choices import COMPOSED, MEASURED_TWINS, TRAINED_TWINS, Source, make_twin
from training.chooser.pairs import REQUESTS, PairMaker, choose_scene
from training.chooser.scenes import has_same_name, make_scene
from training.kinds import IDLE
from training.kinds.composed import composed
from training.requests import choose_wording

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from training.agents import Agent
    from training.choices import Twin
    from training.chooser.scenes import Scene
    from training.chooser.templates import Template

Setting: TypeAlias = Literal["plain", "none", "near", "twin", "idle"]

SHARES: Mapping[Setting, int] = {"plain": 10, "none": 5, "near": 2, "twin": 2, "idle": 1}
"""How often training takes each setting of a request."""

IDLE_EVERY = 5
"""Requests of a family for one that is unrelated to any tool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClauseChoice:
    """A clause, calls to choose from, and the right one."""

    clause: str
    calls: tuple[str, ...]
    right: int | None
    """Index of the right call; None if none is."""

    family: str
    setting: Setting
    wording: str
    """Kind of wording, of `requests.KIND_WEIGHTS`."""


def make_trained_choices(
    source: Source, templates: Sequence[Template], count: int, seed: int
) -> Iterator[ClauseChoice]:
    """Generate choices to train on, in training wordings, some in an accepting template.

    A function of the families, the templates, the number and the seed.
    """
    rng = random.Random(f"trained choices {seed}")
    maker = PairMaker(source, templates)
    idle = [w.text for p in IDLE.patterns for w in p.wordings if not w.is_held_out]
    made = 0
    while made < count:
        agent = maker.make_agent(rng)
        for _ in range(REQUESTS):
            scene = choose_scene(agent, rng)
            if scene is None:
                continue
            twin = rng.choice([one for one in TRAINED_TWINS if one.parameters in {"same", "none"}])
            found = {one.setting: one for one in _settings(scene, twin, scene.agent.kind.name)}
            calls = tuple(scene.call_other(tool, ()) for tool in agent.tools)
            found["idle"] = replace(
                found["plain"], clause=rng.choice(idle), calls=calls, right=None, setting="idle"
            )
            chosen = found[rng.choices([*found], [SHARES[one] for one in found])[0]]
            if chosen.setting in {"plain", "none", "near"}:
                chosen = replace(chosen, clause=maker.say(scene, rng))
            if made < count:
                made += 1
                yield chosen


def make_choices(
    source: Source, requests: int, seed: int, *, nonsense: bool
) -> Iterator[ClauseChoice]:
    """Generate choices: the same number of requests of each family, in all its wordings.

    Input:  the families; requests of each; a seed; whether the tools have nonsense for names. With
            and without it, requests are the same.
    """
    for kind in (*source.kinds, *((None,) if source.things else ())):
        name = COMPOSED if kind is None else kind.name
        rng = random.Random(f"choices {seed} {name}")
        for number in range(requests):
            things, operations = source.things, source.operations
            one = kind or composed(rng, things=things, operations=operations)
            agent = make_agent(one, source.kinds, rng)
            own = [tool for tool in agent.tools if tool.pattern in one.patterns]
            tool = rng.choice(own)
            scene = make_scene(agent, tool, choose_wording(tool.pattern.wordings, rng), rng)
            twin = rng.choice(MEASURED_TWINS)
            idle = rng.choice([w for p in IDLE.patterns for w in p.wordings if w.is_held_out])
            if nonsense:
                scene = _rename(scene, f"{seed} {name} {number}")
            yield from _settings(scene, twin, name)
            if number % IDLE_EVERY == 0:
                calls = tuple(scene.call_other(tool, ()) for tool in scene.agent.tools)
                yield ClauseChoice(
                    clause=idle.text,
                    calls=calls,
                    right=None,
                    family=name,
                    setting="idle",
                    wording=idle.kind,
                )


def _rename(scene: Scene, seed: str) -> Scene:
    """Return a scene whose tools have nonsense for names."""
    rng, taken = random.Random(f"names {seed}"), set[str]()
    tools = []
    for one in scene.agent.tools:
        name = draw_name(rng, taken)
        taken.add(name)
        tools.append(replace(one, tool=replace(one.tool, name=name)))
    agent: Agent = replace(scene.agent, tools=tuple(tools))
    place = scene.agent.tools.index(scene.tool)
    return replace(scene, agent=agent, tool=agent.tools[place])


def _settings(scene: Scene, twin: Twin, family: str) -> Iterator[ClauseChoice]:
    own = scene.tool.pattern
    calls: list[str] = []
    others: list[str] = []
    right = 0
    for tool in scene.agent.tools:
        values = scene.values if tool == scene.tool else scene.fit(tool)
        if tool == scene.tool:
            right = len(calls)
        if values is not None:
            calls.append(scene.call_other(tool, values))
            if not has_same_name(tool.pattern, own):
                others.append(calls[-1])
    plain = ClauseChoice(
        clause=scene.order,
        calls=tuple(calls),
        right=right,
        family=family,
        setting="plain",
        wording=scene.wording.kind,
    )
    yield plain
    if others:
        yield replace(plain, calls=tuple(others), right=None, setting="none")
    made = make_twin(twin, scene.tool)
    values = () if twin.parameters == "none" else scene.values
    if twin.parameters in {"same", "none"}:
        yield replace(plain, calls=(*calls, scene.call(values, made)), setting="near")
    if not scene.wording.is_sentence:
        clause = shorten_quotations(scene.read(twin.wordings[0].format(c=scene.request.clause)))
        account = scene.handles.name(_OTHER) if twin.parameters == "owner" else UNKNOWN
        values = (*values, account) if twin.parameters == "owner" else values
        more = (*calls, scene.call(values, made))
        yield replace(plain, clause=clause, calls=more, right=len(calls), setting="twin")


_OTHER = "0x00000000000000000000000000000000000000aA"
"""The account in the wordings of `MEASURED_TWINS`."""
