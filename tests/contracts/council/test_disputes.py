"""Disputes: who is paid when an answer is upheld or overturned, and when no judge comes."""

from __future__ import annotations

import pytest

from tests.contracts.council.council_bench import (
    AGENTS,
    BOND,
    DISPUTE_DRAW,
    DISPUTE_JUDGE,
    DISPUTE_REGISTRATION,
    DISPUTER,
    DISTRIBUTED,
    JUDGE_OVERTURNED,
    JUDGE_UPHELD,
    JUDGES,
    OPTIONS,
    REQUESTER,
    RESOLVED,
    REWARD,
    RIGHT,
    WINDOW,
    WRONG,
    CouncilBench,
    Question,
    Terms,
)
from tests.contracts.plain_evm import STRANGER, ZERO, Account, reverts

TERMS = Terms(dispute_window=1_000)
FEE = REWARD // 10
DISPUTE_BOND = BOND * 3 // 2
FIRST, SECOND = JUDGES[0], JUDGES[1]


@pytest.fixture
def bench() -> CouncilBench:
    return CouncilBench(TERMS)


def judged(bench: CouncilBench) -> Question:
    """Return a question with the answer 4, which two of three gave."""
    question = bench.ask()
    bench.register(question, FIRST)
    bench.answer_all(question, b"4", b"4", b"5")
    bench.aggregate(question, AGENTS[:2])
    return question


def disputed(bench: CouncilBench, question: Question, *judges: Account) -> None:
    """Dispute, register judges, and end their registration."""
    bench.dispute(question)
    bench.register(question, *judges)
    bench.advance(question)


def settle(bench: CouncilBench, question: Question) -> None:
    """Share the money; nothing stays after everybody's withdrawal."""
    bench.distribute(question)
    left = sum(bench.claimable(one) for one in (*AGENTS, *JUDGES, DISPUTER, REQUESTER))
    assert left == bench.held()


def test_an_answer_is_final_after_its_window(bench: CouncilBench) -> None:
    question = judged(bench)
    assert bench.event("DisputeWindowOpened") == {"endTimestamp": bench.now + 1_000}
    assert bench.phase(question) == WINDOW
    with reverts("WrongPhase", 1, WINDOW):
        bench.distribute(question)
    bench.pass_time(1_000)
    assert bench.oracle("getResolution", 1) == (b"4", False)
    bench.pass_time(1)
    assert bench.oracle("getResolution", 1) == (b"4", True)
    with reverts("WrongPhase", 1, RESOLVED):
        bench.dispute(question)
    bench.distribute(question)  # no other call is needed


def test_upheld(bench: CouncilBench) -> None:
    question = judged(bench)
    assert bench.oracle("disputeBondOf", 1) == DISPUTE_BOND
    with reverts("WrongValue", DISPUTE_BOND - 1, DISPUTE_BOND):
        bench.oracle("initiateDispute", 1, "", sender=DISPUTER, value_wei=DISPUTE_BOND - 1)
    bench.dispute(question, "0x" + "ab" * 32)
    assert bench.event("DisputeInitiated") == {
        "disputer": DISPUTER.address,
        "reason": "0x" + "ab" * 32,
    }
    assert bench.phase(question) == DISPUTE_REGISTRATION
    bench.register(question, SECOND)
    bench.advance(question)
    assert bench.event("JudgeSelected") == {"judge": SECOND.address}
    with reverts("NotJudge", 1, FIRST.address):
        bench.oracle("resolveDispute", 1, False, b"", [], sender=FIRST)  # noqa: FBT003
    bench.rule(question)
    assert bench.event("DisputeResolved") == {"overturned": False, "finalAnswer": b"4"}
    settle(bench, question)
    of_judge = DISPUTE_BOND * 4 // 10
    of_requester = (DISPUTE_BOND - of_judge) // 2
    of_winners = DISPUTE_BOND - of_judge - of_requester
    assert bench.claimable(SECOND) == BOND + of_judge
    assert bench.claimable(FIRST) == BOND + FEE
    assert bench.claimable(REQUESTER) == of_requester
    assert bench.claimable(DISPUTER) == 0
    winners = sum(bench.claimable(one) for one in AGENTS[:2])
    assert winners == REWARD - FEE + 3 * BOND + of_winners
    assert [bench.outcome(question, one) for one in (FIRST, SECOND)] == [JUDGE_UPHELD] * 2


def test_overturned(bench: CouncilBench) -> None:
    question = judged(bench)
    disputed(bench, question, SECOND)
    bench.rule(question, AGENTS[2:3], b"5")
    assert bench.event("DisputeResolved") == {"overturned": True, "finalAnswer": b"5"}
    assert bench.oracle("getResolution", 1) == (b"5", True)
    settle(bench, question)
    assert bench.claimable(DISPUTER) == DISPUTE_BOND + FEE // 2
    assert bench.claimable(SECOND) == BOND + FEE // 2 + BOND * 4 // 10
    assert bench.claimable(FIRST) == 0
    assert bench.claimable(AGENTS[2]) == REWARD - FEE + 3 * BOND + BOND * 6 // 10
    assert [bench.claimable(one) for one in AGENTS[:2]] == [0, 0]
    assert [bench.outcome(question, one) for one in (*AGENTS[:3], FIRST, SECOND)] == [
        *(WRONG, WRONG, RIGHT, JUDGE_OVERTURNED, JUDGE_UPHELD),
    ]


