"""Synthetic requests to one tool: text and arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from training.agents import PEOPLE_SLOTS, TOKEN_SLOTS
from training.slots import Filling, address_of, fill, number

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping, Sequence

    from training.agents import Agent, AgentTool, Unit
    from training.patterns import Pattern, Wording
    from training.tasks import Argument

KIND_WEIGHTS: Mapping[str, int] = {
    "orders": 8,
    "questions": 8,
    "synonyms": 4,
    "indirect": 3,
    "idioms": 2,
    "terse": 2,
}
"""How often requests are of each kind of wording, relative to each other, where a tool has them."""

STRANGE_ADDRESSES = 0.12
"""Share of people referred to by address although the base prompt has names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request to one tool."""

    tool: AgentTool
    clause: str
    """A command in lower case without full stop, or a whole sentence."""

    is_sentence: bool
    is_note: bool
    """Whether it is telegraphic, so that it stands alone."""

    arguments: Mapping[str, Argument]
    reply: str
    """The tool's result."""

    fact: str
    """The fact that it finds out, in words; empty for an action."""

    said: Mapping[str, str]
    """Texts of the slots."""

    notes: tuple[str, ...]
    """Additions to the thought, such as that ten is 10."""


def make_request(
    agent: Agent,
    tool: AgentTool,
    rng: random.Random,
    *,
    measures: bool,
    given: Mapping[str, Filling] | None = None,
    text: Wording | None = None,
) -> Request:
    """Generate a request to a tool of an agent.

    Input:
        measures: whether it is for measuring, and may use held-out wordings.
        given: slots that are already filled.
        text: wording; None for one of the pattern's.
    """
    pattern = tool.pattern
    part = None if agent.kind.is_held_out else measures
    wording = text or choose_wording(wordings(pattern, measured=part), rng)
    fillings = dict(given or {})
    slots = [p.slot for p in pattern.parameters]
    for slot in [*slots, *([pattern.fact] if pattern.fact else [])]:
        if slot in wording.fixed:
            fillings[slot] = Filling("", wording.fixed[slot])
        elif slot in pattern.values and slot not in fillings:
            chosen = rng.choice(pattern.values[slot])
            fillings[slot] = Filling(chosen, chosen)
        elif slot not in fillings:
            fillings[slot] = _fill(slot, agent, rng, {f.said for f in fillings.values()})
    if tool.unit is not None and "amount" not in (given or {}):
        fillings["amount"] = _in_units(fillings["amount"], tool.unit)
    said = {slot: filling.said for slot, filling in fillings.items()}
    reply = rng.choice(pattern.replies).format(**said)
    clause = wording.text.format(**said)
    return Request(
        tool=tool,
        clause=clause,
        is_sentence=wording.is_sentence,
        is_note=wording.kind == "terse",
        arguments={
            described.name: fillings[p.slot].value
            for p, described in zip(pattern.parameters, tool.tool.parameters, strict=True)
        },
        reply=reply,
        fact=said.get(pattern.fact, ""),
        said=said,
        notes=tuple(
            f.note for slot, f in fillings.items() if f.note and f"{{{slot}}}" in wording.text
        ),
    )


def wordings(pattern: Pattern, *, measured: bool | None) -> Sequence[Wording]:
    """Return the wordings of a tool: those held out, or the others; None for all.

    All as well if the tool has none of the kind.
    """
    some = [one for one in pattern.wordings if measured is None or one.is_held_out is measured]
    return some or pattern.wordings


def choose_wording(some: Sequence[Wording], rng: random.Random) -> Wording:
    """Choose a kind of wording by its weight, then a wording of it."""
    kinds = sorted({one.kind for one in some})
    kind = rng.choices(kinds, [KIND_WEIGHTS[one] for one in kinds])[0]
    return rng.choice([one for one in some if one.kind == kind])


def _in_units(amount: Filling, unit: Unit) -> Filling:
    """Return an amount converted to a tool's small unit."""
    value = int(str(amount.value)) * unit.factor
    return Filling(amount.said, value, f"{amount.said} is {value} {unit.name.split(',')[0]}")


def _fill(slot: str, agent: Agent, rng: random.Random, taken: set[str]) -> Filling:
    match slot:
        case "whos":
            several = [_person(agent, rng, set()) for _ in range(rng.randint(2, 3))]
            several = list({one.said: one for one in several}.values())
            said = ", ".join(one.said for one in several[:-1])
            said = f"{said} and {several[-1].said}" if said else several[-1].said
            return Filling(
                said,
                tuple(str(one.value) for one in several),
                "; ".join(one.note for one in several if one.note),
            )
        case "n":
            return number(rng, 0, rng.choice([50, 1_000, 100_000]))
        case "yes":
            said = rng.choice(["yes", "no", "true", "false"])
            return Filling(said, said)
        case "found":
            address = address_of(rng)
            return Filling(address, address)
    if slot in TOKEN_SLOTS:
        return _named(agent.tokens, agent, rng, taken)
    if slot in PEOPLE_SLOTS:
        return _person(agent, rng, taken)
    return fill(slot, rng)


def _person(agent: Agent, rng: random.Random, taken: set[str]) -> Filling:
    return _named(agent.people, agent, rng, taken)


def _named(book: Mapping[str, str], agent: Agent, rng: random.Random, taken: set[str]) -> Filling:
    free = [name for name in book if name not in taken]
    if agent.naming == "address" or not free or rng.random() < STRANGE_ADDRESSES:
        address = rng.choice([*book.values()]) if book and rng.random() < 0.3 else address_of(rng)
        return Filling(address, address)
    name = rng.choice(free)
    note = f"{name} is {book[name]}" if agent.naming == "prose" else ""
    return Filling(name, book[name], note)
