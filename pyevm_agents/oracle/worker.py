"""The worker's loop: finds requests, computes answers, hands answers in, and expires late requests.

Each round reads the chain's head and does the due actions (`decisions`). All decisions are in the
store, so a worker that was killed goes on from there. A request is computed, signed and sent only
while the request's block is on the chain and the oracle waits for the answer; the oracle deletes
the request when answered, so none is paid twice.

Workers take turns by the chain's time: worker `(requestId + turn) % count` begins in turn 0, 1, ….
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from eth_abi import encode
from eth_utils import keccak

from precompiles.spec import WORD_BYTES
from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.abi.revert_reasons import decode_revert
from pyevm_agents.client.chain_client import RejectedCallError, UnsignedCall
from pyevm_agents.client.signing import add_gas_margin
from pyevm_agents.client.transaction_manager import (
    FINAL_BLOCKS,
    PlannedTransaction,
    TransactionManager,
    classify_refusal,
)
from pyevm_agents.oracle.codec import (
    encode_answer,
    encode_expire,
    encode_finalize,
    hash_commitment,
)
from pyevm_agents.oracle.decisions import NONE, Action, Role, Situation, decide
from pyevm_agents.oracle.oracle_client import CONTRACT
from pyevm_agents.oracle.request_log import RequestScanner
from pyevm_agents.oracle.signatures import sign_evidence
from pyevm_agents.workers.round_loop import ComputingThread, Delays, RoundLoop

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eth_keys.datatypes import PrivateKey

    from pyevm_agents.client.chain_client import RemoteHeader
    from pyevm_agents.client.transaction_manager import FeeSettings
    from pyevm_agents.client.transaction_store import Slot
    from pyevm_agents.client.worker_log import WorkerLog
    from pyevm_agents.oracle.messages import Answer, AnswerComputer, ComputedAnswer
    from pyevm_agents.oracle.oracle_client import ChallengeTerms, OracleClient, RequestState
    from pyevm_agents.oracle.store import StoredRequest, WorkerStore

HEALTHY_SECONDS = 60.0
"""Seconds beyond the poll interval that a round of a healthy worker may take."""

MAX_REVERTS = 3
"""Transactions of one answer that were mined and failed, after which no more are sent."""

PRUNE_BLOCKS = 16
"""Blocks between two looks for what the store can forget."""

OUTCOMES = ("gone", "answered", "refused", "expired")
"""`Outcome`, in order; without one, the chain has another request or none."""

Key = tuple[bytes, bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """When a worker acts."""

    confirmations: int = 1
    """Blocks from the request's own one on, until it is answered."""

    turn_seconds: int = 60
    """Length of a worker's turn, by the chain's time."""

    poll_seconds: float = 1.0
    is_watching: bool = False
    """Whether it computes others' proposals, and challenges those that differ."""


