"""Planned calls as the judge reads them: values in the units and words of people.

    transfer(to: Bob, value: 5000000)     to (who is paid) = Bob; value = 5 USDC
    setTimer(seconds: 129600)             seconds = 36 hours
    vote(proposal: 7, support: 1)         proposal = 7; support = for

Several calls of one tool are one text, each value once: `seat = 5, 6; row = 2`.

Source: docs/architecture.md#order-judge.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from precompiles.short_format.call_text import (
    UNKNOWN,
    CallArgument,
    show_number,
    show_text,
    write_call,
)
from precompiles.short_format.phrases import stem
from precompiles.short_format.roles import ValueRole, read_mode
from precompiles.short_format.values import TIME_SECONDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from precompiles.address_handles import AddressBook
    from precompiles.short_format.binding import PlannedCall
    from precompiles.short_format.roles import ParameterSlot, ToolParameter, ToolRoles
    from precompiles.short_format.values import Value
    from precompiles.tool_metadata import Tool

MAX_DIGITS = 16
"""Digits of data that are shown."""


def show_calls(
    calls: Sequence[PlannedCall],
    tools: Sequence[Tool],
    roles: Sequence[ToolRoles],
    book: AddressBook,
    native: str,
) -> tuple[str, ...]:
    """Return the text of each tool's calls; if some change something, of these alone.

    None for agents, whose prompt is the order itself.

    Input:  the calls of one way to carry an order out; the tools with their roles; the handles; the
            native currency's symbol.
    """
    acting = [one for one in calls if not roles[one.tool].is_read] or calls
    return tuple(
        _show_tool(
            tools[index], roles[index], [one for one in acting if one.tool == index], book, native
        )
        for index in dict.fromkeys(call.tool for call in acting)
        if not roles[index].is_agent
    )


def _show_tool(
    tool: Tool, roles: ToolRoles, calls: Sequence[PlannedCall], book: AddressBook, native: str
) -> str:
    arguments = []
    for place, (described, role) in enumerate(zip(tool.parameters, roles.parameters, strict=True)):
        shown = [
            one
            for call in calls
            for one in _show_values(role, call.values[place], native, roles.said)
        ]
        about = book.intern(described.plain_description)
        arguments.append(CallArgument(described.name, about, ", ".join(dict.fromkeys(shown))))
    return write_call(tool.name, book.intern(read_mode(tool)[0]), arguments)


def _show_values(
    parameter: ToolParameter, values: Sequence[Value], native: str, said: frozenset[str]
) -> list[str]:
    """Return the values of a parameter: of its slots, or of a list's items."""
    slots = parameter.slots if len(parameter.slots) == len(values) else parameter.slots[:1]
    return [
        _show_value(slots[min(place, len(slots) - 1)], value, native, said)
        for place, value in enumerate(values)
    ]


def _show_value(slot: ParameterSlot, value: Value, native: str, said: frozenset[str]) -> str:
    if not value.is_known:
        return UNKNOWN
    text = value.texts[0]
    if slot.role is ValueRole.DATA:
        return text if len(text) <= MAX_DIGITS else f"{text[:MAX_DIGITS]}\u2026"
    try:
        found = json.loads(text)
    except ValueError:
        return show_text(text)
    if isinstance(found, bool):
        return text
    if isinstance(found, int):
        return _show_integer(slot, found, native, said)
    return show_text(found) if slot.role in {ValueRole.TEXT, ValueRole.CHOICE} else str(found)


def _show_integer(slot: ParameterSlot, number: int, native: str, said: frozenset[str]) -> str:
    stems = {word for word, value in slot.named if value == number}
    words = [word for word in said if stem(word) in stems]
    if words:
        return min(words, key=lambda word: (len(word), word))
    if slot.role is ValueRole.AMOUNT:
        symbol = native if slot.unit.name == "native" else slot.unit.name
        return show_number(number, slot.unit.decimals, symbol)
    if slot.role is ValueRole.TIME and slot.unit.name in TIME_SECONDS:
        seconds = number * TIME_SECONDS[slot.unit.name]
        whole = [one for one in TIME_SECONDS if seconds % TIME_SECONDS[one] == 0]
        unit = max(whole, key=TIME_SECONDS.__getitem__)
        count = seconds // TIME_SECONDS[unit]
        return f"{count} {unit}{'s' * (count != 1)}"
    if slot.percent_factor and number % slot.percent_factor == 0:
        return f"{number // slot.percent_factor} %"
    return str(number)
