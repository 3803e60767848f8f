"""Gangs at random: accounts that work together never end with more than the rules give them.

Two honest agents vote yes as soon as they may, and three judges who were right before uphold. The
gang has a seat, a judge with a score, strangers without one, a hostile contract, a stake in the
market that waits for the answer, and any order and time of its calls: before, between and after
the honest ones, and again where blocks are mined anew. By the rules it is wrong each
time, so whatever it does it ends with what it began with at most, and the honest with no less.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, ClassVar

import pytest
from eth_utils import to_canonical_address
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    rule,
    run_state_machine_as_test,
)

from tests.contracts.attack_sequences import Checkpoint
from tests.contracts.council.council_bench import (
    AGENTS,
    BOND,
    COMMIT,
    DISPUTE_DRAW,
    DISPUTE_JUDGE,
    DISPUTE_REGISTRATION,
    DISPUTER,
    DISTRIBUTED,
    DRAW,
    ETHER,
    JUDGES,
    RESOLVED,
    REVEAL,
    REWARD,
    WINDOW,
    CouncilBench,
    Question,
    Terms,
    header_of,
)
from tests.contracts.plain_evm import STRANGER, ZERO, Account, Contract, RevertedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.samples import Sample

HONEST_AGENTS = AGENTS[:2]
HONEST_JUDGES = JUDGES[:3]
GANG_JUDGE = JUDGES[3]
GANG = [*AGENTS[2:], *JUDGES[3:], DISPUTER]
HONEST = [*HONEST_AGENTS, *HONEST_JUDGES]
TERMS = Terms(dispute_window=500, deterministic=False)
STEPS = 30
MOST_REQUESTS = 4
MOST_CALLS = 12
FEES = ETHER // 4
"""More than the gas of a sequence's transactions costs, in wei."""

HONEST_STAKE, GANG_STAKE = 5 * ETHER, ETHER
LONGEST_WAIT = 250
"""Less than any phase has, in seconds."""

WHEN = [0, 0, 1, 301, 501, 601, 901]
places = st.integers(0, 63)


class Parties:
    """A council and a hostile contract, deployed once for all sequences."""

    def __init__(self) -> None:
        self.bench = bench = CouncilBench(TERMS)
        self.hostile = bench.evm.deploy("CouncilParticipant")
        scores = bench.evm.at("KnownScores", bench.reputation)
        scores("setScores", [one.address for one in GANG if one is not GANG_JUDGE], 0)
        bench.evm.vm.state.set_balance(to_canonical_address(self.hostile.address), 100 * ETHER)
        self.start = Checkpoint(bench.evm)


@cache
def deployed_parties() -> Parties:
    return Parties()


