"""A model that can be exchanged while a chain runs: mocking, and how long each answer took."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from typing import TYPE_CHECKING

from precompiles.language_model import HasProfile

if TYPE_CHECKING:
    from precompiles.language_model import (
        Generation,
        GenerationRequest,
        LanguageModel,
        ModelIdentity,
        Segment,
    )

KEPT_TIMES = 1_024
"""Prompts whose answers' times are kept."""


class SwappableModel:
    """A language model in whose place another one answers for a while.

    Implements `LanguageModel`. Rules see no difference: the one that answers has
    the same vocabulary, and genesis names the first one.
    """

    def __init__(self, model: LanguageModel) -> None:
        """Answer with a model."""
        self.original = model
        self._current = model
        self._lock = threading.Lock()
        self._seconds: OrderedDict[tuple[Segment, ...], float] = OrderedDict()

    @property
    def profile_facts(self) -> ModelIdentity | None:
        """The facts of the first model, where it has any."""
        return self.original.profile_facts if isinstance(self.original, HasProfile) else None

    @property
    def is_swapped(self) -> bool:
        """Whether another model answers now."""
        return self._current is not self.original

    def swap(self, model: LanguageModel | None) -> LanguageModel | None:
        """Answer with another model from now on, or with the first again; return the one before.

        None stands for the first one, here and as what is returned.
        """
        before = self._current if self.is_swapped else None
        self._current = self.original if model is None else model
        return before

    def tokenize(self, segments: tuple[Segment, ...]) -> tuple[int, ...]:
        """Return the tokens of a prompt."""
        return self.original.tokenize(segments)

    def generate(self, request: GenerationRequest) -> Generation:
        """Return what the model that answers now says."""
        start_seconds = time.perf_counter()
        generation = self._current.generate(request)
        with self._lock:
            self._seconds[request.segments] = time.perf_counter() - start_seconds
            while len(self._seconds) > KEPT_TIMES:
                self._seconds.popitem(last=False)
        return generation

    def get_seconds(self, segments: tuple[Segment, ...]) -> float | None:
        """Return how long the last answer to a prompt took; None where it is not known."""
        with self._lock:
            return self._seconds.get(segments)
