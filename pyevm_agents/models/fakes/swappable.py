"""A model that can be replaced while a chain runs, for mocking; it also times each inference."""

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
"""Prompts whose inference times are stored."""


class SwappableModel:
    """A language model that another one can replace for a while. Implements `LanguageModel`.

    The consensus rules see no difference: the replacement must have the same vocabulary, and
    genesis names the original model.
    """

    def __init__(self, model: LanguageModel) -> None:
        """Start with the original model."""
        self.original = model
        self._current = model
        self._lock = threading.Lock()
        self._seconds: OrderedDict[tuple[Segment, ...], float] = OrderedDict()

    @property
    def profile_facts(self) -> ModelIdentity | None:
        """Profile facts of the original model, or None if it has none."""
        return self.original.profile_facts if isinstance(self.original, HasProfile) else None

    @property
    def is_swapped(self) -> bool:
        """Whether a replacement is active."""
        return self._current is not self.original

    def swap(self, model: LanguageModel | None) -> LanguageModel | None:
        """Replace the model; return the previous replacement.

        None stands for the original model, both as argument and as result.
        """
        before = self._current if self.is_swapped else None
        self._current = self.original if model is None else model
        return before

    def tokenize(self, segments: tuple[Segment, ...]) -> tuple[int, ...]:
        """Return the tokens of a prompt, by the original model."""
        return self.original.tokenize(segments)

    def generate(self, request: GenerationRequest) -> Generation:
        """Generate with the active model, and record the time."""
        start_seconds = time.perf_counter()
        generation = self._current.generate(request)
        with self._lock:
            self._seconds[request.segments] = time.perf_counter() - start_seconds
            while len(self._seconds) > KEPT_TIMES:
                self._seconds.popitem(last=False)
        return generation

    def get_seconds(self, segments: tuple[Segment, ...]) -> float | None:
        """Return the time of a prompt's last inference in seconds; None if unknown."""
        with self._lock:
            return self._seconds.get(segments)
