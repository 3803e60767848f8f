"""The worker of an oracle: finds requests, computes answers, signs and sends them.

    with WorkerStore(path, identity) as store:
        OracleWorker(client, store, key, computer, chain_id=1).run()

`decisions.py` says what is done with a request. All that a restart needs is in the store, so the
process may be killed at any time: an answer is stored before it is signed, and a transaction before
it is sent.
"""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from time import monotonic
from typing import TYPE_CHECKING

from eth_abi import encode
from eth_utils import keccak

from pyevm_agents.errors import ConfigError, RemoteFault
from pyevm_agents.forking.remote_client import RemoteError
from pyevm_agents.oracle.codec import (
    encode_answer,
    encode_expire,
    encode_finalize,
    hash_commitment,
)
from pyevm_agents.oracle.decisions import Action, Role, Situation, decide
from pyevm_agents.oracle.oracle_client import read_refusal
from pyevm_agents.oracle.recomputation import RequestBlockGoneError
from pyevm_agents.oracle.request_log import RequestLog
from pyevm_agents.oracle.signatures import sign_evidence
from pyevm_agents.oracle.store import StoreIdentity
from pyevm_agents.oracle.transactions import (
    FeeSettings,
    PlannedTransaction,
    TransactionManager,
    add_gas_margin,
)
from pyevm_agents.vm.stack_depth import thread_stack_size

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eth_keys.datatypes import PrivateKey

    from pyevm_agents.oracle.messages import AgentRequest, Answer, AnswerComputer, ComputedAnswer
    from pyevm_agents.oracle.oracle_client import Block, ChallengeTerms, OracleClient
    from pyevm_agents.oracle.store import Slot, StoredRequest, WorkerStore
    from pyevm_agents.oracle.worker_log import WorkerLog

DEFAULT_CONFIRMATIONS = 3
"""Source: Chainlink's MinIncomingConfirmations."""

DEFAULT_TURN_SECONDS = 120
DEFAULT_POLL_SECONDS = 1.0

FIRST_DELAY_SECONDS, MAX_DELAY_SECONDS = 1.0, 60.0
"""Back-off after a fault."""

STACK_BYTES = 256 * 2**20
"""Stack of the computing thread: py-evm recurses for each call of a contract."""

MAX_REVERTS = 3
"""Transactions for a request that were mined and failed, after which no more are sent."""

CLOSE_SECONDS = 10.0
"""How long the end of a computation is waited for."""

