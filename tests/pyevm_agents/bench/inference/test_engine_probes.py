from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from precompiles.language_model import GenerationRequest
from pyevm_agents.bench.inference.engine_probes import FREE, EngineProbes, build_numbers_grammar
from pyevm_agents.bench.measurement.texts import OrdinaryText

if TYPE_CHECKING:
    from pyevm_agents.models import LlamaModel


@pytest.mark.parametrize(
    ("longest", "lengths"), [(16, [16]), (100, [16, 32, 64]), (9_999, [16, 32, 64, 128, 256, 512])]
)
def test_lengths_double_up_to_a_piece(
    reduced_llama: LlamaModel, longest: int, lengths: list[int]
) -> None:
    assert EngineProbes(reduced_llama, longest_tokens=longest).list_lengths() == lengths


def test_the_longest_prompt_leaves_room_for_the_longest_output(reduced_llama: LlamaModel) -> None:
    assert EngineProbes(reduced_llama).longest_tokens == 8_192 - 512


def test_a_long_prompt_is_read_in_pieces_in_order(reduced_llama: LlamaModel) -> None:
    cases = EngineProbes(reduced_llama, longest_tokens=1_300).build_long_cases()
    assert [name for name, case in cases.items() if case.term == "cold"] == [
        "cold tokens 0 to 512",
        "cold tokens 512 to 1024",
        "cold tokens 1024 to 1300",
    ]
    assert list(cases)[-1] == "1300 warm tokens from aside"


def test_what_is_read_again_is_known_and_what_is_new_is_not(reduced_llama: LlamaModel) -> None:
    cases = EngineProbes(reduced_llama, longest_tokens=64).build_short_cases()

    def reused(name: str) -> tuple[int, int]:
        cases[name].sample()
        assert reduced_llama.last_stats is not None
        return reduced_llama.last_stats.reused_tokens, reduced_llama.last_stats.restored_tokens

    assert reused("64 cold tokens") == (0, 0)
    assert reused("64 cold tokens") == (0, 0)
    assert reused("64 warm tokens") == (63, 0)
    assert reused("64 warm tokens from aside") == (63, 63)
    # A literal that was never said is evaluated, after a prompt that is known.
    cases["16 tokens forced at 64"].sample()
    assert reduced_llama.last_stats is not None
    assert reduced_llama.last_stats.evaluated_tokens >= 16


def test_free_text_and_numbers_have_choices_and_no_end(reduced_llama: LlamaModel) -> None:
    prompt = OrdinaryText(reduced_llama).draw_tokens(20)
    for grammar in (FREE, build_numbers_grammar()):
        request = GenerationRequest(
            segments=(), prompt_tokens=prompt, grammar=grammar, max_tokens=17
        )
        said = reduced_llama.generate(request)
        assert not said.is_complete
        assert len(said.tokens) == 17
        assert said.forced_tokens <= 1


def test_text_is_new_each_time_and_a_token_a_word(reduced_llama: LlamaModel) -> None:
    text = OrdinaryText(reduced_llama)
    first, second = text.draw_tokens(40), text.draw_tokens(40)
    assert len(first) == len(second) == 40
    assert first != second
