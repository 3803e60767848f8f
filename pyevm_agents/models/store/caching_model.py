"""Generations remembered: call, gas estimation, mining, tracing and replay cost one inference."""

from __future__ import annotations

import json
import os
import threading
from collections import OrderedDict
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from precompiles.language_model import HasProfile
from pyevm_agents.errors import ConfigError, EngineFault
from pyevm_agents.models.fork_safety import register_for_forks
from pyevm_agents.models.store.rows import GenerationInputs
from pyevm_agents.models.store.store import Store
from pyevm_agents.models.truncation import truncate

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
"""Generations at hand without the store, about 10 KB each: where it can't be written, a call and
its transaction still cost one inference."""


@runtime_checkable
class ResumableModel(Protocol):
    """A model that continues what a limit cut."""

    def resume(self, request: GenerationRequest, known: Generation) -> Generation:
        """Return what `generate(request)` would, given what it said under a lower limit."""


@runtime_checkable
class Detokenizer(Protocol):
    """A model that knows the text of tokens."""

    def detokenize(self, tokens: tuple[int, ...]) -> str:
        """Return their text."""


@dataclass(slots=True)
class _SingleFlight:
    """Threads that ask for one generation, one after the other."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    waiting: int = 0


class CachingModel:
    """A language model that computes each generation once.

    Implements `LanguageModel` around another one. What is remembered is a
    function of the model's digest, its fingerprint, the prompt's tokens and the grammar. The limit
    is no part of it: a lower one cuts what is known, a higher one continues what was cut.
    """

    def __init__(
        self, model: LanguageModel, *, digest: bytes, fingerprint: str, store: Store | None = None
    ) -> None:
        """Wrap a model.

        Input:
            digest: what tells the model from others, see `ProfileFacts`.
            fingerprint: the engine's profile, see `ProfileFacts`.
            store: where generations are kept; None for one that ends with this object. Whoever
                made it closes it.

        Raises:
            ConfigError: the store is a file, and the model computes nothing: what a script says is
                no function of the prompt.
        """
        if store is not None and store.path is not None and is_weightless(fingerprint):
            raise ConfigError(
                f"The model has no weights (its fingerprint's canary is empty), so what it says "
                f"must not be kept in {store.path}; leave out the store"
            )
        self.model = model
        self.store = Store() if store is None else store
        self.hits = 0
        """Generations that were known."""

        self.computed = 0
        """Generations that the model was asked for from the start."""

        self.resumed = 0
        """Generations that the model continued where a lower limit had cut them."""

        self.lock = threading.RLock()
        self._digest = digest
        self._fingerprint = fingerprint
        self._recent: OrderedDict[bytes, Generation] = OrderedDict()
        self._in_flight: dict[bytes, _SingleFlight] = {}
        register_for_forks(self)

    @property
    def inferences(self) -> int:
        """How often the model itself was asked."""
        return self.computed + self.resumed

    @property
    def profile_facts(self) -> ModelIdentity | None:
        """The facts of the model itself, where it has any."""
        return self.model.profile_facts if isinstance(self.model, HasProfile) else None

    def tokenize(self, segments: tuple[Segment, ...]) -> tuple[int, ...]:
        """Return the tokens of a prompt, from the model itself."""
        return self.model.tokenize(segments)

    def generate(self, request: GenerationRequest) -> Generation:
        """Return what is known, cut to the request's limit, or ask the model for what is not.

        Threads that ask for the same wait for the first. What a truncate changes is told at
        `truncation.truncate`.
        """
        question = GenerationInputs(
            digest=self._digest,
            fingerprint=self._fingerprint,
            prompt_tokens=request.prompt_tokens,
            grammar=request.grammar,
        )
        key = question.compute_key()
        with self._single_flight(key):
            known = self._find(key, request.max_tokens)
            if known is not None and _is_sufficient(known, request.max_tokens):
                with self.lock:
                    self.hits += 1
                self.store.record_use(key)
                spell = self.model.detokenize if isinstance(self.model, Detokenizer) else None
                return truncate(known, request.max_tokens, spell)
            generation = self._compute(request, known)
            self._cache_generation(key, generation)
            self.store.put(question, generation)
            return generation

    def forget(self) -> None:
        """Forget every generation, those of the store included.

        Raises:
            ConfigError: the store can't be written.
        """
        with self.lock:
            self._recent.clear()
        self.store.clear()

    def after_fork(self) -> None:
        """Begin anew in a child process: threads that waited are not in it."""
        self._in_flight.clear()

    @contextmanager
    def _single_flight(self, key: bytes) -> Iterator[None]:
        """Be the only one who asks for a generation."""
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

    def _find(self, key: bytes, limit: int) -> Generation | None:
        with self.lock:
            recent = self._recent.get(key)
            if recent is not None and _is_sufficient(recent, limit):
                self._recent.move_to_end(key)
                return recent
        stored = self.store.get(key)
        if stored is None or (recent is not None and not _is_longer(stored, recent)):
            return recent
        self._cache_generation(key, stored)
        return stored

    def _compute(self, request: GenerationRequest, known: Generation | None) -> Generation:
        if known is not None and isinstance(self.model, ResumableModel):
            # What is known may be a damaged row's; a model that is at fault says so again.
            with suppress(EngineFault):
                generation = self.model.resume(request, known)
                with self.lock:
                    self.resumed += 1
                self.store.count("resumes")
                return generation
        generation = self.model.generate(request)
        with self.lock:
            self.computed += 1
        self.store.count("misses")
        return generation

    def _cache_generation(self, key: bytes, generation: Generation) -> None:
        with self.lock:
            self._recent[key] = generation
            self._recent.move_to_end(key)
            if len(self._recent) > RECENT_GENERATIONS:
                self._recent.popitem(last=False)


def _is_sufficient(known: Generation, limit: int) -> bool:
    return known.is_complete or limit <= len(known.tokens)


def _is_longer(generation: Generation, other: Generation) -> bool:
    return generation.is_complete or len(generation.tokens) > len(other.tokens)


def is_weightless(fingerprint: str) -> bool:
    """Return whether a profile says of itself that nothing computes under it."""
    try:
        profile = json.loads(fingerprint)
    except ValueError:
        return False
    return isinstance(profile, dict) and profile.get("canary") == ""
