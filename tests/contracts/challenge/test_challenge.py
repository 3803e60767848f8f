"""ChallengeableOracle: proposals, challenges, rulings, and attacks on each."""

from __future__ import annotations

import pytest
from eth_utils import (
    function_abi_to_4byte_selector,
    function_signature_to_4byte_selector,
    keccak,
    to_canonical_address,
)

from pyevm_agents.abi.bundled import load_artifact
from tests.contracts.callback.oracle_bench import (
    ANSWERED,
    EXPIRED,
    FEE,
    OTHER_WORKER,
    PRICES,
    REFUSED,
    WORKER,
    Order,
)
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
from tests.contracts.plain_evm import GAS, OWNER, STRANGER, ZERO, reverts

RIGHT, WRONG = b"the output", b"a lie"


@pytest.fixture
def bench() -> ChallengeBench:
    return ChallengeBench()


# ---- Proposals


def test_an_answer_waits_for_its_window(bench: ChallengeBench) -> None:
    request = bench.request(bench.client())
    assert bench.answer(request, RIGHT) is False
    (event,) = bench.oracle.events("AnswerProposed")
    assert len(bench.oracle.events("RequestAnswered")) == 1
    proposal = bench.proposal(request)

    assert event == {
        "requestId": request.request_id,
        "worker": int(WORKER.address, 16),
        "proposalId": proposal.proposal_id,
        "answerHash": hash_answer(RIGHT),
        "refused": False,
        "outputHash": keccak(RIGHT),
        "challengeableUntil": bench.now + WINDOW,
    }
    assert (proposal.worker, proposal.status, proposal.output) == (WORKER.address, OPEN, RIGHT)
    assert (proposal.challenger, proposal.ruleable_until) == (ZERO, 0)
    assert bench.oracle("answerOf", request.request_id) == (0, b"", ZERO, False)
    assert not bench.is_waiting(request)
    assert bench.claimable(WORKER) == 0
    assert bench.free_stake(WORKER) == BOND


def test_an_answer_is_final_after_its_window(bench: ChallengeBench) -> None:
    client = bench.client()
    request = bench.request(client)
    proposal = bench.propose(request, RIGHT)
    with reverts("TooEarly", request.request_id, proposal.challengeable_until):
        bench.finalize(request)
    bench.pass_time(WINDOW)
    with reverts("TooEarly", request.request_id, proposal.challengeable_until):
        bench.finalize(request)
    bench.pass_time(1)

    assert bench.finalize(request)
    (handled,) = client.events("AnswerHandled")
    assert handled["output"] == RIGHT
    assert bench.oracle("answerOf", request.request_id) == (ANSWERED, RIGHT, WORKER.address, True)
    assert bench.claimable(WORKER) == FEE
    assert bench.free_stake(WORKER) == 2 * BOND
    with reverts("UnknownCommitment", request.request_id):
        bench.finalize(request)


def test_a_refusal_is_final_as_a_refusal(bench: ChallengeBench) -> None:
    request = bench.request(bench.client())
    bench.propose(request, b"\x01\x02\x03\x04", refused=True)
    bench.pass_time(WINDOW + 1)
    assert bench.finalize(request)
    assert bench.oracle("answerOf", request.request_id)[:2] == (REFUSED, b"\x01\x02\x03\x04")


def test_an_answer_needs_a_free_bond(bench: ChallengeBench) -> None:
    client = bench.client()
    first, second, third = (bench.request(client) for _ in range(3))
    bench.propose(first)
    bench.propose(second)
    with reverts("InsufficientStake", WORKER.address, 0, BOND):
        bench.answer(third)
    bench.pass_time(WINDOW + 1)
    bench.finalize(first)
    assert bench.propose(third).status == OPEN


