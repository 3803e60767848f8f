"""What choices of a tool are made from: families dealt into folds, and near-duplicates of tools."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeVar

from precompiles.abi import ParamDescription
from training.kinds.composed import OPERATIONS, THINGS
from training.patterns import ADDRESS, UINT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from training.agents import AgentTool
    from training.patterns import Kind
    from training.tasks import TaskTool

_T = TypeVar("_T")

COMPOSED = "composed"
"""Family of all composed kinds."""

COMPOSED_SHARE = 0.12
"""Share of training agents of a composed kind, as in `sample.training_groups`."""


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


def _deal(all_: Sequence[_T], count: int, rng: random.Random) -> list[list[_T]]:
    shuffled = rng.sample(list(all_), len(all_))
    return [shuffled[part::count] for part in range(count)]


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
