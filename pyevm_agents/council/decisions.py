"""Due acts for a request, by phase and time: for an info agent, a judge, a watcher.

Pure functions, so that each rule can be tested alone. Acts open to all, such as `advance`, are done
by the participants of a request in turns, so that none pays for a failed transaction.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

from eth_utils import keccak

from pyevm_agents.council.messages import NOBODY, CallbackState, RequestPhase

if TYPE_CHECKING:
    from pyevm_agents.council.messages import CouncilTerms, RequestView


class Act(Enum):
    """An act that is due. Values that are functions of the oracle have the functions' names."""

    WAIT = "wait"
    DONE = "done"
    COMPUTE = "compute"
    COMMIT = "commit"
    REVEAL = "reveal"
    REGISTER = "registerJudge"
    DRAW = "selectJudge"
    POST_BOND = "postJudgeBond"
    """Of oracles whose judges put up their bond when they are drawn."""

    AGGREGATE = "aggregate"
    RULE = "resolveDispute"
    ADVANCE = "advance"
    DISPUTE = "initiateDispute"
    DISTRIBUTE = "distributeRewards"
    RELEASE = "releaseJudge"
    WITHDRAW = "withdraw"
    PAY = "withdrawFor"
    CALL_BACK = "callback"
    LATE = "late"
    """The request can't be joined any more, or the commitment can't be revealed any more."""

    FULL = "full"
    BARRED = "barred"
    """The account has another role in the request."""

    LOST = "lost"
    """The chain has a commitment of this account that the store does not have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stand:
    """The account that acts, and the time."""

    account: bytes
    now: int
    """In seconds since 1970, by the chain."""

    head: int
    """Number of the last block."""

    terms: CouncilTerms
    turn_seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The store's entries for a request."""

    has_answer: bool = False
    knows_commitment: bool = False
    """Whether it has the answer behind the account's commitment on the chain."""

    has_verdict: bool = False


def pass_time(view: RequestView, now: int, terms: CouncilTerms) -> RequestView:
    """Return a request in the phase that the oracle sees at a time later than the block's."""
    if now <= view.ends_at:
        return view
    if view.phase is RequestPhase.COMMIT and view.commits:
        ends_at = view.reveal_ends_at or view.ends_at + terms.reveal_time
        later = replace(view, phase=RequestPhase.REVEAL, ends_at=ends_at)
        return pass_time(later, now, terms)
    return replace(view, phase=RequestPhase.RESOLVED) if view.phase is RequestPhase.WINDOW else view


def is_overdue(view: RequestView, now: int) -> bool:
    """Return whether a phase's time is over, so that any account may call `advance`."""
    return RequestPhase.NONE < view.phase < RequestPhase.RESOLVED and now > view.ends_at


def decide_agent(view: RequestView, stand: Stand, kept: Kept) -> Act:
    """Return the act that is due for an info agent."""
    if view.phase.has_ended:
        return Act.DONE
    if stand.account not in view.commits:
        return _decide_joining(view, stand, kept)
    if not kept.knows_commitment:
        return Act.LOST
    if stand.account in view.reveals or view.phase is RequestPhase.COMMIT:
        return decide_common(view, stand)
    if view.phase is RequestPhase.REVEAL and not is_overdue(view, stand.now):
        return Act.REVEAL
    common = decide_common(view, stand)
    return Act.LATE if common is Act.WAIT else common


def _decide_joining(view: RequestView, stand: Stand, kept: Kept) -> Act:
    if view.phase is not RequestPhase.COMMIT or is_overdue(view, stand.now):
        return Act.FULL if len(view.commits) == view.request.agent_count else Act.LATE
    if stand.account in view.panel.members:
        return Act.BARRED
    return Act.COMMIT if kept.has_answer else Act.COMPUTE


