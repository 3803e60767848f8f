"""A council's books: random sequences of everything that moves money, ten requests at once.

After each step the oracle holds what it owes, and no request has gone back to an earlier phase. In
the end each request ends by calls of anybody, and all money can be taken out.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, ClassVar

import pytest
from eth_utils import keccak
from hypothesis import HealthCheck, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.contracts.attack_sequences import Checkpoint
from tests.contracts.council.council_bench import (
    AGENTS,
    COMMIT,
    DISPUTE_DRAW,
    DISPUTE_JUDGE,
    DISPUTE_REGISTRATION,
    DISTRIBUTED,
    DRAW,
    JUDGE,
    JUDGES,
    NONE,
    PEOPLE,
    REQUESTER,
    RESOLVED,
    REVEAL,
    WINDOW,
    CouncilBench,
    Question,
    Terms,
    commitment_of,
    header_of,
)
from tests.contracts.plain_evm import STRANGER, ZERO, Account, Contract, RevertedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.samples import Sample

STEPS = 60
ANY = 3
"""Remainder of the places for which any request is picked."""

MOST_AT_ONCE = 10
MOST_CALLS = 10
"""Calls of anybody after which a request must have ended: every phase has at most one."""

INFO_AGENTS = AGENTS[:5]
TERMS = Terms(
    dispute_window=500,
    deterministic=False,
    judge_fee=1_234,
    dispute_bond=15_001,
    disputer_reimbursement=4_999,
    judge_reimbursement=3_333,
)
places = st.integers(0, 63)


class Parties:
    """An oracle, a token and a contract that asks, deployed once for all sequences."""

    def __init__(self) -> None:
        self.bench = bench = CouncilBench(TERMS)
        self.token = bench.evm.deploy("RewardToken", 0, 10**30)
        self.client = bench.evm.deploy("CouncilParticipant")
        self.holders: list[Account | Contract] = [*PEOPLE, self.client]
        self.start = Checkpoint(bench.evm)


@cache
def deployed_parties() -> Parties:
    return Parties()


class CouncilMachine(RuleBasedStateMachine):
    """No money is created, lost or stuck, whatever anybody calls and when."""

    outcomes: ClassVar[Counter[str]] = Counter()

    @initialize()
    def begin(self) -> None:
        self.parties = deployed_parties()
        self.parties.start.restore()
        self.bench = self.parties.bench
        self.oracle = self.bench.oracle
        self.token = self.parties.token
        self.flow = Counter[str]()
        self.credited = Counter[str]()
        self.questions: list[Question] = []
        self.phases: dict[int, int] = {}
        self.outcomes["sequences"] += 1
        for place in range(3):
            self.ask(place, place + 1, 10**18 + place, 10**17 + place)

    # ---- Steps of the machine

    def attempt(
        self, name: str, function: str, *arguments: object, sender: Account, value: int = 0
    ) -> bool:
        """Make a call that the oracle may refuse; count what comes of it."""
        try:
            self.oracle(function, *arguments, sender=sender, value_wei=value)
        except RevertedError as refused:
            if refused.error[0] == "Panic":
                raise  # a refusal has a name
            self.outcomes[f"{name} refused"] += 1
            return False
        self.flow[ZERO] += value
        self.note_credits()
        self.outcomes[name] += 1
        return True

    def note_credits(self) -> None:
        """Count what the last transaction credited, and what it sent unasked."""
        for event in self.oracle.events("Credited"):
            self.credited["0x" + event["token"].to_bytes(20, "big").hex()] += event["amount"]
        for event in self.oracle.events("Withdrawn"):
            token = "0x" + event["token"].to_bytes(20, "big").hex()
            self.credited[token] -= event["amount"]
            self.flow[token] -= event["amount"]

    def pick(self, place: int, *phases: int) -> Question:
        """Return a request: one in four of all, the others in one of the phases if any is."""
        fitting = [one for one in self.questions if self.phases.get(one.request_id) in phases]
        among = fitting if fitting and place % 4 != ANY else self.questions
        return among[place // 4 % len(among)]

    def answer_of(self, question: Question, agent: Account) -> tuple[bytes, int]:
        """Return an agent's answer, which may be no option, and its nonce."""
        nonce = int.from_bytes(
            keccak(bytes([question.request_id]) + agent.address.encode())[:4], "big"
        )
        return b"abcd"[nonce % 4 : nonce % 4 + 1], nonce

    def verdict(self, question: Question, place: int) -> tuple[bytes, list[str]]:
        """Return one of the answers and all who gave it; one time in four without the first."""
        agents, answers = self.oracle("getReveals", question.request_id)
        if not agents:
            return b"a", []
        best = answers[place // 4 % len(answers)]
        winners = [agent for agent, one in zip(agents, answers, strict=True) if one == best]
        return best, winners if place % 4 != ANY else winners[1:]

    # ---- What happens

    @rule(
        place=places,
        agents=st.integers(0, 4),
        reward=st.integers(1, 10**18),
        bond=st.integers(1, 10**17),
    )
    def ask(self, place: int, agents: int, reward: int, bond: int) -> None:
        """Ask in wei or in tokens, discretely or openly, as a person or as a contract."""
        if sum(phase < DISTRIBUTED for phase in self.phases.values()) >= MOST_AT_ONCE:
            return
        token = self.token.address if place % 3 == 0 else ZERO
        specifications = "OPTIONS: a|b|c" if place % 2 else ""
        if token != ZERO:
            self.token("approve", self.oracle.address, reward)
        arguments = ("?", agents + 1, bond, self.bench.now + 500, token, specifications, ((), ()))
        value = reward if token == ZERO else 0
        if place % 5 == 1 and token == ZERO:
            data = self.oracle.artifact.encode_call("createRequest", *arguments)
            self.parties.client("call", self.oracle.address, data, value_wei=value)
            self.flow[ZERO] += value
            self.outcomes["ask"] += 1
        else:
            assert self.attempt("ask", "createRequest", *arguments, sender=REQUESTER, value=value)
        self.flow[token] += reward if token != ZERO else 0
        self.questions.append(Question(self.oracle("requestCount"), token, bond))

    @rule(place=places, who=places, extra=st.sampled_from([0, 0, 0, 0, 1]))
    def commit(self, place: int, who: int, extra: int) -> None:
        self.commit_by(self.pick(place, COMMIT), INFO_AGENTS[who % 5], extra)

    def commit_by(self, question: Question, agent: Account, extra: int = 0) -> None:
        answer, nonce = self.answer_of(question, agent)
        commitment = commitment_of(
            self.oracle.address, question.request_id, agent.address, answer, nonce
        )
        value = question.bond + extra
        self.attempt("commit", "commit", question.request_id, commitment, sender=agent, value=value)

    @rule(place=places, who=places)
    def reveal(self, place: int, who: int) -> None:
        self.reveal_by(self.pick(place, REVEAL), INFO_AGENTS[who % 5])

    def reveal_by(self, question: Question, agent: Account) -> None:
        answer, nonce = self.answer_of(question, agent)
        self.attempt("reveal", "reveal", question.request_id, answer, nonce, sender=agent)

    @rule(place=places, who=places)
    def register(self, place: int, who: int) -> None:
        sender = [*JUDGES, *INFO_AGENTS, REQUESTER][who % 11]
        self.register_by(self.pick(place, COMMIT, REVEAL, DISPUTE_REGISTRATION), sender)

    def register_by(self, question: Question, sender: Account) -> None:
        request_id = question.request_id
        of_dispute = self.phases.get(request_id) == DISPUTE_REGISTRATION
        value = self.oracle("judgeBondOf", request_id, of_dispute)
        self.attempt("register", "registerJudge", request_id, sender=sender, value=value)

    @rule(place=places, who=places)
    def commit_all(self, place: int, who: int) -> None:
        """Fill a council, and let two judges register."""
        question = self.pick(place, COMMIT)
        slots = self.oracle("getRequest", question.request_id)[4]
        for judge in (JUDGES[who % 5], JUDGES[(who + 1) % 5]):
            self.register_by(question, judge)
        for agent in INFO_AGENTS[:slots]:
            self.commit_by(question, agent)

    @rule(place=places, most=st.sampled_from([5, 5, 5, 2]))
    def reveal_all(self, place: int, most: int) -> None:
        question = self.pick(place, REVEAL)
        agents, _ = self.oracle("getCommits", question.request_id)
        for agent in [one for one in INFO_AGENTS if one.address in agents][:most]:
            self.reveal_by(question, agent)

    @rule(place=places, blocks=st.integers(1, 5))
    def select(self, place: int, blocks: int) -> None:
        question = self.pick(place, DRAW, DISPUTE_DRAW)
        block = self.oracle("seedBlockOf", question.request_id)
        self.bench.pass_time(blocks=blocks)
        header = header_of(block)
        self.attempt("select", "selectJudge", question.request_id, header, sender=STRANGER)

    @rule(place=places, best=places)
    def aggregate(self, place: int, best: int) -> None:
        question = self.pick(place, JUDGE)
        answer, winners = self.verdict(question, best)
        arguments = (question.request_id, answer, winners, b"so")
        self.attempt("aggregate", "aggregate", *arguments, sender=self.judge(question, 0))

    @rule(place=places, who=places)
    def dispute(self, place: int, who: int) -> None:
        question = self.pick(place, WINDOW)
        value = self.oracle("disputeBondOf", question.request_id)
        sender = PEOPLE[who % len(PEOPLE)]
        request_id = question.request_id
        self.attempt("dispute", "initiateDispute", request_id, "no", sender=sender, value=value)

    @rule(place=places, best=places, who=places, overturn=st.booleans())
    def decide(self, *, place: int, best: int, who: int, overturn: bool) -> None:
        question = self.pick(place, DISPUTE_JUDGE)
        answer, winners = self.verdict(question, best)
        arguments = (question.request_id, overturn, answer, winners)
        name = "overturn" if overturn else "uphold"
        sender = self.judge(question, who, of_dispute=True)
        self.attempt(name, "resolveDispute", *arguments, sender=sender)

    def judge(self, question: Question, who: int, *, of_dispute: bool = False) -> Account:
        """Return one of the judges that were drawn; a stranger if none was."""
        judges, _ = self.oracle("judgesOf", question.request_id, of_dispute)
        drawn = [one for one in PEOPLE if one.address in judges]
        return drawn[who % len(drawn)] if drawn else STRANGER

    @rule(place=places, value=st.integers(0, 10**18))
    def declare(self, place: int, value: int) -> None:
        request_id = self.pick(place, COMMIT).request_id
        self.attempt("declare", "declareValue", request_id, value, sender=REQUESTER)

    @rule(place=places)
    def pay_directly(self, place: int) -> None:
        request_id = self.pick(place, COMMIT).request_id
        self.attempt("payDirectly", "payDirectly", request_id, sender=REQUESTER)

    @rule(place=places, who=places)
    def release(self, place: int, who: int) -> None:
        request_id = self.pick(place, WINDOW, DISPUTE_JUDGE, RESOLVED, DISTRIBUTED).request_id
        judge = JUDGES[who % 5].address
        self.attempt("release", "releaseJudge", request_id, judge, sender=STRANGER)

    @rule(place=places, seconds=st.sampled_from([0, 1, 300, 600, 901]))
    def advance(self, place: int, seconds: int) -> None:
        self.bench.pass_time(seconds)
        phases = (REVEAL, JUDGE, DISPUTE_REGISTRATION, DISPUTE_JUDGE, COMMIT, DRAW, DISPUTE_DRAW)
        question = self.pick(place, phases[place % len(phases)])
        self.attempt("advance", "advance", question.request_id, sender=STRANGER)

    @rule(place=places, who=places)
    def proceed(self, place: int, who: int) -> None:
        """Do what moves a request on: as its participants do, or in time."""
        question = self.pick(place, *range(COMMIT, DISTRIBUTED))
        phase = self.phases.get(question.request_id, COMMIT)
        place = 4 * self.questions.index(question) + ANY  # picks this one
        steps: dict[int, Callable[[], None]] = {
            COMMIT: lambda: self.commit_all(place, who),
            REVEAL: lambda: self.reveal_all(place, 5),
            DRAW: lambda: self.select(place, 5),
            JUDGE: lambda: self.aggregate(place, who),
            WINDOW: lambda: self.dispute(place, who),
            DISPUTE_REGISTRATION: lambda: self.end_registration(question, who),
            DISPUTE_DRAW: lambda: self.select(place, 5),
            DISPUTE_JUDGE: lambda: self.decide_all(place, who),
            RESOLVED: lambda: self.distribute(place),
        }
        if phase in steps:
            steps[phase]()

    @rule(place=places, who=places)
    def proceed_again(self, place: int, who: int) -> None:
        self.proceed(place, who)

    def decide_all(self, place: int, who: int) -> None:
        """Let the panel decide: mostly one like the other."""
        for judge in range(3 if who % 8 else 2):
            overturn = who % 2 == 0 and (judge < 2 or who % 3 > 0)
            self.decide(place=place, best=who // 4 * 4, who=judge, overturn=overturn)

    def end_registration(self, question: Question, who: int) -> None:
        for judge in range(5 if who % 5 else 2):
            self.register_by(question, JUDGES[(who + judge) % 5])
        self.bench.pass_phase(question)
        self.attempt("advance", "advance", question.request_id, sender=STRANGER)

    @rule(place=places)
    def distribute(self, place: int) -> None:
        question = self.pick(place, RESOLVED)
        self.attempt("distribute", "distributeRewards", question.request_id, sender=STRANGER)

    @rule(place=places, behaviour=st.integers(0, 4))
    def call_back(self, place: int, behaviour: int) -> None:
        question = self.pick(place, DISTRIBUTED)
        again = self.oracle.artifact.encode_call("withdraw", ZERO, self.parties.client.address)
        self.parties.client("behave", behaviour, self.oracle.address, again, 2)
        requester = self.oracle("getRequest", question.request_id)[0]
        self.attempt("callback", "callback", requester, question.request_id, sender=STRANGER)

    @rule(who=places, of_token=st.booleans())
    def withdraw(self, *, who: int, of_token: bool) -> None:
        holder = self.parties.holders[who % len(self.parties.holders)]
        self.take(holder, self.token.address if of_token else ZERO)

    def take(self, holder: Account | Contract, token: str) -> None:
        """Withdraw what a holder may, as it must be able to."""
        amount = self.oracle("claimable", token, holder.address)
        if not amount:
            return
        if isinstance(holder, Contract):
            data = self.oracle.artifact.encode_call("withdraw", token, STRANGER.address)
            holder("call", self.oracle.address, data)
            self.note_credits()
        elif amount % 2:
            assert self.attempt("withdraw", "withdraw", token, STRANGER.address, sender=holder)
        else:
            assert self.attempt("push", "withdrawFor", token, holder.address, sender=STRANGER)

    # ---- What always holds

    def note_phases(self) -> None:
        """Read the phases of requests that have not ended; none goes back."""
        for one in self.questions:
            before = self.phases.get(one.request_id, NONE)
            if before < DISTRIBUTED:
                phase = self.bench.phase(one)
                assert phase >= before
                self.phases[one.request_id] = phase

    def held(self, token: str) -> int:
        """Return what the oracle has."""
        if token == ZERO:
            return self.bench.held()
        amount: int = self.token("balanceOf", self.oracle.address)
        return amount

    @precondition(lambda self: self.questions)
    @invariant()
    def the_oracle_holds_what_it_owes(self) -> None:
        self.note_phases()
        escrows = [self.oracle("escrowOf", one.request_id) for one in self.questions]
        for place, token in enumerate((ZERO, self.token.address)):
            owed = self.credited[token] + sum(escrow[place] for escrow in escrows)
            assert self.held(token) == owed == self.flow[token]

    def teardown(self) -> None:
        if not hasattr(self, "questions"):
            return
        for question in self.questions:
            self.end(question)
            self.release_bonds(question)
        assert all(self.bench.phase(one) >= DISTRIBUTED for one in self.questions)
        for token in (ZERO, self.token.address):
            for holder in self.parties.holders:
                self.parties.client("behave", 0, ZERO, b"", 0)
                self.take(holder, token)
            assert self.held(token) == 0

    def release_bonds(self, question: Question) -> None:
        for judge in (*JUDGES, *INFO_AGENTS, REQUESTER):
            self.attempt(
                "release", "releaseJudge", question.request_id, judge.address, sender=STRANGER
            )

    def end(self, question: Question) -> None:
        """End a request by calls of anybody after its timeouts."""
        for _ in range(MOST_CALLS):
            if self.bench.phase(question) >= DISTRIBUTED:
                return
            self.bench.pass_phase(question)
            if self.bench.phase(question) == RESOLVED:
                self.bench.distribute(question)
            elif self.bench.oracle("phaseOf", question.request_id)[1] < self.bench.now:
                self.oracle("advance", question.request_id, sender=STRANGER)
        assert self.bench.phase(question) >= DISTRIBUTED


@pytest.mark.slow
@pytest.mark.sample(count=6, seed=27)
def test_no_money_is_created_lost_or_stuck(sample: Sample) -> None:
    CouncilMachine.outcomes.clear()
    run: Callable[..., None] = seed(sample.seed)(run_state_machine_as_test)
    run(
        CouncilMachine,
        settings=settings(
            max_examples=sample.count,
            stateful_step_count=STEPS,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    calls = sum(CouncilMachine.outcomes.values()) - CouncilMachine.outcomes["sequences"]
    sample.figures.update(sequences=CouncilMachine.outcomes["sequences"], calls=calls)
