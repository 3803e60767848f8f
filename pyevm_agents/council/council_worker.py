"""The loop of a participant: reads the council's requests, computes, keeps, sends.

An answer with its nonce, or a verdict, is in the store before the transaction with that answer or
verdict is signed, and a signed transaction before sending. So a participant that was killed goes on
from there, and one whose transactions a reorganisation removed sends the same again.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from eth_utils import to_checksum_address

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.client.chain_client import RejectedCallError, UnsignedCall
from pyevm_agents.client.transaction_manager import (
    FINAL_BLOCKS,
    FeeSettings,
    PlannedTransaction,
    TransactionManager,
    add_gas_margin,
    quote_fees,
)
from pyevm_agents.council.council_client import CONTRACT
from pyevm_agents.council.decisions import (
    Act,
    Stand,
    pass_time,
)
from pyevm_agents.council.messages import (
    NOBODY,
    OUTCOMES,
    SaltedAnswer,
    Verdict,
)
from pyevm_agents.display import format_amount
from pyevm_agents.oracle.worker import MAX_REVERTS, PRUNE_BLOCKS, explain_rejection
from pyevm_agents.workers.round_loop import ComputingThread, Delays, RoundLoop

if TYPE_CHECKING:
    from eth_keys.datatypes import PrivateKey

    from pyevm_agents.client.chain_client import RemoteHeader
    from pyevm_agents.client.transaction_store import Slot
    from pyevm_agents.client.worker_log import WorkerLog
    from pyevm_agents.council.council_client import CouncilClient
    from pyevm_agents.council.limits import RequestLimits
    from pyevm_agents.council.messages import RequestView
    from pyevm_agents.council.store import CouncilStore

MAX_FAULTS = 3
"""Failures to compute after which a single pass does not wait for one more try."""

DRY_SECONDS = 3_600.0
"""How long a dry run does not compute the same answer again."""

SILENT = frozenset({Act.WAIT, Act.DONE, Act.LATE, Act.FULL, Act.BARRED, Act.LOST})
"""What no transaction follows."""

MISSED = {
    Act.FULL: "the council is full",
    Act.LATE: "the time to commit or to reveal is over",
    Act.BARRED: "the account may not take part in this role: an info agent is no judge, and the "
    "requester judges nothing",
}
"""Why nothing can be done."""

ADVICE = {
    "NotCapable": "the council's reputation lacks what the request requires of this account",
    "NotEligible": "the account takes part already, or may not in this role",
    "NotJudge": "another judge was drawn",
    "ReputationTooLow": "the council requires more reputation of this account",
    "TooManyJudges": "no more candidates can register",
    "WrongHeader": "the block's hash can't be read any more; `advance` ends the draw",
    "WrongPhase": "the deadline is over, or the council is full",
}
"""What errors of the oracle mean for a participant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CouncilSettings:
    """When a participant acts."""

    confirmations: int = 1
    """Blocks, its own included, that a request must have until it is joined, a commitment until it
    is revealed, and a drawing or a reveal until a judge decides on it."""

    turn_seconds: int = 60
    """How long one participant leaves what anybody may do to the one before it."""

    poll_seconds: float = 1.0
    is_dry: bool = False
    """Whether nothing is kept, signed or sent."""

    withdraws: bool = True
    takes_disputes: bool = False
    """Whether a judge registers for disputes too."""


