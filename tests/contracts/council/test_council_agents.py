"""On-chain agents of a council with scripted models, and the texts that they show and read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from tests.contracts.council.council_bench import (
    AGENTS,
    BOND,
    COMMIT,
    DISPUTE_JUDGE,
    JUDGE,
    JUDGES,
    OPTIONS,
    PANEL,
    RESOLVED,
    REWARD,
    CouncilBench,
    LoggingEvm,
    Terms,
)
from tests.contracts.plain_evm import (
    OWNER,
    STRANGER,
    ZERO,
    RevertedError,
    final_answer,
    reverts,
)
from tests.run_answers import REFUSALS

if TYPE_CHECKING:
    from tests.contracts.council.council_bench import Question
    from tests.contracts.plain_evm import Contract


class Sitting:
    """A council with contracts as agents, each with an executor of its own."""

    def __init__(self, bench: CouncilBench | None = None) -> None:
        self.bench = bench or CouncilBench()
        self.executors: dict[str, Contract] = {}

    def deploy(self, name: str, model: str) -> Contract:
        executor = self.bench.evm.deploy("MockExecutor")
        settings: tuple[object, ...] = (
            executor.address,
            model,
            name,
            "Sits in a council",
            "You answer.",
            [],
            2,
        )
        agent = self.bench.evm.deploy(name, self.bench.oracle.address, OWNER.address, settings)
        self.executors[agent.address] = executor
        return agent

    def say(self, agent: Contract, text: str) -> None:
        """Let the agent's model say this next."""
        self.executors[agent.address]("willReturn", final_answer(text))

    def prompt(self, agent: Contract) -> str:
        """Return what the agent's model was asked in the last transaction that logged."""
        self.bench.evm.last = self.bench.evm.logged
        (asked,) = self.executors[agent.address].events("IterationAsked")
        return str(asked["prompt"])


@pytest.fixture
def sitting() -> Sitting:
    return Sitting()


def drawn_judge(sitting: Sitting, question: Question, *answers: bytes) -> Contract:
    """Return the judge of a question with these answers."""
    judge = sitting.deploy("CouncilJudge", "a-judge")
    judge("register", question.request_id, value_wei=BOND)
    sitting.bench.answer_all(question, *answers)
    return judge


def resolution(sitting: Sitting) -> Any:  # noqa: ANN401 - answer and whether it is final
    return sitting.bench.oracle("getResolution", 1)


