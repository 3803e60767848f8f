"""The known attacks on councils. Each succeeds on a copy with a flawed rule, fails on ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from eth_abi import encode
from eth_keys.datatypes import PrivateKey
from eth_utils import keccak, to_canonical_address

from tests.contracts.council.council_bench import (
    AGENTS,
    BOND,
    DISPUTER,
    DISTRIBUTED,
    FAILED,
    JUDGE,
    JUDGES,
    REQUESTER,
    REWARD,
    CouncilBench,
    Terms,
    header_of,
)
from tests.contracts.plain_evm import OWNER, STRANGER, ZERO, Account, RevertedError, reverts

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.contracts.council.council_bench import Question
    from tests.contracts.plain_evm import Contract

THIEF = AGENTS[2]
COPYABLE_COMMITMENT, NO_LIMITS, BOOLEAN_TOKEN, STATED_AMOUNT = range(4)
JUDGING_AGENTS, PICKED_BLOCK, NO_TIMEOUT, NO_OPTION = range(4)
PUSH, LATE_UPDATE, NO_COMMITMENTS, NO_REFUND, STUCK_BONDS = range(5)
NOTHING, FALSE, FEE, TRUE = range(4)
"""Answers of `OddToken`."""

MOST_GAS = 16_777_216
"""A transaction's gas. Source: EIP-7825."""

FEES = BOND // 2
"""More than the gas of a test's transactions costs, in wei."""

UNRANKED, ONE_JUDGE, SMALL_STAKES, FEW_PLACES, DUPLICATE_WINNERS = range(5)
"""Members of `DisputeFlaw`."""

DISPUTES = Terms(dispute_window=1_000)
IN_BLOCKS = Terms(deterministic=False)


def submissions(flaw: int) -> CouncilBench:
    return CouncilBench(name="FlawedSubmissions", extra=(flaw,))


def judging(flaw: int, terms: Terms | None = None) -> CouncilBench:
    return CouncilBench(terms or Terms(), name="FlawedJudging", extra=(flaw,))


def payments(flaw: int) -> CouncilBench:
    return CouncilBench(name="FlawedPayments", extra=(flaw,))


def succeeds(call: Callable[[], object]) -> bool:
    """Return whether a call is accepted."""
    try:
        call()
    except RevertedError as refused:
        if refused.error[0] == "Panic":
            raise
        return False
    return True


def end(bench: CouncilBench, question: Question) -> bool:
    """Let all timeouts pass and share the money; return whether the request ended."""
    for _ in range(6):
        phase = bench.phase(question)
        if phase in {DISTRIBUTED, FAILED}:
            return True
        if not succeeds(lambda: bench.advance(question)):
            succeeds(lambda: bench.distribute(question))
    return False


# ---- Robbery


@pytest.mark.parametrize("flawed", [False, True])
def test_last_revealer_robbery(*, flawed: bool) -> None:
    """The last to reveal becomes the judge and pays the reward to itself."""
    bench = judging(JUDGING_AGENTS) if flawed else CouncilBench()
    question = bench.ask()
    for agent, answer in zip(AGENTS[:3], (b"4", b"4", b"5"), strict=True):
        bench.commit(question, agent, answer)
    for agent in AGENTS[:2]:
        bench.reveal(question, agent)

    def rob() -> None:
        bench.register(question, THIEF)
        bench.reveal(question, THIEF, b"5")
        bench.aggregate(question, [THIEF], b"5", judge=THIEF)
        bench.distribute(question)

    robbed = succeeds(rob)
    assert robbed == flawed
    assert bench.claimable(THIEF) == (REWARD + 4 * BOND if flawed else 0)


@pytest.mark.parametrize("flawed", [False, True])
def test_judge_that_is_an_info_agent(*, flawed: bool) -> None:
    bench = judging(JUDGING_AGENTS) if flawed else CouncilBench()
    question = bench.ask()
    bench.commit(question, THIEF)
    assert succeeds(lambda: bench.register(question, THIEF)) == flawed
    bench.register(question, JUDGES[0])
    assert not succeeds(lambda: bench.commit(question, JUDGES[0]))
    if not flawed:
        assert not succeeds(lambda: bench.register(question, JUDGES[0]))


