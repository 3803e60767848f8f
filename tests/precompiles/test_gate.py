"""The gate: a tool use that passes, or the answer that asks back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from precompiles.abi import FinalAnswer, ToolUse
from precompiles.gate import withhold
from precompiles.language_model import Confidence
from precompiles.react import HistoryStep
from tests.precompiles.short_format.test_step import TOOLS

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


def test_values_that_a_clause_does_not_name_are_asked_back() -> None:
    reasoning = 'Thought: x\nAction: pay\nAction Input: {"amount": 5}'
    use = replace(USE, agent_reasoning=reasoning)
    asked = withhold(use, SURE, 10, TOOLS, [PINGED], uses_named_values=False)
    said = 'UNSURE: I am not sure which values to use: pay {"amount": 5}?; done before: ping: ok'
    assert asked == FinalAnswer(answer=said)
    assert withhold(use, SURE, 0, TOOLS, (), uses_named_values=False) is use
    assert withhold(use, None, 10, TOOLS, (), uses_named_values=False) is use


def test_answers_pass() -> None:
    answer = FinalAnswer(answer="I can't do that.")
    assert withhold(answer, Confidence(surprisal=1 << 40), 1, TOOLS, ()) is answer
