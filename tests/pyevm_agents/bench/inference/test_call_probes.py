from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from precompiles.grammar import build_grammar
from precompiles.language_model import GenerationRequest, Segment
from pyevm_agents.bench.inference.call_probes import TOOL_SETS, CallProbes, InstantModel
from pyevm_agents.bench.measurement.results import TERMS

if TYPE_CHECKING:
    from pyevm_agents.models import LlamaModel


@pytest.fixture(scope="module")
def calls(reduced_llama: LlamaModel) -> CallProbes:
    return CallProbes(reduced_llama)


def test_a_model_that_answers_at_once_evaluates_nothing(reduced_llama: LlamaModel) -> None:
    model = InstantModel(reduced_llama)
    segments = (Segment(text="Question: what now?"),)
    said = model.generate(
        GenerationRequest(
            segments=segments,
            prompt_tokens=model.tokenize(segments),
            grammar=build_grammar((), ()),
            max_tokens=100,
        )
    )
    assert said.is_complete
    assert said.text == " Done.\nFinal Answer: Done."
    assert reduced_llama.last_stats is not None
    assert reduced_llama.last_stats.evaluated_tokens == 0


def test_every_tool_set_fits_the_default_model(calls: CallProbes) -> None:
    assert {tool_set.words for tool_set in TOOL_SETS[1:]} < set(calls.build_cases())


def test_every_case_is_of_a_term(calls: CallProbes) -> None:
    cases = calls.build_cases().values()
    assert {case.term for case in cases} == {"call", "byte", "tool", "parameter", "read"}
    assert {case.term for case in cases} < set(TERMS)


def test_no_two_calls_have_the_same_grammar(calls: CallProbes, reduced_llama: LlamaModel) -> None:
    sample = calls.build_cases()["a call"].sample
    grammars = []
    generate = reduced_llama.generate

    def noting(request: GenerationRequest) -> object:
        grammars.append(request.grammar)
        return generate(request)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reduced_llama, "generate", noting)
        for _ in range(3):
            sample()
    assert len(set(grammars)) == len(grammars) == 3


def test_what_is_remembered_is_compiled_once(calls: CallProbes, reduced_llama: LlamaModel) -> None:
    asked = []
    generate = reduced_llama.generate

    def noting(request: GenerationRequest) -> object:
        asked.append(request)
        return generate(request)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reduced_llama, "generate", noting)
        calls.build_cases()["a call that is remembered"].sample()
    assert len(asked) == 1


def test_text_is_as_long_as_asked_for_and_gas_is_that_of_calling_nobody(calls: CallProbes) -> None:
    _, ordinary = calls.build_cases()["7,680 bytes of prompt"].sample()
    assert 7_680 < ordinary.input_bytes < 7_680 + 700
    _, spelled = calls.build_cases()["control tokens spelled out"].sample()
    assert 3_840 < spelled.input_bytes < 3_840 + 700
    _, nobody = calls.build_cases()["a call of nobody"].sample()
    assert nobody.calls == 0
    assert 21_000 < nobody.evm_gas < 40_000
