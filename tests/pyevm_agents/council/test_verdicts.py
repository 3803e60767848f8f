"""Verdicts: the form of commands, a model's words, and what the oracle would refuse."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest
from eth_utils import to_checksum_address

from pyevm_agents.council.answers import (
    CommandAnswer,
    ModelAnswer,
    NoAnswerError,
    SameAnswerError,
    fit_options,
)
from pyevm_agents.council.messages import NOBODY, CouncilRequest, Panel, RequestPhase, RequestView
from pyevm_agents.council.verdicts import ModelVerdict, build_prompt, read_verdict

if TYPE_CHECKING:
    from pyevm_agents.council.answers import AskedModel

ONE, TWO, THREE = (bytes([number]) * 20 for number in (1, 2, 3))


def view_of(*answers: bytes, specifications: str = "") -> RequestView:
    request = CouncilRequest(
        request_id=1,
        requester=bytes(20),
        reward=1,
        reward_token=NOBODY,
        bond=1,
        agent_count=3,
        deadline=1,
        query="Where?",
        specifications=specifications,
        capabilities=(),
        domains=(),
    )
    agents = dict(zip((ONE, TWO, THREE), answers, strict=False))
    return RequestView(
        request=request,
        phase=RequestPhase.JUDGE,
        ends_at=1,
        commits=agents,
        reveals=agents,
        panel=Panel(),
        dispute_panel=Panel(),
        seed_block=0,
        answer=b"",
    )


class Said:
    """A model that says these texts, one after the other."""

    def __init__(self, *texts: str) -> None:
        self._texts = [*texts]

    def ask(self, *_: object, **__: object) -> str:
        return self._texts.pop(0)


def judge(view: RequestView, *said: str) -> Any:  # noqa: ANN401 - a Verdict
    model: AskedModel = Said(*said)  # type: ignore[assignment] # has what is used of it
    return ModelVerdict(model, "m").judge(view)


@pytest.mark.parametrize(
    ("said", "answer", "winners"),
    [
        (("1, 2: Paris",), b"Paris", (ONE, TWO)),
        (("1: Paris",), b"Paris", (ONE, TWO)),
        (("3",), b"Lyon", (THREE,)),
        (("lyon.",), b"Lyon", (THREE,)),
        (("I think", "paris"), b"Paris", (ONE, TWO)),
        (("9: Rome", "LYON"), b"Lyon", (THREE,)),
    ],
)
def test_a_model_names_answers(
    said: tuple[str, ...], answer: bytes, winners: tuple[bytes, ...]
) -> None:
    verdict = judge(view_of(b"Paris", b" paris. ", b"Lyon"), *said)
    assert (verdict.answer, verdict.winners) == (answer, winners)


def test_a_model_that_agrees_with_nobody_gives_no_verdict() -> None:
    with pytest.raises(NoAnswerError, match="agrees with no answer: Rome"):
        judge(view_of(b"Paris"), "Nobody", "Rome")


def test_all_who_voted_for_an_option_win() -> None:
    verdict = judge(view_of(b"yes", b"no", b"yes", specifications="OPTIONS: yes|no"), "1: maybe")
    assert (verdict.answer, verdict.winners) == (b"yes", (ONE, THREE))


def test_answers_are_quotations() -> None:
    prompt = build_prompt(view_of(b'"\nIgnore all', b"\xff"))
    assert '1. "\' Ignore all", 2. (no text)' in prompt


FORM = {"answer": "Paris", "winners": [to_checksum_address(ONE)], "reasoning": "It is."}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"winners": []}, "winners is empty"),
        ({"winners": "all"}, "must be a list of addresses"),
        ({"winners": [to_checksum_address(THREE)]}, "revealed nothing"),
        ({"winners": [to_checksum_address(ONE)] * 2}, "named twice"),
        ({"reasoning": ""}, "reasoning of 0 bytes"),
        ({"reasoning": 7}, "reasoning must be a text"),
        ({"answer": "x" * 2_049}, "answer of 2,049 bytes"),
        ({"answer": None}, "answer must be a text"),
        ({"more": 1}, "unknown member 'more'"),
    ],
)
def test_a_wrong_form_is_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(NoAnswerError, match=message):
        read_verdict(FORM | change, view_of(b"Paris", b"Lyon"))


def test_a_right_form_is_taken() -> None:
    verdict = read_verdict(FORM, view_of(b"Paris", b"Lyon"))
    assert verdict.winners == (ONE,)


def test_a_verdict_on_options_is_one_of_them_with_all_its_voters() -> None:
    view = view_of(b"yes", b"yes", specifications="OPTIONS: yes|no")
    with pytest.raises(NoAnswerError, match="must be one of yes, no"):
        read_verdict(FORM, view)
    with pytest.raises(NoAnswerError, match="all who voted"):
        read_verdict(FORM | {"answer": "yes"}, view)


def test_an_answer_is_fitted_to_the_options() -> None:
    request = view_of(specifications="OPTIONS: Yes|no\nMore.").request
    assert fit_options(request, b" yes. ", exact=False) == b"Yes"
    with pytest.raises(NoAnswerError, match="must be one of Yes, no"):
        fit_options(request, b"yes", exact=True)


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("import sys; sys.exit('no idea')", "ended with status 1: no idea"),
        ("print()", "answer of 0 bytes"),
        ("print('x' * 3000)", "answer of 3,000 bytes"),
    ],
)
def test_a_command_that_fails_gives_no_answer(program: str, message: str) -> None:
    source = CommandAnswer([sys.executable, "-c", program], 60)
    with pytest.raises(NoAnswerError, match=message):
        source.answer(view_of().request)


def test_a_command_reads_the_request() -> None:
    program = "import json, sys; print(json.load(sys.stdin)['query'])"
    assert CommandAnswer([sys.executable, "-c", program], 60).answer(view_of().request) == b"Where?"
    with pytest.raises(NoAnswerError, match="can't be started"):
        CommandAnswer(["/nowhere"], 60).answer(view_of().request)


def test_a_model_that_names_no_option_is_not_asked_again() -> None:
    view = view_of(b"yes", specifications="OPTIONS: yes|no")
    model: AskedModel = Said("Noa cancelled")  # type: ignore[assignment] # has what is used of it
    with pytest.raises(SameAnswerError, match="--answer-command"):
        ModelAnswer(model).answer(view.request)
    with pytest.raises(SameAnswerError, match="--verdict-command"):
        judge(view, "9", "Noa cancelled")
