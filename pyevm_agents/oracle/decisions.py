"""Decisions of a worker on a request: a function of the chain's state and the computed answer.

    request waits   my turn, not computed            COMPUTE, then ANSWER
                    another's turn                   WAIT
                    my answer was rejected           WAIT
                    deadline over                    EXPIRE
    proposal open   not computed, and I watch        COMPUTE
                    computed otherwise               CHALLENGE
                    window over                      FINALIZE
    challenged      I am the arbiter                 COMPUTE, then RULE
                    arbitration time over            END_UNRULED
    upheld                                           FINALIZE
    final           answered, refused or expired     DONE
    none of these   the chain has another request    GONE

Time is the chain's: the timestamp of its last block, or of the pending one while no block comes.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from pyevm_agents.oracle.oracle_client import CHALLENGED, UPHELD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyevm_agents.oracle.oracle_client import ProposedAnswer, RequestState

NONE = 0
"""`Outcome.None`."""


class Action(Enum):
    """An action on a request."""

    WAIT = "wait"
    COMPUTE = "compute"
    ANSWER = "answer"
    EXPIRE = "expire"
    CHALLENGE = "challenge"
    FINALIZE = "finalize"
    RULE = "rule"
    END_UNRULED = "end unruled"
    DONE = "done"
    GONE = "gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """A request and its state on the chain, from the view of one worker."""

    request_id: int
    commitment_hash: bytes
    """Of the request that the worker read from a block."""

    deadline: int
    """The last second in which an answer is taken."""

    requested_at: int
    """Timestamp of the request's block."""

    state: RequestState
    computed_hash: bytes | None
    """`hashAnswer` of what this worker computed; None if it did not."""

    was_rejected: bool = False
    """Whether an answer of this worker was proposed before, and did not become final."""

    now: int
    """Timestamp of the last block, or of the pending one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """The account that decides, among the workers and the arbiter of an oracle."""

    address: bytes
    workers: Sequence[bytes]
    """The registered workers, in order."""

    turn_seconds: int
    is_watching: bool = False
    """Whether it computes others' proposals, and challenges those that differ."""

    arbiter: bytes | None = None
    """The oracle's arbiter; None for an oracle whose answers are final."""


def decide(situation: Situation, role: Role) -> Action:
    """Return the action that is due now."""
    state = situation.state
    if state.outcome != NONE:
        return Action.DONE
    if state.proposal is not None:
        return _decide_proposal(situation, state.proposal, role)
    if state.commitment_hash != situation.commitment_hash:
        return Action.GONE
    return _decide_waiting(situation, role)


def _decide_waiting(situation: Situation, role: Role) -> Action:
    if not has_turn(situation, role):
        return Action.WAIT
    if situation.now > situation.deadline:
        return Action.EXPIRE
    if role.address not in role.workers or situation.was_rejected:
        return Action.WAIT
    return Action.COMPUTE if situation.computed_hash is None else Action.ANSWER


def has_turn(situation: Situation, role: Role) -> bool:
    """Return whether this worker has the turn, or had one before.

    In turn n, from n times `turn_seconds` after the request on, or after its deadline, worker
    `(request ID + n) % count` begins to act. One that is not registered comes after all others.
    """
    begin = situation.requested_at
    if situation.now > situation.deadline:
        begin = situation.deadline
    turn = max(situation.now - begin, 0) // role.turn_seconds
    if role.address not in role.workers:
        return turn >= len(role.workers)
    first = situation.request_id % len(role.workers)
    place = (role.workers.index(role.address) - first) % len(role.workers)
    return turn >= place


def _decide_proposal(situation: Situation, proposal: ProposedAnswer, role: Role) -> Action:
    is_own = proposal.worker == role.address
    if proposal.status == CHALLENGED:
        return _decide_challenged(situation, proposal, role)
    if proposal.status == UPHELD or situation.now > proposal.challengeable_until:
        return Action.FINALIZE if is_own or has_turn(situation, role) else Action.WAIT
    if is_own or not role.is_watching:
        return Action.WAIT
    if situation.computed_hash is None:
        return Action.COMPUTE
    return Action.WAIT if situation.computed_hash == proposal.answer_hash else Action.CHALLENGE


def _decide_challenged(situation: Situation, proposal: ProposedAnswer, role: Role) -> Action:
    if situation.now > proposal.ruleable_until:
        return Action.END_UNRULED
    if role.address != role.arbiter:
        return Action.WAIT
    return Action.COMPUTE if situation.computed_hash is None else Action.RULE
