"""Recorded generations: a recorded chain can be verified without the model.

    recording = RecordingModel(model, name="smollm2-135m-instruct")
    ...                                                      # a chain uses it
    model = RecordedModel(recording.exchanges)               # replays these generations only

Neither class needs llama.cpp, weights or a vocabulary of its own.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from precompiles.language_model import Generation, HasProfile, Segment, repeat_decided
from pyevm_agents.errors import ConfigError, RecordError
from pyevm_agents.models.timing import Timing, generate_timed
from pyevm_agents.models.truncation import is_prefix, truncate

if TYPE_CHECKING:
    from collections.abc import Iterable

    from precompiles.language_model import GenerationRequest, LanguageModel, ModelIdentity

SHOWN_CHARACTERS = 60
"""Characters at a prompt's end that an error message quotes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A prompt and the generation of the model."""

    model: str
    """Name of the model in the chain configuration."""

    segments: tuple[Segment, ...]
    prompt_tokens: tuple[int, ...]

    grammar: str | None = None
    """Grammar of the request; None if only the prompt's tokens were requested."""

    max_tokens: int | None = None
    """Token limit of the request; None if only the prompt's tokens were requested."""

    generation: Generation | None = None
    """The generation; None if it was not requested, or the model failed."""


class RecordingModel:
    """Wraps a language model and records requests and generations.

    Implements `LanguageModel`.
    """

    def __init__(
        self, model: LanguageModel, *, name: str, log: list[Exchange] | None = None
    ) -> None:
        """Wrap a model.

        Input:
            name: name of the model in the chain configuration.
            log: list to append exchanges to. Models of one chain share the list to keep one order.
        """
        self.model = model
        self.is_recording = True
        self._name = name
        self._log: list[Exchange] = [] if log is None else log

    @property
    def profile_facts(self) -> ModelIdentity | None:
        """Profile facts of the wrapped model, or None."""
        return self.model.profile_facts if isinstance(self.model, HasProfile) else None

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """The exchanges recorded until now, in order."""
        return tuple(self._log)

    def tokenize(self, segments: tuple[Segment, ...]) -> tuple[int, ...]:
        """Tokenize a prompt and record the tokens."""
        tokens = self.model.tokenize(segments)
        self._append_exchange(Exchange(model=self._name, segments=segments, prompt_tokens=tokens))
        return tokens

    def generate(self, request: GenerationRequest) -> Generation:
        """Generate with the wrapped model and record the exchange.

        If the model fails, the request is recorded without a generation.
        """
        return self.generate_timed(request)[0]

    def generate_timed(self, request: GenerationRequest) -> tuple[Generation, Timing]:
        """Return the result of `generate(request)`, and the duration, which is not recorded."""
        exchange = Exchange(
            model=self._name,
            segments=request.segments,
            prompt_tokens=request.prompt_tokens,
            grammar=request.grammar,
            max_tokens=request.max_tokens,
        )
        self._append_exchange(exchange)
        generation, timing = generate_timed(self.model, request)
        self._append_exchange(replace(exchange, generation=generation))
        return generation, timing

    def _append_exchange(self, exchange: Exchange) -> None:
        if not self.is_recording:
            return
        if (
            exchange.grammar is not None
            and self._log
            and _is_earlier_stage(self._log[-1], exchange)
        ):
            self._log.pop()
        self._log.append(exchange)


