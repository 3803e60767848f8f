"""The gate: a tool use of an unsure model becomes an answer with a question to the user.

The rule `max_surprisal` of `decoding_rules.py` is the threshold; 0 switches the gate off.
`language_model.Confidence` defines the surprisal: in the short format, that of all tokens after the
thought; in the free format, that of the choice between acting and answering, and of the tool's
name. In the short format the router ranks the tools that the plan admits, and no others.

Source: docs/architecture.md#gate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from precompiles.abi import FinalAnswer
from precompiles.language_model import Scoring
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

FREE_SCORING = Scoring(tools=(), names=(), clauses=(), router_weight=0)
"""The scoring of a step in the free format: a surprisal, and no scores of tools."""


def withhold(  # noqa: PLR0913, PLR0917 - the gate's inputs
    result: ToolUse | FinalAnswer,
    confidence: Confidence | None,
    max_surprisal: int,
    tools: Sequence[Tool],
    steps: Sequence[HistoryStep],
    candidates: Sequence[int] = (),
) -> ToolUse | FinalAnswer:
    """Return a tool use that the model is sure of, else an answer with a question to the user.

    The answer names the chosen tool and the best other one of the router, or "none". A model
    without weights reports no confidence, and passes.

    Input:  a result, the threshold in 65,536ths of a nat, the call's tools, its history, and the
            indices of the tools that could be chosen; empty for all.
    """
    if isinstance(result, FinalAnswer) or confidence is None or not max_surprisal:
        return result
    chosen = next(i for i, tool in enumerate(tools) if tool.address == result.tool)
    if is_sure(chosen, confidence, max_surprisal, candidates):
        return result
    ranked = _rank_tools(confidence, candidates)
    other = next((index for index in ranked if index != chosen), None)
    names = tools[chosen].name, "none" if other is None else tools[other].name
    asked = f"{UNSURE} I am not sure which tool to use: {' or '.join(names)}?"
    return compose_answer(asked, steps, DONE_BEFORE)


def is_sure(
    chosen: int, confidence: Confidence, max_surprisal: int, candidates: Sequence[int] = ()
) -> bool:
    """Return whether the gate lets a tool use pass.

    A tool use passes if the surprisal is at most `max_surprisal`, and the router, if there is one,
    prefers the tool: the highest score above 0, the score of no tool, and of equal ones the first.

    Input:  the index of the chosen tool; those that could be chosen, empty for all.
    """
    is_routed = not confidence.tool_scores or _rank_tools(confidence, candidates)[:1] == [chosen]
    return is_routed and confidence.surprisal <= max_surprisal


def _rank_tools(confidence: Confidence, candidates: Sequence[int]) -> list[int]:
    """Return the tools that the router prefers to no tool, best first."""
    scores = [
        (index, score)
        for index, score in enumerate(confidence.tool_scores)
        if not candidates or index in candidates
    ]
    return [index for _, index in sorted((-score, index) for index, score in scores if score > 0)]
