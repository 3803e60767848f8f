"""A vocabulary that is asked once for what it said before.

Tokens of a prompt, and those of a text under a grammar, are functions of their input. A test run
asks for the same ones over and over: a call and its transaction, one agent in many tests.
"""

from __future__ import annotations

from collections import OrderedDict
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from pyevm_agents.models import Vocabulary

if TYPE_CHECKING:
    from pathlib import Path

    from precompiles.language_model import Generation, GenerationRequest, Segment
    from pyevm_agents.models import Adapter

Key = TypeVar("Key")
Value = TypeVar("Value")

MAX_CACHED = 2_048
"""Answers of each kind that are kept, some 10 KB each."""


class CachingVocabulary(Vocabulary):
    """A vocabulary whose process is asked for each answer once."""

    def __init__(
        self,
        path: Path | str | None = None,
        *,
        adapter: Adapter = None,
        kept_facts: Path | str | None = None,
    ) -> None:
        """Name a file, the default model's if none is named; see `Vocabulary`."""
        super().__init__(path, adapter=adapter, kept_facts=kept_facts)
        self._tokens: OrderedDict[tuple[Segment, ...], tuple[int, ...]] = OrderedDict()
        self._generations: OrderedDict[tuple[str, str], Generation] = OrderedDict()

    def tokenize(self, segments: tuple[Segment, ...]) -> tuple[int, ...]:
        """Return the tokens of a prompt; see `GgufModel.tokenize`.

        A prompt that goes on where another one ended asks for the rest of it alone: each segment is
        tokenised by itself. What comes before the first is then what an empty prompt has.
        """
        known = self._tokens.get(segments)
        if known is None:
            done, tokens = self._find_cached_prefix(segments)
            rest = super().tokenize(segments[done:])
            known = tokens + rest[len(self._empty_prompt_tokens) if done else 0 :]
            _put_bounded(self._tokens, segments, known)
        return known

    @cached_property
    def _empty_prompt_tokens(self) -> tuple[int, ...]:
        """The tokens of an empty prompt: that of the beginning of a text, or none."""
        return super().tokenize(())

    def _find_cached_prefix(self, segments: tuple[Segment, ...]) -> tuple[int, tuple[int, ...]]:
        """Return how many segments another prompt began with too, and their tokens.

        All others are data: a template could itself begin with what begins a text.
        """
        for done in range(len(segments) - 1, 0, -1):
            if segments[done].is_template:
                break
            tokens = self._tokens.get(segments[:done])
            if tokens is not None:
                return done, tokens
        return 0, ()

    def encode_given_text(self, text: str, request: GenerationRequest) -> Generation:
        """Say a given text as a model would have said it; see `GgufModel.encode_given_text`.

        What a limit has cut is not kept: another limit would cut it elsewhere.
        """
        known = self._generations.get((text, request.grammar))
        if known is None or len(known.tokens) > request.max_tokens:
            known = super().encode_given_text(text, request)
            if known.is_complete:
                _put_bounded(self._generations, (text, request.grammar), known)
        return known


def _put_bounded(cache: OrderedDict[Key, Value], key: Key, value: Value) -> None:
    """Keep an answer; the oldest one goes. Threads may keep at once: each step is whole."""
    cache[key] = value
    while len(cache) > MAX_CACHED:
        cache.popitem(last=False)
