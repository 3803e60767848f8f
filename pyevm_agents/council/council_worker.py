"""The loop of a participant: reads the council's requests, computes, keeps, sends.

An answer with its nonce, or a verdict, is in the store before the transaction with that answer or
verdict is signed, and a signed transaction before sending. So a participant that was killed goes on
from there, and one whose transactions a reorganisation removed sends the same again.
"""

from __future__ import annotations

import time
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from eth_utils import to_checksum_address

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.client.chain_client import RejectedCallError, UnsignedCall
from pyevm_agents.client.signing import add_gas_margin, quote_fees
from pyevm_agents.client.transaction_manager import (
    FINAL_BLOCKS,
    FeeSettings,
    PlannedTransaction,
    TransactionManager,
    decode_planned,
)
from pyevm_agents.council.answers import SameAnswerError
from pyevm_agents.council.callbacks import encode_callback, is_taken
from pyevm_agents.council.council_client import CONTRACT
from pyevm_agents.council.decisions import (
    Act,
    JudgeRole,
    Stand,
    choose_slot,
    is_callback_due,
    is_releasable,
    pass_time,
)
from pyevm_agents.council.headroom import compute_headroom
from pyevm_agents.council.messages import (
    NOBODY,
    OUTCOMES,
    CallbackState,
    SaltedAnswer,
    Verdict,
)
from pyevm_agents.council.seats import explain, hold_seat
from pyevm_agents.display import format_amount
from pyevm_agents.errors import ConfigError
from pyevm_agents.oracle.worker import MAX_REVERTS, PRUNE_BLOCKS, explain_rejection
from pyevm_agents.workers.round_loop import ComputingThread, Delays, RoundLoop

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eth_keys.datatypes import PrivateKey

    from pyevm_agents.client.chain_client import RemoteHeader
    from pyevm_agents.client.transaction_store import Slot
    from pyevm_agents.client.worker_log import WorkerLog
    from pyevm_agents.council.council_client import CouncilClient
    from pyevm_agents.council.limits import RequestLimits
    from pyevm_agents.council.messages import RequestPhase, RequestView
    from pyevm_agents.council.store import CouncilStore

MAX_FAULTS = 3
"""Failures to compute after which a single pass does not wait for one more try."""

RACE_SLOTS = 64
"""Places in the time in which info agents spread their commitments."""

DRY_SECONDS = 3_600.0
"""How long a dry run does not compute the same answer again."""

SILENT = frozenset({Act.WAIT, Act.DONE, Act.LATE, Act.FULL, Act.BARRED, Act.LOST})
"""What no transaction follows."""

MONEY = frozenset({Act.RELEASE, Act.WITHDRAW, Act.PAY})
"""Acts that do not depend on a request's phase any more once they are due."""

LEFT_GAS = 64
"""An inner call leaves its caller one part of so many. Source: EIP-150."""

UNSEEN = MONEY | {Act.POST_BOND}
"""Acts whose effect no view of a request shows, so that one that waits stays wanted."""

MISSED = {
    Act.FULL: "the council is full",
    Act.LATE: "the time to commit or to reveal is over",
    Act.BARRED: "the account may not take part in this role: an info agent is no judge, and the "
    "requester judges nothing",
}
"""Why nothing can be done."""


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

    race_seconds: float = 0.0
    """In how many seconds info agents spread their commitments, so that each sees those before."""

    withdraws: bool = True
    judge_role: JudgeRole = JudgeRole.REQUESTS


