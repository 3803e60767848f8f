"""Disputes of answers, with costs, gains and conditions, and the participant that disputes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eth_utils import to_canonical_address, to_checksum_address

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.council.council_client import CONTRACT
from pyevm_agents.council.council_worker import CouncilWorker
from pyevm_agents.council.decisions import Act, decide_disputer, pass_time
from pyevm_agents.council.messages import (
    MAX_REASON_BYTES,
    RequestPhase,
    SaltedAnswer,
    Verdict,
)
from pyevm_agents.display import format_amount, sanitize
from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyevm_agents.client.chain_client import RemoteHeader, UnsignedCall
    from pyevm_agents.client.transaction_store import Slot
    from pyevm_agents.council.council_client import CouncilClient
    from pyevm_agents.council.messages import CouncilRequest, DisputeTerms, RequestView

WHOLE = 10_000
"""Parts in a whole. Source: contracts/council/CouncilStore.sol."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DisputeStakes:
    """The money of a dispute. Source: contracts/council/CouncilDisputes.sol."""

    bond: int
    """What the disputer pays, in wei whatever the reward is in."""

    gain: int
    """What the disputer of an overturned answer gets beside its bond, in the reward's token."""

    judge_part: int
    """The wei of a lost bond that the dispute's judges get; the rest is shared."""


