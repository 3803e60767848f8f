"""Generations with scores: engine and reference agree, cut ones resume to the same integers."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import pytest

from precompiles.gate import FREE_SCORING
from precompiles.grammar import build_grammar
from precompiles.language_model import repeat_decided
from pyevm_agents.errors import ConfigError, RecordError
from pyevm_agents.models import CachingModel, LlamaModel, Store, Vocabulary
from pyevm_agents.models.decoding.router import Router, WordTokens
from pyevm_agents.models.decoding.step_scores import WEIGHT_ONE
from pyevm_agents.models.decoding.tokenizer import tokenize_data
from pyevm_agents.models.fakes.recorded import RecordedModel, RecordingModel
from tests.router_adapter import (
    TOOLS,
    list_entries,
    make_scored_request,
    random_router,
    write_adapter,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from precompiles.language_model import Generation, GenerationRequest
    from pyevm_agents.models.decoding.guided import GuidedDecoder

QUESTIONS = (
    "Pay 25 to alice.",
    'Pay alice 5 and then note "keep it" and check the balance of alice.',
    'note 量子 😀 ("a \\ b") and pay 2,500 to ALICE, please!',
)


@pytest.fixture(scope="module")
def adapter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An adapter that has no effect but its router's."""
    return write_adapter(
        tmp_path_factory.mktemp("router") / "router.gguf", list_entries(random_router(3))
    )


@pytest.fixture(scope="module")
def routed(reduced_model: Path, adapter: Path) -> Iterator[LlamaModel]:
    with LlamaModel(reduced_model, adapter=adapter, threads=1) as model:
        yield model


@pytest.fixture(scope="module")
def request_(routed: LlamaModel) -> GenerationRequest:
    return make_scored_request(routed, QUESTIONS[1])


@pytest.fixture(scope="module")
def whole(routed: LlamaModel, request_: GenerationRequest) -> Generation:
    return routed.generate(request_)


@pytest.mark.parametrize("router_weight", [0, WEIGHT_ONE, 64 * WEIGHT_ONE])
@pytest.mark.parametrize("question", QUESTIONS)
def test_the_model_gives_what_the_reference_gives(
    routed: LlamaModel, question: str, router_weight: int
) -> None:
    request = make_scored_request(routed, question, router_weight=router_weight)
    generation = routed.generate(request)
    assert generation.is_complete
    assert generation == routed.generate_reference(request)
    assert generation.confidence is not None
    assert generation.confidence.surprisal > 0
    assert bool(generation.confidence.tool_scores) == bool(router_weight)


@pytest.fixture(scope="module")
def free_request(routed: LlamaModel) -> GenerationRequest:
    grammar = build_grammar(TOOLS, ["alice"])
    short = make_scored_request(routed, QUESTIONS[0], max_tokens=400)
    return replace(short, grammar=grammar, scoring=FREE_SCORING, free_grammar=grammar)


@pytest.mark.slow
def test_in_the_free_format_scores_change_no_token(
    routed: LlamaModel, free_request: GenerationRequest
) -> None:
    generation = routed.generate(free_request)
    plain = routed.generate(free_request.to_free_format())
    assert generation.is_complete
    assert generation == routed.generate_reference(free_request)
    assert replace(generation, confidence=None, tail_tokens=0) == plain
    assert generation.confidence is not None
    assert generation.confidence.surprisal > 0
    assert generation.confidence.tool_scores == ()


def test_a_recording_without_scores_answers_no_request_for_them(
    routed: LlamaModel, free_request: GenerationRequest
) -> None:
    recording = RecordingModel(routed, name="reduced")
    plain = recording.generate(free_request.to_free_format())
    replayed = RecordedModel(recording.exchanges)
    assert replayed.generate(free_request.to_free_format()) == plain
    with pytest.raises(RecordError, match="no generation for prompt"):
        replayed.generate(free_request)


def test_a_thought_without_tools_has_no_tool_scores(routed: LlamaModel) -> None:
    request = make_scored_request(routed, "Well, hello.", fitting=())
    generation = routed.generate(request)
    assert generation == routed.generate_reference(request)
    assert generation.confidence is not None
    assert generation.confidence.tool_scores == ()


def test_tool_scores_are_the_routers(
    whole: Generation, request_: GenerationRequest, guide: GuidedDecoder
) -> None:
    scoring = request_.scoring
    assert scoring is not None
    assert whole.confidence is not None
    thought = whole.text.partition("\n")[0].removeprefix(" ")
    (clause,) = (one for one in scoring.clauses if one.text == thought)
    router = Router(
        random_router(3), WordTokens(partial(tokenize_data, guide.vocabulary, guide.cutter))
    )
    expected = tuple(router.score(clause.words, tool) for tool in scoring.tools)
    assert whole.confidence.tool_scores == expected


