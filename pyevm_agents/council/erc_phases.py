"""Phases of a request by ERC-8033 alone: what its getters, events and deadlines say together.

The ERC has no view of a phase. Its events tell what has happened, and `getRequest` when commitments
end; when reveals or a judgement end is known where the oracle has a view for that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyevm_agents.council.messages import NO_END, RequestPhase

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyevm_agents.council.messages import CouncilRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class ErcEvent:
    """An event of a request, without the request's number."""

    name: str
    values: tuple[Any, ...]
    block_number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ErcEnds:
    """Last seconds of phases that the ERC does not have."""

    reveal: int = NO_END
    draw: int = NO_END
    judge: int = NO_END


@dataclass(frozen=True, slots=True, kw_only=True)
class ErcState:
    """What an oracle says of a request after a block."""

    request: CouncilRequest
    commits: Mapping[bytes, bytes]
    reveals: Mapping[bytes, bytes]
    is_final: bool
    history: Sequence[ErcEvent]
    """In the order of the chain."""

    ends: ErcEnds = ErcEnds()

    def find(self, name: str) -> ErcEvent | None:
        """Return the last event of a name; None without one."""
        return next((each for each in reversed(self.history) if each.name == name), None)


ENDINGS = {
    "ResolutionFailed": RequestPhase.FAILED,
    "RewardsDistributed": RequestPhase.DISTRIBUTED,
    "DisputeResolved": RequestPhase.RESOLVED,
}
"""Events after which nothing before counts; the first of them that happened."""


def derive_phase(state: ErcState) -> tuple[RequestPhase, int]:
    """Return the phase of a request, and the phase's last second."""
    for name, phase in ENDINGS.items():
        if state.find(name):
            return phase, NO_END
    if state.find("DisputeInitiated"):
        is_drawn = find_judge(state, is_of_dispute=True) is not None
        return (RequestPhase.DISPUTE_JUDGE if is_drawn else RequestPhase.DISPUTE_DRAW), NO_END
    if opened := state.find("DisputeWindowOpened"):
        return RequestPhase.WINDOW, min(int(opened.values[0]), NO_END)
    if state.is_final or state.find("ResolutionFinalized"):
        return RequestPhase.RESOLVED, NO_END
    return _derive_open_phase(state)


def _derive_open_phase(state: ErcState) -> tuple[RequestPhase, int]:
    """Return the phase of a request without an answer."""
    if find_judge(state, is_of_dispute=False):
        return RequestPhase.JUDGE, state.ends.judge
    commits, reveals = len(state.commits), len(state.reveals)
    if state.find("RevealsClosed") or 0 < commits == reveals:
        return RequestPhase.DRAW, state.ends.draw
    if reveals or commits >= state.request.agent_count:
        return RequestPhase.REVEAL, state.ends.reveal
    return RequestPhase.COMMIT, state.request.deadline


def find_judge(state: ErcState, *, is_of_dispute: bool) -> ErcEvent | None:
    """Return the last drawing of a judge, of the request or of its dispute; None without one."""
    places = [at for at, each in enumerate(state.history) if each.name == "DisputeInitiated"]
    first = places[-1] if places else len(state.history)
    part = state.history[first:] if is_of_dispute else state.history[:first]
    return next((each for each in reversed(part) if each.name == "JudgeSelected"), None)