class JudgeRole(Enum):
    """What a judge registers for."""

    REQUESTS = "requests"
    ALL = "all"
    DISPUTES = "disputes"

    @property
    def takes_requests(self) -> bool:
        """Whether it registers for the first judgement."""
        return self is not JudgeRole.DISPUTES

    @property
    def takes_disputes(self) -> bool:
        """Whether it registers for disputes."""
        return self is not JudgeRole.REQUESTS


@dataclass(frozen=True, slots=True, kw_only=True)
class Openings:
    """The phases in which an oracle takes candidates for judges."""

    of_request: frozenset[RequestPhase] = frozenset({RequestPhase.COMMIT, RequestPhase.REVEAL})
    of_dispute: frozenset[RequestPhase] = frozenset({RequestPhase.DISPUTE_REGISTRATION})


DRAFT_OPENINGS = Openings(of_request=frozenset({RequestPhase.DRAW}), of_dispute=frozenset())
"""Of an oracle of the ERC alone. Source: the authors' draft, `registerJudgeForRequest`."""


def decide_judge(
    view: RequestView,
    stand: Stand,
    kept: Kept,
    *,
    role: JudgeRole,
    openings: Openings = Openings(),
) -> Act:
    """Return the act that is due for a judge or a candidate."""
    if view.phase.has_ended:
        return Act.DONE
    is_open = (role.takes_requests and view.phase in openings.of_request) or (
        role.takes_disputes and view.phase in openings.of_dispute
    )
    # Who was drawn does not judge a dispute of its own answer.
    is_known = stand.account in {*view.current_panel.members, *view.panel.judges}
    if is_open and not is_known and not is_overdue(view, stand.now):
        if stand.account in view.commits or stand.account == view.request.requester:
            return Act.BARRED
        return Act.REGISTER
    is_judging = view.phase in {RequestPhase.JUDGE, RequestPhase.DISPUTE_JUDGE}
    panel = view.current_panel
    is_due = stand.account in panel.judges and stand.account not in panel.judged
    if is_judging and is_due and not is_overdue(view, stand.now):
        if not kept.has_verdict:
            return Act.COMPUTE
        return Act.RULE if view.phase.is_of_dispute else Act.AGGREGATE
    is_involved = is_known or stand.account in view.judges
    return decide_common(view, stand) if is_involved else Act.WAIT


def is_releasable(view: RequestView, account: bytes) -> bool:
    """Return whether an account is a candidate that no draw can take any more."""
    of_request = account in view.panel.candidates and view.phase >= RequestPhase.WINDOW
    # The judges of a dispute are drawn at once, and not replaced.
    return of_request or (
        account in view.dispute_panel.candidates and view.phase >= RequestPhase.DISPUTE_JUDGE
    )


def decide_disputer(view: RequestView, stand: Stand) -> Act:
    """Return the act that is due for the account that disputes the answer of this request."""
    if view.phase.has_ended:
        return Act.DONE
    if view.phase is RequestPhase.WINDOW:
        return Act.DISPUTE
    return decide_common(view, stand, last=stand.account)


def decide_common(view: RequestView, stand: Stand, *, last: bytes = NOBODY) -> Act:
    """Return the act that is open to all, if this account has the turn.

    Input: last: whose turn is after those of judges and info agents.
    """
    if view.phase is RequestPhase.RESOLVED:
        since = view.entered_at or view.ends_at
        return Act.DISTRIBUTE if _is_turn(view, stand, since, last) else Act.WAIT
    if is_overdue(view, stand.now):
        return Act.ADVANCE if _is_turn(view, stand, view.ends_at, last) else Act.WAIT
    if (
        view.phase in {RequestPhase.DRAW, RequestPhase.DISPUTE_DRAW}
        and stand.head > view.seed_block
    ):
        since = view.entered_at or view.ends_at - stand.terms.draw_time
        return Act.DRAW if _is_turn(view, stand, since, last) else Act.WAIT
    return Act.WAIT