class Worker(RoundLoop):
    """Answers the requests of one oracle with one key."""

    def __init__(  # noqa: PLR0913 - keyword arguments
        self,
        client: OracleClient,
        computer: AnswerComputer,
        store: WorkerStore,
        key: PrivateKey,
        *,
        chain_id: int,
        settings: WorkerSettings | None = None,
        fees: FeeSettings | None = None,
        log: WorkerLog | None = None,
    ) -> None:
        """Start nothing yet.

        Input: the oracle; the computer of answers; the store; the worker's key; the chain; when to
            act; bounds of fees; where events go.
        """
        self._client, self._store, self._key = client, store, key
        self._chain_id, self._settings = chain_id, settings or WorkerSettings()
        self.address = bytes(key.public_key.to_canonical_address())
        super().__init__(
            self._settings.poll_seconds, log, worker=self.address, oracle=client.oracle
        )
        self.transactions = TransactionManager(
            client, store, key, chain_id=chain_id, log=self.log, settings=fees
        )
        self._scanner = RequestScanner(client, store, self.log)
        self._computing: ComputingThread[StoredRequest, ComputedAnswer] = ComputingThread(
            lambda stored: computer.compute(stored.request), self._wake
        )
        self._delays = Delays()
        self._workers: list[bytes] = []
        self._states: dict[Key, RequestState] = {}
        self._slots: list[Slot] = []
        self._terms: ChallengeTerms | None = None
        self._has_terms = False
        self._seen_head = b""
        self._now = 0
        self._pruned_at = 0

    @property
    def is_computing(self) -> bool:
        """Whether an answer is being computed."""
        return self._computing.current is not None

    def render_metrics(self) -> str:
        """Return the metrics in Prometheus' text format."""
        return self.log.render()

    def describe_health(self) -> tuple[bool, dict[str, object]]:
        """Return whether the last round was not long ago and had no fault, and facts in JSON."""
        last = self.last_round
        age = None if last is None else time.monotonic() - last
        limit = self._settings.poll_seconds + HEALTHY_SECONDS
        is_healthy = age is not None and age <= limit and self._failures == 0
        return is_healthy, {
            "healthy": is_healthy,
            "secondsSinceRound": None if age is None else round(age, 3),
            "failures": self._failures,
            "isRegistered": self.log.gauges.get("is_registered") == 1,
            "headBlock": self.log.gauges.get("head_block"),
        }

    def do_round(self) -> None:
        """Read the chain, and do the due actions.

        Raises: AgentsError: the node failed; the next round goes on.
        """
        head = self._client.read_head()
        self._now = head.timestamp
        if head.hash != self._seen_head:
            if not self._scanner.follow(head):
                self._take_answer()
                return
            self._read_state(head)
            self._seen_head = head.hash
        elif self._states:
            self._now = self._client.read_time(head)
        self.transactions.watch(head)
        self._take_answer()
        self._slots = self._store.list_slots()
        requests = self._list_open(head)
        for each in requests:
            if self._is_stopped.is_set():
                return
            self._act(head, each)
        known = {each.key: each for each in self._store.list_requests()}
        self.transactions.push(head, partial(self._is_wanted, head, known))
        if head.number >= self._pruned_at + PRUNE_BLOCKS:
            self._pruned_at = head.number
            self._store.prune(head.number - FINAL_BLOCKS)
        self._set_gauges(head, requests)

    # -- the chain's side -- #

    def _read_state(self, head: RemoteHeader) -> None:
        """Read the states of the open requests, and the registered workers."""
        if not self._has_terms:
            self._terms, self._has_terms = self._client.read_terms(), True
        self._workers = self._client.read_workers()
        is_registered = self.address in self._workers
        if not is_registered and self.log.gauges.get("is_registered") != 0:
            self.log.write("not_registered", worker=self.address)
        self.log.set_gauge("is_registered", is_registered)
        unsettled = [
            each
            for each in self._store.list_requests()
            if each.settled_at is None and not each.is_removed
        ]
        states = self._client.read_states(
            [each.request.commitment for each in unsettled],
            has_proposals=self._terms is not None,
            # Not "latest": what ended after this head might be taken back unseen.
            block=head.number,
        )
        self._states = {each.key: state for each, state in zip(unsettled, states, strict=True)}
        self._settle([each for each in unsettled if self._is_over(each)], head.number)
        self.log.set_gauge("balance_wei", self._client.read_balance(self.address))
        self.log.set_gauge("claimable_wei", self._client.read_claimable(self.address))

    def _is_over(self, stored: StoredRequest) -> bool:
        """Return whether there is nothing left to do for a request."""
        state = self._states[stored.key]
        if state.outcome != NONE:
            return True
        is_waiting = state.commitment_hash == hash_commitment(stored.request.commitment)
        return not is_waiting and state.proposal is None

    def _settle(self, requests: list[StoredRequest], number: int) -> None:
        self._store.set_settled([each.key for each in requests], number)
        for each in requests:
            self._delays.forget(each.key)
            state = self._states[each.key]
            self.log.write(
                "settled", request=each.key, block=number, outcome=OUTCOMES[state.outcome]
            )

    def _list_open(self, head: RemoteHeader) -> list[StoredRequest]:
        """Return the confirmed requests that are not over, in the chain's order."""
        return [
            each
            for each in self._store.list_requests()
            if not each.is_removed
            and each.settled_at is None
            and each.key in self._states
            and head.number - each.request.commitment.block_number + 1
            >= self._settings.confirmations
        ]

    # -- decisions -- #

    def _decide(self, head: RemoteHeader, stored: StoredRequest) -> Action:
        """Return the action on a request, as the chain was last read."""
        request = stored.request
        situation = Situation(
            request_id=request.commitment.request_id,
            commitment_hash=hash_commitment(request.commitment),
            deadline=request.commitment.deadline,
            requested_at=stored.timestamp,
            state=self._states[stored.key],
            computed_hash=None if stored.computed is None else hash_answer(stored.computed.answer),
            was_rejected=any(
                slot.key == stored.key and slot.kind == Action.ANSWER.value and slot.succeeded
                for slot in self._slots
            ),
            now=max(self._now, head.timestamp),
        )
        role = Role(
            address=self.address,
            workers=self._workers,
            turn_seconds=self._settings.turn_seconds,
            is_watching=self._settings.is_watching and self._terms is not None,
            arbiter=None if self._terms is None else self._terms.arbiter,
        )
        return decide(situation, role)

    def _confirm(self, head: RemoteHeader, stored: StoredRequest, action: Action) -> bool:
        """Return whether an action is still due, by the chain's state now."""
        request = stored.request
        header = self._client.read_header(request.commitment.block_number)
        if header is None or header.hash != request.block_hash:
            self._seen_head = b""  # The next round finds out what is left.
            return False
        [self._states[stored.key]] = self._client.read_states(
            [request.commitment], has_proposals=self._terms is not None
        )
        if self._is_over(stored):
            self._seen_head = b""  # As above.
            return False
        return self._decide(head, stored) is action

    def _act(self, head: RemoteHeader, stored: StoredRequest) -> None:
        """Do the due action for a request, if possible now."""
        action = self._decide(head, stored)
        if action in {Action.WAIT, Action.DONE, Action.GONE}:
            return
        if not self._delays.is_due(stored.key):
            return
        if action is Action.COMPUTE:
            if not self.is_computing and self._confirm(head, stored, action):
                self.log.write("computing", request=stored.key)
                self._computing.start(stored)
            return
        if self._has_slot(stored, action) or not self.transactions.has_room:
            return
        self._send(head, stored, action)

    def _has_slot(self, stored: StoredRequest, action: Action) -> bool:
        """Return whether a transaction for an action waits, or too many have failed."""
        slots = [
            slot for slot in self._slots if (slot.key, slot.kind) == (stored.key, action.value)
        ]
        reverts = sum(slot.succeeded is False for slot in slots)
        return reverts >= MAX_REVERTS or any(not slot.is_mined for slot in slots)

    def _take_answer(self) -> None:
        """Keep a computed answer."""
        taken = self._computing.take()
        if taken is None:
            return
        stored, result = taken
        if isinstance(result, Exception):
            self.log.write(
                "fault",
                request=stored.key,
                message=str(result) or type(result).__name__,
                seconds=self._delays.postpone(stored.key),
            )
            return
        self._store.set_answer(stored.key, result)
        self._delays.forget(stored.key)
        self.log.write(
            "computed",
            request=stored.key,
            refused=result.answer.refused,
            output_bytes=len(result.answer.output),
        )

    # -- transactions -- #

    def _send(self, head: RemoteHeader, stored: StoredRequest, action: Action) -> None:
        """Simulate the call of an action, and send the call on success."""
        data, value = self._encode(stored, action)
        call = UnsignedCall(sender=self.address, to=self._client.oracle, data=data, value_wei=value)
        try:
            least = self._client.estimate_gas(call)
        except RejectedCallError as error:
            self.log.write(
                "rejected",
                kind=action.value,
                request=stored.key,
                reason=explain_rejection(error),
                seconds=self._delays.postpone(stored.key),
            )
            self._seen_head = b""  # Somebody may have been first.
            return
        if not self._confirm(head, stored, action):
            return
        planned = PlannedTransaction(
            kind=action.value,
            key=stored.key,
            to=self._client.oracle,
            data=data,
            gas=add_gas_margin(least, head),
            value_wei=value,
        )
        self.transactions.send(planned, head, partial(self._confirm, head, stored, action))

    def _encode(self, stored: StoredRequest, action: Action) -> tuple[bytes, int]:
        """Return calldata and value of an action's call of the oracle."""
        request, state = stored.request, self._states[stored.key]
        request_id = request.commitment.request_id
        proposal_id = bytes(WORD_BYTES) if state.proposal is None else state.proposal.proposal_id
        artifact = load_artifact(CONTRACT)
        computed = stored.computed
        if computed is not None and action is Action.ANSWER:
            answer, evidence = computed.answer, computed.evidence
            signature = sign_evidence(self._key, self._chain_id, request, answer, evidence)
            return encode_answer(request.commitment, answer, evidence, signature), 0
        if computed is not None and action is Action.RULE:
            answer_hash = hash_answer(computed.answer)
            return artifact.encode_call("rule", request_id, proposal_id, answer_hash), 0
        if self._terms is not None and action is Action.CHALLENGE:
            call = artifact.encode_call("challenge", request_id, proposal_id)
            return call, self._terms.bond
        if action is Action.END_UNRULED:
            return artifact.encode_call("endUnruled", request_id), 0
        if action is Action.FINALIZE:
            return encode_finalize(request.commitment), 0
        return encode_expire(request.commitment), 0

    def _is_wanted(
        self, head: RemoteHeader, requests: Mapping[Key, StoredRequest], slot: Slot
    ) -> bool:
        """Return whether a waiting transaction is still of use."""
        stored = None if slot.key is None else requests.get(slot.key)
        if stored is None or stored.is_removed or stored.settled_at is not None:
            return False
        if stored.key not in self._states:
            return False
        return self._decide(head, stored).value in {slot.kind, Action.WAIT.value}

    def _set_gauges(self, head: RemoteHeader, requests: list[StoredRequest]) -> None:
        self.log.set_gauge("head_block", head.number)
        self.log.set_gauge("scanned_block", self._store.get_scanned() or 0)
        self.log.set_gauge("open_requests", len(requests))
        self.log.set_gauge("waiting_transactions", len(self.transactions.list_waiting()))


def hash_answer(answer: Answer) -> bytes:
    """Return the hash by which proposals and rulings are compared: `hashAnswer` of the oracle."""
    return bytes(keccak(encode(["bool", "bytes"], [answer.refused, answer.output])))


def explain_rejection(error: RejectedCallError) -> str:
    """Return why a simulated call fails."""
    if error.data:
        return decode_revert(error.data)
    reason = classify_refusal(str(error))
    return str(error) if reason == "other" else f"{reason}: {error}"
