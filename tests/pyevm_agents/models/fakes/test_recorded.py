"""Recording and replay of generations."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from precompiles.language_model import Generation, GenerationRequest, Segment
from pyevm_agents.errors import ConfigError, EngineFault, RecordError
from pyevm_agents.models.fakes.recorded import Exchange, RecordedModel, RecordingModel
from pyevm_agents.models.timing import Timing
from tests.byte_model import ByteModel

SEGMENTS = (Segment(text="<s>", is_template=True), Segment(text="What is 1 + 1?"))


@dataclass
class Facts:
    digest: bytes = bytes(32)
    context_tokens: int = 10
    fingerprint: str = "{}"


class DescribedModel(ByteModel):
    profile_facts = Facts()


def request(model: ByteModel, limit: int = 100, grammar: str = "start: /.*/") -> GenerationRequest:
    return GenerationRequest(
        segments=SEGMENTS,
        prompt_tokens=model.tokenize(SEGMENTS),
        grammar=grammar,
        max_tokens=limit,
    )


def recorded(text: str = "two", limit: int = 100) -> tuple[GenerationRequest, RecordedModel]:
    recording = RecordingModel(ByteModel([text]), name="bytes")
    recording.tokenize(SEGMENTS)
    asked = request(ByteModel([]), limit)
    recording.generate(asked)
    return asked, RecordedModel(recording.exchanges)


def test_a_prompt_and_what_was_said_to_it_are_one_exchange() -> None:
    recording = RecordingModel(ByteModel(["two"]), name="bytes")
    tokens = recording.tokenize(SEGMENTS)
    generation = recording.generate(request(ByteModel([])))
    assert recording.exchanges == (
        Exchange(
            model="bytes",
            segments=SEGMENTS,
            prompt_tokens=tokens,
            grammar="start: /.*/",
            max_tokens=100,
            generation=generation,
        ),
    )


def test_a_prompt_that_nothing_was_said_to_is_kept_as_well() -> None:
    recording = RecordingModel(ByteModel([]), name="bytes")
    recording.tokenize(SEGMENTS)
    (exchange,) = recording.exchanges
    assert exchange.generation is None
    assert RecordedModel([exchange]).tokenize(SEGMENTS) == exchange.prompt_tokens


def test_what_a_model_failed_to_say_is_kept_as_asked() -> None:
    class Faulty(ByteModel):
        def generate(self, request: GenerationRequest) -> Generation:
            raise EngineFault(f"died of {request.max_tokens}")

    recording = RecordingModel(Faulty([]), name="bytes")
    recording.tokenize(SEGMENTS)
    with pytest.raises(EngineFault):
        recording.generate(request(ByteModel([]), 7))
    (asked,) = recording.exchanges
    assert (asked.max_tokens, asked.generation) == (7, None)


def test_models_of_one_chain_share_a_log_in_order() -> None:
    log: list[Exchange] = []
    one = RecordingModel(ByteModel([]), name="one", log=log)
    two = RecordingModel(ByteModel([]), name="two", log=log)
    for model in (one, two, one):
        model.tokenize(SEGMENTS)
    assert [exchange.model for exchange in log] == ["one", "two", "one"]


def test_a_recording_that_is_off_keeps_nothing() -> None:
    recording = RecordingModel(ByteModel(["two"]), name="bytes")
    recording.is_recording = False
    recording.tokenize(SEGMENTS)
    recording.generate(request(ByteModel([])))
    assert recording.exchanges == ()


def test_facts_are_those_of_the_model_inside() -> None:
    described = DescribedModel([])
    assert RecordingModel(described, name="x").profile_facts is DescribedModel.profile_facts
    assert RecordingModel(ByteModel([]), name="x").profile_facts is None
    assert RecordedModel([]).profile_facts is None
    facts = Facts()
    assert RecordedModel([], facts=facts).profile_facts is facts
    assert RecordedModel([], fallback=described).profile_facts is DescribedModel.profile_facts


def test_says_again_what_was_recorded() -> None:
    asked, model = recorded()
    assert model.tokenize(SEGMENTS) == asked.prompt_tokens
    assert model.generate(asked).text == "two"


def test_a_recorded_generation_is_cached_and_has_no_duration() -> None:
    asked, model = recorded()
    assert model.generate_timed(asked)[1] == Timing(seconds=None, is_cached=True)


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_a_lower_limit_cuts(limit: int) -> None:
    asked, model = recorded("two")
    generation = model.generate(replace(asked, max_tokens=limit))
    assert generation.tokens == tuple(b"two"[:limit])
    assert generation.is_complete == (limit == 3)


def test_a_generation_that_its_limit_cut_serves_no_higher_one() -> None:
    asked, model = recorded("four", limit=3)
    assert model.generate(replace(asked, max_tokens=2)).tokens == tuple(b"fo")
    assert model.generate(asked).tokens == tuple(b"fou")
    with pytest.raises(RecordError, match=r"cut at its limit of 3 tokens, but 4 are requested"):
        model.generate(replace(asked, max_tokens=4))


def test_what_is_not_recorded_is_a_fault_that_names_it() -> None:
    asked, model = recorded()
    other = (Segment(text="What else is there?"),)
    with pytest.raises(RecordError, match=r"no tokens for the prompt that ends in 'What else is"):
        model.tokenize(other)
    with pytest.raises(RecordError, match=r"no generation for prompt [0-9a-f]{16} of 17 tokens"):
        model.generate(replace(asked, grammar="start: /[a-z]*/"))


def test_another_model_answers_what_is_not_recorded() -> None:
    asked, known = recorded("two")
    recording = RecordingModel(known, name="bytes")
    recording.tokenize(SEGMENTS)
    recording.generate(asked)
    beyond = ByteModel(["else"])
    model = RecordedModel(recording.exchanges, fallback=beyond)
    assert model.generate(asked).text == "two"
    assert beyond.requests == []
    assert model.generate(replace(asked, grammar="start: /[a-z]*/")).text == "else"
    assert model.tokenize((Segment(text="x"),)) == (ord("x"),)


def exchange(text: str, limit: int) -> Exchange:
    asked = request(ByteModel([]), limit)
    return Exchange(
        model="bytes",
        segments=SEGMENTS,
        prompt_tokens=asked.prompt_tokens,
        grammar=asked.grammar,
        max_tokens=limit,
        generation=ByteModel([text]).generate(asked),
    )


@pytest.mark.parametrize("order", [1, -1])
def test_of_two_records_of_one_prompt_the_longer_serves(order: int) -> None:
    model = RecordedModel([exchange("whole", 2), exchange("whole", 100)][::order])
    assert model.generate(request(ByteModel([]))).is_complete
    model = RecordedModel([exchange("whole", 2), exchange("whole", 4)][::order])
    assert model.generate(request(ByteModel([]), 4)).tokens == tuple(b"whol")


def test_records_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(ConfigError, match="have different generations"):
        RecordedModel([exchange("whole", 100), exchange("hole", 100)])
    with pytest.raises(ConfigError, match="have different generations"):
        RecordedModel([exchange("whole", 100), exchange("hole", 2)])
    with pytest.raises(ConfigError, match="have different tokens"):
        RecordedModel([exchange("a", 9), replace(exchange("a", 9), prompt_tokens=(1,))])
