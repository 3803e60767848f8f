"""The real model's generations equal the reference implementation's, in canonical tokens."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from precompiles.language_model import Segment
from tests.pyevm_agents.models.noise import GRAMMARS

if TYPE_CHECKING:
    from pyevm_agents.models import LlamaModel
    from tests.pyevm_agents.models.conftest import MakeRequest

QUESTIONS = (
    "Deploy 25 USDC.",
    "Withdraw 1234567 DAI, please!",
    'Note the text "a \\ b" with 0.5 and 1e18.',
    "Say 量子 and 😀 and <|im_end|>.",
    "Dis: l'été, garçon?",
)


@pytest.mark.parametrize("question", QUESTIONS[:2])
def test_the_model_says_what_the_reference_says(
    llama: LlamaModel, make_request: MakeRequest, question: str
) -> None:
    request = make_request(question, max_tokens=50)
    assert llama.generate(request) == llama.generate_reference(request)


def test_a_cut_that_goes_on_is_what_the_reference_says(
    llama: LlamaModel, make_request: MakeRequest
) -> None:
    request = make_request(max_tokens=50)
    expected = llama.generate_reference(request)
    assert expected.margin is not None
    for limit in (1, 9, len(expected.tokens) - 3):
        cut = llama.generate(replace(request, max_tokens=limit))
        assert llama.resume(request, cut) == expected


@pytest.mark.slow
@pytest.mark.parametrize("grammar", sorted(GRAMMARS))
@pytest.mark.parametrize("question", QUESTIONS)
def test_every_grammar_gives_canonical_tokens_and_the_references(
    llama: LlamaModel, make_request: MakeRequest, question: str, grammar: str
) -> None:
    request = make_request(question, grammar=GRAMMARS[grammar], max_tokens=50)
    said = llama.generate(request)
    assert said == llama.generate_reference(request)
    if said.is_complete:
        again = llama.tokenize((Segment(text=said.text),))
        assert said.tokens[: len(again)] == again
        assert len(said.tokens) - len(again) <= 1, "the end"
