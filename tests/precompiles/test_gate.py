"""The gate: a tool use that passes, or the answer that asks back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from precompiles.abi import FinalAnswer, ToolUse
from precompiles.gate import withhold
from precompiles.language_model import Confidence
from precompiles.react import HistoryStep
from tests.router_adapter import make_tool

NAMES = ("pay", "note", "ping", "add", "stop", "look", "tell", "mood")
TOOLS = tuple(
    make_tool(number, name)
    for number, name in enumerate(
        ["pay", "note", "ping", "add", "stop", "look", "tell", "mood"], start=1
    )
)
USE = ToolUse(tool=TOOLS[0].address, param_types=(), values=(), agent_reasoning="")
PINGED = HistoryStep(reasoning="Thought: x\nAction: ping\nAction Input: {}", observation="ok")
SURE = Confidence(surprisal=10, tool_scores=(3, 1, 0, -5, -5, -5, -5, -5))


@pytest.mark.parametrize(
    ("confidence", "max_surprisal", "names"),
    [
        (None, 10, None),
        (SURE, 0, None),
        (SURE, 10, None),
        (SURE, 9, "pay or note"),
        (replace(SURE, surprisal=1 << 40), 1 << 32, "pay or note"),
        (replace(SURE, tool_scores=()), 10, None),
        (replace(SURE, tool_scores=(), surprisal=11), 10, "pay or none"),
        (replace(SURE, tool_scores=(3, 3, 0, 0, 0, 0, 0, 0)), 10, None),
        (replace(SURE, tool_scores=(3, 4, 0, 0, 0, 0, 0, 0)), 10, "pay or note"),
        (replace(SURE, tool_scores=(0, 0, 0, 0, 0, 0, 0, 0)), 10, "pay or none"),
        (replace(SURE, tool_scores=(0, 0, 0, 0, 0, 0, 0, 1)), 10, "pay or mood"),
        (replace(SURE, tool_scores=(1, 0, 0, 0, 0, 0, 0, 0)), 10, None),
    ],
)
def test_the_gate(confidence: Confidence | None, max_surprisal: int, names: str | None) -> None:
    result = withhold(USE, confidence, max_surprisal, TOOLS, [PINGED])
    if names is None:
        assert result is USE
    else:
        said = f"UNSURE: I am not sure which tool to use: {names}?; done before: ping: ok"
        assert result == FinalAnswer(answer=said)


def test_of_equal_scores_the_first_tool_is_preferred() -> None:
    note = replace(USE, tool=TOOLS[1].address)
    equal = Confidence(surprisal=0, tool_scores=(2, 2, 0, 0, 0, 0, 0, 0))
    result = withhold(note, equal, 1, TOOLS, ())
    assert result == FinalAnswer(answer="UNSURE: I am not sure which tool to use: note or pay?")


@pytest.mark.parametrize(
    ("candidates", "names"),
    [((), "pay or note"), ((0, 1), "pay or note"), ((0, 2), None), ((0,), None)],
)
def test_the_router_ranks_the_tools_that_could_be_chosen(
    candidates: tuple[int, ...], names: str | None
) -> None:
    confidence = Confidence(surprisal=0, tool_scores=(3, 4, 0, 0, 0, 0, 0, 0))
    result = withhold(USE, confidence, 1, TOOLS, (), candidates)
    if names is None:
        assert result is USE
    else:
        said = f"UNSURE: I am not sure which tool to use: {names}?"
        assert result == FinalAnswer(answer=said)


def test_answers_pass() -> None:
    answer = FinalAnswer(answer="I can't do that.")
    assert withhold(answer, Confidence(surprisal=1 << 40), 1, TOOLS, ()) is answer
