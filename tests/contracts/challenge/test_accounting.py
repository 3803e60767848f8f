"""Random sequences of everything that moves wei: none is created, lost or stuck."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from hypothesis import HealthCheck, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from tests.contracts.callback.oracle_bench import OTHER_WORKER, WORKER, Order
from tests.contracts.challenge.challenge_bench import (
    ARBITER,
    ARBITRATION,
    BOND,
    CHALLENGED,
    CHALLENGER,
    HALF,
    LATE_CHALLENGER,
    OPEN,
    UPHELD,
    WINDOW,
    ChallengeBench,
    hash_answer,
)
from tests.contracts.plain_evm import OWNER, STRANGER, Account, RevertedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.contracts.callback.oracle_bench import Request
    from tests.contracts.plain_evm import Contract
    from tests.samples import Sample

RIGHT, WRONG = b"the output", b"a lie"
CALLBACK_GAS = 100_000
WORKERS = (WORKER, OTHER_WORKER)
CHALLENGERS = (CHALLENGER, LATE_CHALLENGER)
PEOPLE = (*WORKERS, *CHALLENGERS, ARBITER, OWNER)
WAITING, DONE = 10, 11
"""States of a request beside those of a proposal."""

places = st.integers(0, 31)
flags = st.booleans()


@dataclass
class Tracked:
    """What the model knows of a request."""

    request: Request
    status: int = WAITING
    worker: Account = WORKER
    output: bytes = RIGHT
    proposal_id: bytes = bytes(32)
    until: int = 0
    challenger: Account = CHALLENGER
    proposed: set[tuple[str, bytes]] = field(default_factory=set)
    delivered: bool = False


@dataclass
class TrackedBudget:
    """What the model knows of a budget."""

    balance: int
    fee: int
    released: bool = False


class ChallengeMachine(RuleBasedStateMachine):
    """The oracle pays exactly what a ledger in Python says, and refuses what that refuses."""

    counts: ClassVar[Counter[str]] = Counter()

    @initialize()
    def begin(self) -> None:
        self.bench = ChallengeBench()
        self.client: Contract = self.bench.client()
        self.fee = self.bench.fee(CALLBACK_GAS)
        self.claimable: Counter[str] = Counter()
        self.stakes = Counter({one.address: 2 * BOND for one in WORKERS})
        self.budgets: dict[int, TrackedBudget] = {}
        self.requests: list[Tracked] = []
        self.old: list[tuple[Tracked, bytes]] = []
        self.workers = {one.address for one in WORKERS}
        self.client_fails = False
        self.counts["sequences"] += 1
        for steps in (1, 2, 3):
            self.request(steps, timeout=3_000, extra=0)

    # ---- Steps of the model

    def attempt(self, name: str, call: Callable[[], Any], *, allowed: bool) -> bool:
        """Make a call; it must succeed or fail as the model says."""
        failure: object = None
        try:
            call()
        except RevertedError as error:
            failure = error.error
        assert (failure is None) == allowed, (name, failure)
        self.counts[name if allowed else "refused"] += 1
        return allowed

    def pick(self, place: int, *statuses: int) -> Tracked:
        """Return a request: one in four of all, the others with one of the statuses if any has."""
        fitting = [one for one in self.requests if one.status in statuses]
        among = fitting if fitting and place % 4 else self.requests
        return among[place // 4 % len(among)]

    def credit(self, account: Account, amount: int) -> None:
        self.claimable[account.address] += amount

    def reopen(self, one: Tracked) -> None:
        self.old.append((one, one.proposal_id))
        one.status, one.proposal_id = WAITING, bytes(32)

    # ---- Requests

    @rule(steps=st.integers(1, 3), timeout=st.sampled_from([60, 3_000]), extra=st.integers(0, 5))
    def request(self, steps: int, timeout: int, extra: int) -> None:
        order = Order(
            payer=OWNER.address,
            steps=steps,
            callback_gas_limit=CALLBACK_GAS,
            timeout=timeout,
            lifetime=timeout,
        )
        value = steps * self.fee + extra
        request = self.bench.request(self.client, order, value_wei=value)
        self.budgets[request.budget_id] = TrackedBudget(value - self.fee, self.fee)
        self.requests.append(Tracked(request))
        self.counts["request"] += 1

    @rule(place=places)
    def request_again(self, place: int) -> None:
        one = self.pick(place)
        budget = self.budgets[one.request.budget_id]
        order = Order(budget_id=one.request.budget_id, timeout=500)

        def call() -> None:
            self.requests.append(Tracked(self.bench.request(self.client, order)))

        allowed = not budget.released and budget.balance >= budget.fee
        if self.attempt("request again", call, allowed=allowed):
            budget.balance -= budget.fee

    @rule(place=places)
    def release(self, place: int) -> None:
        one = self.pick(place)
        budget = self.budgets[one.request.budget_id]
        data = self.bench.oracle.artifact.encode_call("release", one.request.budget_id)
        if self.attempt(
            "release", lambda: self.client("callOracle", data), allowed=not budget.released
        ):
            self.credit(OWNER, budget.balance)
            budget.balance, budget.released = 0, True

    @rule(place=places)
    def expire(self, place: int) -> None:
        one = self.pick(place, WAITING)
        allowed = one.status == WAITING and self.bench.now > one.request.deadline
        call = lambda: self.bench.oracle("expire", one.request.encoded())  # noqa: E731 - a call, made by `attempt`
        if self.attempt("expire", call, allowed=allowed):
            one.status, one.delivered = DONE, not self.client_fails
            budget = self.budgets[one.request.budget_id]
            if budget.released:
                self.credit(OWNER, one.request.fee)
            else:
                budget.balance += one.request.fee

    # ---- Answers

    @rule(place=places, which=st.integers(0, 1), right=flags, himself=flags)
    def propose(self, place: int, which: int, right: bool, himself: bool) -> None:
        one = self.pick(place, WAITING)
        worker, output = WORKERS[which], RIGHT if right else WRONG
        answer = self.bench.sign(one.request, output, worker=worker)
        allowed = (
            one.status == WAITING
            and self.bench.now <= one.request.deadline
            and worker.address in self.workers
            and (himself or (worker.address, output) not in one.proposed)
            and self.stakes[worker.address] >= BOND
        )
        sender = worker if himself else STRANGER
        if self.attempt("propose", lambda: self.bench.send(answer, sender=sender), allowed=allowed):
            self.stakes[worker.address] -= BOND
            one.proposed.add((worker.address, output))
            one.status, one.worker, one.output = OPEN, worker, output
            one.proposal_id = self.bench.proposal(one.request).proposal_id
            one.until = self.bench.now + WINDOW

    @rule(place=places, which=st.integers(0, 1), stale=flags)
    def challenge(self, place: int, which: int, stale: bool) -> None:
        one = self.pick(place, OPEN)
        proposal_id = one.proposal_id
        if stale and self.old:
            one, proposal_id = self.old[place % len(self.old)]
        challenger = CHALLENGERS[which]
        allowed = (
            proposal_id == one.proposal_id and one.status == OPEN and self.bench.now <= one.until
        )
        ids = (one.request.request_id, proposal_id)
        if self.attempt(
            "challenge",
            lambda: self.bench.oracle("challenge", *ids, sender=challenger, value_wei=BOND),
            allowed=allowed,
        ):
            one.status, one.challenger = CHALLENGED, challenger
            one.until = self.bench.now + ARBITRATION

    @rule(place=places, stale=flags, honest=flags)
    def rule_on(self, place: int, stale: bool, honest: bool) -> None:
        one = self.pick(place, CHALLENGED)
        proposal_id = one.proposal_id
        if stale and self.old:
            one, proposal_id = self.old[place % len(self.old)]
        allowed = (
            proposal_id == one.proposal_id
            and one.status == CHALLENGED
            and self.bench.now <= one.until
        )
        said = RIGHT if honest else WRONG
        ids = (one.request.request_id, proposal_id, hash_answer(said))
        if not self.attempt(
            "rule", lambda: self.bench.oracle("rule", *ids, sender=ARBITER), allowed=allowed
        ):
            return
        self.credit(ARBITER, BOND - HALF)
        if one.output == said:
            one.status = UPHELD
            self.credit(one.worker, HALF)
        else:
            self.credit(one.challenger, BOND + HALF)
            self.reopen(one)

    @rule(place=places)
    def end_unruled(self, place: int) -> None:
        one = self.pick(place, CHALLENGED)
        allowed = one.status == CHALLENGED and self.bench.now > one.until
        call = lambda: self.bench.oracle("endUnruled", one.request.request_id)  # noqa: E731 - a call, made by `attempt`
        if self.attempt("end unruled", call, allowed=allowed):
            self.stakes[one.worker.address] += BOND
            self.credit(one.challenger, BOND)
            self.reopen(one)

    @rule(place=places, which=st.integers(0, 1), right=flags, honest=flags, ruled=flags)
    def dispute(self, place: int, which: int, right: bool, honest: bool, ruled: bool) -> None:
        """Propose, challenge and perhaps rule at once; single rules seldom meet."""
        self.propose(place, which, right, himself=True)
        self.challenge(place, which, stale=False)
        if ruled:
            self.rule_on(place, stale=False, honest=honest)

    @rule(place=places)
    def finalize(self, place: int) -> None:
        one = self.pick(place, OPEN, UPHELD)
        ended = one.status == OPEN and self.bench.now > one.until
        allowed = ended or one.status == UPHELD
        if self.attempt("finalize", lambda: self.bench.finalize(one.request), allowed=allowed):
            self.stakes[one.worker.address] += BOND
            self.credit(one.worker, one.request.fee)
            one.status, one.delivered = DONE, not self.client_fails

    @rule(place=places)
    def retry(self, place: int) -> None:
        one = self.pick(place, DONE)
        allowed = one.status == DONE and not one.delivered
        call = lambda: self.bench.oracle("retry", one.request.request_id)  # noqa: E731 - a call, made by `attempt`
        if self.attempt("retry", call, allowed=allowed):
            one.delivered = not self.client_fails

    # ---- Accounts

    @rule(which=st.integers(0, 2), amount=st.sampled_from([1, HALF, BOND, 3 * BOND]))
    def stake(self, which: int, amount: int) -> None:
        who = (*WORKERS, CHALLENGER)[which]
        self.bench.oracle("stake", sender=who, value_wei=amount)
        self.stakes[who.address] += amount
        self.counts["stake"] += 1

    @rule(which=st.integers(0, 2), amount=st.sampled_from([1, HALF, BOND, 3 * BOND]))
    def unstake(self, which: int, amount: int) -> None:
        who = (*WORKERS, CHALLENGER)[which]
        allowed = self.stakes[who.address] >= amount
        if self.attempt(
            "unstake", lambda: self.bench.oracle("unstake", amount, sender=who), allowed=allowed
        ):
            self.stakes[who.address] -= amount
            self.credit(who, amount)

    @rule(which=st.integers(0, len(PEOPLE) - 1))
    def withdraw(self, which: int) -> None:
        who = PEOPLE[which]
        held = self.bench.balance(self.bench.oracle.address)
        amount = self.claimable[who.address]
        call = lambda: self.bench.oracle("withdraw", who.address, sender=who)  # noqa: E731 - a call, made by `attempt`
        if self.attempt("withdraw", call, allowed=amount > 0):
            self.claimable[who.address] = 0
            assert held - self.bench.balance(self.bench.oracle.address) == amount

    @rule(which=st.integers(0, 1), registered=flags)
    def set_worker(self, which: int, registered: bool) -> None:
        address = WORKERS[which].address
        self.bench.oracle("setWorker", address, registered)
        (self.workers.add if registered else self.workers.discard)(address)

    @rule(fails=flags)
    def set_client(self, fails: bool) -> None:
        self.client("behave", int(fails), 0)
        self.client_fails = fails

    @rule(seconds=st.sampled_from([1, 30, WINDOW, WINDOW + 1, ARBITRATION + 1]))
    def wait(self, seconds: int) -> None:
        self.bench.pass_time(seconds, blocks=1)

    # ---- What holds

    @invariant()
    def every_wei_belongs_to_somebody(self) -> None:
        held = sum(self.claimable.values()) + sum(self.stakes.values())
        held += sum(budget.balance for budget in self.budgets.values())
        for one in self.requests:
            held += one.request.fee if one.status != DONE else 0
            held += BOND if one.status in {OPEN, CHALLENGED, UPHELD} else 0
            held += BOND if one.status == CHALLENGED else 0
        assert self.bench.balance(self.bench.oracle.address) == held

    def teardown(self) -> None:
        """End everything and withdraw all: each gets what the model says, and nothing is left."""
        if not hasattr(self, "bench"):
            return
        for who in PEOPLE:
            assert self.bench.claimable(who) == self.claimable[who.address]
            assert self.bench.free_stake(who) == self.stakes[who.address]
        self.wait(ARBITRATION + 1)
        self.wait(4_000)
        for _ in range(3 * len(self.requests)):  # one of these ends one request a step
            self.end_unruled(1)
            self.finalize(1)
            self.expire(1)
        assert all(one.status == DONE for one in self.requests)
        for place in range(0, 4 * len(self.requests), 4):
            self.release(place)
        for who in PEOPLE:
            free = self.stakes[who.address]
            self.bench.oracle("unstake", free, sender=who)
            self.stakes[who.address] = 0
            self.credit(who, free)
        for which in range(len(PEOPLE)):
            self.withdraw(which)
        assert self.bench.balance(self.bench.oracle.address) == 0


@pytest.mark.sample(count=8, seed=21)
def test_no_wei_is_created_lost_or_stuck(sample: Sample) -> None:
    ChallengeMachine.counts.clear()
    run_state_machine_as_test(
        seed(sample.seed)(ChallengeMachine),
        settings=settings(
            max_examples=sample.count,
            stateful_step_count=40,
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    sample.figures.update(ChallengeMachine.counts)
    assert ChallengeMachine.counts["rule"] > 0
    assert ChallengeMachine.counts["end unruled"] > 0
