"""Whether an agent's run is done: one rule, for answers of runs and for results of tools.

A run is done unless the answer begins with one of `NOT_DONE`. Contracts use the same rule from
`contracts/libraries/RunOutcome.sol`.

Source: docs/architecture.md#outcome.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

UNSURE = "UNSURE:"
"""Beginning of an answer that asks back instead of acting."""

NOT_DONE: Mapping[str, str] = MappingProxyType(
    {
        UNSURE: "the gate withheld an action and asks back",
        "I can't ": "a model declines a part of the request",
        "I cannot ": "a model gives the reason of the base prompt why it declines",
        "Failed": "a model says that a step failed",
        "Error": "a model or a tool reports an error",
        "FAILED:": "a CallbackAgent's run ended without an answer",
    }
)
"""Beginnings of an answer that is not done, with the reason of each. Letter case counts. The list
is short, so that a sentence about errors is no error: a model of the free format that declines in
other words is not found."""


def is_done(answer: str) -> bool:
    """Return whether a run with this answer, or a tool with this result, did the task."""
    return not answer.startswith(tuple(NOT_DONE))
