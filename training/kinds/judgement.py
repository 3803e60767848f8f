"""Tasks whose arguments depend on what was read: a score, a decision, a verdict of two opinions.

For the free format with the rule `stated_values`: the arguments are not copies of the question.
Each family states its rule in the base prompt, and its values in a parameter's description.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from precompiles.abi import ParamDescription, ParamType
from training.agents import to_camel, to_snake, to_tool_name
from training.tasks import Task, TaskStep, TaskTool

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from training.tasks import Argument

MAX_ID = 400
MAX_READING = 500


@dataclass(frozen=True, slots=True)
class Measure:
    """Something that is decided by comparing a reading with its limit."""

    subject: str
    reading: str
    limit: str
    places: tuple[str, ...]
    below: str
    above: str
    equal: str


WORKS = ("essay", "grant application", "recipe", "bug report", "speech", "design draft", "thesis",
         "business plan", "garden plan", "song")  # fmt: skip
CRITERIA = ("a budget", "a timeline", "tests", "references", "a summary", "a list of risks",
            "a named team", "a licence", "pictures", "measured results", "a table of contents",
            "an abstract")  # fmt: skip
POINTS = (1, 2, 3, 5, 10, 20, 25)
"""Points for a criterion."""

FEWEST, MOST = 2, 4
"""Numbers of criteria of an agent."""

MEASURES = (
    Measure("trader", "price", "average", ("grain", "copper", "wool", "cotton", "tin", "coffee"),
            "buy", "sell", "hold"),
    Measure("gardener", "moisture", "limit", ("rose bed", "orchard", "lawn", "greenhouse"),
            "water", "drain", "wait"),
    Measure("caretaker", "temperature", "target", ("hall", "library", "nursery", "workshop"),
            "heat", "cool", "rest"),
    Measure("store keeper", "stock", "minimum", ("nails", "paint", "rope", "candles", "tiles"),
            "reorder", "discount", "keep"),
    Measure("harbour master", "traffic", "plan", ("north quay", "south quay", "old pier"),
            "open", "close", "leave"),
    Measure("dispatcher", "demand", "supply", ("east grid", "west grid", "island grid"),
            "store", "release", "idle"),
)  # fmt: skip

EXPERTS = ("auditor", "lawyer", "engineer", "treasurer", "biologist", "neighbour", "archivist")
SUBJECTS = ("contract", "building permit", "merger", "loan request", "exhibition", "field trial")
REASONS = {
    True: ("all papers are in order", "the numbers add up", "nobody is harmed", "it is well tested"),
    False: ("a signature is missing", "the costs are not covered", "the risk is too high",
            "nobody checked it"),
}  # fmt: skip


def judgement_groups(seed: int, *, requests: int) -> Iterator[tuple[Task, ...]]:
    """Generate tasks endlessly, in groups with the same agent.

    Input:  maximum number of tasks in a group.
    """
    rng = random.Random(f"judgement {seed}")
    families = (_score_works, _decide_by_readings, _weigh_opinions)
    while True:
        yield rng.choice(families)(rng, requests)


def _score_works(rng: random.Random, requests: int) -> tuple[Task, ...]:
    work, points = rng.choice(WORKS), rng.choice(POINTS)
    criteria = rng.sample(CRITERIA, rng.randint(FEWEST, MOST))
    limit = points * len(criteria)
    stated = rng.choice((f"a score from 0 to {limit}", f"between 0 and {limit} points"))
    read, score = _name(rng, "read", work), _name(rng, rng.choice(("score", "grade")), work)
    tools = (
        _tool(rng, read, f"Returns what the {work} has", ("id", ParamType.UINT, f"which {work}")),
        _tool(rng, score, f"Records the score of the {work}",
              ("id", ParamType.UINT, f"which {work}"), ("score", ParamType.UINT, stated),
              is_action=True),
    )  # fmt: skip
    said = "point" if points == 1 else "points"
    prompt = f"You judge each {work}. Give {points} {said} for each of these: {_join(criteria)}."
    tasks = []
    for number in rng.sample(range(1, MAX_ID), requests):
        found = [one for one in criteria if rng.random() < 0.6]
        total = points * len(found)
        lines = [f"{one}: {'yes' if one in found else 'no'}" for one in criteria]
        rng.shuffle(lines)
        has = _join(found) if found else "none of them"
        question = rng.choice((
            f"Judge {work} {number}.", f"How good is {work} {number}? Record it.",
            f"Please give {work} {number} the score that it has earned.",
        ))  # fmt: skip
        steps = (
            _step(f"I read {work} {number} first.", read, {"id": number}, "; ".join(lines)),
            _step(f"It has {has}: {len(found)} times {points} is {total}.", score,
                  {"id": number, "score": total}, "Recorded"),
        )  # fmt: skip
        answer = f"The {work} {number} got {total}: it has {has}."
        tasks.append(_task("scores", prompt, tools, question, steps, answer, str(total)))
    return tuple(tasks)


def _decide_by_readings(rng: random.Random, requests: int) -> tuple[Task, ...]:
    of = rng.choice(MEASURES)
    order = rng.sample((of.below, of.above, of.equal), 3)
    stated = f"one of {order[0]}, {order[1]} or {order[2]}"
    look, act = _name(rng, "check", of.reading), _name(rng, rng.choice(("decide", "order")), "")
    tools = (
        _tool(rng, look, f"Returns the {of.reading} and the {of.limit} of a place",
              ("place", ParamType.STRING, "which one")),
        _tool(rng, act, f"Does what the {of.subject} decides",
              ("place", ParamType.STRING, "which one"), ("decision", ParamType.STRING, stated),
              is_action=True),
    )  # fmt: skip
    prompt = (
        f"You are a {of.subject}. If the {of.reading} is below the {of.limit}, {of.below}; if it is "
        f"above, {of.above}; if they are equal, {of.equal}."
    )
    tasks = []
    for _ in range(requests):
        place, limit = rng.choice(of.places), rng.randint(2, MAX_READING)
        reading = rng.choice((rng.randint(1, limit - 1), limit, limit + rng.randint(1, limit)))
        decision, relation = (
            (of.below, "below") if reading < limit
            else (of.above, "above") if reading > limit
            else (of.equal, "equal to")
        )  # fmt: skip
        question = rng.choice((
            f"What should happen with {place}? See to it.", f"Take care of {place}.",
            f"Decide about {place} and do it.",
        ))  # fmt: skip
        steps = (
            _step(f"I look at the {of.reading} of {place}.", look, {"place": place},
                  f"{of.reading} {reading}, {of.limit} {limit}"),
            _step(f"{reading} is {relation} {limit}, so {decision}.", act,
                  {"place": place, "decision": decision}, "Done"),
        )  # fmt: skip
        answer = f"Decided for {place}: {decision}, as {reading} is {relation} {limit}."
        tasks.append(_task("decisions", prompt, tools, question, steps, answer, decision))
    return tuple(tasks)


def _weigh_opinions(rng: random.Random, requests: int) -> tuple[Task, ...]:
    experts, subject = rng.sample(EXPERTS, 2), rng.choice(SUBJECTS)
    asks = [_name(rng, "ask", expert) for expert in experts]
    close = _name(rng, rng.choice(("conclude", "rule on")), subject)
    which = ("id", ParamType.UINT, f"which {subject}")
    tools = (
        *(_tool(rng, name, f"Returns the opinion of the {expert}", which)
          for name, expert in zip(asks, experts, strict=True)),
        _tool(rng, close, f"Records the verdict on the {subject}", which,
              ("verdict", ParamType.STRING, "one of approve, reject or split"),
              ("summary", ParamType.STRING, "both opinions in a sentence"), is_action=True),
    )  # fmt: skip
    prompt = (
        f"You chair a board. Ask the {experts[0]} and the {experts[1]}. The verdict is approve if "
        "both are in favour, reject if both are against, else split."
    )
    tasks = []
    for number in rng.sample(range(1, MAX_ID), requests):
        votes = [rng.random() < 0.5 for _ in experts]
        reasons = [rng.choice(REASONS[vote]) for vote in votes]
        verdict = "split" if votes[0] != votes[1] else "approve" if votes[0] else "reject"
        sides = ["in favour" if vote else "against" for vote in votes]
        summary = "; ".join(
            f"the {expert} is {side}: {reason}"
            for expert, side, reason in zip(experts, sides, reasons, strict=True)
        )
        question = rng.choice((
            f"Bring {subject} {number} to a verdict.", (f"What does the board say of {subject} "
            f"{number}? Record it."), f"Settle {subject} {number}.",
        ))  # fmt: skip
        opinions = (
            _step(f"I ask the {expert}.", ask, {"id": number}, f"I am {side}: {reason}.")
            for expert, ask, side, reason in zip(experts, asks, sides, reasons, strict=True)
        )
        thought = f"The {experts[0]} is {sides[0]} and the {experts[1]} {sides[1]}: {verdict}."
        arguments: dict[str, Argument] = {"id": number, "verdict": verdict, "summary": summary}
        steps = (*opinions, _step(thought, close, arguments, "Recorded"))
        answer = f"The verdict on {subject} {number} is {verdict}: {summary}."
        tasks.append(_task("verdicts", prompt, tools, question, steps, answer, verdict))
    return tuple(tasks)


def _name(rng: random.Random, verb: str, noun: str) -> str:
    """Return a tool's name in one of the usual styles."""
    style = rng.choice((to_snake, to_tool_name, to_camel))
    return style(f"{verb} {noun}".strip())


def _tool(
    rng: random.Random,
    name: str,
    description: str,
    *parameters: tuple[str, ParamType, str],
    is_action: bool = False,
) -> TaskTool:
    return TaskTool(
        name=name,
        description=description + rng.choice(("", ".")),
        parameters=tuple(
            ParamDescription(name=name, param_type=kind, description=text)
            for name, kind, text in parameters
        ),
        is_action=is_action,
        default_reply="Recorded" if is_action else "Nothing found",
    )


def _step(thought: str, tool: str, arguments: dict[str, Argument], observation: str) -> TaskStep:
    return TaskStep(thought=thought, tool=tool, arguments=arguments, observation=observation)


def _task(
    kind: str,
    prompt: str,
    tools: tuple[TaskTool, ...],
    question: str,
    steps: tuple[TaskStep, ...],
    answer: str,
    fact: str,
) -> Task:
    return Task(
        category="several steps",
        kind=kind,
        is_held_out=False,
        base_prompt=prompt,
        tools=tools,
        question=question,
        steps=steps,
        thought="All is recorded.",
        answer=answer,
        facts=(fact,),
    )


def _join(words: Sequence[str]) -> str:
    """Join words with commas and a last "and"."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last
