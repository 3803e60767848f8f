"""A model that can be replaced while a chain runs, for mocking; inferences are timed."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from precompiles.language_model import HasProfile
from pyevm_agents.models.timing import generate_timed

if TYPE_CHECKING:
    from precompiles.language_model import (
        Generation,
        GenerationRequest,
        LanguageModel,
        ModelIdentity,
        Segment,
    )
    from pyevm_agents.models.timing import Timing

KEPT_TIMES = 1_024
"""Prompts whose timings are kept."""


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
        self._timings: OrderedDict[tuple[Segment, ...], Timing] = OrderedDict()

    @property
    def profile_facts(self) -> ModelIdentity | None:
        """Profile facts of the original model, or None."""
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
        """Generate with the active model, and keep the timing."""
        generation, timing = generate_timed(self._current, request)
        with self._lock:
            self._timings[request.segments] = timing
            while len(self._timings) > KEPT_TIMES:
                self._timings.popitem(last=False)
        return generation

    def get_timing(self, segments: tuple[Segment, ...]) -> Timing | None:
        """Return the timing of a prompt's last generation; None if unknown."""
        with self._lock:
            return self._timings.get(segments)