def test_judge_that_asked_the_question() -> None:
    bench = CouncilBench()
    question = bench.ask()
    assert not succeeds(lambda: bench.register(question, REQUESTER))


@pytest.mark.parametrize("flawed", [False, True])
def test_copied_commitment(*, flawed: bool) -> None:
    """Who copies a commitment waits for the answer, and reveals the same."""
    bench = submissions(COPYABLE_COMMITMENT) if flawed else CouncilBench()
    question = bench.ask()
    commitment = bench.oracle("commitmentOf", 1, AGENTS[0].address, b"4", 7)
    assert (commitment == keccak(encode(["bytes", "uint256"], [b"4", 7]))) == flawed
    for agent in (AGENTS[0], THIEF):
        bench.oracle("commit", question.request_id, commitment, sender=agent, value_wei=BOND)
    bench.pass_phase(question)
    bench.oracle("reveal", question.request_id, b"4", 7, sender=AGENTS[0])
    copied = succeeds(lambda: bench.oracle("reveal", 1, b"4", 7, sender=THIEF))
    assert copied == flawed


def test_copied_plain_commitment() -> None:
    """The ERC's own form can be copied: a request refuses the second; the first can't reveal."""
    bench = CouncilBench(Terms(plain_commitments=True))
    question = bench.ask()
    commitment = keccak(encode(["bytes", "uint256"], [b"4", 7]))
    assert bench.oracle("commitmentOf", 1, AGENTS[0].address, b"4", 7) == commitment
    bench.oracle("commit", 1, commitment, sender=AGENTS[0], value_wei=BOND)
    with reverts("CopiedCommitment", question.request_id):
        bench.oracle("commit", 1, commitment, sender=THIEF, value_wei=BOND)
    bench.ask()
    bench.oracle("commit", 2, commitment, sender=AGENTS[0], value_wei=BOND)  # of another request
    bench.pass_phase(question)
    bench.oracle("reveal", 1, b"4", 7, sender=AGENTS[0])


@pytest.mark.parametrize("flawed", [False, True])
def test_duplicate_winners(*, flawed: bool) -> None:
    """A winner named twice would be paid twice, with the money of other requests."""
    flaw = CouncilBench(name="FlawedDisputes", extra=(DUPLICATE_WINNERS,)) if flawed else None
    bench = flaw or CouncilBench()
    others = bench.ask(reward=9 * REWARD)
    question = bench.ask()
    bench.register(question, JUDGES[0])
    bench.answer_all(question, b"4", b"4", b"5")
    assert succeeds(lambda: bench.aggregate(question, [AGENTS[0]] * 5)) == flawed
    bench.withdraw_all()
    escrow, _ = bench.oracle("escrowOf", others.request_id)
    assert (bench.held() < escrow) == flawed


def test_winners_who_took_no_part() -> None:
    bench = CouncilBench()
    question = bench.ask()
    bench.register(question, *JUDGES[:2])
    for agent in AGENTS[:3]:
        bench.commit(question, agent)
    for agent in AGENTS[:2]:
        bench.reveal(question, agent)
    bench.advance(question)
    judge = bench.judge(question)
    for winners in ([], [STRANGER], [AGENTS[2]], [judge], [AGENTS[0], STRANGER]):
        assert not succeeds(lambda w=winners: bench.aggregate(question, w, judge=judge))  # type: ignore[misc]


@pytest.mark.parametrize("flawed", [False, True])
def test_reentrancy(*, flawed: bool) -> None:
    """A recipient that calls `withdraw` again while it is paid."""
    bench = payments(LATE_UPDATE) if flawed else CouncilBench()
    bench.ask(reward=9 * REWARD)
    thief = bench.evm.deploy("CouncilParticipant")
    request = bench.oracle.artifact.encode_call(
        "createRequest", "?", 1, 1, bench.now + 1, ZERO, "", ((), ())
    )
    thief("call", bench.oracle.address, request, value_wei=REWARD)
    bench.pass_time(2)
    bench.oracle("advance", 2)
    again = bench.oracle.artifact.encode_call("withdraw", ZERO, thief.address)
    thief("behave", 2, bench.oracle.address, again, 3)
    thief("call", bench.oracle.address, again)
    assert bench.balance(thief.address) == (4 * REWARD if flawed else REWARD)


