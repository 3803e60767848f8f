"""Generations with scores: engine and reference agree, cut ones resume to the same integers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from precompiles.grammar import build_grammar
from precompiles.language_model import Scoring, repeat_decided
from pyevm_agents.errors import RecordError
from pyevm_agents.models import CachingModel, Store
from pyevm_agents.models.fakes.recorded import RecordedModel, RecordingModel
from tests.scored_requests import TOOLS, make_scored_request

if TYPE_CHECKING:
    from pathlib import Path

    from precompiles.language_model import Generation, GenerationRequest
    from pyevm_agents.models import LlamaModel

QUESTIONS = (
    "Pay 25 to alice.",
    'Pay alice 5 and then note "keep it" and check the balance of alice.',
    'note 量子 😀 ("a \\ b") and pay 2,500 to ALICE, please!',
)


@pytest.fixture(scope="module")
def request_(reduced_llama: LlamaModel) -> GenerationRequest:
    return make_scored_request(reduced_llama, QUESTIONS[1])


@pytest.fixture(scope="module")
def whole(reduced_llama: LlamaModel, request_: GenerationRequest) -> Generation:
    return reduced_llama.generate(request_)


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_model_gives_what_the_reference_gives(reduced_llama: LlamaModel, question: str) -> None:
    request = make_scored_request(reduced_llama, question)
    generation = reduced_llama.generate(request)
    assert generation.is_complete
    assert generation == reduced_llama.generate_reference(request)
    assert generation.confidence is not None
    assert generation.confidence.surprisal > 0


@pytest.fixture(scope="module")
def free_request(reduced_llama: LlamaModel) -> GenerationRequest:
    grammar = build_grammar(TOOLS, ["alice"])
    short = make_scored_request(reduced_llama, QUESTIONS[0], max_tokens=400)
    return replace(short, grammar=grammar, scoring=Scoring.DECISION, free_grammar=grammar)


@pytest.mark.slow
def test_in_the_free_format_scores_change_no_token(
    reduced_llama: LlamaModel, free_request: GenerationRequest
) -> None:
    generation = reduced_llama.generate(free_request)
    plain = reduced_llama.generate(free_request.to_free_format())
    assert generation.is_complete
    assert generation == reduced_llama.generate_reference(free_request)
    assert replace(generation, confidence=None, tail_tokens=0) == plain
    assert generation.confidence is not None
    assert generation.confidence.surprisal > 0


def test_a_recording_without_scores_answers_no_request_for_them(
    reduced_llama: LlamaModel, free_request: GenerationRequest
) -> None:
    recording = RecordingModel(reduced_llama, name="reduced")
    plain = recording.generate(free_request.to_free_format())
    replayed = RecordedModel(recording.exchanges)
    assert replayed.generate(free_request.to_free_format()) == plain
    with pytest.raises(RecordError, match="no generation for prompt"):
        replayed.generate(free_request)


def test_a_cut_generation_resumes_to_the_same_confidence(
    reduced_llama: LlamaModel, request_: GenerationRequest, whole: Generation
) -> None:
    evaluated_tokens = len(whole.tokens) - whole.tail_tokens
    assert whole.tail_tokens > 0
    for limit in range(1, evaluated_tokens):
        cut = reduced_llama.generate(replace(request_, max_tokens=limit))
        assert not cut.is_complete
        assert cut.confidence is not None
        assert reduced_llama.resume(request_, cut) == whole
    # The forced tokens after the last choice are not evaluated, and need no limit.
    assert reduced_llama.generate(replace(request_, max_tokens=evaluated_tokens)) == whole
    again = replace(cut, confidence=None)
    assert reduced_llama.resume(request_, again) == whole


def test_a_store_keeps_confidences_and_tells_scorings_apart(
    reduced_llama: LlamaModel, request_: GenerationRequest, whole: Generation, tmp_path: Path
) -> None:
    facts = reduced_llama.profile_facts
    path = tmp_path / "store.sqlite3"

    def open_cache(store: Store) -> CachingModel:
        return CachingModel(
            reduced_llama, digest=facts.digest, fingerprint=facts.fingerprint, store=store
        )

    with Store(path) as store:
        cache = open_cache(store)
        cut = cache.generate(replace(request_, max_tokens=9))
        assert not cut.is_complete
        assert cache.generate(request_) == whole
        assert (cache.computed, cache.resumed) == (1, 1)
    with Store(path) as store:
        cache = open_cache(store)
        assert cache.generate(request_) == whole
        assert cache.generate(replace(request_, max_tokens=9)).confidence is None
        assert (cache.hits, cache.inferences) == (2, 0)
        assert cache.generate(replace(request_, scoring=Scoring.DECISION)).confidence is not None
        assert cache.generate(replace(request_, scoring=None)).confidence is None
        assert cache.computed == 2


def test_a_recording_replays_the_confidence(
    reduced_llama: LlamaModel, request_: GenerationRequest, whole: Generation
) -> None:
    recording = RecordingModel(reduced_llama, name="reduced")
    assert recording.generate(request_) == whole
    replayed = RecordedModel(recording.exchanges)
    assert replayed.generate(request_) == whole


def test_what_the_rules_decide_is_repeated_without_a_token(
    reduced_llama: LlamaModel, request_: GenerationRequest
) -> None:
    decided = replace(request_, decided=" All done.\nFinal Answer: Done.")
    facts = reduced_llama.profile_facts
    cache = CachingModel(reduced_llama, digest=facts.digest, fingerprint=facts.fingerprint)
    recording = RecordingModel(cache, name="reduced")
    repeated = repeat_decided(decided)
    assert (repeated.text, repeated.tokens, repeated.is_complete) == (decided.decided, (), True)
    for model in (reduced_llama, recording, RecordedModel([]), RecordedModel(recording.exchanges)):
        assert model.generate(decided) == repeated
    assert reduced_llama.generate_reference(decided) == repeated
    assert (cache.hits, cache.inferences) == (0, 0)