class RecordedModel:
    """A language model that replays recorded generations. Implements `LanguageModel`.

    Requests that were not recorded go to the fallback model, or are a fault without one.
    """

    def __init__(
        self,
        exchanges: Iterable[Exchange],
        *,
        facts: ModelIdentity | None = None,
        fallback: LanguageModel | None = None,
    ) -> None:
        """Load recorded exchanges.

        Input:
            exchanges: the exchanges of one model.
            facts: profile facts of the recorded model.
            fallback: model for requests that were not recorded. The fallback's facts replace
                `facts`.

        Raises:
            ConfigError: two exchanges contradict each other.
        """
        self._facts = facts
        self._fallback = fallback
        self._tokens: dict[tuple[Segment, ...], tuple[int, ...]] = {}
        self._exchanges_by_key: dict[bytes, Exchange] = {}
        for exchange in exchanges:
            self._add_exchange(exchange)

    @property
    def profile_facts(self) -> ModelIdentity | None:
        """Profile facts of the fallback model, or the recorded ones if there is no fallback."""
        if self._fallback is None:
            return self._facts
        return self._fallback.profile_facts if isinstance(self._fallback, HasProfile) else None

    @property
    def fallback(self) -> LanguageModel | None:
        """The model for requests that were not recorded."""
        return self._fallback

    def tokenize(self, segments: tuple[Segment, ...]) -> tuple[int, ...]:
        """Return the recorded tokens of a prompt.

        Raises:
            RecordError: the prompt was not recorded, and there is no fallback.
        """
        tokens = self._tokens.get(segments)
        if tokens is not None:
            return tokens
        if self._fallback is not None:
            return self._fallback.tokenize(segments)
        raise RecordError(
            f"the record has no tokens for the prompt that ends in {_quote_end(segments)}; "
            "it holds "
            f"{len(self._tokens)} prompts. Pass a fallback model for other prompts",
            segments,
        )

    def generate(self, request: GenerationRequest) -> Generation:
        """Return the recorded generation for a prompt and a grammar, cut to the request's limit.

        A generation that is cut here keeps the whole recorded text: of an incomplete generation,
        only the tokens matter.

        Raises:
            RecordError: the request was not recorded, or only with a lower limit that cut the
                generation; and there is no fallback.
        """
        return self.generate_timed(request)[0]

    def generate_timed(self, request: GenerationRequest) -> tuple[Generation, Timing]:
        """Return the result of `generate(request)`; a recording has no duration.

        Raises:
            RecordError: as `generate`.
        """
        exchange = self._find_exchange(request)
        generation = None if exchange is None else exchange.generation
        limit = 0 if exchange is None else exchange.max_tokens or 0
        if generation is not None and (generation.is_complete or request.max_tokens <= limit):
            known = truncate(generation, request.max_tokens)
            return known, Timing(seconds=None, is_cached=True)
        if self._fallback is not None:
            return generate_timed(self._fallback, request)
        if request.decided:
            return repeat_decided(request), Timing(seconds=None, is_cached=True)
        prompt = (
            f"prompt {_digest_prompt(request.prompt_tokens)} of {len(request.prompt_tokens)} "
            f"tokens, which ends in {_quote_end(request.segments)}"
        )
        if generation is not None:
            raise RecordError(
                f"the record's generation for {prompt} was cut at its limit of {limit} tokens, but "
                f"{request.max_tokens} are requested. Pass a fallback model to continue it"
            )
        raise RecordError(
            f"the record has no generation for {prompt}, under this grammar; it holds "
            f"{len(self._exchanges_by_key)}. Pass a fallback model for other requests"
        )

    def _find_exchange(self, request: GenerationRequest) -> Exchange | None:
        """Return the exchange of a prompt and a grammar; None for a text without wanted scores."""
        key = _compute_key(request.prompt_tokens, request.grammar)
        exchange = self._exchanges_by_key.get(key)
        known = None if exchange is None else exchange.generation
        if known is None or request.scoring is None or known.is_free or not known.is_complete:
            return exchange
        return None if known.confidence is None else exchange

    def _add_exchange(self, exchange: Exchange) -> None:
        known_tokens = self._tokens.setdefault(exchange.segments, exchange.prompt_tokens)
        if known_tokens != exchange.prompt_tokens:
            raise ConfigError(
                f"two records of the prompt that ends in {_quote_end(exchange.segments)} have "
                "different "
                "tokens; record again"
            )
        if exchange.generation is None or exchange.grammar is None:
            return
        key = _compute_key(exchange.prompt_tokens, exchange.grammar)
        known = self._exchanges_by_key.setdefault(key, exchange)
        if known is exchange or known.generation is None:
            return
        shorter, longer = sorted(
            (known, exchange), key=lambda record: (_is_complete(record), record.max_tokens or 0)
        )
        pair = shorter.generation, longer.generation
        if pair[0] is not None and pair[1] is not None and not is_prefix(pair[0], pair[1]):
            raise ConfigError(
                f"two records of prompt {_digest_prompt(exchange.prompt_tokens)}, which ends in "
                f"{_quote_end(exchange.segments)}, have different generations; record again"
            )
        self._exchanges_by_key[key] = longer


def _is_complete(exchange: Exchange) -> bool:
    return exchange.generation is not None and exchange.generation.is_complete


def _is_earlier_stage(stage: Exchange, exchange: Exchange) -> bool:
    """Return whether an exchange without a generation is an earlier stage of another one."""
    return stage.generation is None and (stage.model, stage.segments, stage.prompt_tokens) == (
        exchange.model,
        exchange.segments,
        exchange.prompt_tokens,
    )


def _pack_tokens(tokens: tuple[int, ...]) -> bytes:
    return b"".join(token.to_bytes(4, "big") for token in tokens)


def _compute_key(tokens: tuple[int, ...], grammar: str) -> bytes:
    return hashlib.sha256(hashlib.sha256(_pack_tokens(tokens)).digest() + grammar.encode()).digest()


def _digest_prompt(tokens: tuple[int, ...]) -> str:
    return hashlib.sha256(_pack_tokens(tokens)).hexdigest()[:16]


def _quote_end(segments: tuple[Segment, ...]) -> str:
    return repr("".join(segment.text for segment in segments)[-SHOWN_CHARACTERS:])