def test_a_proposed_request_cannot_be_answered_again_or_expire(bench: ChallengeBench) -> None:
    request = bench.request(bench.client())
    bench.propose(request)
    with reverts("UnknownCommitment", request.request_id):
        bench.answer(request, worker=OTHER_WORKER)
    with reverts("UnknownCommitment", request.request_id):
        bench.expire(request)
    assert bench.finalize(request)


def test_an_altered_commitment_is_not_final(bench: ChallengeBench) -> None:
    request = bench.request(bench.client())
    bench.propose(request)
    bench.pass_time(WINDOW + 1)
    altered = (*request.encoded()[:5], request.fee * 2, *request.encoded()[6:])
    with reverts("UnknownCommitment", request.request_id):
        bench.oracle("finalize", altered)


def test_finalizing_needs_the_gas_that_was_promised(bench: ChallengeBench) -> None:
    request = bench.request(bench.client())
    bench.propose(request)
    bench.pass_time(WINDOW + 1)
    data = bench.oracle.artifact.encode_call("finalize", request.encoded())
    with pytest.raises(Exception, match="InsufficientGas"):
        bench.evm.send(bench.oracle.address, data, gas=request.callback_gas_limit)
    assert bench.proposal(request).status == OPEN
    assert bench.finalize(request)


def test_a_client_that_fails_is_recorded_and_its_worker_paid(bench: ChallengeBench) -> None:
    client = bench.client()
    client("behave", 1, 0)
    request = bench.request(client)
    bench.propose(request)
    bench.pass_time(WINDOW + 1)
    assert bench.finalize(request) is False
    assert bench.claimable(WORKER) == FEE
    client("behave", 0, 0)
    assert bench.oracle("retry", request.request_id)
    assert bench.oracle("answerOf", request.request_id)[3] is True


def test_during_a_callback_only_request_and_release_may_be_called(bench: ChallengeBench) -> None:
    client = bench.client()
    request = bench.request(client, Order(steps=2))
    proposal = bench.propose(request)
    encode = bench.oracle.artifact.encode_call
    next_order = Order(budget_id=request.budget_id)
    ids = (request.request_id, proposal.proposal_id)
    forbidden = [
        encode("stake"),
        encode("unstake", 0),
        encode("challenge", *ids),
        encode("rule", *ids, bytes(32)),
        encode("endUnruled", request.request_id),
        encode("finalize", request.encoded()),
        encode("answer", *bench.sign(request).arguments()),
        encode("expire", request.encoded()),
        encode("retry", request.request_id),
        encode("withdraw", client.address),
        encode("withdrawFor", client.address),
    ]
    allowed = [encode("request", next_order.encoded()), encode("release", request.budget_id)]
    client("reenterWith", [*forbidden, *allowed])
    bench.pass_time(WINDOW + 1)
    data = encode("finalize", request.encoded())
    bench.evm.send(bench.oracle.address, data, sender=STRANGER)

    called = client.events("OracleCalled")
    guarded = function_signature_to_4byte_selector("ReentrancyGuardReentrantCall()")
    assert [one["returned"] for one in called[: len(forbidden)]] == [guarded] * len(forbidden)
    assert [one["success"] for one in called[len(forbidden) :]] == [True, True]


# ---- Challenges


def test_a_wrong_answer_is_challenged_and_loses_its_bond(bench: ChallengeBench) -> None:
    client = bench.client()
    request = bench.request(client)
    proposal = bench.propose(request, WRONG)
    bench.challenge(request, proposal)
    with reverts("WrongStatus", request.request_id, CHALLENGED):
        bench.finalize(request)
    bench.rule(request, proposal, hash_answer(RIGHT))
    (ruled,) = bench.oracle.events("AnswerRuled")

    assert ruled["upheld"] is False
    assert bench.free_stake(WORKER) == BOND
    assert bench.claimable(WORKER) == 0
    assert bench.claimable(CHALLENGER) == BOND + HALF
    assert bench.claimable(ARBITER) == BOND - HALF
    assert bench.is_waiting(request)
    assert bench.proposal(request).proposal_id == bytes(32)

    bench.propose(request, RIGHT, worker=OTHER_WORKER)
    bench.pass_time(WINDOW + 1)
    assert bench.finalize(request)
    assert bench.oracle("answerOf", request.request_id)[1] == RIGHT
    assert bench.claimable(OTHER_WORKER) == FEE
    assert bench.claimable(WORKER) == 0