def compute_stakes(
    request: CouncilRequest, terms: DisputeTerms | None, bond: int
) -> DisputeStakes | None:
    """Return the money of a dispute; None without rules.

    Input: the rules of disputes, if the oracle states some; the bond of a dispute in wei.
    """
    if terms is None:
        return None
    fee = request.reward * terms.judge_fee // WHOLE
    return DisputeStakes(
        bond=bond,
        gain=fee * terms.disputer_part // WHOLE,
        judge_part=bond * terms.judge_part // WHOLE,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DisputeCase:
    """An answer that is disputed, or can be."""

    view: RequestView
    is_made: bool
    """Whether this account has disputed it."""

    now: int
    """In seconds since 1970, by the chain."""


def open_case(
    client: CouncilClient, request_id: int, account: bytes, slots: Sequence[Slot]
) -> DisputeCase:
    """Return the case that an account disputes.

    Input:  slots: the nonces in the account's store: one may be of a transaction that disputes the
        case.
    Raises: ConfigError: there is no such request, or its answer can't be disputed by the account.
    """
    head = client.read_head()
    numbers = client.list_request_ids(head.number)
    if request_id not in numbers:
        known = f"its last one is {numbers[-1]:,}" if numbers else "it has none yet"
        raise ConfigError(
            f"request {request_id}: the council has no such request; {known}: see "
            "`pyevm-agents council watch`"
        )
    now = client.read_time(head)
    [stored] = client.read_views([request_id], head.number)
    view = pass_time(stored, now, client.read_terms())
    if not client.has_disputes:
        raise ConfigError("this oracle has no initiateDispute; its answers are final")
    if view.phase is RequestPhase.WINDOW:
        return DisputeCase(view=view, is_made=False, now=now)
    made = client.find_event("DisputeInitiated", request_id)
    is_made = made is not None and to_canonical_address(made[0]) == account
    is_sent = any(
        slot.key == view.key and slot.kind == Act.DISPUTE.value and slot.succeeded is not False
        for slot in slots
    )
    if is_made or is_sent:
        return DisputeCase(view=view, is_made=True, now=now)
    raise ConfigError(f"request {request_id}: {_explain(client, view, made)}")


def _explain(client: CouncilClient, view: RequestView, made: tuple[Any, ...] | None) -> str:
    """Return why an answer can't be disputed."""
    terms = client.read_dispute_terms()
    if terms is not None and terms.window == 0:
        return "this council has no disputes (disputeWindow is 0); its answers are final"
    if made is None and view.phase.is_of_dispute:
        return "is disputed already; a request has one dispute at most"
    if made is not None:
        who, why = to_checksum_address(made[0]), sanitize(str(made[1]))
        return f"is disputed already, by {who}: “{why}”; a request has one dispute at most"
    if view.phase < RequestPhase.WINDOW:
        return (
            f"is in the phase {view.phase.name.lower()}, so it has no answer yet; `pyevm-agents "
            f"council watch --request {view.request.request_id}` shows when it has one"
        )
    if view.phase is RequestPhase.FAILED:
        return "has failed, so it has no answer to dispute; all bonds and the reward are claimable"
    closed = "its window for disputes is closed"
    if not view.request.is_native:
        closed += ", or it had none: the reward is in a token, and the requester declared no value"
    return f"{closed}; its answer is final"


def require_reason(reason: str) -> str:
    """Return a dispute's reason. Raises: ConfigError: empty, or longer than 4,096 bytes."""
    size = len(reason.encode())
    if not 1 <= size <= MAX_REASON_BYTES:
        raise ConfigError(f"--reason of {size:,} bytes: must be 1 to {MAX_REASON_BYTES:,}")
    return reason


def require_bond(balance: int, account: bytes, bond: int, gas_cost: int) -> None:
    """Check that an account can pay for a dispute. Raises: ConfigError: too small a balance."""
    if balance < bond + gas_cost:
        raise ConfigError(
            f"disputer {to_checksum_address(account)}: has {format_amount(balance)}, and needs "
            f"{format_amount(bond)} for the bond and up to {format_amount(gas_cost)} for gas; send "
            "it some"
        )


class Disputer(CouncilWorker):
    """Disputes an answer, ends phases of the dispute whose time is over, and withdraws."""

    role = "disputer"

    def __init__(
        self, *arguments: object, case: DisputeCase, call: UnsignedCall, **values: object
    ) -> None:
        """Input: the answer; the disputing call; the rest as `CouncilWorker`."""
        self._case, self._call = case, call
        super().__init__(*arguments, **values)  # type: ignore[arg-type] # as of the base class
        self._own_tokens.add(case.view.request.reward_token)

    def decide(self, view: RequestView) -> Act:
        """Return the act that is due for a request."""
        if view.key != self._case.view.key:
            return Act.WAIT
        act = decide_disputer(view, self._stand())
        return Act.WAIT if act is Act.DISPUTE and self._is_other(view) else act

    def compute(self, view: RequestView) -> SaltedAnswer | Verdict:
        """Nothing is computed."""
        raise NotImplementedError

    def keep(self, view: RequestView, result: SaltedAnswer | Verdict) -> None:
        """Nothing is computed."""
        raise NotImplementedError

    def is_confirmed(self, act: Act, view: RequestView, older: RequestView) -> bool:
        """Return whether the disputed answer was there some blocks ago."""
        return act is not Act.DISPUTE or (
            older.phase is RequestPhase.WINDOW and older.answer == view.answer
        )

    def encode(self, act: Act, view: RequestView) -> tuple[bytes, int]:
        """Return calldata and wei of the oracle's function for an act."""
        if act is not Act.DISPUTE:
            return super().encode(act, view)
        return self._call.data, self._call.value_wei

    def do_round(self) -> None:
        """Read the chain, do the due acts, and stop if the answer is not there any more."""
        super().do_round()
        view = self._views.get(self._case.view.request.request_id)
        is_gone = view is None or self._is_other(view)
        if is_gone:
            reason = "a reorganisation has removed the answer; start again to dispute another one"
            self._say("gone", reason, "missed", request=self._case.view.key, reason=reason)
            if not self.has_work:
                self.stop()

    def _is_other(self, view: RequestView) -> bool:
        """Return whether a reorganisation has left another answer, not the one of the reason."""
        case = self._case.view
        is_before = view.phase < RequestPhase.WINDOW
        is_other = view.phase is RequestPhase.WINDOW and view.answer != case.answer
        return view.key != case.key or is_before or is_other

    def read_outcome(self, view: RequestView) -> str:
        """Return the outcome of the dispute: upheld, overturned or undecided; missed: none."""
        return self._client.read_dispute_outcome(view) or "missed"

    def concerns(self, view: RequestView) -> bool:
        """Return whether this participant calls the requester back, if nobody else does."""
        return self._client.erc is None and view.key == self._case.view.key

    def _read_views(self, head: RemoteHeader) -> None:
        super()._read_views(head)
        number = self._case.view.request.request_id
        if number not in self._views:  # It ended before the start.
            [self._views[number]] = self._client.read_views([number], head.number)


def encode_dispute(request_id: int, reason: str) -> bytes:
    """Return the calldata that disputes an answer."""
    return load_artifact(CONTRACT).encode_call("initiateDispute", request_id, reason)