@pytest.mark.parametrize("flawed", [False, True])
def test_answers_that_no_judge_can_name(*, flawed: bool) -> None:
    """Agents reveal no option: drawn judges could name none, and would lose their bonds to them."""
    bench = judging(NO_OPTION) if flawed else CouncilBench()
    question = bench.ask(agents=1, reward=1, specifications="OPTIONS: yes|no")
    bench.register(question, *JUDGES[:3])
    bench.commit(question, AGENTS[0], b"perhaps")
    bench.reveal(question, AGENTS[0], b"perhaps")
    if flawed:
        for answer in (b"perhaps", b"yes"):
            assert not succeeds(lambda a=answer: bench.aggregate(question, AGENTS[:1], a))  # type: ignore[misc]
    assert end(bench, question)
    assert bench.phase(question) == FAILED
    assert bench.claimable(AGENTS[0]) == (4 * BOND if flawed else BOND)
    bench.release_all(question)
    assert [bench.claimable(one) for one in JUDGES[:3]] == [0 if flawed else BOND] * 3


# ---- Disputes


def dispute_bench(flaw: int | None, *strangers: Account) -> CouncilBench:
    """Return a council with disputes, of judges who were right before; so were these accounts."""
    if flaw is None:
        bench = CouncilBench(DISPUTES)
    else:
        bench = CouncilBench(DISPUTES, name="FlawedDisputes", extra=(flaw,))
    if strangers and flaw != UNRANKED:
        scores = bench.evm.at("KnownScores", bench.reputation)
        scores("setScores", [one.address for one in strangers], 100)
    for one in strangers:
        bench.evm.vm.state.set_balance(to_canonical_address(one.address), 10**24)
    return bench


def vote_yes(bench: CouncilBench) -> Question:
    """Return a question on which two agents voted yes, and the thief no."""
    question = bench.ask(specifications="OPTIONS: yes|no")
    bench.answer_all(question, b"yes", b"yes", b"no")
    return question


def dispute_by(bench: CouncilBench, question: Question, judges: list[Account]) -> None:
    """Let the thief's friend dispute, and these judges register if they may."""
    bench.dispute(question)
    for judge in judges:
        succeeds(lambda j=judge: bench.register(question, j))  # type: ignore[misc]
    bench.advance(question)


def gain(bench: CouncilBench, accounts: list[Account], before: int) -> int:
    """Return by how much the accounts have more wei than before, with what they may withdraw."""
    return wealth(bench, accounts) - before


def wealth(bench: CouncilBench, accounts: list[Account]) -> int:
    return sum(bench.balance(one.address) + bench.claimable(one) for one in accounts)


@pytest.mark.parametrize("flawed", [False, True])
def test_strangers_overturn_a_vote(*, flawed: bool) -> None:
    """The loser of a vote disputes it, and many accounts of its own register as judges."""
    crowd = many_accounts(40)
    bench = dispute_bench(UNRANKED if flawed else None)
    if flawed:
        scores = Terms(dispute_window=1_000, min_dispute_judge_reputation=0)
        bench = CouncilBench(scores, name="FlawedDisputes", extra=(UNRANKED,))
    for one in crowd:
        bench.evm.vm.state.set_balance(to_canonical_address(one.address), 10**24)
    gang = [THIEF, DISPUTER, *crowd]
    before = wealth(bench, gang)
    question = vote_yes(bench)
    dispute_by(bench, question, crowd)
    if flawed:
        names = [THIEF.address]
        judges, _ = bench.oracle("judgesOf", 1, True)  # noqa: FBT003
        for judge in [one for one in crowd if one.address in judges]:
            bench.oracle("resolveDispute", 1, True, b"no", names, sender=judge)  # noqa: FBT003
    bench.distribute(question)
    bench.release_all(question)
    assert bench.oracle("getResolution", 1)[0] == (b"no" if flawed else b"yes")
    expected = REWARD + 2 * BOND if flawed else -BOND
    assert abs(gain(bench, gang, before) - expected) < FEES