def is_callback_due(view: RequestView, stand: Stand) -> bool:
    """Return whether this account has the turn to tell a contract the end of its request."""
    since = view.entered_at or min(view.ends_at, stand.now)
    is_pending = view.phase.has_ended and view.callback is CallbackState.PENDING
    return is_pending and _is_turn(view, stand, since, NOBODY)


def _is_turn(view: RequestView, stand: Stand, since: int, last: bytes) -> bool:
    """Return whether an account has the turn: judges, info agents, candidates, then `last`.

    An account that does not take part has no turn to wait for.
    """
    order = [*view.dispute_panel.judges, *view.panel.judges]
    # Anybody may be a candidate, any number of times, so they come after those who are bound.
    order += [*view.commits, *view.dispute_panel.candidates, *view.panel.candidates, last]
    order = [each for each in dict.fromkeys(order) if any(each)]
    if stand.account not in order:
        return True
    return stand.now - since >= order.index(stand.account) * stand.turn_seconds


def choose_slot(account: bytes, key: tuple[bytes, bytes], slots: int) -> int:
    """Return the place of an account, below a number of slots, among those who race for a seat.

    Nobody knows the others before they have committed, so the order is by a hash: another one for
    each request.
    """
    return int.from_bytes(keccak(b"".join((account, *key)))) % slots


CALLBACKS = {
    CallbackState.NONE: "",
    CallbackState.PENDING: "; anybody: callback",
    CallbackState.CALLED: "; callback: called",
    CallbackState.FAILED: "; callback: failed",
}
"""What is left of the requester's callback, in words."""


def list_actors(view: RequestView, now: int, head: int) -> str:
    """Return the accounts that can act and the acts, in words."""
    if view.phase.has_ended:
        return "all who are owed: withdraw" + CALLBACKS[view.callback]
    if is_overdue(view, now):
        return "anybody: advance"
    left = view.request.agent_count - len(view.commits)
    waiting = len(view.commits) - len(view.reveals)
    draws = "anybody: selectJudge"
    if head <= view.seed_block:
        draws += f", after block {view.seed_block:,}"
    panel = view.dispute_panel
    deciding = f"{len(panel.judges) - len(panel.judged)} of {len(panel.judges)} judges"
    return {
        RequestPhase.COMMIT: f"{left} more agents: commit; judges: registerJudge",
        RequestPhase.REVEAL: f"{waiting} agents: reveal; judges: registerJudge",
        RequestPhase.DRAW: draws,
        RequestPhase.JUDGE: "the judge: aggregate",
        RequestPhase.WINDOW: "anybody: initiateDispute",
        RequestPhase.DISPUTE_REGISTRATION: "judges: registerJudge",
        RequestPhase.DISPUTE_DRAW: draws,
        RequestPhase.DISPUTE_JUDGE: f"{deciding} of the dispute: resolveDispute",
        RequestPhase.RESOLVED: "anybody: distributeRewards",
    }.get(view.phase, "nobody")


def list_erc_actors(view: RequestView, now: int) -> str:
    """Return the accounts that can act by ERC-8033 alone, in words."""
    if view.phase.has_ended:
        return CALLBACKS[view.callback].removeprefix("; ") or "nobody"
    left = view.request.agent_count - len(view.commits)
    waiting = len(view.commits) - len(view.reveals)
    if is_overdue(view, now):
        return "nobody, by the ERC: the time is over"
    return {
        RequestPhase.COMMIT: f"{left} more agents: commit",
        RequestPhase.REVEAL: f"{waiting} agents: reveal",
        RequestPhase.DRAW: "the oracle: selects a judge",
        RequestPhase.JUDGE: "the judge: aggregate",
        RequestPhase.WINDOW: "anybody: initiateDispute",
        RequestPhase.DISPUTE_DRAW: "the oracle: selects a judge of the dispute",
        RequestPhase.DISPUTE_JUDGE: "the dispute's judge: resolveDispute",
        RequestPhase.RESOLVED: "anybody: distributeRewards",
    }.get(view.phase, "nobody")
