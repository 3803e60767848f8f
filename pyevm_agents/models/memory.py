"""Generations remembered: call, gas estimation, mining, tracing and replay cost one inference."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from precompiles.ports import Described, Generation
from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from precompiles.ports import Facts, GenerationRequest, LanguageModel, Segment

MAX_REMEMBERED_GENERATIONS = 4096
"""Generations. One is about 10 KB (some 100 tokens and their text; its key is 32 bytes), so 40 MB:
a test suite's worth, where the slowest model would have computed for hours."""


@dataclass(frozen=True, slots=True)
class _Known:
    generation: Generation
    limit_tokens: int


class RememberingModel:
    """A language model that computes each generation once.

    Implements `precompiles.ports.LanguageModel` around another one. What is remembered is a
    function of the model's digest, its fingerprint, the prompt's tokens and the grammar. The limit
    is no part of it: a lower one cuts what is known, a higher one computes anew what was cut.
    """

    def __init__(
        self,
        model: LanguageModel,
        *,
        digest: bytes,
        fingerprint: str,
        max_generations: int = MAX_REMEMBERED_GENERATIONS,
    ) -> None:
        """Wrap a model.

        Input:
            digest: SHA-256 of the model's file.
            fingerprint: the engine's profile, see `ProfileFacts`.
            max_generations: the least recently used goes beyond this many.

        Raises:
            ConfigError: there is room for none.
        """
        if max_generations < 1:
            raise ConfigError(
                f"max_generations is {max_generations}; use the model itself to remember none"
            )
        self.model = model
        self._scope = digest + hashlib.sha256(fingerprint.encode()).digest()
        self._max_generations = max_generations
        self._known: OrderedDict[bytes, _Known] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def profile_facts(self) -> Facts | None:
        """The facts of the model itself, where it has any."""
        return self.model.profile_facts if isinstance(self.model, Described) else None

    def tokenize(self, segments: tuple[Segment, ...]) -> tuple[int, ...]:
        """Return the tokens of a prompt, from the model itself."""
        return self.model.tokenize(segments)

    def generate(self, request: GenerationRequest) -> Generation:
        """Return what is known, cut to the request's limit, or ask the model.

        A text that is cut here differs from the model's own cut in `text`, which is the whole known
        text, and may in `forced_tokens`, which is an upper bound: of a generation that is not
        complete, only the tokens count.
        """
        key = self._key(request)
        with self._lock:
            known = self._known.get(key)
            if known is not None and (
                known.generation.is_complete or request.max_tokens <= known.limit_tokens
            ):
                self._known.move_to_end(key)
                return _cut(known.generation, request.max_tokens)
        generation = self.model.generate(request)
        with self._lock:
            self._known[key] = _Known(generation, request.max_tokens)
            self._known.move_to_end(key)
            while len(self._known) > self._max_generations:
                self._known.popitem(last=False)
        return generation

    def __len__(self) -> int:
        """Return how many generations are remembered."""
        return len(self._known)

    def forget(self) -> None:
        """Forget every generation."""
        with self._lock:
            self._known.clear()

    def _key(self, request: GenerationRequest) -> bytes:
        tokens = b"".join(token.to_bytes(4, "big") for token in request.prompt_tokens)
        return hashlib.sha256(
            self._scope + hashlib.sha256(tokens).digest() + request.grammar.encode()
        ).digest()


def _cut(generation: Generation, max_tokens: int) -> Generation:
    if len(generation.tokens) <= max_tokens:
        return generation
    return Generation(
        text=generation.text,
        tokens=generation.tokens[:max_tokens],
        forced_tokens=min(generation.forced_tokens, max_tokens),
        is_complete=False,
    )
