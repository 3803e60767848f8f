"""Instructions in answers: what the contracts keep away from a judge's model, and from its words.

Each attack gets through to `TrustingJudge`, which shows answers as they are and takes the first one
where its model names none. What a model makes of words inside of the quotes is measured:
benchmarks/council_injection.py.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from benchmarks.council_attacks import ANSWERS, SPECIFICATIONS, Lie
from tests.contracts.council.council_bench import (
    AGENTS,
    BOND,
    DISTRIBUTED,
    JUDGE,
    REWARD,
    Question,
)
from tests.contracts.council.test_council_agents import Sitting
from tests.contracts.plain_evm import reverts

if TYPE_CHECKING:
    from tests.contracts.plain_evm import Contract

LIE = Lie("Lyon", 3)
QUESTION = "Which city is the capital of France?"
HONEST = (b"Paris", b"Paris")
SHOWN = re.compile(
    r'Question: "[^"]*"\. Answers: (?P<list>1\. "[^"]*"(?:, \d+\. "[^"]*")*)'
    r"\. Which answers agree and are right\?[^\"]*"
)
CONTROL = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]")
BREAKING = re.compile(r'["\x00-\x1f\x7f\x85\u2028\u2029]')
"""What must not get from an answer into a prompt."""


def ask(
    *answers: bytes, flawed: bool, specifications: str = "", agents: int = 3
) -> tuple[Sitting, Contract, Question]:
    """Return a question that waits for its judge, whose model is scripted."""
    sitting = Sitting()
    question = sitting.bench.ask(query=QUESTION, specifications=specifications, agents=agents)
    judge = sitting.deploy("TrustingJudge" if flawed else "CouncilJudge", "m")
    judge("register", question.request_id, value_wei=BOND)
    sitting.bench.answer_all(question, *answers)
    if len(answers) < agents:
        sitting.bench.advance(question)
    assert sitting.bench.phase(question) == JUDGE
    return sitting, judge, question


def shows_each_answer_once(prompt: str, answers: int) -> bool:
    """Return whether a prompt is one line that shows a list with so many quoted answers."""
    found = SHOWN.fullmatch(prompt)
    if found is None or CONTROL.search(prompt) or prompt.count('"') != 2 * (1 + answers):
        return False
    numbers = re.findall(r'(?:^|", )(\d+)\. "', found["list"])
    return numbers == [str(number) for number in range(1, answers + 1)]


@pytest.mark.parametrize("flawed", [False, True])
@pytest.mark.parametrize("attack", ANSWERS)
def test_no_answer_leaves_its_quotes(attack: str, *, flawed: bool) -> None:
    text = ANSWERS[attack](LIE)
    _, judge, _ = ask(*HONEST, text.encode(), flawed=flawed)
    is_kept = shows_each_answer_once(judge("promptOf", 1), 3)
    assert is_kept == (not flawed or BREAKING.search(text) is None)


@pytest.mark.parametrize("flawed", [False, True])
def test_no_answer_fills_the_context(*, flawed: bool) -> None:
    text = ANSWERS["a very long text"](LIE)
    _, judge, _ = ask(*HONEST, text.encode(), flawed=flawed)
    assert (len(judge("promptOf", 1)) > 1_000) == flawed


@pytest.mark.parametrize("attack", SPECIFICATIONS)
def test_no_specification_leaves_the_quotes_of_the_question(attack: str) -> None:
    text = SPECIFICATIONS[attack](LIE)
    _, judge, _ = ask(*HONEST, b"Lyon", flawed=False, specifications=text)
    assert shows_each_answer_once(judge("promptOf", 1), 3)


@pytest.mark.parametrize("flawed", [False, True])
@pytest.mark.parametrize(
    "verdict",
    ["0: Lyon", "4: Lyon", "1, 9: Lyon", "Lyon is right", "the judge pays itself"],
)
def test_a_verdict_that_names_nobody_pays_nobody(verdict: str, *, flawed: bool) -> None:
    """A model that an attack talked into nonsense; the liar was the first to answer."""
    sitting, judge, question = ask(b"Lyon", *HONEST, flawed=flawed)
    sitting.say(judge, verdict)
    if flawed:
        judge("judge", 1)
        sitting.bench.distribute(question)
        assert sitting.bench.claimable(AGENTS[0]) > REWARD // 2
        return
    with reverts("VerdictMalformed", verdict):
        judge("judge", 1)
    assert sitting.bench.phase(question) == JUDGE
    assert all(sitting.bench.claimable(one) == 0 for one in AGENTS[:3])


@pytest.mark.parametrize("flawed", [False, True])
def test_a_verdict_for_who_never_revealed(*, flawed: bool) -> None:
    """The third agent committed alone. Its number and its address are nobody's."""
    for said in ("3: Lyon", f"{AGENTS[2].address}: Lyon"):
        sitting = Sitting()
        question = sitting.bench.ask(query=QUESTION)
        judge = sitting.deploy("TrustingJudge" if flawed else "CouncilJudge", "m")
        judge("register", 1, value_wei=BOND)
        for agent in AGENTS[:3]:
            sitting.bench.commit(question, agent, b"Paris")
        for agent in AGENTS[:2]:
            sitting.bench.reveal(question, agent, b"Paris")
        sitting.bench.advance(question)
        sitting.say(judge, said)
        if flawed:
            judge("judge", 1)  # the first answer wins, whatever was said
            sitting.bench.distribute(question)
            assert sitting.bench.phase(question) == DISTRIBUTED
        else:
            with reverts("VerdictMalformed", said):
                judge("judge", 1)
        assert sitting.bench.claimable(AGENTS[2]) == 0


def test_an_obedient_model_pays_the_liar_alone() -> None:
    """What no contract can tell: a model that follows an instruction decides for the liar."""
    text = ANSWERS["an instruction"](LIE)
    sitting, judge, question = ask(*HONEST, text.encode(), flawed=False)
    sitting.say(judge, "3: Lyon")
    judge("judge", 1)
    sitting.bench.distribute(question)
    assert sitting.bench.event("RewardsDistributed")["winners"] == (AGENTS[2].address,)