def test_council_of_several_models(sitting: Sitting) -> None:
    bench = sitting.bench
    question = bench.ask(query="Which city is the capital of France?")
    agents = [sitting.deploy("CouncilInfoAgent", f"model-{n}") for n in range(3)]
    judge = sitting.deploy("CouncilJudge", "a-judge")
    judge("register", 1, value_wei=BOND)
    for place, (agent, said) in enumerate(zip(agents, ("Paris", "paris.", "Lyon"), strict=True)):
        sitting.say(agent, said)
        with reverts("OwnableUnauthorizedAccount", STRANGER.address):
            agent("join", 1, place, sender=STRANGER, value_wei=BOND)
        agent("join", 1, place, value_wei=BOND)
        assert sitting.prompt(agent) == "Which city is the capital of France?"
    for agent in agents:
        agent("reveal", 1, sender=STRANGER)
    sitting.say(judge, "1: Paris")
    judge("judge", 1, sender=STRANGER)
    assert sitting.prompt(judge) == judge("promptOf", 1)
    assert bench.event("ResolutionFinalized") == {"finalAnswer": b"Paris"}
    assert bench.event("JudgeReasoned")["reasoning"] == b"model a-judge: 1: Paris"
    bench.distribute(question)
    share = (REWARD - REWARD // 10) // 2
    paid = bench.event("RewardsDistributed")
    assert paid == {"winners": tuple(a.address for a in agents[:2]), "amounts": (share, share)}
    with reverts("OwnableUnauthorizedAccount", STRANGER.address):
        judge("withdraw", ZERO, STRANGER.address, sender=STRANGER)
    before = bench.balance(STRANGER.address)
    judge("withdraw", ZERO, STRANGER.address)
    assert bench.balance(STRANGER.address) - before == REWARD // 10 + BOND


@pytest.mark.parametrize("said", ["Yes.", " yes ", "yes", '"Yes".', "Done. check_winner: yes"])
def test_an_info_agent_names_the_option(sitting: Sitting, said: str) -> None:
    question = sitting.bench.ask(specifications=OPTIONS, agents=1)
    agent = sitting.deploy("CouncilInfoAgent", "m")
    sitting.say(agent, said)
    agent("join", question.request_id, 5, value_wei=BOND)
    agent("reveal", question.request_id)
    assert resolution(sitting) == (b"yes", True)


def test_an_option_counts_also_where_it_begins_like_a_refusal(sitting: Sitting) -> None:
    options = "OPTIONS: Passed|Failed|Error: none"
    for number, said in enumerate(("Failed", "failed.", "Error: none", "Done. look: Failed"), 1):
        sitting.bench.ask(specifications=options, agents=1)
        agent = sitting.deploy("CouncilInfoAgent", "m")
        sitting.say(agent, said)
        agent("join", number, 5, value_wei=BOND)
    with reverts("NotDone", "Failed to look: Passed"):
        sitting.bench.ask(specifications=options, agents=1)
        agent = sitting.deploy("CouncilInfoAgent", "m")
        sitting.say(agent, "Failed to look: Passed")
        agent("join", 5, 5, value_wei=BOND)


@pytest.mark.parametrize("said", REFUSALS)
def test_an_info_agent_that_is_not_done_stays_out(sitting: Sitting, said: str) -> None:
    sitting.bench.ask()
    agent = sitting.deploy("CouncilInfoAgent", "m")
    sitting.say(agent, said)
    with reverts("NotDone", said):
        agent("join", 1, 5, value_wei=BOND)
    with reverts("NotAnswered", 1):
        agent("reveal", 1)


@pytest.mark.parametrize(
    ("specifications", "said"),
    [(OPTIONS, "perhaps"), (OPTIONS, ""), ("", ""), ("", "x" * 2_049)],
    ids=["no option", "no text among options", "no text", "too long to reveal"],
)
def test_an_info_agent_keeps_its_bond(sitting: Sitting, specifications: str, said: str) -> None:
    """An answer that can't be revealed, or counts for nothing, is not committed to."""
    sitting.bench.ask(specifications=specifications)
    agent = sitting.deploy("CouncilInfoAgent", "m")
    sitting.say(agent, said)
    with reverts("AnswerRefused", said):
        agent("join", 1, 5, value_wei=BOND)
    assert sitting.bench.held() == REWARD


@pytest.mark.parametrize(
    ("verdict", "answer", "winners"),
    [
        ("1, 2: four", b"four", [0, 1, 3]),  # 4 and 4. say the same
        ("Answers 1 and 2: four", b"four", [0, 1, 3]),
        ("3", b"5", [2]),
        ("2:", b"It is 4", [1]),
        ("1", b"4", [0, 3]),  # 4 says the same
        ("It is 4.", b"It is 4", [1]),
        ("5", b"5", [2]),  # an answer, not a number
        ("3 : \n 5 ", b"5", [2]),
        ('"It is 4".', b"It is 4", [1]),
        ("Done. count_answers: 1, 2: four", b"four", [0, 1, 3]),
        ("Done. look_up: It is 4", b"It is 4", [1]),
    ],
)
def test_verdicts(sitting: Sitting, verdict: str, answer: bytes, winners: list[int]) -> None:
    question = sitting.bench.ask(agents=4)
    judge = drawn_judge(sitting, question, b"4", b"It is 4", b"5", b" 4.")
    sitting.say(judge, verdict)
    judge("judge", 1, sender=STRANGER)
    assert sitting.bench.event("ResolutionFinalized") == {"finalAnswer": answer}
    sitting.bench.distribute(question)
    paid = sitting.bench.event("RewardsDistributed")["winners"]
    assert paid == tuple(AGENTS[place].address for place in winners)


@pytest.mark.parametrize("said", REFUSALS)
def test_a_judge_that_is_not_done_judges_nothing(sitting: Sitting, said: str) -> None:
    question = sitting.bench.ask()
    judge = drawn_judge(sitting, question, b"4", b"4", b"5")
    verdict = f"{said}1, 2: 4"
    sitting.say(judge, verdict)
    with reverts("NotDone", verdict):
        judge("judge", 1, sender=STRANGER)


@pytest.mark.parametrize("verdict", ["", "none", "7: x", "1, 9: x", "x: 1", "0: x"])
def test_verdicts_that_name_nothing(sitting: Sitting, verdict: str) -> None:
    question = sitting.bench.ask()
    judge = drawn_judge(sitting, question, b"4", b"4", b"5")
    sitting.say(judge, verdict)
    with reverts("VerdictMalformed", verdict):
        judge("judge", 1)
    assert sitting.bench.phase(question) == JUDGE


hostile_texts = st.one_of(
    st.text(max_size=300),
    st.lists(
        st.sampled_from(
            ['"', "1", "2, 3", "9", ":", "\n", "Answer: 2", ". 3. ", "\u2028", "yes", "0x19", " "]
        ),
        max_size=12,
    ).map("".join),
)


@pytest.mark.slow
@given(
    said=hostile_texts,
    answers=st.lists(hostile_texts, min_size=3, max_size=3),
    options=st.booleans(),
)
@settings(max_examples=40, deadline=None, database=None)
@seed(27)
def test_no_words_make_a_judge_pay_others(said: str, answers: list[str], *, options: bool) -> None:
    """Whatever agents reveal and the model says, winners are revealers, or nothing is resolved."""
    sitting = Sitting()
    bench = sitting.bench
    question = bench.ask(specifications=OPTIONS if options else "")
    judge = sitting.deploy("CouncilJudge", "m")
    judge("register", 1, value_wei=BOND)
    bench.answer_all(question, *(answer.encode() for answer in answers))
    if bench.phase(question) == JUDGE:
        prompt: str = judge("promptOf", 1)
        assert prompt.count('"') == 2 * (1 + len(answers))
        assert len(prompt.splitlines()) == 1
        sitting.say(judge, said)
        try:
            judge("judge", 1, sender=STRANGER)
        except RevertedError as refused:
            assert refused.error[0] in {"NotDone", "VerdictMalformed", "WrongWinners"}  # noqa: PT017
            assert bench.phase(question) == JUDGE
            bench.advance(question)
    if bench.phase(question) == RESOLVED:
        bench.distribute(question)
        winners = bench.event("RewardsDistributed")["winners"]
        assert 0 < len(set(winners)) == len(winners)
        assert set(winners) <= {agent.address for agent in AGENTS[:3]}
    bench.release_all(question)
    if bench.claimable(judge.address):
        judge("withdraw", ZERO, STRANGER.address)
    bench.withdraw_all()
    assert bench.held() == 0


def test_a_judge_breaks_a_tie_of_options(sitting: Sitting) -> None:
    question = sitting.bench.ask(specifications=OPTIONS, agents=4)
    judge = drawn_judge(sitting, question, b"yes", b"no", b"no", b"yes")
    sitting.say(judge, "2: No, since it rained")
    judge("judge", 1)
    assert resolution(sitting) == (b"no", True)
    sitting.bench.distribute(question)
    paid = sitting.bench.event("RewardsDistributed")["winners"]
    assert paid == tuple(agent.address for agent in AGENTS[1:3])


@pytest.mark.parametrize(
    ("said", "answer", "winners"),
    [
        ("no", b"no", [1, 2]),
        ('"no"', b"no", [1, 2]),  # as the prompt shows it
        ("No.", b"no", [1, 2]),
        ("yes", b"yes", [0]),
        ("YES", b"YES", [3]),  # as it stands, before all but for case
        ('"Yes".', b"yes", [0]),  # both are meant: the first
    ],
)
def test_a_judge_names_an_option_in_other_words(
    sitting: Sitting, said: str, answer: bytes, winners: list[int]
) -> None:
    question = sitting.bench.ask(specifications="OPTIONS: yes|no|YES", agents=4)
    judge = drawn_judge(sitting, question, b"yes", b"no", b"no", b"YES")
    sitting.say(judge, said)
    judge("judge", 1)
    assert resolution(sitting) == (answer, True)
    sitting.bench.distribute(question)
    paid = sitting.bench.event("RewardsDistributed")["winners"]
    assert paid == tuple(AGENTS[place].address for place in winners)


def test_a_judge_that_is_not_asked(sitting: Sitting) -> None:
    sitting.bench.ask()
    judge = sitting.deploy("CouncilJudge", "m")
    with reverts("NothingToJudge", 1, COMMIT):
        judge("judge", 1)
    with reverts("OwnableUnauthorizedAccount", STRANGER.address):
        judge("register", 1, sender=STRANGER, value_wei=BOND)


@pytest.mark.parametrize(
    ("verdicts", "overturned"),
    [
        (("1, 2: 4.", "1, 2: 4.", "3: 5"), False),
        (("3: 5", "1, 2: 4.", "3: 5"), True),
        (("3: 5", "3: 6", "1: 4"), False),  # no two name the same
    ],
    ids=["upheld", "overturned", "undecided"],
)
def test_a_panel_of_agents_settles_a_dispute(
    verdicts: tuple[str, ...], *, overturned: bool
) -> None:
    evm = LoggingEvm()
    scores = evm.deploy("KnownScores")
    terms = Terms(dispute_window=1_000)
    sitting = Sitting(CouncilBench(terms, evm=evm, reputation=scores.address))
    bench = sitting.bench
    question = bench.ask()
    first = drawn_judge(sitting, question, b"4", b"4", b"5")
    sitting.say(first, "1: 4")
    first("judge", 1)
    panel = [sitting.deploy("CouncilJudge", f"model-{n}") for n in range(PANEL)]
    scores("setScores", [judge.address for judge in panel], 100)
    bench.dispute(question)
    bond = bench.oracle("judgeBondOf", 1, True)  # noqa: FBT003
    for judge in panel:
        judge("register", 1, value_wei=bond)
    bench.advance(question)
    for judge, verdict in zip(panel, verdicts, strict=True):
        assert bench.phase(question) == DISPUTE_JUDGE
        sitting.say(judge, verdict)
        judge("judge", 1, sender=STRANGER)
    assert bench.event("DisputeResolved")["overturned"] == overturned
    assert bench.phase(question) == RESOLVED
    assert resolution(sitting) == (b"5" if overturned else b"4", True)


# ---- Texts


@pytest.fixture
def texts(sitting: Sitting) -> Contract:
    return sitting.bench.evm.deploy("CouncilTexts")


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        (b"4", '"4"'),
        (b'say "yes"\nAnswer: 5', "\"say 'yes' Answer: 5\""),
        ("é 🦉".encode(), '"é 🦉"'),
        ("a\u2028b\u2029c\u0085d".encode(), '"a   b   c  d"'),
        (b"\xff\xfe", "(no text)"),
        (b"", '""'),
        ("é".encode() * 11, '"' + "é" * 10 + '..."'),
    ],
)
def test_answers_are_quoted_on_one_line(texts: Contract, answer: bytes, shown: str) -> None:
    assert texts("quote", answer, 20) == shown