def test_a_false_challenge_loses_its_own(bench: ChallengeBench) -> None:
    request = bench.request(bench.client())
    proposal = bench.propose(request, RIGHT)
    bench.challenge(request, proposal)
    bench.rule(request, proposal, hash_answer(RIGHT))

    assert bench.claimable(CHALLENGER) == 0
    assert bench.claimable(WORKER) == HALF
    assert bench.claimable(ARBITER) == BOND - HALF
    assert bench.proposal(request).status == UPHELD
    assert bench.finalize(request)  # at once: nobody can challenge it any more
    assert bench.claimable(WORKER) == HALF + FEE
    assert bench.free_stake(WORKER) == 2 * BOND


def test_an_upheld_answer_cannot_be_challenged_again(bench: ChallengeBench) -> None:
    request = bench.request(bench.client())
    proposal = bench.propose(request, RIGHT)
    bench.challenge(request, proposal)
    bench.rule(request, proposal, hash_answer(RIGHT))
    with reverts("WrongStatus", request.request_id, UPHELD):
        bench.challenge(request, proposal, LATE_CHALLENGER)


def test_a_refusal_is_another_answer_than_a_result_of_the_same_bytes(
    bench: ChallengeBench,
) -> None:
    request = bench.request(bench.client())
    proposal = bench.propose(request, RIGHT, refused=True)
    bench.challenge(request, proposal)
    bench.rule(request, proposal, hash_answer(RIGHT, refused=False))
    assert bench.free_stake(WORKER) == BOND
    assert bench.oracle("hashAnswer", True, RIGHT) == proposal.answer_hash  # noqa: FBT003 - Solidity's order
    assert bench.oracle("hashAnswer", False, RIGHT) == hash_answer(RIGHT)  # noqa: FBT003 - Solidity's order


@pytest.mark.parametrize("value_wei", [0, BOND - 1, BOND + 1])
def test_a_challenge_costs_exactly_the_bond(bench: ChallengeBench, value_wei: int) -> None:
    request = bench.request(bench.client())
    proposal = bench.propose(request)
    with reverts("WrongValue", value_wei, BOND):
        bench.oracle("challenge", request.request_id, proposal.proposal_id, value_wei=value_wei)


def test_a_challenge_in_the_last_second_leaves_the_arbiter_all_its_time(
    bench: ChallengeBench,
) -> None:
    request = bench.request(bench.client())
    proposal = bench.propose(request, RIGHT)
    bench.pass_time(WINDOW)
    bench.challenge(request, proposal)
    assert bench.proposal(request).ruleable_until == bench.now + ARBITRATION
    bench.pass_time(ARBITRATION)
    bench.rule(request, proposal, hash_answer(RIGHT))
    assert bench.claimable(CHALLENGER) == 0  # delaying an answer costs a bond
    assert bench.finalize(request)


def test_a_challenge_after_the_window_is_too_late(bench: ChallengeBench) -> None:
    request = bench.request(bench.client())
    proposal = bench.propose(request)
    bench.pass_time(WINDOW + 1)
    with reverts("TooLate", request.request_id, proposal.challengeable_until):
        bench.challenge(request, proposal)


def test_a_worker_that_challenges_its_own_wrong_answer_first_loses_half_a_bond(
    bench: ChallengeBench,
) -> None:
    request = bench.request(bench.client())
    proposal = bench.propose(request, WRONG)
    accomplice = LATE_CHALLENGER
    bench.challenge(request, proposal, accomplice)
    with reverts("WrongStatus", request.request_id, CHALLENGED):
        bench.challenge(request, proposal, CHALLENGER)  # and CHALLENGER keeps its wei
    bench.rule(request, proposal, hash_answer(RIGHT))
    staked, paid = 2 * BOND, BOND
    left = bench.free_stake(WORKER) + bench.claimable(accomplice)
    assert staked + paid - left == BOND - HALF
    assert bench.is_waiting(request)  # and the lie is not final


