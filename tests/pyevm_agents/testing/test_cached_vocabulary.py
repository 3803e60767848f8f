"""A vocabulary that caches the results of its process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precompiles.language_model import GenerationRequest, Segment
from pyevm_agents.errors import ScriptError
from pyevm_agents.models import Vocabulary
from pyevm_agents.testing import cached_vocabulary
from pyevm_agents.testing.cached_vocabulary import CachingVocabulary

if TYPE_CHECKING:
    from collections.abc import Iterator

SEGMENTS = (Segment(text="Hello "), Segment(text="world"))
GRAMMAR = 'start: " " /[a-z ]{1,40}/ "\\n"'
TEXT = " it is all the same\n"


@pytest.fixture(scope="module")
def vocabulary() -> Iterator[CachingVocabulary]:
    with CachingVocabulary() as opened:
        yield opened


@pytest.fixture(scope="module")
def plain() -> Iterator[Vocabulary]:
    with Vocabulary() as opened:
        yield opened


@pytest.fixture
def asked(vocabulary: CachingVocabulary, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The requests to the process."""
    operations: list[str] = []
    ask = vocabulary.engine.ask

    def noted(request, report=None):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        operations.append(request["operation"])
        return ask(request, report)

    monkeypatch.setattr(vocabulary.engine, "ask", noted)
    vocabulary._tokens.clear()  # noqa: SLF001 - each test begins with nothing remembered
    vocabulary._generations.clear()  # noqa: SLF001 - as above
    return operations


def request(max_tokens: int = 100, grammar: str = GRAMMAR) -> GenerationRequest:
    return GenerationRequest(
        segments=SEGMENTS, prompt_tokens=(1, 2), grammar=grammar, max_tokens=max_tokens
    )


@pytest.mark.slow
def test_tokens_are_asked_for_once(
    vocabulary: CachingVocabulary, plain: Vocabulary, asked: list[str]
) -> None:
    wanted = plain.tokenize(SEGMENTS)
    assert [vocabulary.tokenize(SEGMENTS) for _ in range(3)] == [wanted] * 3
    assert asked == ["tokenize"]


def test_a_prompt_that_goes_on_asks_for_its_end(
    vocabulary: CachingVocabulary, plain: Vocabulary, asked: list[str]
) -> None:
    longer = (*SEGMENTS, Segment(text=" and all"), Segment(text="\nObservation: 5"))
    vocabulary.tokenize(SEGMENTS)
    assert vocabulary.tokenize(longer) == plain.tokenize(longer)
    assert len(asked) == 3  # The first prompt, an empty one once, the rest.
    vocabulary.tokenize((*longer, Segment(text="!")))
    assert len(asked) == 4


PIECES = st.lists(
    st.builds(Segment, text=st.text("ab<>|", max_size=3), is_template=st.booleans()), max_size=6
)


@pytest.mark.parametrize("beginning", [(), (0,)])
@given(prompts=st.lists(PIECES, max_size=6))
def test_prompts_have_the_tokens_of_the_vocabulary(
    beginning: tuple[int, ...], prompts: list[list[Segment]]
) -> None:
    def tokenize(_: Vocabulary, segments: tuple[Segment, ...]) -> tuple[int, ...]:
        # A template's "<" is the token that begins a text; data has none.
        tokens = [
            0 if one.is_template and letter == "<" else ord(letter)
            for one in segments
            for letter in one.text
        ]
        has_it = tuple(tokens[:1]) == beginning
        return (*(() if has_it else beginning), *tokens)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Vocabulary, "tokenize", tokenize)
        vocabulary = CachingVocabulary()
        for prompt in prompts:
            for end in range(len(prompt) + 1):
                segments = tuple(prompt[:end])
                assert vocabulary.tokenize(segments) == tokenize(vocabulary, segments)


def test_a_text_is_followed_once(
    vocabulary: CachingVocabulary, plain: Vocabulary, asked: list[str]
) -> None:
    wanted = plain.encode_given_text(TEXT, request())
    assert wanted.is_complete
    assert vocabulary.encode_given_text(TEXT, request()) == wanted
    assert vocabulary.encode_given_text(TEXT, request(len(wanted.tokens))) == wanted
    assert asked == ["follow"]


def test_a_limit_cuts_as_the_vocabulary_itself_does(
    vocabulary: CachingVocabulary, plain: Vocabulary, asked: list[str]
) -> None:
    for limit in (2, 100, 2, 3):
        assert vocabulary.encode_given_text(TEXT, request(limit)) == plain.encode_given_text(
            TEXT, request(limit)
        )
    assert asked == ["follow"] * 4


def test_another_grammar_is_another_question(
    vocabulary: CachingVocabulary, asked: list[str]
) -> None:
    vocabulary.encode_given_text(TEXT, request())
    with pytest.raises(ScriptError):
        vocabulary.encode_given_text(TEXT, request(grammar='start: " no\\n"'))
    assert asked == ["follow"] * 2


def test_the_oldest_answer_goes(
    vocabulary: CachingVocabulary, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cached_vocabulary, "MAX_CACHED", 2)
    for text in ("a", "b", "c", "b", "a"):
        vocabulary.tokenize((Segment(text=text),))
    assert asked == ["tokenize"] * 4