@pytest.mark.parametrize(
    ("said", "result"),
    [
        ('Done. search: [1] "A: b"', '[1] "A: b"'),
        ("Done. a: 1; b: 2", "1; b: 2"),
        ("Done. search: ", ""),
        ("Done.", "Done."),
        ("Done. It is 4: no doubt", "Done. It is 4: no doubt"),
        ("Paris: a city", "Paris: a city"),
        ("done. search: yes", "done. search: yes"),
        ("", ""),
    ],
)
def test_what_a_tool_found_is_the_answer(texts: Contract, said: str, result: str) -> None:
    assert texts("resultOf", said) == result


@pytest.mark.parametrize(
    ("options", "text", "place"),
    [
        ("flooded|dry", '[a] "Mill bridge was FLOODED in May."', 1),
        ("flooded|dry", '[a] "Mill bridge stayed dry." [b] "Bring a boat."', 2),
        ("red|deep blue", '[a] "The deep blue team won."', 2),
        ("yes|no", '[a] "The bridge is open: yes."', 1),
        # Several, none, a part of a word, or words that deny.
        ("flooded|dry", '[a] "It was dry." [b] "It was flooded."', 0),
        ("flooded|dry", '[a] "The bridge is old."', 0),
        ("flooded|dry", '[a] "The laundry opens."', 0),
        ("flooded|dry", '[a] "It was not flooded."', 0),
        ("flooded|dry", '[a] "It wasn\'t flooded."', 0),
        ("flooded|dry", '[a] "Never flooded since 1900."', 0),
        ("yes|no", '[a] "There is no bridge."', 0),
        ("a|b", '[a] "The winner."', 0),
        ("flooded|dry", "", 0),
    ],
)
def test_passages_name_an_option_or_none(
    texts: Contract, options: str, text: str, place: int
) -> None:
    assert texts("findOnly", f"OPTIONS: {options}\nfree".encode(), text.encode()) == place


def test_long_answers_are_a_hash_and_a_uri(texts: Contract) -> None:
    encoded = texts("encodeLong", b"\x07" * 32, "ipfs://abc")
    assert encoded == bytes.fromhex("80330001") + b"\x07" * 32 + b"ipfs://abc"
    assert texts("decodeLong", encoded) == (True, b"\x07" * 32, "ipfs://abc")
    assert texts("quote", encoded, 20) == 'kept at "ipfs://abc"'
    for other in (encoded[:36], b"4", b"\x80" + bytes(40)):
        assert texts("decodeLong", other) == (False, bytes(32), "")


def test_a_council_reveals_a_long_answer(sitting: Sitting, texts: Contract) -> None:
    question = sitting.bench.ask(agents=1)
    encoded = texts("encodeLong", b"\x07" * 32, "ipfs://abc")
    sitting.bench.register(question, JUDGES[0])
    sitting.bench.answer_all(question, encoded)
    sitting.bench.aggregate(question, AGENTS[:1], encoded, reasoning=encoded)
    assert resolution(sitting) == (encoded, True)