class CouncilWorker(RoundLoop):
    """A participant of one council's oracle, with one key. Subclasses decide on acts."""

    role = ""

    def __init__(  # noqa: PLR0913 - keyword arguments
        self,
        client: CouncilClient,
        store: CouncilStore,
        key: PrivateKey,
        *,
        chain_id: int,
        limits: RequestLimits,
        settings: CouncilSettings | None = None,
        fees: FeeSettings | None = None,
        log: WorkerLog | None = None,
    ) -> None:
        """Start nothing yet.

        Input: the oracle; the store; the participant's key; the chain; which requests to take; when
               to act; bounds of fees; where events go.
        """
        self._client, self._store, self._chain_id = client, store, chain_id
        self._limits, self._settings = limits, settings or CouncilSettings()
        self.address = bytes(key.public_key.to_canonical_address())
        super().__init__(
            self._settings.poll_seconds, log, account=self.address, council=client.oracle
        )
        self.transactions = TransactionManager(
            client, store, key, chain_id=chain_id, log=self.log, settings=fees
        )
        self._computing: ComputingThread[RequestView, SaltedAnswer | Verdict] = ComputingThread(
            self.compute, self._wake
        )
        self._delays = Delays()
        self._fees = fees or FeeSettings()
        self._terms = client.read_terms()
        self._views: dict[int, RequestView] = {}
        self._ended: dict[int, int] = {}
        self._said: dict[object, object] = {}
        self._own_tokens: set[bytes] = {NOBODY}
        self._head: RemoteHeader | None = None
        self._is_stale = False
        self._now = 0
        self._pruned_at = 0
        self.has_work = True
        """Whether the last round left something to do without anybody else."""

    # -- what subclasses say -- #

    def decide(self, view: RequestView) -> Act:
        """Return the act that is due for a request."""
        raise NotImplementedError

    def compute(self, view: RequestView) -> SaltedAnswer | Verdict:
        """Compute the answer or verdict for a request. In another thread."""
        raise NotImplementedError

    def keep(self, view: RequestView, result: SaltedAnswer | Verdict) -> None:
        """Keep the computed answer or verdict."""
        raise NotImplementedError

    def is_confirmed(self, act: Act, view: RequestView, older: RequestView) -> bool:
        """Return whether the state that an act relies on was there some blocks ago."""
        raise NotImplementedError

    # -- rounds -- #

    def run_once(self) -> None:
        """Do rounds until nothing is left to do without others, or `stop`.

        Raises: AgentsError: the node failed.
        """
        self.log.write("started", account=self.address, council=self._client.oracle)
        while not self._is_stopped.is_set():
            self._wake.clear()
            self.do_round()
            if not self.has_work:
                break
            self._wake.wait(self._settings.poll_seconds)
        self.log.write("stopped")

    def do_round(self) -> None:
        """Read the chain, and do the due acts. Raises: AgentsError: the next round goes on."""
        head = self._client.read_head()
        if self._head is None or self._is_stale or head.hash != self._head.hash:
            self._read_views(head)
            self._head, self._is_stale = head, False
        self._now = self._client.read_time(head)
        if not self._settings.is_dry:
            self.transactions.watch(head)
        self._take_result()
        self.has_work = False
        for view in list(self._views.values()):
            if self._is_stopped.is_set():
                return
            self._act(head, view)
        if self._settings.withdraws:
            self._withdraw(head)
        if not self._settings.is_dry:
            self.transactions.push(head, self._is_wanted)
            self.has_work |= bool(self.transactions.list_waiting())
            if head.number >= self._pruned_at + PRUNE_BLOCKS:
                self._pruned_at = head.number
                self._store.prune(head.number - FINAL_BLOCKS)
        self.has_work |= self._computing.current is not None

    def _read_views(self, head: RemoteHeader) -> None:
        """Read the requests that have not ended, and those that ended not long ago."""
        if self._head is not None:
            before = self._client.read_header(self._head.number)
            if before is None or before.hash != self._head.hash:
                self._ended.clear()
                self.log.write("reorganized", block=self._head.number)
        count = self._client.read_request_count(head.number)
        for each in self._limits.request_ids:
            if each > count:
                reason = f"the council has no such request yet; its last one is {count:,}"
                self._say(("unknown", each), reason, "unknown", request=each, reason=reason)
        numbers = [
            each
            for each in range(1, count + 1)
            if self._ended.get(each, head.number) > head.number - FINAL_BLOCKS
        ]
        phases = self._client.read_phases(numbers, head.number)
        is_new = self._head is None
        for number, phase in zip(numbers, phases, strict=True):
            if phase.has_ended:
                # At a start, what ended before is of the past.
                self._ended.setdefault(number, 0 if is_new else head.number)
            else:
                self._ended.pop(number, None)
        if is_new:
            self._find_past_tokens()
        shown = [each for each in numbers if self._ended.get(each) != 0]
        views = self._client.read_views(shown, head.number)
        self._views = {each.request.request_id: each for each in views}

    def _find_past_tokens(self) -> None:
        """Find the tokens of own requests that ended before the start: some may be left there."""
        past = [each for each in self._store.list_request_ids() if self._ended.get(each) == 0]
        views = self._client.read_views(past) if past else []
        self._own_tokens |= {each.request.reward_token for each in views}

    def _stand(self) -> Stand:
        assert self._head is not None  # noqa: S101 - read before
        return Stand(
            account=self.address,
            now=self._now,
            head=self._head.number,
            terms=self._terms,
            turn_seconds=self._settings.turn_seconds,
        )

    def _look(self, view: RequestView) -> RequestView:
        """Return a request in the phase that the oracle sees now."""
        return pass_time(view, self._now, self._terms)

    # -- acts -- #

    def _act(self, head: RemoteHeader, stored: RequestView) -> None:
        view = self._look(stored)
        act = self.decide(view)
        joins = {Act.COMPUTE, Act.COMMIT, Act.REGISTER}
        if act in joins and self._is_new_to(view) and self._refuses(view):
            return
        if act in SILENT:
            self._say_standstill(act, view)
            return
        if not self._delays.is_due(view.key):
            # Without limit, `run_once` would wait for what never comes.
            is_tried = self._delays.failures[view.key] >= MAX_FAULTS or self._settings.is_dry
            self.has_work |= act is Act.COMPUTE and not is_tried
            return
        if not self._has_confirmations(head, act, view):
            self._say(
                ("waits", *view.key),
                act,
                "waiting",
                request=view.key,
                kind=act.value,
                confirmations=self._settings.confirmations,
            )
            return
        if act is Act.COMPUTE:
            self.has_work = True
            if self._computing.current is None:
                self.log.write("computing", request=view.key)
                self._computing.start(view)
            return
        if not self._is_due(act, view.key):
            self._is_stale = True  # As after a rejection.
            return
        self._send(head, act, view)

    def _is_new_to(self, view: RequestView) -> bool:
        """Return whether an account has no part in a request yet."""
        return self.address not in {*view.commits, *view.current_candidates, view.current_judge}

    def _refuses(self, view: RequestView) -> bool:
        reason = self._limits.explain_refusal(view.request)
        if reason is None:
            return False
        wanted = self._limits.request_ids
        if wanted and view.request.request_id not in wanted:
            return True
        self._say(("skipped", *view.key), reason, "skipped", request=view.key, reason=reason)
        return True

    def _has_confirmations(self, head: RemoteHeader, act: Act, view: RequestView) -> bool:
        depth = self._settings.confirmations - 1
        if depth == 0 or act in {Act.ADVANCE, Act.DISTRIBUTE, Act.DRAW}:
            return True
        if head.number < depth:
            return False
        older = self._client.find_view(view.request.request_id, head.number - depth)
        return older is not None and older.key == view.key and self.is_confirmed(act, view, older)

    def _say(self, topic: object, value: object, event: str, /, **fields: object) -> None:
        """Write an event once, until the value changes."""
        if self._said.get(topic) != value:
            self._said[topic] = value
            self.log.write(event, **fields)

    def _say_standstill(self, act: Act, view: RequestView) -> None:
        topic = ("stands", *view.key)
        if act is Act.LOST:
            self._say(
                topic,
                act,
                "lost",
                request=view.key,
                commitment=view.commits[self.address],
                message="the chain has a commitment of this account whose answer and nonce are not "
                "in this store; pass the store that made it with --store, or the bond is lost",
            )
        elif act in MISSED:
            reason = MISSED[act]
            self._say(topic, act, "missed", request=view.key, phase=view.phase.name, reason=reason)
        elif act is Act.DONE and self._said.get(("ended", *view.key)) is None:
            self._say(
                ("ended", *view.key),
                view.phase,
                "ended",
                request=view.key,
                phase=view.phase.name,
                outcome=self.read_outcome(view),
                answer=view.answer.decode(errors="replace"),
            )

    def read_outcome(self, view: RequestView) -> str:
        """Return the participant's outcome: one of `OUTCOMES`."""
        return OUTCOMES[self._client.read_outcome(view.request.request_id, self.address)]

    # -- computing -- #

    def _take_result(self) -> None:
        taken = self._computing.take()
        if taken is None:
            return
        view, result = taken
        if isinstance(result, Exception):
            message = str(result) or type(result).__name__
            seconds = self._delays.postpone(view.key)
            self.log.write("fault", request=view.key, message=message, seconds=seconds)
            return
        self._delays.forget(view.key)
        if self._settings.is_dry:
            answer = result.answer.decode(errors="replace")
            self._say(("dry", *view.key), answer, "would_answer", request=view.key, answer=answer)
            self._delays.until[view.key] = time.monotonic() + DRY_SECONDS
            return
        self.keep(view, result)

    # -- sending -- #

    def encode(self, act: Act, view: RequestView) -> tuple[bytes, int]:
        """Return calldata and wei of the oracle's function for an act."""
        artifact, request_id = load_artifact(CONTRACT), view.request.request_id
        if act is Act.DRAW:
            header = self._client.read_raw_header(view.seed_block) or b""
            return artifact.encode_call(act.value, request_id, header), 0
        value = view.request.bond if act is Act.REGISTER else 0
        return artifact.encode_call(act.value, request_id), value

    def _send(self, head: RemoteHeader, act: Act, view: RequestView) -> None:
        data, value = self.encode(act, view)
        self._submit(head, act, view.key, data, value)

    def _submit(
        self, head: RemoteHeader, act: Act, key: tuple[bytes, bytes], data: bytes, value: int
    ) -> None:
        """Simulate a call of the oracle, and send the call on success."""
        is_waiting = self._has_slot(key, act) or not self.transactions.has_room
        if is_waiting and not self._settings.is_dry:
            return
        call = UnsignedCall(sender=self.address, to=self._client.oracle, data=data, value_wei=value)
        try:
            least = self._client.estimate_gas(call)
        except RejectedCallError as error:
            self._reject(act, key, self._find_lack(value, 1) or self._explain(error))
            self._is_stale = True  # Somebody may have been first.
            return
        if self._settings.is_dry:
            self._say(
                ("dry", act, *key),
                value,
                "would_send",
                kind=act.value,
                request=key,
                value=value,
                gas=least,
            )
            return
        gas = add_gas_margin(least, head)
        fee = min(quote_fees(self._client, head)[0], self._fees.max_fee_wei)
        reason = self._find_lack(value, gas * fee)
        if reason is not None:
            self._reject(act, key, reason)
            return
        planned = PlannedTransaction(
            kind=act.value,
            key=key,
            to=self._client.oracle,
            data=data,
            gas=gas,
            value_wei=value,
        )
        self._delays.forget(key)
        self.has_work = True
        self.transactions.send(planned, head, partial(self._is_due, act, key))

    def _reject(self, act: Act, key: tuple[bytes, bytes], reason: str) -> None:
        """Report why an act is not sent, and try again later."""
        self._delays.postpone(key)
        topic = ("rejected", *key)
        self._say(topic, reason, "rejected", kind=act.value, request=key, reason=reason)

    def _find_lack(self, value: int, gas_cost: int) -> str | None:
        """Return the wei that the account lacks for a transaction; None: nothing."""
        balance = self._client.read_balance(self.address)
        if balance >= value + gas_cost:
            return None
        return (
            f"{to_checksum_address(self.address)} has {format_amount(balance)}, and needs "
            f"{format_amount(value)} for the bond and more for gas; send it some"
        )

    def _explain(self, error: RejectedCallError) -> str:
        reason = explain_rejection(error)
        advice = ADVICE.get(reason.partition("(")[0])
        return reason if advice is None else f"{reason}: {advice}"

    def _has_slot(self, key: tuple[bytes, bytes], act: Act) -> bool:
        """Return whether a transaction for an act waits, or too many have failed."""
        slots = [
            slot for slot in self._store.list_slots() if (slot.key, slot.kind) == (key, act.value)
        ]
        reverts = sum(slot.succeeded is False for slot in slots)
        return reverts >= MAX_REVERTS or any(not slot.is_mined for slot in slots)

    def _is_due(self, act: Act, key: tuple[bytes, bytes]) -> bool:
        """Return whether an act is still due, by the chain's state now."""
        if act is Act.WITHDRAW:
            return True
        view = self._client.find_view(int.from_bytes(key[0]), "latest")
        return view is not None and view.key == key and self.decide(self._look(view)) is act

    def _is_wanted(self, slot: Slot) -> bool:
        """Return whether a waiting transaction is still of use."""
        if slot.key is None:
            return False
        if slot.kind == Act.WITHDRAW.value:
            return True
        view = self._views.get(int.from_bytes(slot.key[0]))
        if view is None or view.key != slot.key:
            return False
        return self.decide(self._look(view)).value in {slot.kind, Act.WAIT.value}

    # -- money -- #

    def _withdraw(self, head: RemoteHeader) -> None:
        """Withdraw the account's claims in wei and in the tokens of its requests."""
        for view in self._views.values():
            if self.address in {*view.commits, *view.judges}:
                self._own_tokens.add(view.request.reward_token)
        tokens = sorted(self._own_tokens)
        amounts = self._client.read_claimable(self.address, tokens)
        for token, amount in zip(tokens, amounts, strict=True):
            key = (token.rjust(32, b"\0"), bytes(32))
            if amount and self._delays.is_due(key):
                names = (to_checksum_address(token), to_checksum_address(self.address))
                data = load_artifact(CONTRACT).encode_call("withdraw", *names)
                self._say(("claims", token), amount, "claimable", token=token, amount=amount)
                self._submit(head, Act.WITHDRAW, key, data, 0)
