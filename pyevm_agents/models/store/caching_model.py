"""Cached generations: call, gas estimate, mining, tracing and replay cost one inference."""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from precompiles.language_model import HasProfile
from pyevm_agents.errors import ConfigError, EngineFault
from pyevm_agents.models.fork_safety import register_for_forks
from pyevm_agents.models.store.rows import GenerationInputs
from pyevm_agents.models.store.scored_grammar import join_scoring
from pyevm_agents.models.store.store import Store
from pyevm_agents.models.timing import Timing, generate_timed
from pyevm_agents.models.truncation import truncate
from pyevm_agents.strict_json import parse_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from precompiles.language_model import (
        Generation,
        GenerationRequest,
        LanguageModel,
        ModelIdentity,
        Segment,
    )

RECENT_GENERATIONS = 256
"""Generations cached in memory, about 10 KB each: a call and its transaction cost one inference
even if the store can't be written."""


@runtime_checkable
class ResumableModel(Protocol):
    """A model that can continue a generation that the limit cut."""

    def resume(self, request: GenerationRequest, known: Generation) -> Generation:
        """Return the result of `generate(request)`, given a generation cut by a lower limit."""


@runtime_checkable
class Detokenizer(Protocol):
    """A model that can convert tokens to text."""

    def detokenize(self, tokens: tuple[int, ...]) -> str:
        """Return the text of tokens."""


