"""Durations of inferences. Host data: in no consensus rule, block or recording."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from precompiles.language_model import Generation, GenerationRequest, LanguageModel


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """The duration of an inference, and whether the generation was cached."""

    seconds: float | None
    """Duration of the inference that computed the generation; None if it is unknown."""

    is_cached: bool = False
    """Whether the generation comes from a cache, the generation store or a recording."""


@runtime_checkable
class TimedModel(Protocol):
    """A language model that reports the durations of inferences."""

    def generate_timed(self, request: GenerationRequest) -> tuple[Generation, Timing]:
        """Return the result of `generate(request)`, and the duration of the inference."""


def generate_timed(model: LanguageModel, request: GenerationRequest) -> tuple[Generation, Timing]:
    """Generate with a model; measure the duration unless the model reports one."""
    if isinstance(model, TimedModel):
        return model.generate_timed(request)
    started = time.perf_counter()
    generation = model.generate(request)
    return generation, Timing(seconds=time.perf_counter() - started)
