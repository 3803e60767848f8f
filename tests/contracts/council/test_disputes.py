"""Disputes: what they cost, and who is paid: upheld, overturned, or decided by no panel."""

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
    JUDGE_ABSENT,
    JUDGE_OVERTURNED,
    JUDGE_UPHELD,
    JUDGES,
    NO_OUTCOME,
    OPTIONS,
    PANEL,
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
from tests.contracts.plain_evm import STRANGER, ZERO, Account, RevertedError, reverts

TERMS = Terms(dispute_window=1_000)
FEE = REWARD // 10
FIRST, PANELISTS = JUDGES[0], JUDGES[1 : 1 + PANEL]
MOVED = REWARD + 4 * BOND
"""What overturning a judge's answer moves: the reward, three agents' bonds and the judge's."""

MOVED_BY_VOTE = REWARD + 3 * BOND


@pytest.fixture
def bench() -> CouncilBench:
    return CouncilBench(TERMS)


def judged(bench: CouncilBench, *, value: int = 0) -> Question:
    """Return a question with the answer 4, which two of three gave."""
    question = bench.ask()
    if value:
        bench.oracle("declareValue", question.request_id, value)
    bench.register(question, FIRST)
    bench.answer_all(question, b"4", b"4", b"5")
    bench.aggregate(question, AGENTS[:2])
    return question


def voted(bench: CouncilBench) -> Question:
    """Return a question on which two of three voted yes."""
    question = bench.ask(specifications=OPTIONS)
    bench.answer_all(question, b"yes", b"yes", b"no")
    return question


def disputed(bench: CouncilBench, question: Question, *judges: Account) -> int:
    """Dispute, register judges, and end their registration; return a judge's bond."""
    bench.dispute(question)
    bench.register(question, *judges)
    bond: int = bench.oracle("judgeBondOf", question.request_id, True)  # noqa: FBT003
    bench.advance(question)
    return bond


def settle(bench: CouncilBench, question: Question) -> None:
    """Share the money; nothing stays after everybody's withdrawal."""
    bench.distribute(question)
    bench.release_all(question)
    left = sum(bench.claimable(one) for one in (*AGENTS, *JUDGES, DISPUTER, REQUESTER))
    assert left == bench.held()
    assert bench.oracle("escrowOf", question.request_id) == (0, 0)


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


@pytest.mark.parametrize("window", [0, 1])
@pytest.mark.parametrize("minimum", [-1, 0, 1])
@pytest.mark.parametrize("ranked", [False, True])
def test_disputes_need_judges_who_were_right_before(
    *, window: int, minimum: int, ranked: bool
) -> None:
    terms = Terms(dispute_window=window, min_dispute_judge_reputation=minimum)
    bench = CouncilBench()
    source = bench.evm.deploy("KnownScores").address if ranked else ZERO
    if window == 0 or (ranked and minimum >= 1):
        bench.evm.deploy("AgentCouncilOracle", terms.encoded(), source)
        return
    with reverts("DisputesNeedReputation"):
        bench.evm.deploy("AgentCouncilOracle", terms.encoded(), source)


@pytest.mark.parametrize("judges", [0, 1, 2, 3, 4, 14, 15, 16])
def test_how_many_judges_decide_a_dispute(judges: int) -> None:
    terms = Terms(dispute_window=1, dispute_judges=judges)
    if judges in {3, 15}:
        CouncilBench(terms)
    else:
        with reverts("OutOfRange", "disputeJudges", judges if judges % 2 else 0, 3, 15):
            CouncilBench(terms)
    CouncilBench(Terms(dispute_judges=judges))  # not looked at without a window


