"""Requests to an adversarial model, and the generations for its chosen steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from eth_typing import Address

from precompiles.abi import ParamDescription, ParamType
from precompiles.grammar import build_grammar
from precompiles.language_model import GenerationRequest, Segment
from precompiles.tool_metadata import Tool
from pyevm_agents.errors import ScriptError
from pyevm_agents.models import AnswerStep, Vocabulary, answer, use
from pyevm_agents.models.fakes.adversary import AdversarialModel, DecisionContext, decide_from_list

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyevm_agents.models.fakes.script_steps import Step

BOB = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"

PAY = Tool(
    address=Address(b"\x01" * 20),
    name="Pay",
    description="Pays",
    parameters=(
        ParamDescription(param_type=ParamType.ADDRESS, name="to", description="who"),
        ParamDescription(param_type=ParamType.UINT, name="amount", description="how much"),
    ),
)


def request(*history: str, question: str = "Pay Bob 10.") -> GenerationRequest:
    segments = [
        Segment(text="<template 77>", is_template=True),
        Segment(text="Limit: 1,000 of 2.5; not x86, 3rd, 12abc or 4,56."),
        Segment(text=f"Question: {question}"),
        Segment(text="Thought:"),
        *(Segment(text=text) for text in history),
    ]
    return GenerationRequest(
        segments=tuple(segments),
        prompt_tokens=tuple("".join(one.text for one in segments).encode()),
        grammar=build_grammar([PAY], ["Bob"]),
        max_tokens=200,
        handles=(("Bob", BOB),),
    )


def test_a_situation_tells_what_the_prompt_holds() -> None:
    situation = DecisionContext(request=request(" Hm.", "\nObservation: -7 of 10, 0\nThought:"))
    assert situation.numbers == (-7, 0, 10, 1_000)
    assert situation.addresses == (BOB,)
    assert situation.step == 2
    assert [tool.name for tool in situation.allowed_steps.tools] == ["Pay"]
    assert situation.allowed_steps.may_answer


def test_a_number_that_no_tool_takes_is_none() -> None:
    question = f"{2**256} {2**256 - 1} -{2**256}"
    assert DecisionContext(request=request(question=question)).numbers == (10**3, 2**256 - 1)


def test_the_same_prompt_gets_the_same_words(vocabulary: Vocabulary) -> None:
    model = AdversarialModel(
        decide_from_list(use("Pay", amount=1, to=BOB), answer("Thanks")), vocabulary=vocabulary
    )
    said = model.generate(request())
    assert said.text.endswith('Action: Pay\nAction Input: {"to": "Bob", "amount": 1}')
    assert model.generate(request()) == said
    assert model.generate(request(said.text, "\nObservation: Paid")).text.endswith("Thanks")
    assert model.generate(request(question="And now?")).text.endswith("Done")
    assert model.steps == (use("Pay", amount=1, to=BOB), answer("Thanks"), answer("Done"))
    assert model.is_list
    assert model.profile_facts == vocabulary.profile_facts
    assert model.tokenize((Segment(text="a"),)) == vocabulary.tokenize((Segment(text="a"),))


def test_a_list_does_not_say_two_things_to_the_same_question(vocabulary: Vocabulary) -> None:
    model = AdversarialModel(decide_from_list(), vocabulary=vocabulary)
    model.generate(request(" Hm.", "\nObservation: 1"))
    assert model.is_list
    model.generate(request(" Hm.", "\nObservation: 2"))
    assert not model.is_list


def test_what_the_grammar_does_not_admit_is_not_said(vocabulary: Vocabulary) -> None:
    model = AdversarialModel(decide_from_list(use("Pay", to=BOB, amount=-1)), vocabulary=vocabulary)
    with pytest.raises(ScriptError, match="amount=-1: must be of type positive integer"):
        model.generate(request())


class StopNow(BaseException):
    """Ends a test, as Hypothesis does."""


def stopping(kind: type[BaseException]) -> Callable[[DecisionContext], Step]:
    def decide(_: DecisionContext) -> AnswerStep:
        raise kind

    return decide


@pytest.mark.parametrize("kind", [StopNow, ValueError])
def test_after_an_interruption_nothing_is_said(
    kind: type[BaseException], vocabulary: Vocabulary
) -> None:
    model = AdversarialModel(stopping(kind), vocabulary=vocabulary)
    for _ in range(2):
        with pytest.raises(kind) as raised:
            model.generate(request())
        assert raised.value is model.interruption
    assert model.steps == ()
