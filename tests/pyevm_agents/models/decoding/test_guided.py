"""Scripted texts under cached grammars."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyevm_agents.errors import GrammarError, ScriptError
from pyevm_agents.models.decoding import guided as module
from pyevm_agents.models.decoding.guided import GuidedDecoder
from tests.pyevm_agents.models.noise import GRAMMARS, Noise

if TYPE_CHECKING:
    from pyevm_agents.models.decoding.guided import GuidedOutput

PROMPT = [1]


def told(guide: GuidedDecoder, text: str, grammar: str) -> GuidedOutput | str:
    try:
        return guide.encode_given_text(text, grammar, 200)
    except ScriptError as error:
        return str(error)


@pytest.mark.slow
@settings(max_examples=3)
@given(data=st.data())
def test_a_grammar_that_was_followed_before_is_as_new(
    guide: GuidedDecoder, data: st.DataObject
) -> None:
    size = guide.vocabulary.vocabulary_tokens
    used = GuidedDecoder(guide.vocabulary, guide.cutter)
    used.__dict__["_tokenizer"] = guide._tokenizer  # noqa: SLF001 - takes 0.6 s
    for _ in range(4):
        grammar = GRAMMARS[data.draw(st.sampled_from(sorted(GRAMMARS)))]
        noise = Noise(size, str(data.draw(st.integers(0, 99))))
        text = guide.generate(noise, PROMPT, grammar, 60).text
        text = text[: data.draw(st.integers(0, len(text)))] + data.draw(st.sampled_from(["", "}"]))
        fresh = GuidedDecoder(guide.vocabulary, guide.cutter)
        fresh.__dict__["_tokenizer"] = guide._tokenizer  # noqa: SLF001 - as above
        assert told(used, text, grammar) == told(fresh, text, grammar)


def test_only_so_many_are_kept(guide: GuidedDecoder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT_GRAMMARS", 2)
    used = GuidedDecoder(guide.vocabulary, guide.cutter)
    compiled = []
    start = used.compile_grammar

    def noted(grammar: str):  # type: ignore[no-untyped-def]  # noqa: ANN202 - llguidance's
        compiled.append(grammar)
        return start(grammar)

    monkeypatch.setattr(used, "compile_grammar", noted)
    grammars = [f'start: "{letter}"' for letter in "abc"]
    for grammar in (*grammars, grammars[2], grammars[1], grammars[0]):
        with suppress(ScriptError):
            used.encode_given_text("a", grammar, 5)
    assert compiled == [*grammars, grammars[0]]


def test_one_that_does_not_compile_is_refused_each_time(guide: GuidedDecoder) -> None:
    for _ in range(2):
        with pytest.raises(GrammarError):
            guide.encode_given_text("a", "start: nothing", 5)