@pytest.mark.parametrize("flawed", [False, True])
def test_one_judge_overturns_a_vote(*, flawed: bool) -> None:
    """One of three candidates is the thief's friend: alone it decides if it is drawn."""
    friend, *honest = JUDGES[:3]
    bench = dispute_bench(ONE_JUDGE if flawed else None)
    robbed = False
    for nonce in range(12):  # until the friend is drawn
        snapshot = bench.evm.vm.state.snapshot()
        question = bench.ask(specifications="OPTIONS: yes|no")
        for agent, answer in zip(AGENTS[:3], (b"yes", b"yes", b"no"), strict=True):
            bench.commit(question, agent, answer, nonce)
        for agent, answer in zip(AGENTS[:3], (b"yes", b"yes", b"no"), strict=True):
            bench.reveal(question, agent, answer)
        dispute_by(bench, question, [friend, *honest])
        panel = bench.panel(question)
        assert len(panel) == (1 if flawed else 3)
        for judge in panel:
            if judge is friend:
                bench.rule(question, [THIEF], b"no", judges=[judge])
            else:
                bench.rule(question, judges=[judge])
        robbed |= bench.oracle("getResolution", question.request_id)[0] == b"no"
        bench.evm.vm.state.revert(snapshot)
    assert robbed == flawed


@pytest.mark.parametrize("flawed", [False, True])
@pytest.mark.parametrize("by_judge", [False, True])
def test_a_lost_dispute_costs_what_a_won_one_brings(*, flawed: bool, by_judge: bool) -> None:
    """A gang disputes and judges. So it pays only for who has more than half of the judges."""
    bench = dispute_bench(SMALL_STAKES if flawed else None)
    gains = {}
    for wins in (False, True):
        gang = [THIEF, DISPUTER, *JUDGES[1:4]]
        snapshot = bench.evm.vm.state.snapshot()
        question = bench.ask(specifications="" if by_judge else "OPTIONS: yes|no")
        bench.register(question, JUDGES[0])
        bench.answer_all(question, b"yes", b"yes", b"no")
        if by_judge:
            bench.aggregate(question, AGENTS[:2], b"yes")
        dispute_by(bench, question, JUDGES[1:4])
        if wins:
            bench.rule(question, [THIEF], b"no")
        else:  # a friend, and two who can't be bought
            friend, *honest = bench.panel(question)
            bench.rule(question, [THIEF], b"no", judges=[friend])
            bench.rule(question, judges=honest)
            gang = [THIEF, DISPUTER, friend]
        bench.distribute(question)
        gains[wins] = wealth(bench, gang) - len(gang) * 10**24
        bench.evm.vm.state.revert(snapshot)
    assert gains[True] > FEES
    assert (-gains[False] >= gains[True]) == (not flawed)


@pytest.mark.parametrize("flawed", [False, True])
def test_a_crowd_takes_all_places(*, flawed: bool) -> None:
    """Who fills the places with accounts of its own is drawn, if there is a last place."""
    crowd = many_accounts(33)
    bench = dispute_bench(FEW_PLACES if flawed else None, *crowd)
    question = bench.ask()
    for one in crowd[:32]:
        bench.register(question, one)
    honest_registers = succeeds(lambda: bench.register(question, JUDGES[0]))
    assert honest_registers == (not flawed)
    bench.answer_all(question, b"4", b"4", b"5")
    used = bench.evm.last.get_gas_used()
    assert used < 400_000  # whatever the number of candidates


# ---- Payments


