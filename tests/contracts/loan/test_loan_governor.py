"""The DAO's criteria: proposed, voted, queued, executed, and in force in the next transaction."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.abi.bundled import load_artifact
from tests.contracts.loan.ballots import (
    ACTIVE,
    DEFEATED,
    EXECUTED,
    PENDING,
    QUEUED,
    SUCCEEDED,
    Ballot,
)
from tests.contracts.loan.loan_world import (
    ABSTAIN,
    AGAINST,
    COLLATERAL,
    CRITERIA,
    FOR,
    LOAN,
    NEW_CRITERIA,
    NEW_REQUIRED,
    SAVINGS,
    SUPPLY,
    TIMING,
    Proposal,
    Terms,
    proposal_of,
)
from tests.contracts.loan.pool_bench import APPLICATION, BORROWER, LENDER, PoolBench
from tests.contracts.plain_evm import RevertedError, reverts

if TYPE_CHECKING:
    from collections.abc import Iterator

DESCRIPTION = "Savings count as well."
STRICTER = replace(Terms(), score_limit=90)


@pytest.fixture(scope="module")
def built() -> PoolBench:
    """A pool whose policy and agent are the timelock's; the lender has the votes."""
    bench = PoolBench()
    bench.build_dao()
    bench["policy"]("transferOwnership", bench.address("timelock"))
    bench["pool"]("transferOwnership", bench.address("timelock"))
    bench["votes"]("delegate", LENDER.address)
    bench.wait(1)
    return bench


@pytest.fixture
def bench(built: PoolBench) -> Iterator[PoolBench]:
    with built.rolled_back():
        yield built


def criteria_proposal(bench: PoolBench) -> Proposal:
    """Return a proposal of other criteria and a higher limit: two calls."""
    policy = bench.contracts["policy"]
    criteria = proposal_of(
        policy, "LoanPolicy", "setCriteria", NEW_CRITERIA, NEW_REQUIRED, description=DESCRIPTION
    )
    terms = load_artifact("LoanPolicy").encode_call("setTerms", STRICTER.as_abi())
    return replace(
        criteria,
        targets=(policy.address, policy.address),
        calldatas=(*criteria.calldatas, terms),
    )


def ballot_of(bench: PoolBench) -> Ballot:
    return Ballot(bench["governor"], bench.wait, criteria_proposal(bench))


def test_criteria_are_in_force_in_the_transaction_after_the_vote(bench: PoolBench) -> None:
    ballot = ballot_of(bench)
    ballot.propose()
    assert ballot.state == PENDING
    with pytest.raises(RevertedError) as caught:
        ballot.governor("castVote", ballot.number, FOR)
    assert caught.value.error[0] == "GovernorUnexpectedProposalState"
    bench.wait(TIMING.delay + 1)
    assert ballot.state == ACTIVE
    assert ballot.governor("castVoteWithReason", ballot.number, FOR, "It is safer.") == SUPPLY
    bench.wait(TIMING.period)
    assert ballot.state == SUCCEEDED
    with pytest.raises(RevertedError):
        ballot.execute()
    ballot.queue()
    bench.wait(TIMING.timelock - 1)
    assert ballot.state == QUEUED
    with pytest.raises(RevertedError) as caught:
        ballot.execute()
    assert caught.value.error[0] == "TimelockUnexpectedOperationState"
    # Until the last moment applicants are judged by the old criteria.
    assert bench["policy"]("criteria") == CRITERIA
    bench.script(*bench.ideal(80))
    assert bench.request() == (True, "Done.")
    bench.wait(1)
    ballot.execute()
    assert ballot.state == EXECUTED
    with reverts("MissingChecks", 1 << SAVINGS, "savings"):
        bench.request()
    assert (bench["policy"]("criteria"), bench["policy"]("criteriaVersion")) == (NEW_CRITERIA, 3)
    bench.script(bench.note(SAVINGS, 80), *bench.ideal(80))
    with reverts("ScoreBelowLimit", 80, 90):
        bench.request()
    bench.script(bench.note(SAVINGS, 90), *bench.ideal(90))
    assert bench.request() == (True, "Done.")


@pytest.mark.parametrize("support", [AGAINST, ABSTAIN, None])
def test_a_proposal_without_a_majority_changes_nothing(
    bench: PoolBench, support: int | None
) -> None:
    ballot = ballot_of(bench)
    ballot.open()
    if support is not None:
        ballot.governor("castVote", ballot.number, support)
    ballot.close()
    assert ballot.state == DEFEATED
    with pytest.raises(RevertedError) as caught:
        ballot.queue()
    assert caught.value.error[0] == "GovernorUnexpectedProposalState"
    assert bench["policy"]("criteria") == CRITERIA


def test_votes_below_the_quorum_decide_nothing(bench: PoolBench) -> None:
    votes = bench["votes"]
    votes("transfer", BORROWER.address, SUPPLY // 10 - 1)
    votes("delegate", BORROWER.address, sender=BORROWER)
    bench.wait(1)
    ballot = ballot_of(bench)
    ballot.open()
    ballot.governor("castVote", ballot.number, FOR, sender=BORROWER)
    ballot.close()
    assert ballot.state == DEFEATED


def test_nobody_but_the_timelock_changes_anything(bench: PoolBench) -> None:
    policy, timelock, governor = bench["policy"], bench["timelock"], bench["governor"]
    data = criteria_proposal(bench).calldatas[0]
    with reverts("OwnableUnauthorizedAccount", LENDER.address):
        policy("setCriteria", NEW_CRITERIA, NEW_REQUIRED)
    nothing = bytes(32)
    proposer = timelock("PROPOSER_ROLE")
    with reverts("AccessControlUnauthorizedAccount", LENDER.address, proposer):
        timelock("schedule", policy.address, 0, data, nothing, nothing, TIMING.timelock)
    with reverts("TimelockUnexpectedOperationState", *unscheduled(bench, data)):
        timelock("execute", policy.address, 0, data, nothing, nothing)
    with reverts("GovernorOnlyExecutor", LENDER.address):
        governor("setVotingDelay", 0)
    with reverts("GovernorInsufficientProposerVotes", BORROWER.address, 0, SUPPLY // 100):
        governor("propose", *criteria_proposal(bench).arguments, sender=BORROWER)
    assert not timelock("hasRole", timelock("DEFAULT_ADMIN_ROLE"), LENDER.address)


def unscheduled(bench: PoolBench, data: bytes) -> tuple[bytes, bytes]:
    """Return the arguments of the timelock's error: the operation, and the state Ready."""
    timelock, nothing = bench["timelock"], bytes(32)
    ready = 1 << 2
    number = timelock("hashOperation", bench.address("policy"), 0, data, nothing, nothing)
    return number, ready.to_bytes(32, "big")


def test_the_dao_names_another_agent(bench: PoolBench) -> None:
    other = bench.evm.deploy("ScriptedLoanAgent").address
    names = (other, other, other, bench.address("book"))
    proposal = proposal_of(
        bench.contracts["pool"], "LendingPool", "setAgent", *names, description="Another agent."
    )
    Ballot(bench["governor"], bench.wait, proposal).pass_all()
    assert bench.pool("agent") == other
    with reverts("Undecided", ""):
        bench.pool("requestLoan", LOAN, COLLATERAL, APPLICATION, sender=BORROWER)
