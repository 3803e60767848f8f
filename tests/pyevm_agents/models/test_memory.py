"""A generation is computed once, and a limit only cuts it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from precompiles.ports import Generation, GenerationRequest, Segment
from pyevm_agents.errors import ConfigError, EngineFault
from pyevm_agents.models import RememberingModel

REQUEST = GenerationRequest(
    segments=(Segment(text="ab"),), prompt_tokens=(1, 2), grammar="start: /a+/", max_tokens=10
)


class Counting:
    """Says seven tokens, three of them forced, and counts how often it was asked."""

    def __init__(self) -> None:
        self.calls = 0

    def tokenize(self, segments: tuple[Segment, ...]) -> tuple[int, ...]:
        return tuple(len(segment.text) for segment in segments)

    def generate(self, request: GenerationRequest) -> Generation:
        self.calls += 1
        count = min(7, request.max_tokens)
        return Generation(
            text="a" * count,
            tokens=tuple(range(count)),
            forced_tokens=min(3, count),
            is_complete=count == 7,
        )


def remembering(model: Counting, **options: int) -> RememberingModel:
    return RememberingModel(model, digest=b"\x01" * 32, fingerprint="{}", **options)


def test_a_complete_generation_serves_every_limit() -> None:
    model = Counting()
    memory = remembering(model)
    whole = memory.generate(REQUEST)
    for limit in (7, 8, 1000):
        assert memory.generate(replace(REQUEST, max_tokens=limit)) == whole
    for limit in (1, 6):
        cut = memory.generate(replace(REQUEST, max_tokens=limit))
        assert (cut.tokens, cut.is_complete) == (whole.tokens[:limit], False)
        assert cut.forced_tokens <= limit
    assert model.calls == 1


def test_a_cut_generation_serves_lower_limits_and_is_computed_anew_for_higher_ones() -> None:
    model = Counting()
    memory = remembering(model)
    assert not memory.generate(replace(REQUEST, max_tokens=4)).is_complete
    assert memory.generate(replace(REQUEST, max_tokens=4)).tokens == (0, 1, 2, 3)
    assert memory.generate(replace(REQUEST, max_tokens=2)).tokens == (0, 1)
    assert model.calls == 1
    assert memory.generate(replace(REQUEST, max_tokens=7)).is_complete
    assert model.calls == 2
    assert memory.generate(replace(REQUEST, max_tokens=3)).tokens == (0, 1, 2)
    assert model.calls == 2
    assert len(memory) == 1


@pytest.mark.parametrize(
    "other", [replace(REQUEST, prompt_tokens=(1, 3)), replace(REQUEST, grammar="start: /b+/")]
)
def test_prompt_and_grammar_decide(other: GenerationRequest) -> None:
    model = Counting()
    memory = remembering(model)
    memory.generate(REQUEST)
    memory.generate(other)
    memory.generate(replace(REQUEST, segments=(), handles=(("addr1", "0x"),)))
    assert model.calls == 2


def test_the_least_recently_used_goes() -> None:
    model = Counting()
    memory = remembering(model, max_generations=2)
    first, second, third = (replace(REQUEST, prompt_tokens=(token,)) for token in (1, 2, 3))
    for request in (first, second, first, third):
        memory.generate(request)
    assert (len(memory), model.calls) == (2, 3)
    memory.generate(first)
    assert model.calls == 3
    memory.generate(second)
    assert model.calls == 4


def test_everything_can_be_forgotten() -> None:
    model = Counting()
    memory = remembering(model)
    memory.generate(REQUEST)
    memory.forget()
    memory.generate(REQUEST)
    assert model.calls == 2


def test_a_fault_is_not_remembered() -> None:
    class Faulty(Counting):
        def generate(self, request: GenerationRequest) -> Generation:
            if self.calls == 0:
                self.calls += 1
                raise EngineFault("died")
            return super().generate(request)

    memory = remembering(Faulty())
    with pytest.raises(EngineFault, match="died"):
        memory.generate(REQUEST)
    assert memory.generate(REQUEST).is_complete


def test_tokens_come_from_the_model() -> None:
    assert remembering(Counting()).tokenize((Segment(text="abc"),)) == (3,)


def test_room_for_none_is_refused() -> None:
    with pytest.raises(ConfigError, match="max_generations is 0"):
        remembering(Counting(), max_generations=0)