@pytest.mark.parametrize("behaviour", range(1, 5))
@pytest.mark.parametrize("fails", [False, True])
def test_direct_payment_reaches_all_who_take_it(behaviour: int, *, fails: bool) -> None:
    """A recipient that refuses, calls back, burns its gas or returns a megabyte stops nobody."""
    bench = CouncilBench()
    oracle = bench.oracle
    hostile = bench.evm.deploy("CouncilParticipant")
    send = oracle.artifact.encode_call
    again = send("withdrawFor", ZERO, hostile.address)
    hostile("behave", behaviour, oracle.address, again, 3)
    question = bench.ask(specifications="OPTIONS: yes|no")
    with reverts("NotRequester", 1, STRANGER.address):
        oracle("payDirectly", 1, sender=STRANGER)
    oracle("payDirectly", 1)
    assert oracle("paysDirectly", 1)
    commitment = oracle("commitmentOf", 1, hostile.address, b"yes", 7)
    hostile("call", oracle.address, send("commit", 1, commitment), value_wei=BOND)
    with reverts("CommitmentsMade", 1):
        oracle("payDirectly", 1)
    for agent in AGENTS[:2]:
        bench.commit(question, agent, b"?" if fails else b"yes")
    before = [bench.balance(one.address) for one in AGENTS[:2]]
    hostile("call", oracle.address, send("reveal", 1, b"yes", 7))
    if not fails:
        for agent in AGENTS[:2]:
            bench.reveal(question, agent, b"yes")
    assert end(bench, question)
    assert bench.evm.last.get_gas_used() < 600_000
    got = [bench.balance(one.address) - old for one, old in zip(AGENTS[:2], before, strict=True)]
    share = 3 * BOND if fails else REWARD // 3 + BOND
    assert all(abs(amount - share) < FEES for amount in got) == (not fails)
    assert [bench.claimable(one) for one in AGENTS[:2]] == [0, 0]
    owed = bench.claimable(hostile.address)
    refuses = behaviour in {1, 3, 4}  # a megabyte costs more gas than it has
    assert (owed > 0) == refuses
    assert bench.held() == owed
    if refuses:
        taken = succeeds(lambda: oracle("withdrawFor", ZERO, hostile.address, sender=STRANGER))
        assert taken == (behaviour == 4)
        hostile("behave", 0, ZERO, b"", 0)
        if not taken:
            oracle("withdrawFor", ZERO, hostile.address, sender=STRANGER)
    assert bench.held() == 0


@pytest.mark.parametrize("answer", [NOTHING, TRUE])
def test_direct_payment_in_a_token(answer: int) -> None:
    bench = CouncilBench()
    token = bench.evm.deploy("RewardToken", answer, REWARD)
    token("approve", bench.oracle.address, REWARD)
    question = bench.ask(token=token)
    bench.oracle("payDirectly", 1)
    bench.register(question, *JUDGES[:2])
    bench.answer_all(question, b"4", b"4", b"4")
    bench.aggregate(question, AGENTS[:3])
    bench.distribute(question)
    assert token("balanceOf", bench.oracle.address) == 0
    assert sum(token("balanceOf", one.address) for one in AGENTS[:3]) == REWARD - REWARD // 10
    bench.release_all(question)  # the judge that was not drawn
    assert bench.held() == 0


def test_a_sender_cannot_starve_a_recipient() -> None:
    """A direct payment has all of its gas, or the transaction reverts."""
    bench = CouncilBench()
    hostile = bench.evm.deploy("CouncilParticipant")
    question = bench.ask(agents=1, specifications="OPTIONS: yes|no")
    bench.oracle("payDirectly", 1)
    send = bench.oracle.artifact.encode_call
    commitment = bench.oracle("commitmentOf", 1, hostile.address, b"yes", 7)
    hostile("call", bench.oracle.address, send("commit", 1, commitment), value_wei=BOND)
    hostile("call", bench.oracle.address, send("reveal", 1, b"yes", 7))
    paid = 0
    for gas in range(40_000, 240_000, 10_000):
        snapshot = bench.evm.vm.state.snapshot()
        data = send("distributeRewards", question.request_id)
        try:
            bench.evm.send(bench.oracle.address, data, gas=gas)
        except RevertedError:
            bench.evm.vm.state.revert(snapshot)
            continue
        assert bench.held() == 0
        paid += 1
        bench.evm.vm.state.revert(snapshot)
    assert paid


