"""A request of a generated agent, and the calls of its tools with the values that it says."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from benchmarks.nonsense_names import draw_name
from precompiles.abi import ParamType
from precompiles.short_format.call_text import (
    UNKNOWN,
    CallArgument,
    shorten_quotations,
    show_number,
    show_text,
    write_call,
)
from training.agents import PEOPLE_SLOTS, TOKEN_SLOTS
from training.requests import make_request
from training.slots import Filling, amount
from training.words import TOKENS

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping, Sequence

    from training.agents import Agent, AgentTool
    from training.patterns import Pattern, Wording
    from training.requests import Request
    from training.tasks import Argument, TaskTool

ADDRESS = re.compile("0x[0-9a-fA-F]{40}")

SYMBOL_SHARE = 0.35
"""Share of amounts with a unit, where the wording lets one follow."""

SYMBOLS = (*TOKENS, "ETH", "ETH", "coins", "points", "credits", "tokens", "euros", "wei", "%")
DECIMALS = (0, 0, 0, 1, 2)
"""Digits after the point of such an amount."""

NONSENSE_SHARE = 0.12
"""Share of agents whose tools have nonsense for names."""

BARE_SHARE = 0.06
"""Share of the other tools without a description."""

LEFT_SHARE = 0.06
"""Share of texts, truth values and numbers in calls that are left to a model."""

_ENDS = re.compile(r"\{amount\}(?=$|[,.;]| (?:to|from|into|in|on|for|at|with|as|by|onto|out)\b)")
_DECIMALS = {1: 0, 100: 2, 1_000: 3, 1_000_000: 6}


class Handles:
    """Names for the addresses of a scene: the base prompt's, then `addr1`, `addr2` and so on."""

    def __init__(self, names: Mapping[str, str]) -> None:
        """Start with names by address."""
        self._names = dict(names)
        self._count = 0

    def name(self, address: str) -> str:
        """Return the name of an address; a new one has the next number."""
        if address not in self._names:
            self._count += 1
            self._names[address] = f"addr{self._count}"
        return self._names[address]

    def intern(self, text: str) -> str:
        """Return a text with names in place of addresses."""
        return ADDRESS.sub(lambda match: self.name(match[0]), text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A request, and the tool that it asks for."""

    agent: Agent
    tool: AgentTool
    wording: Wording
    request: Request
    handles: Handles
    units: Mapping[str, tuple[str, int]]
    """Units by slot of an amount: symbol and decimals that are said."""

    @property
    def order(self) -> str:
        """The request as the chooser reads it: with handles, long quotations cut."""
        return self.read(self.request.clause)

    def read(self, clause: str) -> str:
        """Return a clause as the chooser reads it."""
        return shorten_quotations(self.handles.intern(clause))

    def say(self, template: str) -> str:
        """Return the order in another wording with the same slots."""
        return self.read(template.format(**self.request.said))

    @property
    def fillings(self) -> dict[str, Filling]:
        """Texts and arguments by slot."""
        slots = [p.slot for p in self.tool.pattern.parameters]
        return {
            slot: Filling(self.request.said.get(slot, ""), argument)
            for slot, argument in zip(slots, self.request.arguments.values(), strict=True)
        }

    @property
    def values(self) -> tuple[str, ...]:
        """The arguments, as a call shows them."""
        return tuple(
            self._show(slot, filling.value, self.tool) for slot, filling in self.fillings.items()
        )

    def call(self, values: Sequence[str] | None = None, tool: TaskTool | None = None) -> str:
        """Return the text of a call, by default with the request's tool and values."""
        tool = tool or self.tool.tool
        return self._write(tool, self.values if values is None else values)

    def fit(self, other: AgentTool) -> tuple[str, ...] | None:
        """Return values of the request for another tool's parameters; None if they do not fit.

        A value has the parameter's type, and fills one parameter. A truth value needs none.
        """
        given = {
            p.slot: (p.param_type, shown)
            for p, shown in zip(self.tool.pattern.parameters, self.values, strict=True)
        }
        found: list[str] = []
        for p in other.pattern.parameters:
            if p.param_type is ParamType.BOOL:
                found.append(UNKNOWN)
                continue
            family = _family(p.slot)
            fitting = [
                slot
                for slot, (kind, _) in given.items()
                if kind is p.param_type and _family(slot) == family
            ]
            if not fitting:
                return None
            slot = p.slot if p.slot in fitting else fitting[0]
            found.append(given.pop(slot)[1])
        return tuple(found)

    def call_other(self, other: AgentTool, values: Sequence[str]) -> str:
        """Return the text of a call of another tool."""
        return self._write(other.tool, values)

    def _write(self, tool: TaskTool, values: Sequence[str]) -> str:
        padded = [*values, *[UNKNOWN] * (len(tool.parameters) - len(values))]
        arguments = [
            CallArgument(p.name, self.handles.intern(p.description), value)
            for p, value in zip(tool.parameters, padded, strict=False)
        ]
        return write_call(tool.name, self.handles.intern(tool.description), arguments)

    def _show(self, slot: str, argument: Argument, tool: AgentTool) -> str:
        if isinstance(argument, tuple):
            return ", ".join(self._show(slot, one, tool) for one in argument)
        if isinstance(argument, bool):
            return str(argument).lower()
        if isinstance(argument, int):
            if slot in self.units:
                symbol, decimals = self.units[slot]
                return show_number(argument, decimals, symbol)
            factor = tool.unit.factor if tool.unit is not None and slot == "amount" else 1
            return show_number(argument, _DECIMALS[factor])
        if ADDRESS.fullmatch(argument):
            return self.handles.name(argument)
        return show_text(argument)


def make_scene(agent: Agent, tool: AgentTool, wording: Wording, rng: random.Random) -> Scene:
    """Generate a request to a tool of an agent in a wording."""
    given: dict[str, Filling] = {}
    units: dict[str, tuple[str, int]] = {}
    slots = {p.slot for p in tool.pattern.parameters}
    is_free = tool.unit is None and slots.isdisjoint(TOKEN_SLOTS)
    can_follow = "amount" in slots and is_free and _ENDS.search(wording.text) is not None
    if can_follow and rng.random() < SYMBOL_SHARE:
        units["amount"] = rng.choice(SYMBOLS), rng.choice(DECIMALS)
        given["amount"] = _make_amount(*units["amount"], rng)
    request = make_request(agent, tool, rng, measures=False, given=given, text=wording)
    return Scene(
        agent=agent,
        tool=tool,
        wording=wording,
        request=request,
        handles=Handles(_names(agent)),
        units=units,
    )


def change_value(scene: Scene, slot: str, rng: random.Random) -> Scene:
    """Return a scene with another value of a slot; the unit of an amount stays."""
    given = {one: filling for one, filling in scene.fillings.items() if one != slot}
    if slot in scene.units:
        given[slot] = _make_amount(*scene.units[slot], rng)
    text = scene.wording
    request = make_request(scene.agent, scene.tool, rng, measures=False, given=given, text=text)
    return replace(scene, request=request)


def _make_amount(symbol: str, decimals: int, rng: random.Random) -> Filling:
    whole = amount(rng)
    if not decimals:
        return Filling(f"{whole.said} {symbol}", whole.value)
    number = rng.randint(1, 10 ** (decimals + 2))
    return Filling(show_number(number, decimals, symbol), number)


def leave_values(scene: Scene, rng: random.Random) -> tuple[str, ...]:
    """Return the request's values, a few of which are left to a model."""
    addresses = (ParamType.ADDRESS, ParamType.ADDRESS_ARRAY)
    return tuple(
        UNKNOWN if p.param_type not in addresses and rng.random() < LEFT_SHARE else shown
        for p, shown in zip(scene.tool.pattern.parameters, scene.values, strict=True)
    )


def disguise(agent: Agent, rng: random.Random) -> Agent:
    """Return an agent that may have tools with nonsense names, or without descriptions."""
    taken: set[str] = set()
    is_nonsense = rng.random() < NONSENSE_SHARE
    tools: list[AgentTool] = []
    for one in agent.tools:
        tool = one.tool
        if is_nonsense:
            tool = replace(tool, name=draw_name(rng, taken))
            taken.add(tool.name)
        elif rng.random() < BARE_SHARE:
            tool = replace(tool, description="")
        tools.append(replace(one, tool=tool))
    return replace(agent, tools=tuple(tools))


def has_same_name(one: Pattern, other: Pattern) -> bool:
    """Tell whether two tools share a name, so that either might serve a request."""
    return one.key == other.key or not set(one.names).isdisjoint(other.names)


def _family(slot: str) -> str:
    """Return which values a slot takes beside its type: tokens are no people."""
    return "token" if slot in TOKEN_SLOTS else "who" if slot in PEOPLE_SLOTS else ""


def _names(agent: Agent) -> dict[str, str]:
    if agent.naming == "address":
        return {}
    return {address: name for name, address in {**agent.tokens, **agent.people}.items()}