class CouncilWorker(RoundLoop):
    """A participant of one council's oracle, with one key. Subclasses decide on acts."""

    role = ""

    ends_with_requests = True
    """Whether `run` ends when the requests that the limits name have ended."""

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
        self._unanswerable: set[tuple[tuple[bytes, bytes], RequestPhase]] = set()
        self._has_claims = False
        self._said: dict[object, object] = {}
        self._own_tokens: set[bytes] = {NOBODY}
        self._past: list[RequestView] = []
        self._released: set[tuple[bytes, RequestPhase]] = set()
        slots = store.list_slots()
        self._told_costs = {each.nonce for each in slots if each.succeeded is False}
        self._head: RemoteHeader | None = None
        self._is_stale = False
        self._now = 0
        self._pruned_at = 0
        self.has_work = True
        """Whether the last round left something to do without anybody else."""

        self.unknown: list[int] = []
        """The requests that the limits name and the council does not have."""

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

    def prepare(self, view: RequestView) -> None:
        """Check what an answer or verdict will need, before it is computed.

        Raises: ConfigError: it can't be handed in.
        """

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
            self._tell_costs()
        self._take_result()
        self.has_work = False
        for view in list(self._views.values()):
            if self._is_stopped.is_set():
                return
            self._act(head, view)
        self._settle(head)
        if not self._settings.is_dry:
            self.transactions.push(head, self._is_wanted)
            self.has_work |= bool(self.transactions.list_waiting())
            if head.number >= self._pruned_at + PRUNE_BLOCKS:
                self._pruned_at = head.number
                self._store.prune(head.number - FINAL_BLOCKS)
        self.has_work |= self._computing.current is not None
        if self.ends_with_requests and self._is_over(head):
            self.stop()

    def _is_over(self, head: RemoteHeader) -> bool:
        """Return whether nothing is left to do for the requests that the limits name."""
        depth = self._settings.confirmations - 1
        numbers = self._limits.request_ids
        if not numbers or any(
            self._ended.get(each, head.number + 1) + depth > head.number for each in numbers
        ):
            return False
        left = [each for each in self._list_callbacks() if not self._delays.failures[each.key]]
        return not (self.has_work or self._has_claims or left)

    def _read_views(self, head: RemoteHeader) -> None:
        """Read the requests that have not ended, and those that ended not long ago."""
        if self._head is not None:
            before = self._client.read_header(self._head.number)
            if before is None or before.hash != self._head.hash:
                self._ended.clear()
                self.log.write("reorganized", block=self._head.number)
        known = self._client.list_request_ids(head.number)
        self.unknown = sorted(self._limits.request_ids - {*known})
        for each in self.unknown:
            last = f"its last one is {known[-1]:,}" if known else "it has none"
            reason = f"the council has no such request yet; {last}"
            self._say(("unknown", each), reason, "unknown", request=each, reason=reason)
        numbers = [
            each
            for each in known
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
            self._find_past(head)
        shown = [each for each in numbers if self._ended.get(each) != 0]
        views = self._client.read_views(shown, head.number)
        self._views = {each.request.request_id: each for each in views}

    def _find_past(self, head: RemoteHeader) -> None:
        """Read the requests that ended before the start: something may be left there."""
        past = [each for each in self.list_own() if self._ended.get(each) == 0]
        self._past = self._client.read_views(past) if past else []
        self._own_tokens |= {each.request.reward_token for each in self._past}
        for each in self._past:
            if each.callback is CallbackState.PENDING:
                self._ended[each.request.request_id] = head.number

    def list_own(self) -> list[int]:
        """Return the numbers of the requests that concern this participant."""
        return self._store.list_request_ids()

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
        act = self._decide(view)
        joins = {Act.COMPUTE, Act.COMMIT, Act.REGISTER}
        if act in joins and self._is_new_to(view) and self._refuses(act, view):
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
            self._compute(view)
            return
        if act is Act.COMMIT and not self._settings.is_dry:
            self._wait_for_slot(view)
        if not self._is_due(act, view.key):
            self._is_stale = True  # As after a rejection.
            return
        self._send(head, act, view)

    def _decide(self, view: RequestView) -> Act:
        """Return the due act; none where the oracle has no function for that act."""
        act = self.decide(view)
        if (view.key, view.phase) in self._unanswerable and act in {Act.COMPUTE, *MISSED}:
            return Act.WAIT  # It is said.
        is_done_here = act in SILENT or act in {Act.COMPUTE, Act.WITHDRAW}
        return act if is_done_here or self._client.can(act, view.phase) else Act.WAIT

    def _compute(self, view: RequestView) -> None:
        """Begin to compute an answer or a verdict, if that can be handed in."""
        if self._computing.current is None:
            try:
                self.prepare(view)
            except ConfigError as error:
                self._reject(Act.COMPUTE, view.key, str(error))
                return
            self.log.write("computing", request=view.key)
            self._computing.start(view)
        self.has_work = True

    def _wait_for_slot(self, view: RequestView) -> None:
        """Wait until this account's place among those who race for a seat, once a request."""
        topic = ("slot", *view.key)
        if self._said.get(topic) is None and self._settings.race_seconds:
            self._said[topic] = True
            place = choose_slot(self.address, view.key, RACE_SLOTS)
            self._is_stopped.wait(self._settings.race_seconds * place / RACE_SLOTS)

    def _is_new_to(self, view: RequestView) -> bool:
        """Return whether an account has no part in a request yet."""
        return self.address not in {*view.commits, *view.current_panel.members}

    def _refuses(self, act: Act, view: RequestView) -> bool:
        bond = view.current_panel.bond if act is Act.REGISTER else None
        reason = self._limits.explain_refusal(view.request, bond)
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
                **self.describe_end(view),
                answer=view.answer.decode(errors="replace"),
            )

    def describe_end(self, view: RequestView) -> dict[str, str]:
        """Return what the event `ended` says: names and values, such as one of `OUTCOMES`."""
        return {"outcome": self.read_outcome(view)}

    def read_outcome(self, view: RequestView) -> str:
        """Return what became of the participant: one of `OUTCOMES`."""
        return OUTCOMES[self._client.read_outcome(view.request.request_id, self.address)]

    # -- computing -- #

    def _take_result(self) -> None:
        taken = self._computing.take()
        if taken is None:
            return
        view, result = taken
        if isinstance(result, Exception):
            message = str(result) or type(result).__name__
            if isinstance(result, SameAnswerError):
                self._unanswerable.add((view.key, view.phase))
                self.log.write("missed", request=view.key, phase=view.phase.name, reason=message)
                return
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
        if act is Act.DRAW and self._client.erc is None:
            header = self._client.read_raw_header(view.seed_block) or b""
            return self._client.encode_act(act, view, header), 0
        # Where judges put up their bond when they are drawn, they register for nothing.
        value = view.current_panel.bond if act in {Act.REGISTER, Act.POST_BOND} else 0
        return self._client.encode_act(act, view), value

    def _send(self, head: RemoteHeader, act: Act, view: RequestView) -> None:
        data, value = self.encode(act, view)
        headroom = compute_headroom(act, view, data)
        self._submit(head, act, view.key, data, value, headroom=headroom)

    def _submit(  # noqa: PLR0913 - what a transaction has
        self,
        head: RemoteHeader,
        act: Act,
        key: tuple[bytes, bytes],
        data: bytes,
        value: int = 0,
        *,
        headroom: int = 0,
    ) -> None:
        """Simulate a call of the oracle, and send the call on success.

        Input:  headroom: gas beyond the estimate.
        """
        is_waiting = self._has_slot(key, act) or not self.transactions.has_room
        if is_waiting and not self._settings.is_dry:
            return
        call = UnsignedCall(sender=self.address, to=self._client.oracle, data=data, value_wei=value)
        # One agent of this machine after the other, so that each sees the commitment before.
        with hold_seat(self._client.oracle) if act is Act.COMMIT else nullcontext():
            self._try(head, act, key, call, headroom)

    def _try(
        self,
        head: RemoteHeader,
        act: Act,
        key: tuple[bytes, bytes],
        call: UnsignedCall,
        headroom: int,
    ) -> None:
        """Simulate a call on the state after what waits in the pool, and send it on success."""
        value = call.value_wei
        try:
            self._simulate(act, call)
            least = self._client.estimate_gas(call)
        except RejectedCallError as error:
            self._reject(act, key, self._find_lack(value, 1) or explain(error))
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
        gas = add_gas_margin(least + headroom, head)
        fee = self._fees.cap(quote_fees(self._client, head), gas).fee
        reason = self._find_lack(value, gas * fee)
        if reason is not None:
            self._reject(act, key, reason)
            return
        planned = PlannedTransaction(
            kind=act.value,
            key=key,
            to=self._client.oracle,
            data=call.data,
            gas=gas,
            value_wei=value,
        )
        self._delays.forget(key)
        self.has_work = True
        if act is Act.REGISTER:
            self._store.add_registration(key[0])
        self.transactions.send(planned, head, partial(self._is_open, act, key, call))

    def _is_open(self, act: Act, key: tuple[bytes, bytes], call: UnsignedCall) -> bool:
        """Return whether an act is due, and succeeds after what waits in the pool."""
        try:
            self._simulate(act, call)
        except RejectedCallError:
            return False
        return self._is_due(act, key)

    def _simulate(self, act: Act, call: UnsignedCall) -> None:
        """Try a call. Raises: RejectedCallError: it fails, or the called requester would."""
        output = self._client.simulate(call)
        if act is Act.CALL_BACK and not is_taken(output):
            raise RejectedCallError("the requester's handleResolution fails")

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

    def _has_slot(self, key: tuple[bytes, bytes], act: Act) -> bool:
        """Return whether a transaction for an act waits, or too many have failed."""
        slots = [
            slot for slot in self._store.list_slots() if (slot.key, slot.kind) == (key, act.value)
        ]
        reverts = sum(slot.succeeded is False for slot in slots)
        return reverts >= MAX_REVERTS or any(not slot.is_mined for slot in slots)

    def _is_due(self, act: Act, key: tuple[bytes, bytes]) -> bool:
        """Return whether an act is still due, by the chain's state now."""
        if act in MONEY or act is Act.CALL_BACK:
            return True
        view = self._client.find_view(int.from_bytes(key[0]), "latest")
        return view is not None and view.key == key and self._decide(self._look(view)) is act

    def _is_wanted(self, slot: Slot) -> bool:
        """Return whether a waiting transaction is still of use."""
        if slot.key is None:
            return False
        if slot.kind in {each.value for each in UNSEEN}:
            return True
        view = self._views.get(int.from_bytes(slot.key[0]))
        if view is None or view.key != slot.key:
            return False
        if slot.kind == Act.CALL_BACK.value:
            return view.callback is CallbackState.PENDING
        return self._decide(self._look(view)).value in {slot.kind, Act.WAIT.value}

    def _settle(self, head: RemoteHeader) -> None:
        """Do what is left once requests have ended."""
        self._call_back(head)
        if self._settings.withdraws:
            self._release(head)
            self._withdraw(head)

    # -- money -- #

    def _tell_costs(self) -> None:
        """Report what own transactions cost that were mined and failed, each once."""
        for slot in self._store.list_slots():
            if slot.succeeded is not False or slot.nonce in self._told_costs:
                continue
            self._told_costs.add(slot.nonce)
            used, cost = self._client.read_cost(slot.mined_hash or b"")
            self.log.write(
                "reverted",
                kind=slot.kind,
                request=slot.key,
                cost=cost,
                reason=self._explain_revert(slot, used),
            )

    def _explain_revert(self, slot: Slot, used: int) -> str:
        """Return why a transaction failed that succeeded in a simulation. Input: its gas."""
        attempts = self._store.list_attempts(slot.nonce)
        limits = [decode_planned(each.raw).gas for each in attempts if each.hash == slot.mined_hash]
        if limits and used * LEFT_GAS >= limits[0] * (LEFT_GAS - 1):
            return (
                f"out of gas, {used:,} of {limits[0]:,}: it cost more than estimated, after others "
                "of its block; the gas is paid, and no bond"
            )
        return "another transaction was first: the gas is paid, and no bond"

    # -- callbacks -- #

    def concerns(self, view: RequestView) -> bool:
        """Return whether this participant calls the requester back, if nobody else does."""
        # The ERC does not say whether a requester was called, so two participants would do it.
        return self._client.erc is None and self.address in {*view.commits, *view.judges}

    def _list_callbacks(self) -> Iterator[RequestView]:
        """Yield the requests whose requesters wait for this participant's call."""
        slots = self._store.list_slots()
        called = {slot.key for slot in slots if slot.kind == Act.CALL_BACK.value}
        for view in self._views.values():
            is_pending = view.callback is CallbackState.PENDING and view.key not in called
            if is_pending and self.concerns(view):
                yield view

    def _call_back(self, head: RemoteHeader) -> None:
        """Tell requesters that are contracts the ends of their requests, each once."""
        for view in self._list_callbacks():
            if is_callback_due(view, self._stand()) and self._delays.is_due(view.key):
                data = encode_callback(view.request)
                self._submit(head, Act.CALL_BACK, view.key, data)

    def _release(self, head: RemoteHeader) -> None:
        """Have the bonds credited of draws that can't take this account any more."""
        for view in (*self._past, *self._views.values()):
            topic = (view.key[0], view.phase)  # An account can be a candidate of both panels.
            if topic in self._released or not is_releasable(self._look(view), self.address):
                continue
            if not self._client.can(Act.RELEASE, view.phase) or not self._delays.is_due(view.key):
                continue
            name = to_checksum_address(self.address)
            data = self._client.encode_act(Act.RELEASE, view, name)
            call = UnsignedCall(sender=self.address, to=self._client.oracle, data=data)
            try:
                self._client.simulate(call)
            except RejectedCallError as error:
                if explain_rejection(error).startswith("NothingToRelease("):
                    self._released.add(topic)  # It was, by anybody.
                continue
            self._submit(head, Act.RELEASE, view.key, data, 0)

    def _withdraw(self, head: RemoteHeader) -> None:
        """Withdraw the account's claims in wei and in the tokens of its requests."""
        if self._client.erc is not None:  # The ERC pays by `distributeRewards`.
            return
        self._has_claims = False
        for view in self._views.values():
            if self.address in {*view.commits, *view.judges}:
                self._own_tokens.add(view.request.reward_token)
        tokens = sorted(self._own_tokens)
        amounts = self._client.read_claimable(self.address, tokens)
        for token, amount in zip(tokens, amounts, strict=True):
            key = (token.rjust(32, b"\0"), bytes(32))
            self._has_claims |= amount > 0
            if amount and self._delays.is_due(key):
                names = (to_checksum_address(token), to_checksum_address(self.address))
                data = load_artifact(CONTRACT).encode_call("withdraw", *names)
                self._say(("claims", token), amount, "claimable", token=token, amount=amount)
                self._submit(head, Act.WITHDRAW, key, data, 0)
