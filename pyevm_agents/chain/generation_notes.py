"""Generations noted by an execution ahead of a block, which then needs no inference.

A generation is a pure function of the request. A block that makes the same requests repeats the
notes; one that makes others raises `ModelNeededError`, or runs the model.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyevm_agents.chain.draft_block import ModelNeededError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from precompiles.language_model import Generation, GenerationRequest, LanguageModel, Segment


@dataclass(slots=True)
class GenerationNotes:
    """Tokens and generations by model and request."""

    tokens: dict[tuple[str, tuple[Segment, ...]], tuple[int, ...]] = field(default_factory=dict)
    generations: dict[tuple[str, GenerationRequest], Generation] = field(default_factory=dict)

    @classmethod
    def merge(cls, parts: Iterable[GenerationNotes]) -> GenerationNotes:
        """Return new notes with the content of others."""
        merged = cls()
        for part in parts:
            merged.tokens |= part.tokens
            merged.generations |= part.generations
        return merged


class NotedModel:
    """A language model that repeats notes. Implements `LanguageModel`."""

    def __init__(
        self, name: str, model: LanguageModel, notes: GenerationNotes, *, may_infer: bool
    ) -> None:
        """Wrap a model.

        Input:
            name: of the model in the chain config.
            model: computes and notes missing generations, if `may_infer`.
            notes: shared by the models of a chain.
        """
        self._name, self._model, self._notes = name, model, notes
        self._may_infer = may_infer

    def tokenize(self, segments: tuple[Segment, ...]) -> tuple[int, ...]:
        """Return the tokens of a prompt.

        Raises: ModelNeededError: not noted.
        """
        key = (self._name, segments)
        tokens = self._notes.tokens.get(key)
        if tokens is None:
            self._require_model(f"{len(segments)} segments of a prompt")
            tokens = self._notes.tokens[key] = self._model.tokenize(segments)
        return tokens

    def generate(self, request: GenerationRequest) -> Generation:
        """Return the generation of a request.

        Raises: ModelNeededError: not noted.
        """
        key = (self._name, request)
        generation = self._notes.generations.get(key)
        if generation is None:
            self._require_model(f"a prompt of {len(request.prompt_tokens)} tokens")
            generation = self._notes.generations[key] = self._model.generate(request)
        return generation

    def _require_model(self, need: str) -> None:
        if not self._may_infer:
            raise ModelNeededError(need)
