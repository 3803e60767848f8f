"""A judge of orders: whether a request orders exactly a call, now.

The rules say which calls a request admits. A judge, such as a trained model, removes calls that the
request does not order, and never adds one. No judge is part of the decoding rules yet.

Source: docs/architecture.md#short-format.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from precompiles.short_format.plan import NoPlan, Step
from precompiles.short_format.values import Obstacle

if TYPE_CHECKING:
    from collections.abc import Callable

    from precompiles.short_format.binding import PlannedCall
    from precompiles.short_format.plan import Done


class OrderJudge(Protocol):
    """Decides whether a clause of a request orders exactly a call, now."""

    def admits(self, request: str, clause: str, call: str) -> bool:
        """Return whether a call may be made.

        Input:  the request, with handles; the clause that the call is for; the call as a step
                writes it, where a value that is left to the model is `?`.
        Determinism: the same on every machine, as all input of consensus.
        """


def judge_step(
    found: Step | NoPlan | Done,
    request: str,
    judge: OrderJudge,
    write: Callable[[PlannedCall], str],
) -> Step | NoPlan | Done:
    """Return a step without the calls that a judge removes; a refusal if no call is left.

    Input:  the step that the rules found; the request; the judge; a function that writes a call as
            a text.
    """
    if not isinstance(found, Step):
        return found
    kept = tuple(call for call in found.calls if judge.admits(request, found.clause, write(call)))
    if not kept:
        return NoPlan(Obstacle("statement"), found.clause)
    # What is left is no surer than before: one call of several is still the model's to accept.
    return replace(found, calls=kept)
