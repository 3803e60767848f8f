"""The contract of the `LanguageModel` port, for every implementation."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from precompiles.language_model import Segment
from pyevm_agents.errors import ConfigError, GrammarError
from pyevm_agents.models import LlamaModel, ScriptedModel, Vocabulary, use

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.pyevm_agents.models.conftest import MakeRequest

SPECIALS = (
    "<|im_start|>",
    "<|im_end|>",
    "<|endoftext|>",
    "<repo_name>",
    "<file_sep>",
    "<jupyter_start>",
)
UNSPELLABLE = "\x04\x06\x13\x14\x16\x1d"
"""Characters missing in the default model's vocabulary, besides those of planes 4 to 11."""

Model = LlamaModel | ScriptedModel


@pytest.fixture(params=["llama", "scripted"])
def model(
    request: pytest.FixtureRequest, reduced_llama: LlamaModel, vocabulary: Vocabulary
) -> Iterator[Model]:
    """Each implementation of the port."""
    if request.param == "llama":
        yield reduced_llama
    else:
        with ScriptedModel(
            lambda _: use("DeployTool", thought="Deploy it.", asset="addr1", amount=25),
            vocabulary=vocabulary,
        ) as scripted:
            yield scripted


@pytest.mark.parametrize("special", SPECIALS)
def test_data_never_becomes_a_control_token(
    model: Model, vocabulary: Vocabulary, special: str
) -> None:
    control = vocabulary.tokenize((Segment(text=special, is_template=True),))
    assert len(control) == 1
    tokens = model.tokenize((Segment(text=f"a {special}b{special}{special}"),))
    assert not set(control) & set(tokens)
    assert vocabulary.detokenize(tokens) == f"a {special}b{special}{special}"


def test_segments_are_tokenised_each_by_itself(model: Model) -> None:
    pieces = (
        Segment(text="Thou"),
        Segment(text="ght:"),
        Segment(text=""),
        Segment(text=" De"),
        Segment(text="ploy"),
    )
    each = [model.tokenize((piece,)) for piece in pieces]
    assert model.tokenize(pieces) == tuple(token for tokens in each for token in tokens)
    assert model.tokenize(pieces[:3]) == model.tokenize(pieces)[: len(model.tokenize(pieces[:3]))]


def test_nothing_is_no_token_where_the_vocabulary_asks_for_no_beginning(model: Model) -> None:
    assert model.tokenize(()) == ()


def test_half_a_surrogate_pair_is_no_text(model: Model) -> None:
    with pytest.raises(ConfigError, match="surrogate pair at character 2"):
        model.tokenize((Segment(text="ab\ud800"),))


def test_a_limit_cuts_and_changes_nothing_else(model: Model, make_request: MakeRequest) -> None:
    request = make_request()
    whole = model.generate(request)
    assert whole.is_complete
    assert 0 < whole.forced_tokens < len(whole.tokens) <= request.max_tokens
    for limit in (
        1,
        2,
        len(whole.tokens) // 2,
        len(whole.tokens) - 2,
        len(whole.tokens) - 1,
        len(whole.tokens),
    ):
        cut = model.generate(replace(request, max_tokens=limit))
        assert cut.tokens == whole.tokens[:limit]
        assert cut.is_complete == (limit == len(whole.tokens))
        assert whole.text.startswith(cut.text)


def test_the_text_is_that_of_the_tokens(
    model: Model, vocabulary: Vocabulary, make_request: MakeRequest
) -> None:
    whole = model.generate(make_request("Say hello."))
    assert vocabulary.detokenize(whole.tokens).removesuffix("<|im_end|>") == whole.text
    assert whole.text.startswith(" ")


def test_the_same_request_gives_the_same_words(model: Model, make_request: MakeRequest) -> None:
    first = model.generate(make_request())
    model.generate(make_request("Withdraw everything."))
    assert model.generate(make_request()) == first


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_of_nothing_is_refused(model: Model, make_request: MakeRequest, limit: int) -> None:
    with pytest.raises(ConfigError, match=f"invalid max_tokens {limit}"):
        model.generate(make_request(max_tokens=limit))


@pytest.mark.parametrize("grammar", ["", "start: missing", "start: /(/", '{"type": "object"}'])
def test_a_grammar_that_does_not_compile_says_so(
    model: Model, make_request: MakeRequest, grammar: str
) -> None:
    with pytest.raises(GrammarError, match="llguidance"):
        model.generate(make_request(grammar=grammar))
    assert model.generate(make_request()).is_complete


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    text=st.lists(
        st.text(
            st.characters(
                max_codepoint=0x3FFFF, exclude_characters=UNSPELLABLE, exclude_categories=["Cs"]
            )
        )
        | st.sampled_from(SPECIALS)
    ).map("".join)
)
def test_any_text_comes_back_from_its_tokens(
    model: Model, vocabulary: Vocabulary, text: str
) -> None:
    tokens = model.tokenize((Segment(text=text),))
    assert vocabulary.detokenize(tokens) == text
    assert all(token > 16 for token in tokens), (
        "the vocabulary's first 17 entries are control tokens"
    )


def test_what_the_vocabulary_can_not_spell_is_left_out(
    model: Model, vocabulary: Vocabulary
) -> None:
    assert vocabulary.detokenize(model.tokenize((Segment(text="a\x04b"),))) == "ab"