def test_a_worker_that_challenges_its_own_right_answer_loses_half_a_bond(
    bench: ChallengeBench,
) -> None:
    request = bench.request(bench.client())
    proposal = bench.propose(request, RIGHT)
    bench.challenge(request, proposal, LATE_CHALLENGER)
    bench.rule(request, proposal, hash_answer(RIGHT))
    bench.finalize(request)
    left = bench.free_stake(WORKER) + bench.claimable(WORKER) + bench.claimable(LATE_CHALLENGER)
    assert 3 * BOND + FEE - left == BOND - HALF


def test_the_challenger_may_answer_next(bench: ChallengeBench) -> None:
    bench.evm.vm.state.set_balance(to_canonical_address(OTHER_WORKER.address), 10**24)
    request = bench.request(bench.client())
    proposal = bench.propose(request, WRONG)
    bench.challenge(request, proposal, OTHER_WORKER)
    bench.rule(request, proposal, hash_answer(RIGHT))
    bench.propose(request, RIGHT, worker=OTHER_WORKER)
    bench.pass_time(WINDOW + 1)
    assert bench.finalize(request)
    assert bench.claimable(OTHER_WORKER) == BOND + HALF + FEE


def test_a_challenge_of_an_earlier_proposal_takes_no_wei(bench: ChallengeBench) -> None:
    request = bench.request(bench.client())
    wrong = bench.propose(request, WRONG)
    bench.challenge(request, wrong)
    bench.rule(request, wrong, hash_answer(RIGHT))
    bench.propose(request, RIGHT, worker=OTHER_WORKER)
    before = bench.balance(bench.oracle.address)
    with reverts("UnknownProposal", request.request_id, wrong.proposal_id):
        bench.challenge(request, wrong, LATE_CHALLENGER)
    assert bench.balance(bench.oracle.address) == before


def test_what_has_no_proposal_cannot_be_challenged(bench: ChallengeBench) -> None:
    request = bench.request(bench.client())
    with reverts("UnknownProposal", request.request_id, bytes(32)):
        bench.oracle("challenge", request.request_id, bytes(32), value_wei=BOND)


# ---- Rulings


def test_only_the_arbiter_rules(bench: ChallengeBench) -> None:
    request = bench.request(bench.client())
    proposal = bench.propose(request)
    bench.challenge(request, proposal)
    for who in (OWNER, WORKER, CHALLENGER):
        with reverts("NotArbiter", who.address):
            bench.rule(request, proposal, bytes(32), sender=who)


def test_what_nobody_challenged_is_not_ruled(bench: ChallengeBench) -> None:
    request = bench.request(bench.client())
    proposal = bench.propose(request)
    with reverts("WrongStatus", request.request_id, OPEN):
        bench.rule(request, proposal, bytes(32))


def test_a_ruling_counts_once(bench: ChallengeBench) -> None:
    client = bench.client()
    upheld, rejected = bench.request(client), bench.request(client)
    for request, status in ((upheld, UPHELD), (rejected, None)):
        proposal = bench.propose(request, RIGHT if status else WRONG)
        bench.challenge(request, proposal)
        bench.rule(request, proposal, hash_answer(RIGHT))
        error = (
            ("WrongStatus", request.request_id, status)
            if status
            else ("UnknownProposal", request.request_id, proposal.proposal_id)
        )
        with reverts(*error):
            bench.rule(request, proposal, hash_answer(WRONG))


