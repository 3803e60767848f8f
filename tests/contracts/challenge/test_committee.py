"""CommitteeArbiter: votes, rulings and what they earn."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from eth_keys.datatypes import PrivateKey
from eth_utils import to_canonical_address

from tests.contracts.callback.oracle_bench import WORKER
from tests.contracts.challenge.challenge_bench import (
    ARBITRATION,
    BOND,
    CHALLENGER,
    HALF,
    OPEN,
    UPHELD,
    ChallengeBench,
    hash_answer,
)
from tests.contracts.plain_evm import OWNER, STRANGER, ZERO, Account, plain_evm, reverts

if TYPE_CHECKING:
    from tests.contracts.callback.oracle_bench import Request
    from tests.contracts.challenge.challenge_bench import Proposal
    from tests.contracts.plain_evm import Contract

MEMBERS = tuple(Account(PrivateKey(bytes([0x31 + i]) * 32)) for i in range(5))
ADDRESSES = [one.address for one in MEMBERS]
THRESHOLD = 3
RIGHT, WRONG = b"the output", b"a lie"


@dataclass
class Dispute:
    """A challenged answer, and a committee of five that rules by three votes."""

    said: bytes = RIGHT
    bench: ChallengeBench = field(init=False)
    committee: Contract = field(init=False)
    request: Request = field(init=False)
    proposal: Proposal = field(init=False)

    def __post_init__(self) -> None:
        first = ChallengeBench()
        for one in MEMBERS:
            first.evm.vm.state.set_balance(to_canonical_address(one.address), 10**24)
        self.committee = first.evm.deploy("CommitteeArbiter", ADDRESSES, THRESHOLD)
        self.bench = ChallengeBench(evm=first.evm, arbiter=self.committee.address)
        self.request = self.bench.request(self.bench.client())
        self.proposal = self.bench.propose(self.request, self.said)
        self.bench.challenge(self.request, self.proposal)

    def key(self) -> tuple[object, ...]:
        return (self.bench.oracle.address, self.request.request_id, self.proposal.proposal_id)

    def vote(self, member: Account, output: bytes) -> None:
        self.committee("vote", *self.key(), hash_answer(output), sender=member)

    def claimable(self, member: Account) -> int:
        amount: int = self.committee("claimable", member.address)
        return amount


@pytest.fixture
def dispute() -> Dispute:
    return Dispute()


def test_the_vote_that_reaches_the_threshold_rules(dispute: Dispute) -> None:
    for member in MEMBERS[: THRESHOLD - 1]:
        dispute.vote(member, RIGHT)
        assert dispute.bench.proposal(dispute.request).status != UPHELD
    dispute.vote(MEMBERS[4], RIGHT)
    (ruled,) = dispute.committee.events("Ruled")
    assert ruled["amount"] == BOND - HALF
    assert dispute.bench.proposal(dispute.request).status == UPHELD
    assert dispute.bench.finalize(dispute.request)


def test_a_wrong_answer_loses_its_bond_by_votes() -> None:
    dispute = Dispute(said=WRONG)
    for member in MEMBERS[:THRESHOLD]:
        dispute.vote(member, RIGHT)
    assert dispute.bench.free_stake(WORKER) == BOND
    assert dispute.bench.claimable(CHALLENGER) == BOND + HALF


def test_the_voters_of_the_ruling_share_what_it_earned(dispute: Dispute) -> None:
    dispute.vote(MEMBERS[0], WRONG)
    for member in MEMBERS[1:4]:
        dispute.vote(member, RIGHT)
    earned = BOND - HALF
    each = earned // 3
    shares = [dispute.claimable(member) for member in MEMBERS]
    assert shares == [0, each, each, earned - 2 * each, 0]
    assert dispute.bench.balance(dispute.committee.address) == earned

    before = dispute.bench.balance(STRANGER.address)
    dispute.committee("withdraw", STRANGER.address, sender=MEMBERS[3])
    assert dispute.bench.balance(STRANGER.address) - before == earned - 2 * each
    with reverts("NothingToWithdraw", MEMBERS[3].address):
        dispute.committee("withdraw", STRANGER.address, sender=MEMBERS[3])

    before = dispute.bench.balance(MEMBERS[1].address)
    dispute.committee("withdrawFor", MEMBERS[1].address, sender=STRANGER)
    assert dispute.bench.balance(MEMBERS[1].address) - before == each
    for member in (MEMBERS[1], MEMBERS[0]):
        with reverts("NothingToWithdraw", member.address):
            dispute.committee("withdrawFor", member.address, sender=STRANGER)


def test_a_member_votes_once(dispute: Dispute) -> None:
    dispute.vote(MEMBERS[0], RIGHT)
    for output in (RIGHT, WRONG):
        with reverts("AlreadyVoted", MEMBERS[0].address, dispute.proposal.proposal_id):
            dispute.vote(MEMBERS[0], output)
    voted = [dispute.committee("hasVoted", *dispute.key(), one.address) for one in MEMBERS[:2]]
    assert voted == [True, False]
    found = dispute.committee("votesOf", *dispute.key(), hash_answer(RIGHT))
    assert tuple(found) == ((MEMBERS[0].address,), False)


def test_nobody_votes_after_the_ruling(dispute: Dispute) -> None:
    for member in MEMBERS[:THRESHOLD]:
        dispute.vote(member, RIGHT)
    with reverts("AlreadyRuled", dispute.proposal.proposal_id):
        dispute.vote(MEMBERS[3], RIGHT)


def test_only_members_vote(dispute: Dispute) -> None:
    for who in (OWNER, WORKER, CHALLENGER):
        with reverts("NotMember", who.address):
            dispute.vote(who, RIGHT)


def test_split_votes_do_not_rule(dispute: Dispute) -> None:
    outputs = [RIGHT, RIGHT, WRONG, WRONG, b"another"]
    for member, output in zip(MEMBERS, outputs, strict=True):
        dispute.vote(member, output)
    dispute.bench.pass_time(ARBITRATION + 1)
    dispute.bench.oracle("endUnruled", dispute.request.request_id)
    assert dispute.bench.claimable(CHALLENGER) == BOND


def test_votes_for_one_proposal_do_not_count_for_a_later_one() -> None:
    dispute = Dispute(said=WRONG)
    for member in MEMBERS[:THRESHOLD]:
        dispute.vote(member, RIGHT)
    dispute.bench.send(dispute.bench.sign(dispute.request, WRONG), sender=WORKER)
    dispute.proposal = dispute.bench.proposal(dispute.request)
    assert dispute.proposal.status == OPEN
    dispute.bench.challenge(dispute.request, dispute.proposal)
    for member in MEMBERS[: THRESHOLD - 1]:
        dispute.vote(member, RIGHT)
    assert dispute.bench.free_stake(WORKER) == 0
    dispute.vote(MEMBERS[2], RIGHT)
    assert dispute.bench.is_waiting(dispute.request)


def test_a_vote_too_late_for_a_ruling_reverts(dispute: Dispute) -> None:
    until = dispute.bench.proposal(dispute.request).ruleable_until
    for member in MEMBERS[: THRESHOLD - 1]:
        dispute.vote(member, RIGHT)
    dispute.bench.pass_time(ARBITRATION + 1)
    with reverts("TooLate", dispute.request.request_id, until):
        dispute.vote(MEMBERS[2], RIGHT)


def test_a_lying_oracle_earns_its_voters_nothing(dispute: Dispute) -> None:
    """Members are paid what arrived, so no oracle takes what others paid."""
    for member in MEMBERS[:THRESHOLD]:
        dispute.vote(member, RIGHT)
    held = dispute.bench.balance(dispute.committee.address)
    liar = dispute.bench.evm.deploy("LyingOracle")
    before = [dispute.claimable(one) for one in MEMBERS]
    for member in MEMBERS[:THRESHOLD]:
        dispute.committee("vote", liar.address, 1, bytes(32), bytes(32), sender=member)
    assert [dispute.claimable(one) for one in MEMBERS] == before
    assert dispute.bench.balance(dispute.committee.address) == held


def test_wei_outside_a_ruling_are_refused(dispute: Dispute) -> None:
    with reverts("UnexpectedValue", OWNER.address):
        dispute.bench.evm.send(dispute.committee.address, b"", value_wei=1)


@pytest.mark.parametrize("threshold", [0, 1, 2, 6])
def test_more_than_half_must_agree(threshold: int) -> None:
    with reverts("WrongThreshold", threshold, 5):
        plain_evm().deploy("CommitteeArbiter", ADDRESSES, threshold)


@pytest.mark.parametrize(
    ("members", "wrong"), [([*ADDRESSES[:2], ADDRESSES[0]], ADDRESSES[0]), ([ZERO], ZERO)]
)
def test_members_are_named_once(members: list[str], wrong: str) -> None:
    with reverts("WrongMember", wrong):
        plain_evm().deploy("CommitteeArbiter", members, len(members))


def test_the_committee_can_be_read(dispute: Dispute) -> None:
    assert list(dispute.committee("members")) == ADDRESSES
    assert dispute.committee("threshold") == THRESHOLD
    assert [dispute.committee("isMember", a) for a in (ADDRESSES[0], ZERO)] == [True, False]
    assert dispute.committee("supportsInterface", bytes.fromhex("01ffc9a7"))
