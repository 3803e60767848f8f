"""A vocabulary that caches results.

The tokens of a prompt, and those of a text under a grammar, depend on the input alone. A test run
repeats the same inputs: a call and its transaction, one agent in many tests.
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
"""Cached results of each kind, some 10 KB each."""


class CachingVocabulary(Vocabulary):
    """A vocabulary that requests each result from the process once."""

    def __init__(
        self,
        path: Path | str | None = None,
        *,
        adapter: Adapter = None,
        context_tokens: int | None = None,
        kept_facts: Path | str | None = None,
    ) -> None:
        """Create a vocabulary; see `Vocabulary`."""
        super().__init__(
            path, adapter=adapter, context_tokens=context_tokens, kept_facts=kept_facts
        )
        self._tokens: OrderedDict[tuple[Segment, ...], tuple[int, ...]] = OrderedDict()
        self._generations: OrderedDict[tuple[str, str], Generation] = OrderedDict()

    def tokenize(self, segments: tuple[Segment, ...]) -> tuple[int, ...]:
        """Return the tokens of a prompt; see `GgufModel.tokenize`.

        Segments are tokenised independently: for a prompt that extends a cached one, only the rest
        is requested, without the tokens that any prompt starts with.
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
        """The tokens of an empty prompt: the token for the beginning of a text, if there is one."""
        return super().tokenize(())

    def _find_cached_prefix(self, segments: tuple[Segment, ...]) -> tuple[int, tuple[int, ...]]:
        """Return the number of leading segments that a cached prompt has, and their tokens.

        The rest must be data: a template may itself start with the token for the beginning.
        """
        for done in range(len(segments) - 1, 0, -1):
            if segments[done].is_template:
                break
            tokens = self._tokens.get(segments[:done])
            if tokens is not None:
                return done, tokens
        return 0, ()

    def encode_given_text(self, text: str, request: GenerationRequest) -> Generation:
        """Return a text as the model's generation; see `GgufModel.encode_given_text`.

        A generation that the limit cut is not cached: another limit cuts elsewhere.
        """
        known = self._generations.get((text, request.grammar))
        if known is None or len(known.tokens) > request.max_tokens:
            known = super().encode_given_text(text, request)
            if known.is_complete:
                _put_bounded(self._generations, (text, request.grammar), known)
        return known


def _put_bounded(cache: OrderedDict[Key, Value], key: Key, value: Value) -> None:
    """Add a result and drop the oldest. Thread-safe: each operation is atomic."""
    cache[key] = value
    while len(cache) > MAX_CACHED:
        cache.popitem(last=False)