@pytest.mark.parametrize("value", [0, 1, 7 * REWARD])
def test_the_bonds_are_what_overturning_moves(bench: CouncilBench, value: int) -> None:
    question = judged(bench, value=value)
    assert bench.oracle("declaredValueOf", 1) == value
    bond = MOVED + value
    assert bench.oracle("disputeBondOf", 1) == bond
    assert bench.oracle("judgeBondOf", 1, False) == BOND  # noqa: FBT003
    with reverts("WrongValue", bond - 1, bond):
        bench.oracle("initiateDispute", 1, "", sender=DISPUTER, value_wei=bond - 1)
    bench.dispute(question)
    of_judge = -(-bond // 2)  # two of three overturn
    assert bench.oracle("judgeBondOf", 1, True) == of_judge  # noqa: FBT003
    with reverts("WrongValue", BOND, of_judge):
        bench.oracle("registerJudge", 1, sender=PANELISTS[0], value_wei=BOND)
    assert bench.oracle("disputeBondOf", 1) == bond


def test_the_parts_of_the_terms_are_a_minimum() -> None:
    bench = CouncilBench(Terms(dispute_window=1, dispute_bond=60_000))
    question = bench.ask(agents=1, reward=1)
    bench.register(question, FIRST)
    bench.answer_all(question, b"4")
    bench.aggregate(question, AGENTS[:1])
    assert bench.oracle("disputeBondOf", 1) == 6 * BOND


def test_only_the_requester_declares_a_value_and_only_while_agents_commit(
    bench: CouncilBench,
) -> None:
    bench.ask()
    with reverts("NotRequester", 1, STRANGER.address):
        bench.oracle("declareValue", 1, 1, sender=STRANGER)
    bench.oracle("declareValue", 1, 5)
    for value in (0, 5, 2**96):
        with reverts("OutOfRange", "value", value, 6, 2**96 - 1):
            bench.oracle("declareValue", 1, value)
    bench.pass_time(2_000)
    with reverts("WrongPhase", 1, 1):
        bench.oracle("declareValue", 1, 6)


def test_upheld(bench: CouncilBench) -> None:
    question = judged(bench)
    bench.dispute(question, "0x" + "ab" * 32)
    assert bench.event("DisputeInitiated") == {
        "disputer": DISPUTER.address,
        "reason": "0x" + "ab" * 32,
    }
    assert bench.phase(question) == DISPUTE_REGISTRATION
    bench.register(question, *PANELISTS)
    bench.advance(question)
    assert {one.address for one in bench.panel(question)} == {one.address for one in PANELISTS}
    with reverts("NotJudge", 1, FIRST.address):
        bench.oracle("resolveDispute", 1, False, b"", [], sender=FIRST)  # noqa: FBT003
    bench.rule(question)
    assert bench.event("DisputeResolved") == {"overturned": False, "finalAnswer": b"4"}
    bond = bench.oracle("judgeBondOf", 1, True)  # noqa: FBT003
    settle(bench, question)
    of_judge = MOVED * 4 // 10 // PANEL
    of_requester = (MOVED - MOVED * 4 // 10) // 2
    of_winners = MOVED - PANEL * of_judge - of_requester
    assert [bench.claimable(one) for one in PANELISTS] == [bond + of_judge] * PANEL
    assert bench.claimable(FIRST) == BOND + FEE
    assert bench.claimable(REQUESTER) == of_requester
    assert bench.claimable(DISPUTER) == 0
    winners = sum(bench.claimable(one) for one in AGENTS[:2])
    assert winners == REWARD - FEE + 3 * BOND + of_winners
    assert [bench.outcome(question, one) for one in (FIRST, *PANELISTS)] == [JUDGE_UPHELD] * 4


def test_overturned(bench: CouncilBench) -> None:
    question = judged(bench)
    bond = disputed(bench, question, *PANELISTS)
    bench.rule(question, AGENTS[2:3], b"5")
    assert bench.event("DisputeResolved") == {"overturned": True, "finalAnswer": b"5"}
    assert bench.oracle("getResolution", 1) == (b"5", True)
    settle(bench, question)
    of_fee, of_bond = FEE // 2 // PANEL, BOND * 4 // 10 // PANEL
    assert bench.claimable(DISPUTER) == MOVED + FEE // 2
    assert [bench.claimable(one) for one in PANELISTS] == [bond + of_fee + of_bond] * PANEL
    assert bench.claimable(FIRST) == 0
    rest = REWARD - FEE // 2 - PANEL * of_fee + 3 * BOND + BOND - PANEL * of_bond
    assert bench.claimable(AGENTS[2]) == rest
    assert [bench.claimable(one) for one in AGENTS[:2]] == [0, 0]
    assert [bench.outcome(question, one) for one in (*AGENTS[:3], FIRST, *PANELISTS)] == [
        *(WRONG, WRONG, RIGHT, JUDGE_OVERTURNED),
        *[JUDGE_UPHELD] * PANEL,
    ]


def test_a_vote_can_be_overturned(bench: CouncilBench) -> None:
    question = voted(bench)
    assert bench.oracle("disputeBondOf", 1) == MOVED_BY_VOTE
    disputed(bench, question, *PANELISTS)
    with reverts("WrongWinners", 1):
        bench.rule(question, AGENTS[1:3], b"no")
    with reverts("NothingOverturned", 1):
        bench.rule(question, AGENTS[:2], b"yes")
    bench.rule(question, AGENTS[2:3], b"no")
    settle(bench, question)
    assert bench.oracle("getResolution", 1) == (b"no", True)
    assert bench.claimable(DISPUTER) == MOVED_BY_VOTE + FEE // 2


VERDICTS = {"yes": ((), b""), "no": (AGENTS[2:3], b"no"), "?": (AGENTS[3:4], b"unknown"), "-": None}
"""What a judge decides: to uphold, one of two other answers, or nothing."""


@pytest.mark.parametrize(
    ("verdicts", "decided"),
    [
        ("yes yes yes", "yes"),
        ("yes yes no", "yes"),
        ("no yes no", "no"),
        ("no no -", "no"),
        ("yes - yes", "yes"),
        ("? no ?", "?"),
        ("yes no ?", None),
        ("no ? -", None),
        ("no - -", None),
        ("- - -", None),
    ],
)
def test_more_than_half_of_the_panel_decides(
    bench: CouncilBench, verdicts: str, decided: str | None
) -> None:
    """The answer is overturned by a majority for one other answer; whoever said otherwise pays."""
    question = bench.ask(agents=5, specifications=OPTIONS)
    bench.answer_all(question, b"yes", b"yes", b"no", b"unknown", b"yes")
    moved = REWARD + 5 * BOND
    bond = disputed(bench, question, *PANELISTS)
    panel, given = bench.panel(question), verdicts.split()
    for judge, one in zip(panel, given, strict=True):
        verdict = VERDICTS[one]
        if verdict is None:
            continue
        winners, answer = verdict
        assert not bench.oracle("hasJudged", 1, judge.address)
        bench.rule(question, winners, answer, judges=[judge])
        assert bench.oracle("hasJudged", 1, judge.address)
        with pytest.raises(RevertedError):  # nobody decides twice
            bench.rule(question, winners, answer, judges=[judge])
    if "-" in given:
        assert bench.phase(question) == DISPUTE_JUDGE
        bench.advance(question)
    expected = {"no": b"no", "?": b"unknown"}.get(decided or "", b"yes")
    assert bench.oracle("getResolution", 1) == (expected, True)
    settle(bench, question)
    for judge, one in zip(panel, given, strict=True):
        if one == "-":
            outcome = JUDGE_ABSENT
        elif decided is None:
            outcome = NO_OUTCOME
        else:
            outcome = JUDGE_UPHELD if one == decided else JUDGE_OVERTURNED
        assert bench.outcome(question, judge) == outcome
        keeps = one == decided or (decided is None and one != "-")
        assert (bench.claimable(judge) >= bond) == keeps
        assert keeps or bench.claimable(judge) == 0
    got = bench.claimable(DISPUTER)
    assert got == {None: moved, "yes": 0}.get(decided, moved + FEE // 2)


@pytest.mark.parametrize("judges", [0, 1, 2])
def test_too_few_judges_decide_nothing(bench: CouncilBench, judges: int) -> None:
    question = judged(bench)
    bond = disputed(bench, question, *JUDGES[1 : 1 + judges])
    assert bench.phase(question) == RESOLVED
    assert bench.event("DisputeResolved") == {"overturned": False, "finalAnswer": b"4"}
    assert bench.claimable(DISPUTER) == MOVED
    settle(bench, question)
    assert [bench.claimable(one) for one in JUDGES[1 : 1 + judges]] == [bond] * judges
    winners = sum(bench.claimable(one) for one in AGENTS[:2])
    assert winners == REWARD - FEE + 3 * BOND


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
    with reverts("ReputationTooLow", STRANGER.address, 0, 1):
        bench.register(question, STRANGER)
    bench.register(question, *others)  # candidates that were not drawn
    assert [bench.claimable(one) for one in others] == [BOND] * 2  # of the first draw


def test_who_was_not_drawn_is_released_once_no_draw_can_take_it(bench: CouncilBench) -> None:
    question = bench.ask()
    bench.register(question, *JUDGES[:2])
    bench.answer_all(question, b"4", b"4", b"5")
    first = bench.judge(question)
    second = next(one for one in JUDGES[:2] if one is not first)
    for one in (first, second, STRANGER):
        with reverts("NothingToRelease", 1, one.address):
            bench.oracle("releaseJudge", 1, one.address)
    bench.aggregate(question, AGENTS[:2])
    bench.oracle("releaseJudge", 1, second.address, sender=STRANGER)
    assert bench.claimable(second) == BOND
    for one in (first, second):
        with reverts("NothingToRelease", 1, one.address):
            bench.oracle("releaseJudge", 1, one.address)
    bench.dispute(question)
    candidates = [one for one in JUDGES if one is not first]
    bench.register(question, *candidates)
    with reverts("NothingToRelease", 1, candidates[0].address):
        bench.oracle("releaseJudge", 1, candidates[0].address)
    bench.advance(question)
    (left,) = [one for one in candidates if one not in bench.panel(question)]
    before = bench.claimable(left)
    bench.oracle("releaseJudge", 1, left.address, sender=STRANGER)
    assert bench.claimable(left) - before == bench.oracle("judgeBondOf", 1, True)  # noqa: FBT003
    bench.rule(question)
    settle(bench, question)


def test_a_dispute_is_drawn_with_a_block_of_its_own() -> None:
    bench = CouncilBench(Terms(dispute_window=1_000, deterministic=False))
    question = bench.ask()
    bench.register(question, FIRST)
    bench.answer_all(question, b"4", b"4", b"5")
    bench.draw(question)
    bench.aggregate(question, AGENTS[:2])
    disputed(bench, question, *JUDGES[1:])
    assert bench.phase(question) == DISPUTE_DRAW
    assert len(set(bench.draw(question, of_dispute=True)) & set(JUDGES[1:])) == PANEL
    bench.rule(question)
    settle(bench, question)


def test_a_draw_of_a_dispute_that_nobody_makes() -> None:
    bench = CouncilBench(Terms(dispute_window=1_000, deterministic=False))
    question = voted(bench)
    bond = disputed(bench, question, *PANELISTS)
    bench.advance(question)
    assert bench.phase(question) == RESOLVED
    settle(bench, question)
    assert [bench.claimable(one) for one in PANELISTS] == [bond] * PANEL
    assert bench.claimable(DISPUTER) == MOVED_BY_VOTE


def test_a_request_has_one_dispute(bench: CouncilBench) -> None:
    question = judged(bench)
    disputed(bench, question, *PANELISTS)
    with reverts("WrongPhase", 1, DISPUTE_JUDGE):
        bench.dispute(question)
    bench.rule(question)
    with reverts("WrongPhase", 1, RESOLVED):
        bench.dispute(question)
    bench.distribute(question)
    assert bench.phase(question) == DISTRIBUTED


def test_reimbursements_are_in_the_reward_token() -> None:
    """An answer that a token pays for can be disputed if its value in wei was declared."""
    bench = CouncilBench(TERMS)
    token = bench.evm.deploy("RewardToken", 3, 2 * REWARD)
    with reverts("AllowanceNotExact", token.address, 2**256 - 1):
        token("approve", bench.oracle.address, 2**256 - 1)
        bench.ask(token=token)
    token("approve", bench.oracle.address, REWARD)
    with reverts("WrongValue", 1, 0):
        arguments = ("?", 1, BOND, bench.now + 1, token.address, "", ((), ()))
        bench.oracle("createRequest", *arguments, value_wei=1)
    question = bench.ask(token=token)
    bench.oracle("declareValue", 1, 9 * BOND)
    assert bench.oracle("escrowOf", 1) == (0, REWARD)
    bench.register(question, FIRST)
    bench.answer_all(question, b"4", b"4", b"5")
    bench.aggregate(question, AGENTS[:2])
    bond = disputed(bench, question, *PANELISTS)
    assert bond == 13 * BOND // 2
    bench.rule(question, AGENTS[2:3], b"5")
    bench.distribute(question)
    of_judge = FEE // 2 // PANEL
    shared = [bench.claimable(one, token.address) for one in (DISPUTER, *PANELISTS, FIRST)]
    assert shared == [FEE // 2, *[of_judge] * PANEL, 0]
    assert bench.claimable(AGENTS[2], token.address) == REWARD - FEE // 2 - PANEL * of_judge
    assert bench.claimable(DISPUTER) == 13 * BOND
    bench.withdraw_all(token.address)
    bench.withdraw_all(ZERO)
    assert (bench.held(), token("balanceOf", bench.oracle.address)) == (0, 0)
    assert token("balanceOf", DISPUTER.address) == FEE // 2
    with reverts("NothingToWithdraw", token.address, STRANGER.address):
        bench.oracle("withdraw", token.address, STRANGER.address, sender=STRANGER)


def test_an_answer_that_a_token_pays_for_is_final_without_a_declared_value() -> None:
    bench = CouncilBench(TERMS)
    token = bench.evm.deploy("RewardToken", 3, REWARD)
    token("approve", bench.oracle.address, REWARD)
    question = bench.ask(token=token, specifications=OPTIONS)
    bench.answer_all(question, b"yes", b"yes", b"no")
    assert bench.phase(question) == RESOLVED
    with reverts("WrongPhase", 1, RESOLVED):
        bench.dispute(question)
