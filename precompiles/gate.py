"""The gate: a tool use of an unsure model becomes an answer with a question to the user.

The rule `max_surprisal` of `decoding_rules.py` is the threshold; 0 switches the gate off.
`language_model.Confidence` defines the surprisal: in the short format, that of all tokens after the
thought; in the free format, that of the choice between acting and answering, and of the tool's
name.

Source: docs/architecture.md#gate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from precompiles.abi import FinalAnswer
from precompiles.outcome import UNSURE
from precompiles.step_answers import compose_answer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from precompiles.abi import ToolUse
    from precompiles.language_model import Confidence
    from precompiles.react import HistoryStep
    from precompiles.tool_metadata import Tool


DONE_BEFORE = "; done before: "
"""Joint between an answer that is not of a finished run and its steps."""


def withhold(
    result: ToolUse | FinalAnswer,
    confidence: Confidence | None,
    max_surprisal: int,
    tools: Sequence[Tool],
    steps: Sequence[HistoryStep],
) -> ToolUse | FinalAnswer:
    """Return a tool use whose surprisal is at most the threshold, else a question to the user.

    A model without weights reports no confidence, and passes.

    Input:  a result, the threshold in 65,536ths of a nat, the call's tools, and its history.
    """
    if isinstance(result, FinalAnswer) or confidence is None or not max_surprisal:
        return result
    if confidence.surprisal <= max_surprisal:
        return result
    name = next(tool.name for tool in tools if tool.address == result.tool)
    asked = f"{UNSURE} I am not sure which tool to use: {name} or none?"
    return compose_answer(asked, steps, DONE_BEFORE)