@pytest.mark.parametrize("token_reward", [False, True])
def test_a_contract_that_knows_the_erc_alone_gets_its_refund(*, token_reward: bool) -> None:
    """It has no call of `withdraw`: anybody sends it what it may have."""
    bench = CouncilBench()
    client = bench.evm.deploy("CouncilParticipant")
    token = bench.evm.deploy("RewardToken", TRUE, REWARD) if token_reward else None
    asset = token.address if token else ZERO
    if token:
        token("transfer", client.address, REWARD)
        data = token.artifact.encode_call("approve", bench.oracle.address, REWARD)
        client("call", token.address, data)
    arguments = ("?", 1, BOND, bench.now + 1, asset, "", ((), ()))
    data = bench.oracle.artifact.encode_call("createRequest", *arguments)
    client("call", bench.oracle.address, data, value_wei=0 if token else REWARD)
    bench.pass_time(2)
    bench.oracle("advance", 1, sender=STRANGER)
    assert bench.oracle("withdrawFor", asset, client.address, sender=STRANGER) == REWARD
    held = token("balanceOf", client.address) if token else bench.balance(client.address)
    assert held == REWARD
    with reverts("NothingToWithdraw", asset, client.address):
        bench.oracle("withdrawFor", asset, client.address, sender=STRANGER)


# ---- Randomness


@pytest.mark.parametrize("flawed", [False, True])
def test_requester_that_picks_the_block(*, flawed: bool) -> None:
    """Whoever sends the draw tries block after block until its friend is drawn."""
    friend = JUDGES[4]
    bench = judging(PICKED_BLOCK, IN_BLOCKS) if flawed else CouncilBench(IN_BLOCKS)
    question = bench.ask()
    bench.register(question, *JUDGES)
    bench.answer_all(question, b"4", b"4", b"4")
    block = bench.oracle("seedBlockOf", question.request_id)
    drawn = set()
    bench.pass_time(blocks=5)
    for _ in range(12):
        snapshot = bench.evm.vm.state.snapshot()
        bench.oracle("selectJudge", question.request_id, header_of(block))
        drawn.add(bench.judge(question))
        bench.evm.vm.state.revert(snapshot)
        bench.pass_time(1)
    assert (len(drawn) > 1) == flawed
    assert flawed == (friend in drawn and len(drawn) > 1)


def test_draw_before_its_block_or_with_another_header() -> None:
    bench = CouncilBench(IN_BLOCKS)
    question = bench.ask()
    bench.register(question, *JUDGES)
    bench.answer_all(question, b"4", b"4", b"4")
    block = bench.oracle("seedBlockOf", question.request_id)
    assert block == bench.block_number + IN_BLOCKS.seed_delay
    for header in (header_of(block), b"", header_of(block - 1)):
        assert not succeeds(lambda h=header: bench.oracle("selectJudge", 1, h))  # type: ignore[misc]
    bench.pass_time(blocks=IN_BLOCKS.seed_delay)
    assert not succeeds(
        lambda: bench.oracle("selectJudge", 1, header_of(block))
    )  # the block is not over
    bench.pass_time(blocks=1)
    assert not succeeds(lambda: bench.oracle("selectJudge", 1, header_of(block - 1)))
    bench.oracle("selectJudge", 1, header_of(block))
    assert bench.phase(question) == JUDGE


def test_judge_that_comes_after_the_reveals() -> None:
    """Nobody joins after the block of the draw is fixed."""
    bench = CouncilBench(IN_BLOCKS)
    question = bench.ask()
    bench.register(question, JUDGES[0])
    bench.answer_all(question, b"4", b"4", b"4")
    assert not succeeds(lambda: bench.register(question, JUDGES[1]))


# ---- Money that stays


def all_money_is_out(bench: CouncilBench, question: Question) -> bool:
    """Return whether a request ends and everybody's withdrawals empty the oracle."""
    ended = end(bench, question)
    bench.withdraw_all(question.token)
    bench.withdraw_all()
    return ended and bench.held() == 0


@pytest.mark.parametrize("flawed", [False, True])
def test_no_commitments(*, flawed: bool) -> None:
    bench = payments(NO_COMMITMENTS) if flawed else CouncilBench()
    question = bench.ask()
    bench.register(question, JUDGES[0])
    assert all_money_is_out(bench, question) == (not flawed)