def test_a_strong_router_decides(routed: LlamaModel) -> None:
    request = make_scored_request(routed, QUESTIONS[0], router_weight=1 << 16)
    generation = routed.generate(request)
    assert request.scoring is not None
    assert generation.confidence is not None
    thought, decision = generation.text.split("\n")[:2]
    (clause,) = (one for one in request.scoring.clauses if one.text == thought[1:])
    scores = generation.confidence.tool_scores
    best = max(clause.tools, key=lambda index: (scores[index], -index))
    name = request.scoring.names[best]
    assert decision == (f"Action: {name}" if scores[best] > 0 else "Final Answer: I can't do that.")


def test_a_cut_generation_resumes_to_the_same_confidence(
    routed: LlamaModel, request_: GenerationRequest, whole: Generation
) -> None:
    evaluated_tokens = len(whole.tokens) - whole.tail_tokens
    assert whole.tail_tokens > 0
    for limit in range(1, evaluated_tokens):
        cut = routed.generate(replace(request_, max_tokens=limit))
        assert not cut.is_complete
        assert cut.confidence is not None
        assert routed.resume(request_, cut) == whole
    # The forced tokens after the last choice are not evaluated, and need no limit.
    assert routed.generate(replace(request_, max_tokens=evaluated_tokens)) == whole
    again = replace(cut, confidence=None)
    assert routed.resume(request_, again) == whole


def test_a_store_keeps_confidences_and_tells_scorings_apart(
    routed: LlamaModel, request_: GenerationRequest, whole: Generation, tmp_path: Path
) -> None:
    facts = routed.profile_facts
    path = tmp_path / "store.sqlite3"

    def open_cache(store: Store) -> CachingModel:
        return CachingModel(routed, digest=facts.digest, fingerprint=facts.fingerprint, store=store)

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
        assert request_.scoring is not None
        other = replace(request_, scoring=replace(request_.scoring, router_weight=0))
        unrouted = cache.generate(other)
        assert unrouted.confidence is not None
        assert unrouted.confidence.tool_scores == ()
        assert cache.generate(replace(request_, scoring=None)).confidence is None
        assert cache.computed == 2


def test_a_recording_replays_the_confidence(
    routed: LlamaModel, request_: GenerationRequest, whole: Generation
) -> None:
    recording = RecordingModel(routed, name="reduced")
    assert recording.generate(request_) == whole
    replayed = RecordedModel(recording.exchanges)
    assert replayed.generate(request_) == whole


@pytest.mark.slow
def test_the_router_changes_the_digest_and_not_the_free_format(
    routed: LlamaModel, reduced_model: Path, request_: GenerationRequest, tmp_path: Path
) -> None:
    path = write_adapter(tmp_path / "bare.gguf", {}, version=None)
    with LlamaModel(reduced_model, adapter=path, threads=1) as bare:
        assert bare.profile_facts.digest != routed.profile_facts.digest
        free = replace(request_, scoring=None)
        assert bare.generate(free) == routed.generate(free)
        unrouted = bare.generate(request_)
        assert unrouted.confidence is not None
        assert unrouted.confidence.tool_scores == ()


def test_a_router_of_another_vocabulary_is_rejected(reduced_model: Path, tmp_path: Path) -> None:
    path = write_adapter(tmp_path / "small.gguf", list_entries(random_router(tokens=5)))
    with (
        Vocabulary(reduced_model, adapter=path) as model,
        pytest.raises(ConfigError, match=r"240 bytes of router\.rows: must be 2,359,296; pass"),
    ):
        _ = model.profile_facts


def test_what_the_rules_decide_is_repeated_without_a_token(
    routed: LlamaModel, request_: GenerationRequest
) -> None:
    decided = replace(request_, decided=" All done.\nFinal Answer: Done.")
    facts = routed.profile_facts
    cache = CachingModel(routed, digest=facts.digest, fingerprint=facts.fingerprint)
    recording = RecordingModel(cache, name="reduced")
    repeated = repeat_decided(decided)
    assert (repeated.text, repeated.tokens, repeated.is_complete) == (decided.decided, (), True)
    for model in (routed, recording, RecordedModel([]), RecordedModel(recording.exchanges)):
        assert model.generate(decided) == repeated
    assert routed.generate_reference(decided) == repeated
    assert (cache.hits, cache.inferences) == (0, 0)