RequestKey = tuple[bytes, bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """When a worker acts."""

    confirmations: int = DEFAULT_CONFIRMATIONS
    """Blocks on top of a request's before it is answered."""

    turn_seconds: int = DEFAULT_TURN_SECONDS
    """Seconds of the chain's time after which the next worker may answer."""

    poll_seconds: float = DEFAULT_POLL_SECONDS
    first_block: int | None = None
    is_watching: bool = False
    """Whether it computes others' proposals again and challenges those that differ."""

    fees: FeeSettings = field(default_factory=FeeSettings)


def check_start(client: OracleClient, address: bytes, *, is_arbiter: bool = False) -> StoreIdentity:
    """Check that a worker can start; return what its store belongs to.

    Raises: ConfigError: no oracle, not registered, or no balance.
    """
    client.require_oracle()
    name = "0x" + address.hex()
    terms = client.read_terms()
    is_arbiter = terms is not None and terms.arbiter == address
    if address not in client.read_workers() and not is_arbiter:
        raise ConfigError(
            f"worker {name}: not registered at oracle 0x{client.address.hex()}; its owner "
            "registers it with setWorker(address,bool)"
        )
    if client.read_balance(address) == 0:
        raise ConfigError(
            f"worker {name}: has no balance on the chain of {client.remote.host} to pay for gas; "
            "send it some"
        )
    return StoreIdentity(
        chain_id=client.read_chain_id(),
        genesis_hash=client.read_genesis_hash(),
        oracle=client.address,
        worker=address,
    )


@dataclass(frozen=True, slots=True)
class _Computation:
    """How a computation ended: with an answer or with an error."""

    key: RequestKey
    computed: ComputedAnswer | None
    error: Exception | None


class _ComputingThread:
    """Computes one answer at a time, in a thread of its own."""

    def __init__(self, computer: AnswerComputer, wake: threading.Event) -> None:
        self._computer, self._wake = computer, wake
        self._waiting: SimpleQueue[tuple[RequestKey, AgentRequest] | None] = SimpleQueue()
        self._done: SimpleQueue[_Computation] = SimpleQueue()
        self.busy_with: RequestKey | None = None
        with thread_stack_size(STACK_BYTES):
            self._thread = threading.Thread(target=self._run, name="computing", daemon=True)
            self._thread.start()

    def start(self, key: RequestKey, request: AgentRequest) -> None:
        """Begin to compute an answer. Only if none is being computed."""
        self.busy_with = key
        self._waiting.put((key, request))

    def take(self) -> _Computation | None:
        """Return the computation that ended; None if none has."""
        try:
            done = self._done.get_nowait()
        except Empty:
            return None
        self.busy_with = None
        return done

    def close(self) -> bool:
        """End the thread; return whether it ended in time."""
        self._waiting.put(None)
        self._thread.join(CLOSE_SECONDS)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while (entry := self._waiting.get()) is not None:
            key, request = entry
            try:
                done = _Computation(key, self._computer.compute(request), None)
            except Exception as error:  # noqa: BLE001 - handed to the loop, which tries again
                done = _Computation(key, None, error)
            self._done.put(done)
            self._wake.set()


class _BackOff:
    """When something that failed is tried again; each time after twice as long."""

    def __init__(self) -> None:
        self._failures: dict[object, tuple[int, float]] = {}

    def postpone(self, key: object) -> float:
        """Note a failure; return the seconds until the next try."""
        count, _ = self._failures.get(key, (0, 0.0))
        delay = min(FIRST_DELAY_SECONDS * 2.0 ** min(count, 16), MAX_DELAY_SECONDS)
        self._failures[key] = (count + 1, monotonic() + delay)
        return delay

    def is_due(self, key: object) -> bool:
        """Return whether a try may be made."""
        return monotonic() >= self._failures.get(key, (0, 0.0))[1]

    def clear(self, key: object) -> bool:
        """Note a success; return whether there was a failure before."""
        return self._failures.pop(key, None) is not None


class OracleWorker:
    """Answers the requests of one oracle with one key."""

    def __init__(  # noqa: PLR0913 - keyword arguments
        self,
        client: OracleClient,
        store: WorkerStore,
        key: PrivateKey,
        computer: AnswerComputer,
        *,
        chain_id: int,
        log: WorkerLog,
        settings: WorkerSettings | None = None,
    ) -> None:
        """Input: the oracle on a node; an open store; the worker's key; who computes; its chain.

        The caller closes client, store and computer.
        """
        self._client, self._store, self._key = client, store, key
        self._chain_id, self._log = chain_id, log
        self._settings = settings or WorkerSettings()
        self.address = bytes(key.public_key.to_canonical_address())
        self.transactions = TransactionManager(
            client, store, key, chain_id=chain_id, log=log, settings=self._settings.fees
        )
        self._requests = RequestLog(client, store, log, first_block=self._settings.first_block)
        self._wake, self._stop = threading.Event(), threading.Event()
        self._computing = _ComputingThread(computer, self._wake)
        self._back_off = _BackOff()
        self._terms: ChallengeTerms | None = None
        self._has_terms = False
        self._is_registered = True
        self.head: Block | None = None
        self.open_count = 0

    # -- the loop -- #

    def run(self) -> bool:
        """Work until `stop` is called; return whether no computation was cut off."""
        while not self._stop.is_set():
            delay = self._settings.poll_seconds
            try:
                self.work()
            except (RemoteFault, RemoteError) as error:
                delay = self._back_off.postpone("node")
                self._log.write("unreachable", message=str(error), delay=delay)
            else:
                if self._back_off.clear("node"):
                    self._log.write("reachable")
            self._wake.wait(delay)
            if not self._stop.is_set():
                self._wake.clear()
        return self._computing.close()

    def stop(self) -> None:
        """End the loop. For signal handlers and other threads."""
        self._stop.set()
        self._wake.set()

    def wake(self) -> None:
        """Let the loop look at the chain now."""
        self._wake.set()

    def work(self) -> None:
        """Look at the chain once, and do what is to be done.

        Raises: RemoteFault, RemoteError: the node does not answer.
        """
        self._collect()
        head = self._requests.update()
        if head is None:
            return
        self.head = head
        for slot in self.transactions.watch(head):
            if slot.key is not None and not slot.succeeded:
                self._back_off.postpone(slot.key)
        role = self._read_role()
        slots = self._store.list_slots()
        situations = self._read_situations(head, role, slots)
        self.transactions.push(head, lambda slot: self._is_wanted(slot, situations, role))
        slots = self._store.list_slots()
        busy = {slot.key for slot in slots if not slot.is_mined}
        failures = Counter(slot.key for slot in slots if slot.succeeded is False)
        busy |= {key for key, count in failures.items() if count >= MAX_REVERTS}
        for key, (stored, situation) in situations.items():
            if self._stop.is_set():
                return
            if key not in busy:
                self._act(stored, situation, role, head)

    # -- what the chain says -- #

    def _read_role(self) -> Role:
        if not self._has_terms:
            self._terms, self._has_terms = self._client.read_terms(), True
        workers = self._client.read_workers()
        is_registered = self.address in workers
        if self._is_registered and not is_registered:
            self._log.write("not_registered", worker=self.address)
        self._is_registered = is_registered
        return Role(
            address=self.address,
            workers=workers,
            turn_seconds=self._settings.turn_seconds,
            is_watching=self._settings.is_watching,
            arbiter=None if self._terms is None else self._terms.arbiter,
        )

    def _read_situations(
        self, head: Block, role: Role, slots: list[Slot]
    ) -> Mapping[RequestKey, tuple[StoredRequest, Situation]]:
        """Return the confirmed requests that are not settled, in the chain's order."""
        newest = head.number - self._settings.confirmations
        stored = [
            each
            for each in self._store.list_requests()
            if not each.is_removed
            and each.settled_at is None
            and each.request.commitment.block_number <= newest
        ]
        commitments = [each.request.commitment for each in stored]
        # Not "latest": what ends after the head that was read would not be seen to be taken back.
        states = self._client.read_states(
            commitments, has_proposals=role.arbiter is not None, block=head.number
        )
        answered = {slot.key for slot in slots if slot.kind == "answer" and slot.succeeded}
        situations, settled = {}, []
        for each, state in zip(stored, states, strict=True):
            commitment = each.request.commitment
            situation = Situation(
                request_id=commitment.request_id,
                commitment_hash=hash_commitment(commitment),
                deadline=commitment.deadline,
                requested_at=each.timestamp,
                state=state,
                computed_hash=None if each.computed is None else hash_answer(each.computed.answer),
                was_rejected=each.key in answered,
                now=head.timestamp,
            )
            if decide(situation, role) is Action.DONE:
                settled.append(each)
                self._log.write(
                    "settled", request=each.key, outcome=state.outcome, worker=state.worker
                )
            else:
                situations[each.key] = (each, situation)
        if settled:
            self._store.set_settled([each.key for each in settled], head.number)
            for each in settled:
                self._back_off.clear(each.key)
        self.open_count = len(situations)
        return situations

    def _is_wanted(
        self,
        slot: Slot,
        situations: Mapping[RequestKey, tuple[StoredRequest, Situation]],
        role: Role,
    ) -> bool:
        """Return whether a transaction that is not mined still has its purpose."""
        if slot.key is None or slot.key not in situations:
            return False
        _, situation = situations[slot.key]
        return ACTIONS.get(decide(situation, role)) == slot.kind

    # -- actions -- #

    def _act(self, stored: StoredRequest, situation: Situation, role: Role, head: Block) -> None:
        action = decide(situation, role)
        if not self._back_off.is_due(stored.key):
            return
        if action is Action.COMPUTE:
            if self._computing.busy_with is None and self._is_there(stored, situation):
                self._log.write("computing", request=stored.key)
                self._computing.start(stored.key, stored.request)
        elif action in ACTIONS and self.transactions.has_room and self._is_there(stored, situation):
            self._send(stored, situation, action, head)

    def _is_there(self, stored: StoredRequest, situation: Situation) -> bool:
        """Return whether the request is still on the chain, and waits if it did."""
        if situation.state.proposal is None:
            return self._client.is_waiting(stored.request)
        block = self._client.find_blocks([stored.request.commitment.block_number])[0]
        return block is not None and block.hash == stored.request.block_hash

    def _collect(self) -> None:
        """Store the answer that was computed."""
        done = self._computing.take()
        if done is None:
            return
        if done.computed is not None:
            self._store.set_answer(done.key, done.computed)
            self._back_off.clear(done.key)
            self._log.write("computed", request=done.key, refused=done.computed.answer.refused)
            return
        delay = self._back_off.postpone(done.key)
        if not isinstance(done.error, RequestBlockGoneError):
            self._log.write("fault", request=done.key, message=str(done.error), delay=delay)

    def _send(
        self, stored: StoredRequest, situation: Situation, action: Action, head: Block
    ) -> None:
        value, data = self._encode(stored, situation, action)
        try:
            least = self._client.estimate_gas(self.address, self._client.address, data, value)
        except RemoteError as error:
            reason = read_refusal(error)
            delay = self._back_off.postpone(stored.key)
            self._log.write(
                "rejected",
                request=stored.key,
                action=ACTIONS[action],
                reason=reason or error.message,
                delay=delay,
            )
            return
        planned = PlannedTransaction(
            kind=ACTIONS[action],
            key=stored.key,
            to=self._client.address,
            data=data,
            value=value,
            gas=add_gas_margin(least, head),
        )
        self.transactions.send(planned, head, is_wanted=lambda: self._is_there(stored, situation))

    def _encode(
        self, stored: StoredRequest, situation: Situation, action: Action
    ) -> tuple[int, bytes]:
        """Return the value and the calldata of an action's transaction."""
        request, computed = stored.request, stored.computed
        commitment, proposal = request.commitment, situation.state.proposal
        proposal_id = bytes(32) if proposal is None else proposal.proposal_id
        encode_call = self._client.encode
        match action:
            case Action.EXPIRE:
                return 0, encode_expire(commitment)
            case Action.FINALIZE:
                return 0, encode_finalize(commitment)
            case Action.END_UNRULED:
                return 0, encode_call("endUnruled", commitment.request_id)
            case Action.CHALLENGE if self._terms is not None:
                call = encode_call("challenge", commitment.request_id, proposal_id)
                return self._terms.bond, call
            case Action.RULE if computed is not None:
                found = hash_answer(computed.answer)
                return 0, encode_call("rule", commitment.request_id, proposal_id, found)
            case Action.ANSWER if computed is not None:
                answer, evidence = computed.answer, computed.evidence
                signature = sign_evidence(self._key, self._chain_id, request, answer, evidence)
                return 0, encode_answer(commitment, answer, evidence, signature)
            case _:
                raise AssertionError(action)  # `decide` returns these with an answer alone.


ACTIONS = {
    Action.ANSWER: "answer",
    Action.EXPIRE: "expire",
    Action.CHALLENGE: "challenge",
    Action.FINALIZE: "finalize",
    Action.RULE: "rule",
    Action.END_UNRULED: "end unruled",
}
"""The actions that are transactions, and what the store calls these."""


def hash_answer(answer: Answer) -> bytes:
    """Return `hashAnswer` of `IChallengeableOracle`."""
    return bytes(keccak(encode(["bool", "bytes"], [answer.refused, answer.output])))