@pytest.mark.parametrize("flawed", [False, True])
def test_no_quorum(*, flawed: bool) -> None:
    bench = payments(NO_REFUND) if flawed else CouncilBench()
    question = bench.ask()
    bench.register(question, JUDGES[0])
    for agent in AGENTS[:3]:
        bench.commit(question, agent)
    bench.reveal(question, AGENTS[0])
    assert all_money_is_out(bench, question) == (not flawed)


@pytest.mark.parametrize("flawed", [False, True])
@pytest.mark.parametrize("reveals", [0, 1])
def test_partial_reveals(reveals: int, *, flawed: bool) -> None:
    """Slots stay free, and of those who committed some, or all, never reveal."""
    bench = payments(STUCK_BONDS) if flawed else CouncilBench()
    question = bench.ask(agents=5)
    for agent in AGENTS[:3]:
        bench.commit(question, agent)
    bench.pass_phase(question)
    for agent in AGENTS[:reveals]:
        bench.reveal(question, agent)
    assert all_money_is_out(bench, question) == (not flawed)
    if not flawed:
        assert bench.outcome(question, AGENTS[2]) == 3


@pytest.mark.parametrize("flawed", [False, True])
def test_judge_that_never_comes(*, flawed: bool) -> None:
    bench = judging(NO_TIMEOUT) if flawed else CouncilBench()
    question = bench.ask()
    bench.register(question, *JUDGES[:2])
    bench.answer_all(question, b"4", b"4", b"5")
    assert all_money_is_out(bench, question) == (not flawed)


def test_draw_that_nobody_makes() -> None:
    bench = CouncilBench(IN_BLOCKS)
    question = bench.ask()
    bench.register(question, *JUDGES[:2])
    bench.answer_all(question, b"4", b"4", b"5")
    assert all_money_is_out(bench, question)
    assert bench.phase(question) == FAILED


@pytest.mark.parametrize("flawed", [False, True])
def test_reverting_recipient(*, flawed: bool) -> None:
    """One winner refuses its wei: the others get theirs."""
    bench = payments(PUSH) if flawed else CouncilBench()
    hostile = bench.evm.deploy("CouncilParticipant")
    hostile("behave", 1, ZERO, b"", 0)
    question = bench.ask(specifications="OPTIONS: yes|no")
    oracle = bench.oracle
    commitment = oracle("commitmentOf", question.request_id, hostile.address, b"yes", 7)
    send = oracle.artifact.encode_call
    hostile("call", oracle.address, send("commit", 1, commitment), value_wei=BOND)
    for agent in AGENTS[:2]:
        bench.commit(question, agent, b"yes")
    hostile("call", oracle.address, send("reveal", 1, b"yes", 7))
    for agent in AGENTS[:2]:
        bench.reveal(question, agent, b"yes")
    assert end(bench, question) == (not flawed)
    if not flawed:
        hostile("call", oracle.address, send("withdraw", ZERO, STRANGER.address))
        bench.withdraw_all()
        assert bench.held() == 0


# ---- Tokens


def token_question(bench: CouncilBench, answer: int) -> tuple[Contract, Question | None]:
    """Ask with the reward of a token that answers oddly, if the oracle takes it."""
    token = bench.evm.deploy("RewardToken", answer, REWARD)
    token("approve", bench.oracle.address, REWARD)
    try:
        return token, bench.ask(token=token)
    except RevertedError:
        return token, None


@pytest.mark.parametrize("flawed", [False, True])
def test_token_without_a_return_value(*, flawed: bool) -> None:
    bench = submissions(BOOLEAN_TOKEN) if flawed else CouncilBench()
    token, question = token_question(bench, NOTHING)
    assert (question is None) == flawed
    if question is not None:
        bench.register(question, JUDGES[0])
        bench.answer_all(question, b"4", b"4", b"4")
        bench.aggregate(question, AGENTS[:3])
        assert all_money_is_out(bench, question)
        assert token("balanceOf", bench.oracle.address) == 0
        assert token("balanceOf", JUDGES[0].address) == REWARD // 10


