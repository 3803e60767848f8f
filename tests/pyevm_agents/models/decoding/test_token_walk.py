"""Generations are canonical and equal the reference implementation's, with noise as a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from precompiles.language_model import Margin
from pyevm_agents.errors import EngineFault
from pyevm_agents.models.decoding import reference
from pyevm_agents.models.decoding.reference import generate_by_reference
from pyevm_agents.models.decoding.token_walk import MAX_CANDIDATES, MAX_PROBED_TOKENS
from pyevm_agents.models.decoding.tokenizer import tokenize_data
from tests.pyevm_agents.models.noise import GRAMMARS, Noise, Saying, tastes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pyevm_agents.models.decoding.guided import GuidedDecoder, GuidedOutput

PROMPT = [1]


@pytest.fixture(scope="module")
def liked(guide: GuidedDecoder) -> dict[str, list[int]]:
    return tastes(guide.vocabulary)  # type: ignore[arg-type]


def canonical(guide: GuidedDecoder, text: str) -> list[int]:
    return tokenize_data(guide.vocabulary, guide.cutter, text)


def said(guide: GuidedDecoder, output: GuidedOutput) -> list[int]:
    """The output's tokens without end tokens."""
    return [token for token in output.tokens if token not in guide.vocabulary.end_tokens()]


def saying(guide: GuidedDecoder, *pieces: str | tuple[str, ...]) -> Saying:
    """An evaluator that prefers given pieces, each of them a token."""
    wanted = []
    for piece in pieces:
        texts = (piece,) if isinstance(piece, str) else piece
        wanted.append([guide.canonical.pieces.index(text.encode()) for text in texts])
    return Saying(guide.vocabulary.vocabulary_tokens, wanted)


def pieces(guide: GuidedDecoder, output: GuidedOutput) -> list[bytes]:
    return [guide.vocabulary.piece(token) for token in output.tokens]


def test_the_reference_has_the_rules_numbers() -> None:
    assert (reference.CANDIDATES, reference.PROBED_TOKENS) == (MAX_CANDIDATES, MAX_PROBED_TOKENS)


@pytest.mark.parametrize("examples", [3, pytest.param(8, marks=pytest.mark.slow)])
def test_noise_is_said_as_the_reference_says_it_and_canonically(
    guide: GuidedDecoder, liked: dict[str, list[int]], examples: int
) -> None:
    size = guide.vocabulary.vocabulary_tokens

    @settings(max_examples=examples)
    @given(
        grammar=st.sampled_from(sorted(GRAMMARS)),
        taste=st.integers(0, 6),
        liking=st.sampled_from([0.5, 2.0, 6.0]),
        seed=st.integers(0, 999),
    )
    def check(grammar: str, taste: int, liking: float, seed: int) -> None:
        noise = Noise(size, str(seed), list(liked.values())[taste], liking)
        output = guide.generate(noise, PROMPT, GRAMMARS[grammar], 40)
        assert output == generate_by_reference(guide, noise, PROMPT, GRAMMARS[grammar], 40)
        if output.is_complete and not output.breaks:
            assert canonical(guide, output.text) == said(guide, output)

    check()


@pytest.mark.slow
@settings(max_examples=3)
@given(grammar=st.sampled_from(sorted(GRAMMARS)), seed=st.integers(0, 99))
def test_every_limit_cuts_and_every_cut_goes_on(
    guide: GuidedDecoder, liked: dict[str, list[int]], grammar: str, seed: int
) -> None:
    size = guide.vocabulary.vocabulary_tokens
    noise = Noise(size, str(seed), liked["digits"], 6.0)
    whole = guide.generate(noise, PROMPT, GRAMMARS[grammar], 40)
    for limit in range(1, len(whole.tokens)):
        cut = guide.generate(noise, PROMPT, GRAMMARS[grammar], limit)
        assert cut.tokens == whole.tokens[:limit]
        assert not cut.is_complete
        more = guide.generate(noise, PROMPT, GRAMMARS[grammar], 40, known=cut.tokens)
        assert (more.tokens, more.text) == (whole.tokens, whole.text)
        assert more.is_complete == whole.is_complete
        assert cut.forced_tokens + more.forced_tokens == whole.forced_tokens
        margins = [each.margin for each in (cut, more) if each.margin is not None]
        assert min(margins, key=lambda each: each.gap, default=None) == whole.margin


def test_a_space_before_a_name_is_a_dead_end(guide: GuidedDecoder) -> None:
    wants = saying(guide, " Go", "\n", ("Action", "Final"), ":", (" ", " De", " With"))
    grammar = r'start: " Go\n" ("Action: " ("Deploy" | "Withdraw") | "Final Answer: no")'
    output = guide.generate(wants, PROMPT, grammar, 20)
    assert pieces(guide, output)[:6] == [b" Go", b"\n", b"Action", b":", b" De", b"ploy"]
    assert output.breaks == 0
    assert canonical(guide, output.text) == output.tokens