def test_a_vote_can_be_overturned(bench: CouncilBench) -> None:
    question = bench.ask(specifications=OPTIONS)
    bench.answer_all(question, b"yes", b"yes", b"no")
    disputed(bench, question, SECOND)
    with reverts("WrongWinners", 1):
        bench.rule(question, AGENTS[1:3], b"no")
    with reverts("NothingOverturned", 1):
        bench.rule(question, AGENTS[:2], b"yes")
    bench.rule(question, AGENTS[2:3], b"no")
    settle(bench, question)
    assert bench.claimable(DISPUTER) == DISPUTE_BOND + FEE // 2
    assert bench.claimable(SECOND) == BOND + FEE // 2
    assert bench.claimable(AGENTS[2]) == REWARD - FEE + 3 * BOND


@pytest.mark.parametrize("judges", [0, 1, 2])
def test_without_a_ruling_the_answer_stands(bench: CouncilBench, judges: int) -> None:
    question = judged(bench)
    disputed(bench, question, *JUDGES[1 : 1 + judges])
    for _ in range(judges):
        assert bench.phase(question) == DISPUTE_JUDGE
        bench.advance(question)
    assert bench.phase(question) == RESOLVED
    assert bench.event("DisputeResolved") == {"overturned": False, "finalAnswer": b"4"}
    assert bench.claimable(DISPUTER) == DISPUTE_BOND
    settle(bench, question)
    winners = sum(bench.claimable(one) for one in AGENTS[:2])
    assert winners == REWARD - FEE + (3 + judges) * BOND


def test_who_can_judge_a_dispute(bench: CouncilBench) -> None:
    question = bench.ask()
    bench.register(question, *JUDGES[:3])
    bench.answer_all(question, b"4", b"4", b"5")
    first = bench.judge(question)
    others = [one for one in JUDGES[:3] if one is not first]
    bench.aggregate(question, AGENTS[:2])
    with reverts("WrongPhase", 1, WINDOW):
        bench.register(question, JUDGES[4])
    bench.dispute(question)
    for one in (first, AGENTS[0], REQUESTER, DISPUTER):
        with reverts("NotEligible", 1, one.address):
            bench.register(question, one)
    bench.register(question, *others)  # candidates that were not drawn


def test_a_dispute_is_drawn_with_a_block_of_its_own() -> None:
    bench = CouncilBench(Terms(dispute_window=1_000, deterministic=False))
    question = bench.ask()
    bench.register(question, FIRST)
    bench.answer_all(question, b"4", b"4", b"5")
    bench.draw(question)
    bench.aggregate(question, AGENTS[:2])
    disputed(bench, question, SECOND, JUDGES[2])
    assert bench.phase(question) == DISPUTE_DRAW
    assert bench.draw(question, of_dispute=True) in JUDGES[1:3]
    bench.rule(question)
    settle(bench, question)


def test_a_draw_of_a_dispute_that_nobody_makes() -> None:
    bench = CouncilBench(Terms(dispute_window=1_000, deterministic=False))
    question = bench.ask(specifications=OPTIONS)
    bench.answer_all(question, b"yes", b"yes", b"no")
    disputed(bench, question, SECOND)
    bench.advance(question)
    assert bench.phase(question) == RESOLVED
    assert [bench.claimable(one) for one in (SECOND, DISPUTER)] == [BOND, DISPUTE_BOND]
    settle(bench, question)


def test_a_request_has_one_dispute(bench: CouncilBench) -> None:
    question = judged(bench)
    disputed(bench, question, SECOND)
    with reverts("WrongPhase", 1, DISPUTE_JUDGE):
        bench.dispute(question)
    bench.rule(question)
    with reverts("WrongPhase", 1, RESOLVED):
        bench.dispute(question)
    bench.distribute(question)
    assert bench.phase(question) == DISTRIBUTED


def test_reimbursements_are_in_the_reward_token() -> None:
    bench = CouncilBench(TERMS)
    token = bench.evm.deploy("RewardToken", 3, REWARD)
    with reverts("AllowanceNotExact", token.address, 2**256 - 1):
        token("approve", bench.oracle.address, 2**256 - 1)
        bench.ask(token=token)
    token("approve", bench.oracle.address, REWARD)
    with reverts("WrongValue", 1, 0):
        arguments = ("?", 1, BOND, bench.now + 1, token.address, "", ((), ()))
        bench.oracle("createRequest", *arguments, value_wei=1)
    question = bench.ask(token=token)
    assert bench.oracle("escrowOf", 1) == (0, REWARD)
    bench.register(question, FIRST)
    bench.answer_all(question, b"4", b"4", b"5")
    bench.aggregate(question, AGENTS[:2])
    disputed(bench, question, SECOND)
    bench.rule(question, AGENTS[2:3], b"5")
    bench.distribute(question)
    of_token = [bench.claimable(one, token.address) for one in (DISPUTER, SECOND, AGENTS[2], FIRST)]
    assert of_token == [FEE // 2, FEE // 2, REWARD - FEE, 0]
    assert bench.claimable(DISPUTER) == DISPUTE_BOND
    bench.withdraw_all(token.address)
    bench.withdraw_all(ZERO)
    assert (bench.held(), token("balanceOf", bench.oracle.address)) == (0, 0)
    assert token("balanceOf", DISPUTER.address) == FEE // 2
    with reverts("NothingToWithdraw", token.address, STRANGER.address):
        bench.oracle("withdraw", token.address, STRANGER.address, sender=STRANGER)
