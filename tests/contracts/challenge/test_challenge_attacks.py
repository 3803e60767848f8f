"""Attackers of an oracle whose answers can be challenged earn fees of right answers, and no more.

Half of the workers and of the committee is theirs, and whoever else. An honest worker answers,
somebody recomputes each answer in its window, and most of the committee votes for what is right.
The attackers answer, challenge, vote, ask, and order the blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from eth_keys.datatypes import PrivateKey
from eth_utils import to_canonical_address

from tests.contracts.attack_sequences import (
    THIEVES,
    Blocks,
    Call,
    Checkpoint,
    Flaw,
    Gang,
    Transaction,
    is_caught,
    play_sequences,
    with_flaw,
)
from tests.contracts.callback.oracle_bench import (
    ANSWERED,
    OTHER_WORKER,
    TIMEOUT,
    WORKER,
    Order,
    RecordingEvm,
    Request,
    hash_of_block,
)
from tests.contracts.challenge.challenge_bench import (
    BOND,
    CHALLENGED,
    CHALLENGER,
    OPEN,
    WINDOW,
    ChallengeBench,
    Proposal,
    hash_answer,
)
from tests.contracts.plain_evm import STRANGER, Account

if TYPE_CHECKING:
    import random
    from collections import Counter

    from tests.samples import Sample

pytestmark = pytest.mark.slow

STEPS = 12
RIGHT, WRONG = b"right", (b"wrong", b"worse")
MEMBERS = [Account(PrivateKey(bytes([0x80 + n]) * 32)) for n in range(3)]
HONEST_MEMBERS, CORRUPT = MEMBERS[:2], MEMBERS[2]
ETHER = 10**18
MOST_REQUESTS = 5
OFTEN = 0.6
CORRUPT_ACCOUNTS = [*THIEVES, OTHER_WORKER, CORRUPT]
HONEST = [WORKER, CHALLENGER, *HONEST_MEMBERS]
"""Whose wei grow or stay, but for gas."""

GAS_FEES = BOND // 3
"""More than the gas of a sequence's transactions costs one of them, in wei."""


class Parties:
    """An oracle under a committee, and everybody around it."""

    def __init__(self, flaw: Flaw | None = None) -> None:
        evm = RecordingEvm()
        with_flaw(evm, flaw)
        for one in (*MEMBERS, *THIEVES):
            evm.vm.state.set_balance(to_canonical_address(one.address), 10**24)
        self.committee = evm.deploy("CommitteeArbiter", [one.address for one in MEMBERS], 2)
        self.bench = ChallengeBench(evm, arbiter=self.committee.address)
        self.gang = Gang(evm)
        evm.vm.state.set_balance(to_canonical_address(self.gang.lender.address), 10**24)
        self.client = self.bench.client()
        self.start = Checkpoint(evm)


@cache
def deployed() -> Parties:
    return Parties()


