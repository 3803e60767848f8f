"""The gate: a tool use that passes, or the answer that asks back."""

from __future__ import annotations

import pytest

from precompiles.abi import FinalAnswer, ToolUse
from precompiles.gate import withhold
from precompiles.language_model import Confidence
from precompiles.react import HistoryStep
from tests.scored_requests import make_tool

PAY = make_tool(1, "pay")
USE = ToolUse(tool=PAY.address, param_types=(), values=(), agent_reasoning="")
PINGED = HistoryStep(reasoning="Thought: x\nAction: ping\nAction Input: {}", observation="ok")
SURE = Confidence(surprisal=10)


@pytest.mark.parametrize(
    ("confidence", "max_surprisal", "passes"),
    [(None, 10, True), (SURE, 0, True), (SURE, 10, True), (SURE, 9, False)],
)
def test_the_gate(confidence: Confidence | None, max_surprisal: int, passes: bool) -> None:
    result = withhold(USE, confidence, max_surprisal, [make_tool(2, "note"), PAY], [PINGED])
    said = "UNSURE: I am not sure which tool to use: pay or none?; done before: ping: ok"
    assert result == (USE if passes else FinalAnswer(answer=said))


def test_answers_pass() -> None:
    answer = FinalAnswer(answer="I can't do that.")
    assert withhold(answer, Confidence(surprisal=1 << 40), 1, [PAY], ()) is answer
