"""Answers that name the steps of a run: each tool that ran, with the result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from precompiles.abi import FinalAnswer
from precompiles.escaping import ADDRESS, escape_line
from precompiles.spec import MAX_QUOTED_RESULT_CHARACTERS, MAX_TEXT_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from precompiles.react import HistoryStep

ADDRESS_CHARACTERS = 42


def compose_answer(start: str, steps: Sequence[HistoryStep], joint: str) -> FinalAnswer:
    """Compose an answer: the start, a joint, and each tool that ran with the result."""
    ran = [f"{_name_tool(step)}: {_cut(escape_line(step.observation))}" for step in steps]
    if not ran:
        return FinalAnswer(answer=start)
    return FinalAnswer(answer=_cut(f"{start}{joint}{'; '.join(ran)}", MAX_TEXT_CHARACTERS))


def _name_tool(step: HistoryStep) -> str:
    return step.reasoning.split("\n")[1].removeprefix("Action: ")


def _cut(text: str, limit: int = MAX_QUOTED_RESULT_CHARACTERS) -> str:
    """Return a text, cut at the limit; no address is truncated."""
    if len(text) <= limit:
        return text
    end = limit - 1
    for match in ADDRESS.finditer(text[: limit + ADDRESS_CHARACTERS]):
        if match.start() < end < match.end():
            end = match.start()
    return text[:end] + "…"