@dataclass
class Attack:
    """One sequence."""

    parties: Parties
    chance: random.Random

    def __post_init__(self) -> None:
        self.parties.start.restore()
        self.bench, self.gang = self.parties.bench, self.parties.gang
        self.committee, self.oracle = self.parties.committee, self.bench.oracle
        self.bench.evm.seen.clear()
        self.blocks = Blocks(self.bench.evm, self.chance, hash_of=hash_of_block)
        self.corrupt = [*(one.address for one in CORRUPT_ACCOUNTS), self.gang.contract.address]
        self.corrupt_before = self.wealth(*self.corrupt)
        self.honest_before = {one: self.wealth(one.address) for one in HONEST}

    # ---- What somebody has, in wei

    def view(self, function: str, *arguments: object) -> Any:  # noqa: ANN401 - Solidity's
        return self.blocks.read(self.oracle, function, *arguments)

    def wealth(self, *addresses: str) -> int:
        return sum(
            self.bench.balance(one)
            + self.view("claimable", one)
            + self.view("freeStakeOf", one)
            + self.blocks.read(self.committee, "claimable", one)
            for one in addresses
        )

    # ---- Requests and their proposals

    def requests(self) -> list[Request]:
        return list(self.bench.evm.seen.values())

    def is_waiting(self, request: Request) -> bool:
        return any(self.view("commitmentOf", request.request_id))

    def proposal(self, request: Request) -> Proposal:
        proposal, output = self.view("proposalOf", request.request_id)
        members: tuple[Any, ...] = (*proposal, output)
        return Proposal(*members)

    # ---- The honest

    def be_honest(self) -> None:
        """Answer, challenge, vote and finish, as each may now."""
        for request in self.requests():
            proposal = self.proposal(request)
            if self.is_waiting(request):
                self.answer_or_expire(request)
            elif proposal.status == CHALLENGED:
                self.vote(request, proposal)
            elif proposal.status == OPEN and proposal.answer_hash != hash_answer(RIGHT):
                key = (request.request_id, proposal.proposal_id)
                self.sign(self.of_oracle(CHALLENGER, "challenge", *key, value=BOND))
            elif proposal.status and self.bench.now > proposal.challengeable_until:
                self.sign(self.of_oracle(STRANGER, "finalize", request.encoded()))

    def answer_or_expire(self, request: Request) -> None:
        if self.bench.now > request.deadline:
            self.sign(self.of_oracle(STRANGER, "expire", request.encoded()))
        elif self.view("freeStakeOf", WORKER.address) >= BOND:
            self.sign(self.answer(request, RIGHT, WORKER, WORKER))

    def vote(self, request: Request, proposal: Proposal) -> None:
        key = (self.oracle.address, request.request_id, proposal.proposal_id)
        for member in HONEST_MEMBERS:
            if not self.blocks.read(self.committee, "hasVoted", *key, member.address):
                self.sign(self.of_committee(member, "vote", *key, hash_answer(RIGHT)))

    def sign(self, transaction: Transaction) -> None:
        self.blocks.sign(transaction)

    def answer(
        self, request: Request, output: bytes, worker: Account, sender: Account
    ) -> Transaction:
        signed = self.bench.sign(request, output, worker=worker)
        return self.of_oracle(sender, "answer", *signed.arguments())

    def of_oracle(
        self, sender: Account, function: str, *arguments: object, value: int = 0
    ) -> Transaction:
        return Transaction(
            sender=sender,
            contract=self.oracle,
            function=function,
            arguments=tuple(arguments),
            value_wei=value,
        )

    def of_committee(self, sender: Account, function: str, *arguments: object) -> Transaction:
        return Transaction(
            sender=sender, contract=self.committee, function=function, arguments=tuple(arguments)
        )

    def wait(self, seconds: int) -> None:
        """Let time pass in steps in which the honest miss nothing."""
        for _ in range(0, seconds, WINDOW // 2):
            self.blocks.settle(WINDOW // 2)
            self.be_honest()
            while self.blocks.pool:
                self.blocks.mine()

    # ---- The attackers

    def ask(self) -> list[Transaction]:
        """Let a client ask, or ask oneself."""
        if len(self.requests()) >= MOST_REQUESTS:
            return []
        order = Order(timeout=self.chance.choice([60, TIMEOUT]))
        fee = self.bench.fee(order.callback_gas_limit)
        if self.chance.random() < 0.3:
            who = self.chance.choice(THIEVES)
            return [self.of_oracle(who, "request", order.encoded(), value=fee)]
        data = self.oracle.artifact.encode_call("request", order.encoded())
        self.sign(
            Transaction(
                sender=STRANGER,
                contract=self.parties.client,
                function="callOracle",
                arguments=(data,),
                value_wei=fee,
            )
        )
        return []

    def answer_first(self) -> list[Transaction]:
        """Hand in an answer of the corrupt worker, by anybody."""
        request = self.chance.choice(self.requests())
        output = self.chance.choice([RIGHT, *WRONG])
        sender = self.chance.choice([*THIEVES, OTHER_WORKER])
        return [self.answer(request, output, OTHER_WORKER, sender)]

    def challenge(self) -> list[Transaction]:
        """Challenge any proposal, and let the corrupt member vote on it."""
        request = self.chance.choice(self.requests())
        proposal = self.proposal(request)
        key = (request.request_id, proposal.proposal_id)
        who = self.chance.choice(CORRUPT_ACCOUNTS)
        vote = (self.oracle.address, *key, hash_answer(self.chance.choice([RIGHT, *WRONG])))
        return [
            self.of_oracle(who, "challenge", *key, value=BOND),
            self.of_oracle(who, "rule", *key, vote[-1]),
            self.of_committee(CORRUPT, "vote", *vote),
            self.of_committee(self.chance.choice([CORRUPT, *THIEVES]), "vote", *vote),
        ]

    def meddle(self) -> list[Transaction]:
        """Call what anybody may, and what only others may."""
        request, who = self.chance.choice(self.requests()), self.chance.choice(CORRUPT_ACCOUNTS)
        proposal = self.proposal(request)
        honest = self.chance.choice(HONEST)
        calls: list[tuple[str, tuple[object, ...]]] = [
            ("finalize", (request.encoded(),)),
            ("expire", (request.encoded(),)),
            ("endUnruled", (request.request_id,)),
            ("release", (request.budget_id,)),
            ("rule", (request.request_id, proposal.proposal_id, hash_answer(WRONG[0]))),
            ("unstake", (self.view("freeStakeOf", who.address),)),
            ("unstake", (BOND,)),
            ("withdraw", (who.address,)),
            ("withdrawFor", (honest.address,)),
            ("retry", (request.request_id,)),
        ]
        chosen = self.chance.sample(calls, 4)
        return [
            self.of_committee(who, "withdrawFor", honest.address),
            *(self.of_oracle(who, function, *arguments) for function, arguments in chosen),
        ]

    def flash(self) -> list[Transaction]:
        """Stake and challenge with borrowed wei, and take it back in the transaction."""
        request = self.chance.choice(self.requests())
        proposal, me = self.proposal(request), self.gang.contract.address
        key = (request.request_id, proposal.proposal_id)
        amount = self.chance.choice([1, BOND, 10 * ETHER])
        answer = self.answer(request, WRONG[0], OTHER_WORKER, THIEVES[0])
        calls = [
            Call(self.oracle, "stake", (), amount),
            Call(self.oracle, "challenge", key, BOND),
            Call(self.oracle, "answer", answer.arguments),
            Call(self.oracle, "finalize", (request.encoded(),)),
            Call(self.oracle, "unstake", (amount,)),
            Call(self.oracle, "withdraw", (me,)),
            Call(self.oracle, "withdrawFor", (WORKER.address,)),
        ]
        chosen = [one for one in calls if self.chance.random() < OFTEN]
        return [self.gang.borrow(None, amount + BOND, *chosen)]

    # ---- The sequence

    def play(self) -> Counter[str]:
        attacks = (
            *(self.answer_first, self.answer_first, self.challenge, self.challenge),
            *(self.meddle, self.flash),
        )
        for _ in range(2):
            self.blocks.mine(self.ask())
        while not self.requests():
            self.blocks.mine(self.ask())
        for _ in range(STEPS):
            self.be_honest()
            chosen = self.chance.choices(attacks, k=self.chance.randint(1, 2))
            made = [one for attack in chosen for one in attack()]
            self.blocks.mine([*made, *(self.ask() if self.chance.random() < 0.3 else ())])
            kind = self.chance.random()
            if kind < 0.2:
                self.blocks.reorganize()
            elif kind < 0.5:
                self.wait(self.chance.choice([WINDOW, TIMEOUT]))
        self.end()
        return self.blocks.outcomes

    def end(self) -> None:
        """Let all requests end, and compare what everybody has."""
        while any(self.is_waiting(one) or self.proposal(one).status for one in self.requests()):
            self.wait(TIMEOUT)
        earned = 0
        for request in self.requests():
            outcome, output, worker, _ = self.view("answerOf", request.request_id)
            assert outcome != ANSWERED or output == RIGHT
            is_earned = worker == OTHER_WORKER.address
            earned += request.fee if is_earned else 0
            self.blocks.outcomes["right answers"] += outcome == ANSWERED
        assert self.wealth(*self.corrupt) <= self.corrupt_before + earned
        for one, before in self.honest_before.items():
            assert self.wealth(one.address) >= before - GAS_FEES


@pytest.mark.sample(count=8, seed=32)
def test_attackers_earn_fees_of_right_answers_alone(sample: Sample) -> None:
    play_sequences(sample, lambda chance: Attack(deployed(), chance).play())
    assert sample.figures["right answers"] > 0


CHALLENGEABLE = "callback/ChallengeableOracle.sol"
FLAWS = {
    "window": Flaw(
        CHALLENGEABLE,
        (
            (
                "Status.Open && block.timestamp <= proposal.challengeableUntil",
                "Status.Open && false",
            ),
        ),
    ),
    "arbiter": Flaw(
        CHALLENGEABLE, (("if (msg.sender != arbiter) revert NotArbiter(msg.sender);", ""),)
    ),
}


@pytest.mark.parametrize("name", FLAWS)
def test_a_flaw_is_found(name: str) -> None:
    parties = Parties(FLAWS[name])
    assert is_caught(lambda chance: Attack(parties, chance).play(), 60)