def test_a_ruling_does_not_count_for_a_later_proposal(bench: ChallengeBench) -> None:
    """Not even for the same answer of the same worker."""
    request = bench.request(bench.client())
    first = bench.propose(request, WRONG)
    bench.challenge(request, first)
    bench.rule(request, first, hash_answer(RIGHT))
    bench.send(bench.sign(request, WRONG), sender=WORKER)
    second = bench.proposal(request)
    bench.challenge(request, second)
    assert second.answer_hash == first.answer_hash
    assert second.proposal_id != first.proposal_id
    with reverts("UnknownProposal", request.request_id, first.proposal_id):
        bench.rule(request, first, hash_answer(RIGHT))


def test_nobody_else_can_lock_a_workers_bond_again_with_a_rejected_answer(
    bench: ChallengeBench,
) -> None:
    """Else whoever challenges could take all the stake of a worker that was wrong once."""
    request = bench.request(bench.client())
    signed = bench.sign(request, WRONG)
    bench.send(signed)
    proposal = bench.proposal(request)
    bench.challenge(request, proposal)
    bench.rule(request, proposal, hash_answer(RIGHT))
    with reverts("AlreadyProposed", request.request_id, WORKER.address, hash_answer(WRONG)):
        bench.send(signed, sender=CHALLENGER)
    assert bench.free_stake(WORKER) == BOND


def test_without_a_ruling_both_bonds_go_back(bench: ChallengeBench) -> None:
    request = bench.request(bench.client(), Order(timeout=10_000, lifetime=10_000))
    proposal = bench.propose(request)
    with reverts("WrongStatus", request.request_id, OPEN):
        bench.oracle("endUnruled", request.request_id)
    bench.challenge(request, proposal)
    ruleable_until = bench.proposal(request).ruleable_until
    bench.pass_time(ARBITRATION)
    with reverts("TooEarly", request.request_id, ruleable_until):
        bench.oracle("endUnruled", request.request_id)
    bench.pass_time(1)
    with reverts("TooLate", request.request_id, ruleable_until):
        bench.rule(request, proposal, hash_answer(RIGHT))
    bench.oracle("endUnruled", request.request_id, sender=STRANGER)

    assert bench.oracle.events("AnswerUnruled")[0]["proposalId"] == proposal.proposal_id
    assert bench.free_stake(WORKER) == 2 * BOND
    assert bench.claimable(CHALLENGER) == BOND
    assert bench.claimable(ARBITER) == 0
    with reverts("WrongStatus", request.request_id, 0):
        bench.oracle("endUnruled", request.request_id)
    bench.send(bench.sign(request, RIGHT), sender=WORKER)  # the same answer, by the worker itself
    bench.pass_time(WINDOW + 1)
    assert bench.finalize(request)


def test_a_request_whose_deadline_is_over_after_its_challenge_expires(
    bench: ChallengeBench,
) -> None:
    request = bench.request(OWNER)
    proposal = bench.propose(request, WRONG)
    bench.oracle("release", request.budget_id)
    bench.challenge(request, proposal)
    bench.pass_time(ARBITRATION)
    bench.rule(request, proposal, hash_answer(RIGHT))
    with reverts("TooLate", request.request_id, request.deadline):
        bench.answer(request, RIGHT, worker=OTHER_WORKER)
    bench.oracle("expire", request.encoded())
    assert bench.oracle("answerOf", request.request_id)[0] == EXPIRED
    assert bench.claimable(OWNER) == FEE


# ---- Stakes


def test_a_free_stake_becomes_claimable(bench: ChallengeBench) -> None:
    bench.propose(bench.request(bench.client()))
    with reverts("InsufficientStake", WORKER.address, BOND, BOND + 1):
        bench.oracle("unstake", BOND + 1, sender=WORKER)
    bench.oracle("unstake", BOND, sender=WORKER)
    (event,) = bench.oracle.events("StakeChanged")
    assert event == {"account": int(WORKER.address, 16), "freeStake": 0}
    assert bench.claimable(WORKER) == BOND
    before = bench.balance(STRANGER.address)
    bench.oracle("withdraw", STRANGER.address, sender=WORKER)
    assert bench.balance(STRANGER.address) - before == BOND