def test_what_can_only_be_spelled_in_other_tokens_is_said_all_the_same(
    guide: GuidedDecoder,
) -> None:
    """The grammar lists two tokens one by one, although one token spells both."""
    first, second = (guide.canonical.pieces.index(text) for text in (b" t", b"he"))
    assert len(canonical(guide, " the")) == 1
    output = guide.generate(
        saying(guide, " t"), PROMPT, f'start: <[{first}]> <[{second}]> " it"', 20
    )
    assert output.is_complete
    assert output.breaks > 0
    assert output == generate_by_reference(
        guide, saying(guide, " t"), PROMPT, f'start: <[{first}]> <[{second}]> " it"', 20
    )


def test_a_long_run_of_zeros_does_not_exhaust_the_lexer(guide: GuidedDecoder) -> None:
    thought = " I'm not sure what to do. Do you want to know how long your plan runs?"
    zeros = "0" * 400
    text = f'{thought}\nAction: Note\nAction Input: {{"text": "plan.{zeros}", "xs": []}}'
    wants = Saying(
        guide.vocabulary.vocabulary_tokens, [[token] for token in canonical(guide, text)]
    )
    output = guide.generate(wants, PROMPT, GRAMMARS["every type"], 512)
    assert output.text == text
    assert output.is_complete


@pytest.mark.parametrize(
    "text", ["😀", "量", "naïve é", "a 量子 b", "0 1 23", "x\u00a0 y", "<|im_end|>"]
)
def test_any_text_can_be_said_and_ends(guide: GuidedDecoder, text: str) -> None:
    tokens = canonical(guide, " " + text)
    end = guide.vocabulary.end_tokens()[0]
    wants = Saying(guide.vocabulary.vocabulary_tokens, [[token] for token in [*tokens, end]])
    output = guide.generate(wants, PROMPT, 'start: " " /[^\\n]+/', 30)
    assert output.text == " " + text
    assert output.tokens == [*tokens, end]
    assert output.breaks == 0


def test_a_line_may_end_in_a_space(guide: GuidedDecoder) -> None:
    """A space with a line break is a single token, but two tokens before a letter."""
    assert len(canonical(guide, " \n")) == 1
    wants = saying(guide, " a", " ", "\n", "Final")
    output = guide.generate(wants, PROMPT, r'start: " a" /[^\n]*/ "\n" ("Final" | "Action")', 30)
    assert output.text == " a \nFinal"
    assert canonical(guide, output.text) == output.tokens


def test_the_gap_is_to_the_best_that_could_have_been_said(guide: GuidedDecoder) -> None:
    wants = saying(guide, (" ", " yes", " y", " no"))
    output = guide.generate(wants, PROMPT, 'start: " yes" | " no"', 5)
    assert output.text == " yes"
    assert output.margin == Margin(gap=2.0, token_index=0, chosen=" yes", other=" no")


def test_one_possibility_has_no_gap(guide: GuidedDecoder) -> None:
    output = guide.generate(saying(guide), PROMPT, 'start: " yes"', 5)
    assert (output.text, output.margin) == (" yes", None)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_is_none_is_a_fault(guide: GuidedDecoder, value: float) -> None:
    class Broken:
        def evaluate(self, *_: object) -> NDArray[np.float32]:
            logits = np.zeros(guide.vocabulary.vocabulary_tokens, dtype=np.float32)
            logits[500] = value
            return logits

    with pytest.raises(EngineFault, match=f"computed {value} as the logit of token 500"):
        guide.generate(Broken(), PROMPT, "start: /.+/", 5)


def test_known_tokens_of_another_grammar_are_refused(guide: GuidedDecoder) -> None:
    with pytest.raises(EngineFault, match="known token 0 of 1 is 500, which the grammar does not"):
        guide.generate(saying(guide), PROMPT, 'start: "yes" | "no"', 5, known=[500])


@pytest.mark.parametrize("said_so_far", ["", " a", " a thought.\nAction:", " a.\nAction: Note"])
def test_a_token_is_valid_where_its_bit_is_set(guide: GuidedDecoder, said_so_far: str) -> None:
    matcher = guide.compile_grammar(GRAMMARS["every type"])
    matcher.consume_tokens(canonical(guide, said_so_far))
    assert not matcher.is_error()
    mask = reference.list_allowed_tokens(matcher, guide.vocabulary.vocabulary_tokens)
    valid = [
        token
        for token in range(guide.vocabulary.vocabulary_tokens)
        if matcher.validate_tokens([token]) == 1
    ]
    assert valid == mask