@dataclass(slots=True)
class _SingleFlight:
    """Serialises the threads that request one generation."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    waiting: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _CachedGeneration:
    """A generation, and the duration of the inference; None if unknown."""

    generation: Generation
    seconds: float | None


class CachingModel:
    """A language model that computes each generation once. Wraps another `LanguageModel`.

    The cache key is a hash of the model's digest and fingerprint, the prompt's tokens, the grammar
    and the scoring. The token limit is not included: a lower limit truncates a cached generation, a
    higher one resumes it.

    Source: docs/architecture.md#generations-are-pure
    """

    def __init__(
        self, model: LanguageModel, *, digest: bytes, fingerprint: str, store: Store | None = None
    ) -> None:
        """Wrap a model.

        Input:
            digest: digest of the model, see `ProfileFacts`.
            fingerprint: the engine's profile, see `ProfileFacts`.
            store: the generation store, closed by the owner; None for one in memory.

        Raises:
            ConfigError: the store is a file, but the model has no weights: a script's generation is
                not a function of the prompt.
        """
        if store is not None and store.path is not None and is_weightless(fingerprint):
            raise ConfigError(
                f"the model has no weights (its fingerprint's canary is empty), so its generations "
                f"must not be stored in {store.path}; omit the store"
            )
        self.model = model
        self.store = Store() if store is None else store
        self.hits = 0
        """Requests answered from the cache."""

        self.computed = 0
        """Generations computed from the start."""

        self.resumed = 0
        """Generations resumed after a lower limit had cut them."""

        self.lock = threading.RLock()
        self._digest = digest
        self._fingerprint = fingerprint
        self._recent: OrderedDict[bytes, _CachedGeneration] = OrderedDict()
        self._in_flight: dict[bytes, _SingleFlight] = {}
        register_for_forks(self)

    @property
    def inferences(self) -> int:
        """Number of generations computed or resumed by the model."""
        return self.computed + self.resumed

    @property
    def profile_facts(self) -> ModelIdentity | None:
        """Profile facts of the wrapped model, or None."""
        return self.model.profile_facts if isinstance(self.model, HasProfile) else None

    def tokenize(self, segments: tuple[Segment, ...]) -> tuple[int, ...]:
        """Return the tokens of a prompt, by the wrapped model."""
        return self.model.tokenize(segments)

    def generate(self, request: GenerationRequest) -> Generation:
        """Return the cached generation, truncated to the request's limit, or compute it.

        Concurrent requests for the same generation wait for the first. See `truncation.truncate`
        for the fields of a truncated generation.
        """
        return self.generate_timed(request)[0]

    def generate_timed(self, request: GenerationRequest) -> tuple[Generation, Timing]:
        """Return the result of `generate(request)`, and the duration of the inference.

        The duration of a cached generation is that of the inference which computed it. A text that
        the rules decide, and that the model repeats, is neither cached nor counted.
        """
        question = GenerationInputs(
            digest=self._digest,
            fingerprint=self._fingerprint,
            prompt_tokens=request.prompt_tokens,
            grammar=join_scoring(request.grammar, request.scoring),
        )
        key = question.compute_key()
        with self._single_flight(key):
            known = self._find(key, request.max_tokens)
            if known is not None and _is_sufficient(known.generation, request.max_tokens):
                with self.lock:
                    self.hits += 1
                self.store.record_use(key)
                spell = self.model.detokenize if isinstance(self.model, Detokenizer) else None
                cut = truncate(known.generation, request.max_tokens, spell)
                return cut, Timing(seconds=known.seconds, is_cached=True)
            generation, timing = self._compute(request, known)
            if _is_repeated(request, generation):
                return generation, timing
            self._cache_generation(
                key, _CachedGeneration(generation=generation, seconds=timing.seconds)
            )
            self.store.put(question, generation, seconds=timing.seconds)
            return generation, timing

    def forget(self) -> None:
        """Delete all cached generations, including those in the store.

        Raises:
            ConfigError: the store can't be written.
        """
        with self.lock:
            self._recent.clear()
        self.store.clear()

    def after_fork(self) -> None:
        """Reset the state in a forked child process: threads that waited do not exist there."""
        self._in_flight.clear()

    @contextmanager
    def _single_flight(self, key: bytes) -> Iterator[None]:
        """Hold the lock of one generation."""
        process = os.getpid()
        with self.lock:
            turn = self._in_flight.setdefault(key, _SingleFlight())
            turn.waiting += 1
        try:
            with turn.lock:
                yield
        finally:
            with self.lock:
                turn.waiting -= 1
                if not turn.waiting and os.getpid() == process:
                    del self._in_flight[key]

    def _find(self, key: bytes, limit: int) -> _CachedGeneration | None:
        with self.lock:
            recent = self._recent.get(key)
            if recent is not None and _is_sufficient(recent.generation, limit):
                self._recent.move_to_end(key)
                return recent
        stored = self.store.get(key)
        if stored is None or (recent is not None and not _is_longer(stored, recent.generation)):
            return recent
        found = _CachedGeneration(generation=stored, seconds=self.store.get_seconds(key))
        self._cache_generation(key, found)
        return found

    def _compute(
        self, request: GenerationRequest, known: _CachedGeneration | None
    ) -> tuple[Generation, Timing]:
        if known is not None and isinstance(self.model, ResumableModel):
            # The known tokens may be from a damaged row; a faulty model fails again in `generate`.
            with suppress(EngineFault):
                started = time.perf_counter()
                generation = self.model.resume(request, known.generation)
                spent_seconds = time.perf_counter() - started
                with self.lock:
                    self.resumed += 1
                self.store.count("resumes")
                seconds = None if known.seconds is None else known.seconds + spent_seconds
                return generation, Timing(seconds=seconds)
        generation, timing = generate_timed(self.model, request)
        if _is_repeated(request, generation):
            return generation, timing
        with self.lock:
            self.computed += 1
        self.store.count("misses")
        return generation, timing

    def _cache_generation(self, key: bytes, found: _CachedGeneration) -> None:
        with self.lock:
            self._recent[key] = found
            self._recent.move_to_end(key)
            if len(self._recent) > RECENT_GENERATIONS:
                self._recent.popitem(last=False)


def _is_repeated(request: GenerationRequest, generation: Generation) -> bool:
    """Return whether a generation is the decision of the rules. A fake decides by itself."""
    return bool(request.decided) and not generation.is_free


def _is_sufficient(known: Generation, limit: int) -> bool:
    return known.is_complete or limit <= len(known.tokens)


def _is_longer(generation: Generation, other: Generation) -> bool:
    return generation.is_complete or len(generation.tokens) > len(other.tokens)


def is_weightless(fingerprint: str) -> bool:
    """Return whether a profile states that nothing is computed under it (empty canary)."""
    try:
        profile = parse_json(fingerprint)
    except ValueError:
        return False
    return isinstance(profile, dict) and profile.get("canary") == ""