@pytest.mark.parametrize("flawed", [False, True])
def test_token_that_takes_a_fee(*, flawed: bool) -> None:
    """The last to withdraw would get nothing, or another request's tokens."""
    bench = submissions(STATED_AMOUNT) if flawed else CouncilBench()
    token, question = token_question(bench, FEE)
    assert (question is not None) == flawed
    if question is not None:
        _, of_token = bench.oracle("escrowOf", question.request_id)
        assert token("balanceOf", bench.oracle.address) < of_token


def test_token_that_is_no_contract() -> None:
    bench = CouncilBench()
    with reverts("TokenMissing", STRANGER.address):
        arguments = ("?", 1, BOND, bench.now + 1, STRANGER.address, "", ((), ()))
        bench.oracle("createRequest", *arguments)


def test_withdrawal_to_the_oracle_itself() -> None:
    """Tokens that the oracle sends to itself would stay there."""
    bench = CouncilBench()
    token = bench.evm.deploy("RewardToken", TRUE, REWARD)
    token("approve", bench.oracle.address, REWARD)
    question = bench.ask(token=token)
    bench.advance(question)
    for to in (bench.oracle.address, ZERO):
        with reverts("WrongRecipient", to):
            bench.oracle("withdraw", token.address, to)
    bench.oracle("withdraw", token.address, REQUESTER.address)
    assert token("balanceOf", REQUESTER.address) == REWARD


def test_token_that_refuses() -> None:
    _, question = token_question(CouncilBench(), FALSE)
    assert question is None


# ---- Sizes


def fill(bench: CouncilBench) -> list[bool]:
    """Return which overlong inputs are accepted."""
    long = "x" * 8_000
    accepted = [
        succeeds(lambda: bench.ask(query=long + long)),
        succeeds(lambda: bench.ask(specifications=long + long)),
        succeeds(lambda: bench.ask(capabilities=([*map(str, range(65))], ()))),
        succeeds(lambda: bench.ask(capabilities=((), ["x" * 65]))),
    ]
    question = bench.ask()
    bench.register(question, JUDGES[0])
    for agent in AGENTS[:3]:
        bench.commit(question, agent, b"x" * 2_049)
    accepted += [
        succeeds(lambda a=agent: bench.reveal(question, a, b"x" * 2_049))  # type: ignore[misc]
        for agent in AGENTS[:3]
    ]
    return accepted


@pytest.mark.parametrize("flawed", [False, True])
def test_overlong_inputs(*, flawed: bool) -> None:
    bench = submissions(NO_LIMITS) if flawed else CouncilBench()
    assert set(fill(bench)) == {flawed}


def test_everything_at_its_limit_fits_into_a_transaction() -> None:
    """64 agents with the longest answers, 32 judges, and all paid: within EIP-7825's limit."""
    bench = CouncilBench()
    everybody = many_accounts(96)
    for one in everybody:
        bench.evm.vm.state.set_balance(to_canonical_address(one.address), 10**24)
    agents, judges = everybody[:64], everybody[64:]
    question = bench.ask(agents=64, query="x" * 7_000)
    bench.oracle("payDirectly", question.request_id)
    bench.register(question, *judges)
    for agent in agents:
        bench.commit(question, agent, b"x" * 2_048)
    used = []
    for agent in agents:
        bench.reveal(question, agent, b"x" * 2_048)
        used.append(bench.evm.last.get_gas_used())
    (judge,), _ = bench.oracle("judgesOf", question.request_id, False)  # noqa: FBT003
    by_judge = next(one for one in judges if one.address == judge)
    bench.aggregate(question, agents, b"y" * 2_048, judge=by_judge, reasoning=b"z" * 4_096)
    used.append(bench.evm.last.get_gas_used())
    bench.distribute(question)
    used.append(bench.evm.last.get_gas_used())
    assert max(used) < MOST_GAS
    bench.release_all(question)
    for one in (*everybody, OWNER):
        if bench.claimable(one):
            bench.oracle("withdraw", ZERO, one.address, sender=one)
    assert bench.held() == 0


def many_accounts(count: int) -> list[Account]:
    """Return accounts with the keys from 10,000 on."""
    return [Account(PrivateKey((10_000 + n).to_bytes(32, "big"))) for n in range(count)]