def test_a_removed_workers_proposal_stands_and_its_stake_can_be_withdrawn(
    bench: ChallengeBench,
) -> None:
    request = bench.request(bench.client())
    bench.propose(request)
    bench.oracle("setWorker", WORKER.address, False)  # noqa: FBT003 - Solidity's order
    bench.oracle("unstake", BOND, sender=WORKER)
    bench.pass_time(WINDOW + 1)
    assert bench.finalize(request)
    bench.oracle("unstake", BOND, sender=WORKER)
    assert bench.claimable(WORKER) == 2 * BOND + FEE


# ---- Terms


@pytest.mark.parametrize(
    ("member", "terms", "lowest", "highest"),
    [
        ("arbiter", (ZERO, BOND, WINDOW, ARBITRATION), 1, 2**160 - 1),
        ("bond", (ARBITER.address, 0, WINDOW, ARBITRATION), 1, 2**96 - 1),
        ("challengeWindow", (ARBITER.address, BOND, 0, ARBITRATION), 1, 7 * 86_400),
        ("challengeWindow", (ARBITER.address, BOND, 7 * 86_400 + 1, 1), 1, 7 * 86_400),
        ("arbitrationTime", (ARBITER.address, BOND, WINDOW, 0), 1, 30 * 86_400),
        ("arbitrationTime", (ARBITER.address, BOND, WINDOW, 30 * 86_400 + 1), 1, 30 * 86_400),
    ],
)
def test_terms_have_ranges(
    bench: ChallengeBench,
    member: str,
    terms: tuple[str, int, int, int],
    lowest: int,
    highest: int,
) -> None:
    value = {"arbiter": 0, "bond": 0, "challengeWindow": terms[2], "arbitrationTime": terms[3]}
    with reverts("OutOfRange", member, value[member], lowest, highest):
        bench.evm.deploy("ChallengeableOracle", OWNER.address, PRICES, terms)


def test_the_terms_can_be_read(bench: ChallengeBench) -> None:
    names = ("arbiter", "bond", "challengeWindow", "arbitrationTime")
    assert [bench.oracle(name) for name in names] == [ARBITER.address, BOND, WINDOW, ARBITRATION]


def test_the_oracle_says_which_interfaces_it_has(bench: ChallengeBench) -> None:
    for interface in ("IERC165", "IAgentOracle", "IChallengeableOracle"):
        assert bench.oracle("supportsInterface", interface_id(interface))
    assert not bench.oracle("supportsInterface", b"\xff" * 4)


def test_a_client_that_burns_its_gas_takes_neither_fee_nor_bond(bench: ChallengeBench) -> None:
    client = bench.client()
    client("behave", 4, 0)
    request = bench.request(client)
    bench.propose(request)
    bench.pass_time(WINDOW + 1)
    data = bench.oracle.artifact.encode_call("finalize", request.encoded())
    bench.evm.send(bench.oracle.address, data, gas=GAS // 10)
    assert bench.free_stake(WORKER) == 2 * BOND
    assert bench.claimable(WORKER) == FEE


def interface_id(name: str) -> bytes:
    """Return the ERC-165 ID of an interface: the XOR of its own functions' selectors."""
    inherited = {"IChallengeableOracle": "IAgentOracle", "IAgentOracle": "IERC165"}
    own = selectors(name) - (selectors(inherited[name]) if name in inherited else set())
    found = 0
    for selector in own:
        found ^= int.from_bytes(selector)
    return found.to_bytes(4)


def selectors(name: str) -> set[bytes]:
    if name == "IERC165":
        return {bytes.fromhex("01ffc9a7")}
    abi = load_artifact(name).abi
    return {function_abi_to_4byte_selector(e) for e in abi if e["type"] == "function"}
