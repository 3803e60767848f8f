"""The flow of a council: questions, commitments, reveals, votes, judges and rewards."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.contracts.council.council_bench import (
    AGENTS,
    BOND,
    COMMIT,
    COMMIT_TIME,
    DISTRIBUTED,
    DRAW,
    FAILED,
    JUDGE,
    JUDGE_ABSENT,
    JUDGE_UPHELD,
    JUDGES,
    NO_OUTCOME,
    OPTIONS,
    REQUESTER,
    RESOLVED,
    REVEAL,
    REWARD,
    RIGHT,
    WITHHELD,
    WRONG,
    CouncilBench,
    Question,
    Terms,
    commitment_of,
)
from tests.contracts.plain_evm import STRANGER, ZERO, reverts

FEE = REWARD // 10


@pytest.fixture
def bench() -> CouncilBench:
    return CouncilBench()


def fail_reason(bench: CouncilBench) -> str:
    return str(bench.event("ResolutionFailed")["reason"])


# ---- The flow


def test_open_question_from_request_to_rewards(bench: CouncilBench) -> None:
    question = bench.ask(query="Who won?", capabilities=(["text"], ["sport"]))
    assert bench.event("RequestCreated") == {
        "requester": REQUESTER.address,
        "query": "Who won?",
        "reward": REWARD,
        "numInfoAgents": 3,
        "bondAmount": BOND,
    }
    deadline = bench.now + COMMIT_TIME
    capabilities = (("text",), ("sport",))
    assert bench.oracle("getRequest", 1) == (
        *(REQUESTER.address, REWARD, ZERO, BOND, 3, deadline, "Who won?", "", capabilities),
    )
    assert bench.oracle("phaseOf", 1) == (COMMIT, deadline)
    bench.register(question, *JUDGES[:2])
    for agent, answer in zip(AGENTS, (b"Ann", b"Ann won", b"Bob"), strict=False):
        bench.commit(question, agent, answer)
    commitments = [
        commitment_of(bench.oracle.address, 1, agent.address, answer, 7)
        for agent, answer in zip(AGENTS, (b"Ann", b"Ann won", b"Bob"), strict=False)
    ]
    assert bench.event("AgentCommitted") == {
        "agent": AGENTS[2].address,
        "commitment": commitments[2],
    }
    agents = tuple(agent.address for agent in AGENTS[:3])
    assert bench.oracle("getCommits", 1) == (agents, tuple(commitments))
    assert bench.oracle("phaseOf", 1) == (REVEAL, bench.now + bench.terms.reveal_time)
    bench.reveal(question, AGENTS[2], b"Bob")
    assert bench.event("AgentRevealed") == {"agent": AGENTS[2].address, "answer": b"Bob"}
    bench.reveal(question, AGENTS[0], b"Ann")
    assert bench.oracle("getReveals", 1) == ((agents[0], agents[2]), (b"Ann", b"Bob"))
    bench.reveal(question, AGENTS[1], b"Ann won")
    judge = bench.judge(question)
    assert bench.event("JudgeSelected") == {"judge": judge.address}
    assert bench.oracle("getResolution", 1) == (b"", False)
    bench.aggregate(question, AGENTS[:2], b"Ann", reasoning=b"Two agree.")
    assert bench.event("JudgeReasoned") == {"judge": judge.address, "reasoning": b"Two agree."}
    assert bench.event("ResolutionFinalized") == {"finalAnswer": b"Ann"}
    assert bench.oracle("getResolution", 1) == (b"Ann", True)
    bench.distribute(question)
    share = (REWARD - FEE) // 2
    assert bench.event("RewardsDistributed") == {"winners": agents[:2], "amounts": (share, share)}
    assert [bench.claimable(one) for one in AGENTS[:3]] == [share + 3 * BOND // 2] * 2 + [0]
    assert bench.claimable(judge) == FEE + BOND
    bench.withdraw_all()
    assert bench.held() == 0
    outcomes = [bench.outcome(question, one) for one in (*AGENTS[:3], judge, STRANGER)]
    assert outcomes == [RIGHT, RIGHT, WRONG, JUDGE_UPHELD, NO_OUTCOME]


def test_votes_of_a_discrete_question_are_counted_at_the_last_reveal(bench: CouncilBench) -> None:
    question = bench.ask(specifications=OPTIONS, agents=4)
    bench.register(question, *JUDGES[:2])
    bench.answer_all(question, b"yes", b"no", b"yes", b"yes")
    assert bench.event("ResolutionFinalized") == {"finalAnswer": b"yes"}
    assert bench.phase(question) == RESOLVED
    bench.release_all(question)
    assert [bench.claimable(judge) for judge in JUDGES[:2]] == [BOND, BOND]
    bench.distribute(question)
    third, of_bond = REWARD // 3, BOND // 3
    paid = [bench.claimable(AGENTS[place]) - BOND for place in (0, 2, 3)]
    assert sum(paid) == REWARD + BOND  # no judge's fee
    assert all(third + of_bond <= one <= third + of_bond + 2 for one in paid)
    assert bench.claimable(AGENTS[1]) == 0


@pytest.mark.parametrize(
    "answers",
    [
        (b"yes", b"yes", b"no", b"no"),
        (b"yes", b"no", b"unknown", b"yes"),
        (b"yes", b"yes", b"YES", b"maybe"),
    ],
)
def test_without_a_majority_the_judge_decides(
    bench: CouncilBench, answers: tuple[bytes, ...]
) -> None:
    question = bench.ask(specifications=OPTIONS, agents=4)
    bench.register(question, JUDGES[0])
    bench.answer_all(question, *answers)
    assert bench.phase(question) == JUDGE
    voters = [agent for agent, one in zip(AGENTS, answers, strict=False) if one == b"yes"]
    for winners, answer in (
        (voters[:1], b"yes"),  # not all who voted for it
        ([*voters, next(one for one in AGENTS[1:4] if one not in voters)], b"yes"),
        (voters, b"maybe"),  # not an option
        (voters, b"no"),
    ):
        with reverts("WrongWinners", 1):
            bench.aggregate(question, winners, answer)
    with reverts("ReasoningMissing"):
        bench.aggregate(question, voters, b"yes", reasoning=b"")
    bench.aggregate(question, voters, b"yes")
    assert bench.oracle("getResolution", 1) == (b"yes", True)


@pytest.mark.parametrize(
    ("line", "option"),
    [
        ("OPTIONS: yes", 1),
        ("OPTIONS: ", 0),
        ("OPTIONS: yes|", 1),
        ("OPTIONS: yes||no", 1),
        ("OPTIONS: yes|no|yes", 2),
        ("OPTIONS: yes|" + "x" * 65, 1),
        ("OPTIONS: " + "|".join(map(str, range(17))), 16),
        ("OPTIONS: yes\n|no", 1),
    ],
)
def test_malformed_options(bench: CouncilBench, line: str, option: int) -> None:
    with reverts("MalformedOptions", option):
        bench.ask(specifications=line)


@pytest.mark.parametrize("line", ["", "Options: yes|no", " OPTIONS: yes|no", "OPTIONS:yes|no"])
def test_other_specifications_make_an_open_question(bench: CouncilBench, line: str) -> None:
    question = bench.ask(specifications=line, agents=1)
    bench.register(question, JUDGES[0])
    bench.answer_all(question, b"yes")
    assert bench.phase(question) == JUDGE


def test_sixteen_options_of_64_bytes(bench: CouncilBench) -> None:
    options = [f"{n:064d}" for n in range(16)]
    question = bench.ask(specifications="OPTIONS: " + "|".join(options), agents=1)
    bench.answer_all(question, options[15].encode())
    assert bench.oracle("getResolution", 1) == (options[15].encode(), True)


# ---- Refusals


def test_requests_outside_of_the_ranges(bench: CouncilBench) -> None:
    most = 2**96 - 1
    with reverts("OutOfRange", "numInfoAgents", 0, 1, 64):
        bench.ask(agents=0)
    with reverts("OutOfRange", "numInfoAgents", 65, 1, 64):
        bench.ask(agents=65)
    with reverts("OutOfRange", "bondAmount", 0, 1, most):
        bench.ask(bond=0)
    with reverts("OutOfRange", "reward", 0, 1, most):
        bench.ask(reward=0)
    lowest, month = bench.now + 1, bench.now + 30 * 86_400
    with reverts("OutOfRange", "deadline", lowest - 1, lowest, month):
        bench.ask(seconds=0)
    with reverts("OutOfRange", "deadline", month + 1, lowest, month):
        bench.ask(seconds=30 * 86_400 + 1)
    bench.ask(seconds=1)
    bench.ask(seconds=30 * 86_400, agents=64)


def test_commitments(bench: CouncilBench) -> None:
    question = bench.ask(agents=2)
    send = ("commit", 1, b"\x01" * 32)
    with reverts("WrongValue", BOND - 1, BOND):
        bench.oracle(*send, sender=AGENTS[0], value_wei=BOND - 1)
    with reverts("EmptyCommitment"):
        bench.oracle("commit", 1, bytes(32), sender=AGENTS[0], value_wei=BOND)
    with reverts("WrongPhase", 2, 0):
        bench.oracle("commit", 2, b"\x01" * 32, sender=AGENTS[0], value_wei=BOND)
    bench.commit(question, AGENTS[0])
    with reverts("NotEligible", 1, AGENTS[0].address):
        bench.commit(question, AGENTS[0])
    bench.commit(question, AGENTS[1])
    with reverts("WrongPhase", 1, REVEAL):  # full
        bench.commit(question, AGENTS[2])


def test_the_deadline_ends_the_commitments(bench: CouncilBench) -> None:
    question = bench.ask()
    bench.commit(question, AGENTS[0])
    with reverts("WrongPhase", 1, COMMIT):
        bench.reveal(question, AGENTS[0])
    bench.pass_time(COMMIT_TIME)
    bench.commit(question, AGENTS[1])  # in the last second
    bench.pass_time(1)
    with reverts("WrongPhase", 1, REVEAL):
        bench.commit(question, AGENTS[2])
    _, deadline = bench.oracle("phaseOf", 1)
    assert deadline == bench.now - 1 + bench.terms.reveal_time
    bench.reveal(question, AGENTS[0])
    assert bench.oracle("phaseOf", 1) == (REVEAL, deadline)


def test_reveals_match_their_commitments(bench: CouncilBench) -> None:
    question = bench.ask(agents=2)
    bench.register(question, JUDGES[0])
    for agent in AGENTS[:2]:
        bench.commit(question, agent, b"4", nonce=7)
    for sender, answer, nonce in (
        (AGENTS[0], b"4", 8),
        (AGENTS[0], b"5", 7),
        (AGENTS[2], b"4", 7),
        (JUDGES[0], b"4", 7),
    ):
        with reverts("WrongReveal", 1, sender.address):
            bench.oracle("reveal", 1, answer, nonce, sender=sender)
    bench.reveal(question, AGENTS[0])
    with reverts("WrongReveal", 1, AGENTS[0].address):
        bench.reveal(question, AGENTS[0])
    bench.pass_phase(question)
    with reverts("WrongPhase", 1, REVEAL):
        bench.reveal(question, AGENTS[1])


def test_a_commitment_holds_for_one_request_alone(bench: CouncilBench) -> None:
    bench.ask()
    question = bench.ask(agents=1)
    other = bench.commitment(Question(1), AGENTS[0].address, b"4", 7)
    bench.oracle("commit", 2, other, sender=AGENTS[0], value_wei=BOND)
    with reverts("WrongReveal", 2, AGENTS[0].address):
        bench.oracle("reveal", question.request_id, b"4", 7, sender=AGENTS[0])


def test_only_the_judge_resolves_and_in_time(bench: CouncilBench) -> None:
    question = bench.ask()
    bench.register(question, JUDGES[0])
    with reverts("WrongPhase", 1, COMMIT):
        bench.aggregate(question, AGENTS[:1], judge=JUDGES[0])
    bench.answer_all(question, b"4", b"4", b"5")
    with reverts("NotJudge", 1, STRANGER.address):
        bench.aggregate(question, AGENTS[:1], judge=STRANGER)
    bench.pass_phase(question)
    with reverts("WrongPhase", 1, JUDGE):
        bench.aggregate(question, AGENTS[:1], judge=JUDGES[0])


def test_money_is_shared_once_and_by_its_owner(bench: CouncilBench) -> None:
    question = bench.ask(specifications=OPTIONS, agents=1)
    with reverts("WrongPhase", 1, COMMIT):
        bench.distribute(question)
    bench.answer_all(question, b"yes")
    bench.distribute(question)
    with reverts("WrongPhase", 1, DISTRIBUTED):
        bench.distribute(question)
    with reverts("NothingToWithdraw", ZERO, STRANGER.address):
        bench.oracle("withdraw", ZERO, STRANGER.address, sender=STRANGER)
    before = bench.balance(STRANGER.address)
    bench.oracle("withdraw", ZERO, STRANGER.address, sender=AGENTS[0])
    assert bench.balance(STRANGER.address) - before == REWARD + BOND
    with reverts("NothingToWithdraw", ZERO, AGENTS[0].address):
        bench.oracle("withdraw", ZERO, AGENTS[0].address, sender=AGENTS[0])


# ---- Failures and timeouts


def test_a_phase_does_not_end_before_its_time(bench: CouncilBench) -> None:
    question = bench.ask()
    _, deadline = bench.oracle("phaseOf", 1)
    with reverts("NothingDue", 1, COMMIT, deadline):
        bench.oracle("advance", 1)
    with reverts("NothingDue", 2, 0, 0):
        bench.oracle("advance", 2)
    bench.pass_time(COMMIT_TIME)
    with reverts("NothingDue", 1, COMMIT, deadline):
        bench.oracle("advance", 1)
    bench.advance(question)
    assert fail_reason(bench) == "no commitments"
    assert bench.claimable(REQUESTER) == REWARD
    with reverts("NothingDue", 1, FAILED, deadline):
        bench.oracle("advance", 1)


@pytest.mark.parametrize(("agents", "committed", "revealed", "holds"), [
    (3, 3, 2, True), (3, 3, 1, False), (4, 4, 2, False), (4, 3, 3, True), (5, 2, 2, False),
    (1, 1, 1, True), (2, 2, 1, False), (5, 5, 3, True),
])  # fmt: skip
def test_more_than_half_of_the_council_must_reveal(
    bench: CouncilBench, *, agents: int, committed: int, revealed: int, holds: bool
) -> None:
    question = bench.ask(agents=agents)
    bench.register(question, JUDGES[0])
    for agent in AGENTS[:committed]:
        bench.commit(question, agent)
    if committed < agents:
        bench.pass_phase(question)
    for agent in AGENTS[:revealed]:
        bench.reveal(question, agent)
    if revealed < committed:
        bench.advance(question)
    assert bench.phase(question) == (JUDGE if holds else FAILED)
    if not holds:
        assert fail_reason(bench) == "no quorum"
        assert bench.claimable(REQUESTER) == REWARD
        bench.release_all(question)
        assert bench.claimable(JUDGES[0]) == BOND
        lost = BOND * (committed - revealed)
        assert bench.claimable(AGENTS[0]) == BOND + lost // revealed
        bench.withdraw_all()
        assert bench.held() == 0


def test_bonds_of_a_silent_council_go_to_the_requester(bench: CouncilBench) -> None:
    question = bench.ask()
    for agent in AGENTS[:3]:
        bench.commit(question, agent)
    bench.advance(question)
    assert bench.claimable(REQUESTER) == REWARD + 3 * BOND
    assert bench.outcome(question, AGENTS[0]) == WITHHELD


def test_without_a_candidate_an_open_question_fails(bench: CouncilBench) -> None:
    question = bench.ask()
    bench.answer_all(question, b"4", b"4", b"4")
    assert fail_reason(bench) == "no judge"
    assert [bench.claimable(one) for one in AGENTS[:3]] == [BOND] * 3
    assert bench.outcome(question, AGENTS[0]) == NO_OUTCOME


def test_absent_judges_are_replaced_and_lose_their_bonds(bench: CouncilBench) -> None:
    question = bench.ask()
    bench.register(question, *JUDGES)
    bench.answer_all(question, b"4", b"4", b"4")
    absent = [bench.judge(question)]
    bench.advance(question)
    assert bench.event("JudgeAbsent") == {"judge": absent[0].address}
    absent.append(bench.judge(question))
    bench.advance(question)
    judge = bench.judge(question)
    assert len({*absent, judge}) == 3
    with reverts("NotJudge", 1, absent[0].address):
        bench.aggregate(question, AGENTS[:3], judge=absent[0])
    bench.aggregate(question, AGENTS[:3])
    bench.distribute(question)
    assert [bench.outcome(question, one) for one in absent] == [JUDGE_ABSENT] * 2
    assert [bench.claimable(one) for one in absent] == [0, 0]
    assert sum(bench.claimable(one) for one in AGENTS[:3]) == REWARD - FEE + 5 * BOND
    bench.withdraw_all()
    assert bench.held() == 0


def test_three_absent_judges_end_the_request(bench: CouncilBench) -> None:
    question = bench.ask()
    bench.register(question, *JUDGES)
    bench.answer_all(question, b"4", b"4", b"4")
    for _ in range(3):
        assert bench.phase(question) == JUDGE
        bench.advance(question)
    assert fail_reason(bench) == "no judge"
    assert [bench.claimable(one) for one in AGENTS[:3]] == [2 * BOND] * 3
    bench.release_all(question)
    assert sum(bench.claimable(judge) for judge in JUDGES) == 2 * BOND
    assert bench.claimable(REQUESTER) == REWARD


def test_candidates_are_named_once(bench: CouncilBench) -> None:
    question = bench.ask()
    bench.register(question, JUDGES[0])
    with reverts("NotEligible", 1, JUDGES[0].address):
        bench.register(question, JUDGES[0])
    with reverts("WrongValue", 0, BOND):
        bench.oracle("registerJudge", 1, sender=JUDGES[1])
    judges, candidates = bench.oracle("judgesOf", 1, False)  # noqa: FBT003
    assert (judges, candidates) == ((), (JUDGES[0].address,))


def test_the_seed_of_nonces_draws_in_a_deterministic_oracle() -> None:
    drawn = []
    for nonce in (1, 2, 3, 4, 5, 6, 1):
        bench = CouncilBench()
        question = bench.ask(agents=1)
        bench.register(question, *JUDGES)
        bench.commit(question, AGENTS[0], nonce=nonce)
        bench.reveal(question, AGENTS[0])
        drawn.append(bench.judge(question).address)
    assert drawn[0] == drawn[-1]
    assert len(set(drawn)) > 1


def test_a_draw_waits_for_its_block() -> None:
    bench = CouncilBench(Terms(deterministic=False, seed_delay=3))
    question = bench.ask()
    bench.register(question, *JUDGES)
    bench.answer_all(question, b"4", b"4", b"4")
    assert bench.phase(question) == DRAW
    assert bench.event("SeedBlockSet") == {"blockNumber": bench.block_number + 3}
    bench.draw(question)
    assert bench.phase(question) == JUDGE
    assert bench.oracle("seedBlockOf", 1) == 0
    with reverts("WrongPhase", 1, JUDGE):
        bench.oracle("selectJudge", 1, b"")


# ---- Callbacks


def client_question(bench: CouncilBench, behaviour: int) -> tuple[Any, Question]:
    """Ask as a contract that behaves as it is told, and let the request fail."""
    client = bench.evm.deploy("CouncilParticipant")
    again = bench.oracle.artifact.encode_call("callback", client.address, 1)
    client("behave", behaviour, bench.oracle.address, again, 2)
    arguments = ("?", 1, BOND, bench.now + 1, ZERO, OPTIONS, ((), ()))
    data = bench.oracle.artifact.encode_call("createRequest", *arguments)
    client("call", bench.oracle.address, data, value_wei=REWARD)
    return client, Question(1)


def test_the_requester_is_called_once(bench: CouncilBench) -> None:
    client, question = client_question(bench, 0)
    with reverts("WrongPhase", 1, COMMIT):
        bench.oracle("callback", client.address, 1)
    bench.answer_all(question, b"no")
    bench.distribute(question)
    with reverts("NothingToCall", 1, STRANGER.address):
        bench.oracle("callback", STRANGER.address, 1)
    assert bench.oracle("callback", client.address, 1, sender=STRANGER)
    (handled,) = client.events("ResolutionHandled")
    assert handled == {"requestId": 1, "resolved": True, "finalAnswer": b"no"}
    with reverts("NothingToCall", 1, client.address):
        bench.oracle("callback", client.address, 1)


@pytest.mark.parametrize("behaviour", [1, 2, 3, 4], ids=["revert", "reenter", "burn", "megabyte"])
def test_a_hostile_requester_stops_nothing(bench: CouncilBench, behaviour: int) -> None:
    client, question = client_question(bench, behaviour)
    bench.pass_time(2)
    bench.oracle("advance", 1)
    took_it = bench.oracle("callback", client.address, 1, sender=STRANGER)
    assert took_it == (behaviour == 2)
    (finished,) = bench.oracle.events("CallbackFinished")
    assert len(finished["returned"]) <= 132
    if took_it:
        assert [one["success"] for one in client.events("Reentered")] == [False]
    else:
        client("behave", 0, ZERO, b"", 0)
        assert bench.oracle("callback", client.address, 1)
    assert bench.phase(question) == FAILED
    assert bench.claimable(client.address) == REWARD


def test_a_callback_has_its_gas_or_does_not_happen(bench: CouncilBench) -> None:
    client, _ = client_question(bench, 0)
    bench.pass_time(2)
    bench.oracle("advance", 1)
    with pytest.raises(Exception, match="InsufficientGas"):
        bench.oracle("callback", client.address, 1, gas=bench.terms.callback_gas)
    assert bench.oracle("callback", client.address, 1, gas=2 * bench.terms.callback_gas)


# ---- Terms


@pytest.mark.parametrize(
    ("member", "solidity", "value"),
    [
        ("reveal_time", "revealTime", 0),
        ("draw_time", "drawTime", 30 * 86_400 + 1),
        ("judge_time", "judgeTime", 0),
        ("dispute_window", "disputeWindow", 30 * 86_400 + 1),
        ("dispute_registration_time", "disputeRegistrationTime", 0),
        ("callback_gas", "callbackGas", 10_000_001),
        ("judge_fee", "judgeFee", 10_001),
        ("disputer_reimbursement", "disputerReimbursement", 10_001),
        ("judge_reimbursement", "judgeReimbursement", 10_001),
        ("seed_delay", "seedDelay", 0),
        ("min_bond", "minBond", 0),
    ],
)
def test_terms_outside_of_their_ranges(member: str, solidity: str, value: int) -> None:
    with pytest.raises(Exception, match=f"OutOfRange.*{solidity}"):
        CouncilBench(replace(Terms(), **{member: value}))  # type: ignore[arg-type]


def test_terms_can_be_read(bench: CouncilBench) -> None:
    rules = bench.evm.at("CouncilRules", bench.oracle("rules"))
    assert rules("terms") == bench.terms.encoded()