class GangMachine(RuleBasedStateMachine):
    """What a gang calls, in any order; the honest answer at once."""

    sequences: ClassVar[int] = 0

    @initialize()
    def begin(self) -> None:
        type(self).sequences += 1
        self.parties = deployed_parties()
        self.parties.start.restore()
        self.bench, self.hostile = self.parties.bench, self.parties.hostile
        self.oracle = self.bench.oracle
        self.questions: list[Question] = []
        self.markets: list[Contract] = []
        self.answers: dict[int, tuple[Account, bytes, int]] = {}
        self.between: list[Callable[[], None]] = []
        self.is_reversed = self.is_alone = False
        self.before = self.wealth(self.gang)
        self.honest_before = self.wealth(self.addresses(HONEST))

    # ---- Who has what

    @property
    def gang(self) -> list[str]:
        return [*self.addresses(GANG), self.hostile.address]

    def addresses(self, accounts: list[Account]) -> list[str]:
        return [one.address for one in accounts]

    def wealth(self, addresses: list[str]) -> int:
        """Return the wei of accounts, with what they may withdraw."""
        return sum(self.bench.balance(one) + self.bench.claimable(one) for one in addresses)

    # ---- Calls

    def attempt(self, name: str, *arguments: object, sender: Account, value: int = 0) -> bool:
        try:
            self.oracle(name, *arguments, sender=sender, value_wei=value)
        except RevertedError as refused:
            if refused.error[0] == "Panic":
                raise  # a refusal has a name
            return False
        return True

    def in_order(self, honest: list[Account]) -> Iterator[Account]:
        """Yield honest accounts in the block's order; the gang may call after the first."""
        for one in honest[::-1] if self.is_reversed else honest:
            yield one
            if self.between:
                self.between.pop()()

    def pick(self, place: int) -> Question:
        return self.questions[place % len(self.questions)]

    def rejoin(self) -> None:
        """Let the honest do at once what they may, unless the gang's call is between theirs."""
        if self.is_alone:
            return
        steps: dict[int, Callable[[Question], None]] = {
            COMMIT: self.commit_yes,
            REVEAL: self.reveal_yes,
            DISPUTE_REGISTRATION: self.register_honest,
            DRAW: self.draw,
            DISPUTE_DRAW: self.draw,
            DISPUTE_JUDGE: self.uphold,
        }
        for question in self.questions:
            before = -1
            while before != (phase := self.bench.phase(question)) and phase in steps:
                before = phase
                steps[phase](question)

    def wait(self, seconds: int) -> None:
        """Let time pass in steps in which the honest miss nothing."""
        for done in range(0, seconds, LONGEST_WAIT):
            self.bench.pass_time(min(LONGEST_WAIT, seconds - done))
            self.rejoin()

    def commit_yes(self, question: Question) -> None:
        seated, _ = self.oracle("getCommits", question.request_id)
        for agent in self.in_order(HONEST_AGENTS):
            if agent.address not in seated:
                self.bench.commit(question, agent, b"yes")

    def reveal_yes(self, question: Question) -> None:
        shown, _ = self.oracle("getReveals", question.request_id)
        for agent in self.in_order(HONEST_AGENTS):
            if agent.address not in shown and agent.address in question.nonces:
                self.bench.reveal(question, agent, b"yes")

    def register_honest(self, question: Question) -> None:
        bond = self.oracle("judgeBondOf", question.request_id, True)  # noqa: FBT003
        for judge in self.in_order(HONEST_JUDGES):
            self.attempt("registerJudge", question.request_id, sender=judge, value=bond)

    def draw(self, question: Question) -> None:
        block = self.oracle("seedBlockOf", question.request_id)
        self.bench.pass_time(1, blocks=max(0, block + 1 - self.bench.block_number))
        header = header_of(block)
        self.attempt("selectJudge", question.request_id, header, sender=STRANGER)

    def uphold(self, question: Question) -> None:
        for judge in self.in_order(HONEST_JUDGES):
            nothing: list[str] = []
            arguments = (question.request_id, False, b"", nothing)
            self.attempt("resolveDispute", *arguments, sender=judge)

    # ---- What the gang does

    @rule(place=places)
    def wait_for_a_question(self, place: int) -> None:
        """Let the requester ask, itself or by a market on which both sides stake."""
        if len(self.questions) >= MOST_REQUESTS:
            return
        if place % 2:
            self.questions.append(self.bench.ask(specifications="OPTIONS: yes|no"))
        else:
            self.open_market()
        self.rejoin()

    def open_market(self) -> None:
        evm = self.bench.evm
        artifact = evm.at("PredictionMarket", ZERO).artifact
        deadline = self.bench.now + 1_000
        arguments = (self.oracle.address, ZERO, "?", 3, BOND, deadline)
        evm.send(None, artifact.encode_creation(*arguments), value_wei=REWARD)
        market = evm.at("PredictionMarket", "0x" + evm.last.msg.storage_address.hex())
        market("stake", True, HONEST_STAKE, sender=HONEST[0], value_wei=HONEST_STAKE)  # noqa: FBT003
        market("stake", False, GANG_STAKE, sender=GANG[0], value_wei=GANG_STAKE)  # noqa: FBT003
        self.markets.append(market)
        self.questions.append(Question(market("requestId")))

    @rule(place=places, who=places, answer=st.sampled_from([b"no", b"no", b"?"]))
    def take_the_seat(self, place: int, who: int, answer: bytes) -> None:
        if not self.questions:
            return
        question, agent = self.pick(place), GANG[who % len(GANG)]
        commitment = self.bench.commitment(question, agent.address, answer, who)
        if self.attempt(
            "commit", question.request_id, commitment, sender=agent, value=question.bond
        ):
            self.answers[question.request_id] = (agent, answer, who)
        self.rejoin()

    @rule(place=places)
    def show_the_answer(self, place: int) -> None:
        if not self.answers:
            return
        request_id = sorted(self.answers)[place % len(self.answers)]
        agent, answer, nonce = self.answers[request_id]
        self.attempt("reveal", request_id, answer, nonce, sender=agent)
        self.rejoin()

    @rule(place=places, who=places)
    def register(self, place: int, who: int) -> None:
        if not self.questions:
            return
        question, judge = self.pick(place), GANG[who % len(GANG)]
        judge = judge if who % 3 else GANG_JUDGE
        of_dispute = self.bench.phase(question) == DISPUTE_REGISTRATION
        value = self.oracle("judgeBondOf", question.request_id, of_dispute)
        self.attempt("registerJudge", question.request_id, sender=judge, value=value)
        self.rejoin()

    @rule(place=places, who=places)
    def dispute(self, place: int, who: int) -> None:
        for question in self.questions[place % 3 :]:
            if self.bench.phase(question) != WINDOW:
                continue
            value = self.oracle("disputeBondOf", question.request_id)
            sender = DISPUTER if who % 3 else GANG[who % len(GANG)]
            self.attempt("initiateDispute", question.request_id, "no", sender=sender, value=value)
            bond = self.oracle("judgeBondOf", question.request_id, True)  # noqa: FBT003
            if who % 2:
                self.attempt("registerJudge", question.request_id, sender=GANG_JUDGE, value=bond)
        self.rejoin()

    @rule(place=places, who=places, overturn=st.sampled_from([True, True, False]))
    def decide(self, *, place: int, who: int, overturn: bool) -> None:
        """Judge, by who was drawn; the winner is who sits for the gang, if anybody does."""
        if not self.questions:
            return
        question = self.pick(place)
        seat = self.answers.get(question.request_id)
        winners = [seat[0].address] if seat else [GANG[who % len(GANG)].address]
        for judge in (GANG_JUDGE, GANG[who % len(GANG)]):
            arguments = (question.request_id, overturn, b"no", winners)
            self.attempt("resolveDispute", *arguments, sender=judge)
            self.attempt("aggregate", question.request_id, b"no", winners, b"so", sender=judge)

    @rule(place=places, seconds=st.sampled_from(WHEN))
    def advance(self, place: int, seconds: int) -> None:
        self.wait(seconds)
        for question in self.questions[place % 3 :]:
            self.attempt("advance", question.request_id, sender=STRANGER)
            seat = self.answers.get(question.request_id)
            if seat and place % 2:  # before anybody else
                arguments = (question.request_id, True, b"no", [seat[0].address])
                self.attempt("resolveDispute", *arguments, sender=GANG_JUDGE)
        self.rejoin()

    @rule(place=places, who=places)
    def meddle(self, place: int, who: int) -> None:
        """Call what anybody may, and what only others may."""
        if not self.questions:
            return
        question, sender = self.pick(place), GANG[who % len(GANG)]
        request_id = question.request_id
        for name, arguments in (
            ("declareValue", (request_id, 1)),
            ("payDirectly", (request_id,)),
            ("releaseJudge", (request_id, GANG_JUDGE.address)),
            ("releaseJudge", (request_id, sender.address)),
            ("withdrawFor", (ZERO, sender.address)),
            ("withdraw", (ZERO, GANG[0].address)),
        ):
            self.attempt(name, *arguments, sender=sender)

    @rule(place=places, behaviour=st.integers(0, 4))
    def ask_for_itself(self, place: int, behaviour: int) -> None:
        """A hostile contract asks; its own accounts answer, and it is paid while it calls back."""
        oracle, encode = self.oracle.address, self.oracle.artifact.encode_call
        number = self.oracle("requestCount") + 1
        arguments = ("?", 1, BOND, self.bench.now + 1, ZERO, "OPTIONS: a|b", ((), ()))
        if not self.attempt("createRequest", *arguments, sender=GANG[1], value=REWARD):
            return
        self.attempt("payDirectly", number, sender=GANG[1])
        again = encode("withdrawFor", ZERO, self.hostile.address)
        commitment = self.bench.commitment(Question(number), self.hostile.address, b"a", place)
        try:
            self.hostile("call", oracle, encode("commit", number, commitment), value_wei=BOND)
            self.before += BOND  # paid by who sent the call
            self.hostile("behave", behaviour, oracle, again, 2)
            self.hostile("call", oracle, encode("reveal", number, b"a", place))
        except RevertedError:
            return
        self.questions.append(Question(number, nonces={"": 0}))

    # ---- What it does with blocks

    @rule(place=places, who=places, move=st.integers(0, 5))
    def call_between(self, place: int, who: int, move: int) -> None:
        """Call between two honest transactions of the next block that has two."""
        self.between = [lambda: self.move(place, who, move)]

    @rule(place=places, who=places, moves=st.tuples(*[st.integers(0, 5)] * 2))
    def mine_anew(self, place: int, who: int, moves: tuple[int, int]) -> None:
        """See what comes of a move and the honest ones, take it all back, and move otherwise."""
        before = Checkpoint(self.bench.evm)
        kept = [replace(one, nonces=dict(one.nonces)) for one in self.questions]
        answers, markets, wealth = dict(self.answers), list(self.markets), self.before
        self.move(place, who, moves[0])
        self.rejoin()
        before.restore()
        self.questions, self.answers, self.markets, self.before = kept, answers, markets, wealth
        self.is_reversed = not self.is_reversed
        self.move(who, place, moves[1])
        self.rejoin()

    def move(self, place: int, who: int, number: int) -> None:
        """Make one of the gang's moves without its honest answers."""
        moves: list[Callable[[], None]] = [
            lambda: self.take_the_seat(place, who, b"no"),
            lambda: self.show_the_answer(place),
            lambda: self.register(place, who),
            lambda: self.dispute(place, who),
            lambda: self.decide(place=place, who=who, overturn=True),
            lambda: self.meddle(place, who),
        ]
        self.is_alone = True
        moves[number]()
        self.is_alone = False

    # ---- The end

    def teardown(self) -> None:
        if not hasattr(self, "questions"):
            return
        self.hostile("behave", 0, ZERO, b"", 0)
        for question in self.questions:
            self.end(question)
            self.bench.release_all(question)
        for market in self.markets:
            for name, one in (("settle", STRANGER), *(("claim", one) for one in (*HONEST, *GANG))):
                with suppress(RevertedError):
                    market(name, sender=one)
            assert self.bench.balance(market.address) == 0
        assert self.wealth(self.gang) <= self.before
        assert self.wealth(self.addresses(HONEST)) >= self.honest_before - FEES

    def end(self, question: Question) -> None:
        for _ in range(MOST_CALLS):
            self.rejoin()
            phase = self.bench.phase(question)
            if phase >= DISTRIBUTED:
                return
            if phase == RESOLVED:
                self.attempt("distributeRewards", question.request_id, sender=STRANGER)
                continue
            _, ends_at = self.oracle("phaseOf", question.request_id)
            self.wait(max(0, ends_at + 1 - self.bench.now))
            if self.bench.phase(question) == phase:
                self.attempt("advance", question.request_id, sender=STRANGER)
        assert self.bench.phase(question) >= DISTRIBUTED


@pytest.mark.slow
@pytest.mark.sample(count=4, seed=31)
def test_a_gang_never_gains(sample: Sample) -> None:
    GangMachine.sequences = 0
    run: Callable[..., None] = seed(sample.seed)(run_state_machine_as_test)
    run(
        GangMachine,
        settings=settings(
            max_examples=sample.count,
            stateful_step_count=STEPS,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )
    sample.figures.update(sequences=GangMachine.sequences)
