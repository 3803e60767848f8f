"""GGUF models as implementations of the `LanguageModel` port."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from precompiles.language_model import (
    Confidence,
    Generation,
    GenerationRequest,
    Margin,
    Segment,
    repeat_decided,
)
from pyevm_agents.errors import ConfigError
from pyevm_agents.models.closeable import Closeable
from pyevm_agents.models.engine_messages import (
    EngineReply,
    EngineRequest,
    EvaluationStats,
)
from pyevm_agents.models.gguf.adapter import adapter_path, check_files
from pyevm_agents.models.gguf.files import find_default_model, resolve_path
from pyevm_agents.models.llama.cpu import resolve_threads
from pyevm_agents.models.llama.engine import Engine, EngineOptions
from pyevm_agents.models.llama.identity import FactsFolder, ProfileFacts, build_profile_facts
from pyevm_agents.models.progress import Progress, ProgressRelay

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyevm_agents.models.gguf.adapter import Adapter

DEFAULT_PREFIX_CACHE_BYTES = 1024 * 1024 * 1024
"""Limit of saved states of prompts: room for `spec.WARM_PREFIXES` full contexts of the default
model (192 MB each). With less, a prompt that is warm by the gas rules (100 gas a token) might have
to be evaluated again: 256 MB held four prompts of 2,800 tokens."""


class GgufModel(Closeable):
    """A GGUF file in a child process: base of models with and without weights.

    Files are loaded lazily: the vocabulary for tokens, the weights for the first generation, and
    both for `profile_facts`, unless these are cached in a folder.
    """

    def __init__(  # noqa: PLR0913 - separate settings
        self,
        path: Path | str | None,
        *,
        vocabulary_only: bool,
        adapter: Adapter = None,
        threads: int = 1,
        context_tokens: int | None = None,
        prefix_cache_bytes: int = 0,
        kept_facts: Path | str | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> None:
        """Check the files and options, without starting a process.

        Raises:
            ConfigError: a file or an option is invalid.
        """
        self.path = find_default_model() if path is None else resolve_path(path)
        self.adapter = adapter_path(adapter, is_default_model=path is None)
        """File of the LoRA adapter that is applied to the model, or None."""
        check_files(self.path, self.adapter)
        if context_tokens is not None and (
            isinstance(context_tokens, bool)
            or not isinstance(context_tokens, int)
            or context_tokens < 1
        ):
            raise ConfigError(
                f"invalid context_tokens {context_tokens!r}: must be an integer of at least 1, "
                "or None"
            )
        if (
            isinstance(prefix_cache_bytes, bool)
            or not isinstance(prefix_cache_bytes, int)
            or prefix_cache_bytes < 0
        ):
            raise ConfigError(
                f"invalid prefix_cache_bytes {prefix_cache_bytes!r}: must be a number of "
                "bytes of at least 0 (0 saves no prefixes)"
            )
        self._profile_facts: ProfileFacts | None = None
        self._progress = progress
        self._loading_relay = ProgressRelay(progress)
        self.engine = Engine(
            EngineOptions(
                path=self.path,
                adapter=self.adapter,
                vocabulary_only=vocabulary_only,
                threads=threads,
                context_tokens=context_tokens,
                prefix_cache_bytes=prefix_cache_bytes,
            ),
            kept_facts=None if kept_facts is None else FactsFolder(resolve_path(kept_facts)),
            report=None if progress is None else self._loading_relay.report,
        )

    @property
    def profile_facts(self) -> ProfileFacts:
        """Facts of the file and the engine, for the chain configuration.

        Raises:
            ConfigError: the file, the build or the CPU is unsupported.
            EngineFault: the engine's process died.
        """
        # Not `cached_property`: until Python 3.12 its lock is shared by all models.
        if self._profile_facts is None:
            named = self.path if self.adapter is None else self.adapter
            self._profile_facts = build_profile_facts(named, self.engine.identity)
            self._loading_relay.warn_of_error()
        return self._profile_facts

    def tokenize(self, segments: tuple[Segment, ...]) -> tuple[int, ...]:
        """Return the tokens of a prompt: those of the segments, concatenated.

        Raises:
            ConfigError: a segment contains half of a surrogate pair; or the file, not loaded
                before, is invalid.
            EngineFault: the engine's process died.
        """
        for segment in segments:
            require_text(segment.text)
        pairs = [(segment.text, segment.is_template) for segment in segments]
        return tuple(self.engine.ask(EngineRequest(operation="tokenize", segments=pairs))["tokens"])

    def detokenize(self, tokens: tuple[int, ...]) -> str:
        """Return the text of tokens, with special tokens spelled out."""
        return self.engine.ask(EngineRequest(operation="text", tokens=list(tokens)))["text"]

    def encode_given_text(self, text: str, request: GenerationRequest) -> Generation:
        """Encode a given text as a generation for a request.

        Raises:
            ScriptError: the grammar does not admit the text.
        """
        require_text(text)
        return _parse_generation(
            self.engine.ask(
                EngineRequest(
                    operation="follow",
                    text=text,
                    grammar=request.grammar,
                    max_tokens=require_limit(request),
                    scoring=None if request.scoring is None else request.scoring.value,
                )
            )
        )

    def close(self) -> None:
        """Stop the engine's process."""
        self.engine.close()


class Vocabulary(GgufModel):
    """The vocabulary of a GGUF file without the weights, for models that need only tokens."""

    def __init__(
        self,
        path: Path | str | None = None,
        *,
        adapter: Adapter = None,
        context_tokens: int | None = None,
        kept_facts: Path | str | None = None,
    ) -> None:
        """Open a file, by default the default model's; see `LlamaModel`.

        An adapter does not change tokens, but is part of the digest, as with `LlamaModel`.
        """
        super().__init__(
            path,
            vocabulary_only=True,
            adapter=adapter,
            context_tokens=context_tokens,
            kept_facts=kept_facts,
        )


class LlamaModel(GgufModel):
    """A GGUF model on llama.cpp: CPU only, greedy, bit-for-bit deterministic.

    Implements `LanguageModel`. Thread-safe: one generation runs at a time.
    """

    def __init__(  # noqa: PLR0913 - settings with defaults
        self,
        path: Path | str | None = None,
        *,
        adapter: Adapter = None,
        threads: int | None = None,
        context_tokens: int | None = None,
        prefix_cache_bytes: int = DEFAULT_PREFIX_CACHE_BYTES,
        kept_facts: Path | str | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> None:
        """Configure a model, to be loaded on first use.

        Input:
            path: a GGUF file; None for the default model.
            adapter: a LoRA adapter in GGUF that is applied to the model. None for the one installed
                with the default model, and for no adapter with any other file; `NO_ADAPTER` for the
                default model without an adapter.
            threads: 1 to 512; None for the number of cores, up to 4. Affects time only.
            context_tokens: context length; None for the length that the model was trained for, up
                to 8,192.
            prefix_cache_bytes: memory for the states of evaluated prompts, in addition to the
                context itself: 23 KB a token for the default model; 0 for none. Affects time only,
                but a public chain needs `spec.WARM_PREFIXES` full contexts, for prompts that are
                warm by the gas rules to be in memory.
            kept_facts: folder that caches the file's facts between processes, for a chain to start
                before the model is loaded; None for no cache.
            progress: callback for loading, prompt evaluation and output. An `Exception` of the
                callback stops the reports, not the work.

        Raises:
            ConfigError: a file or an option is invalid.
        """
        self.last_stats: EvaluationStats | None = None
        """Evaluation counts of the last generation; None before the first."""
        super().__init__(
            path,
            vocabulary_only=False,
            adapter=adapter,
            threads=resolve_threads(threads),
            context_tokens=context_tokens,
            prefix_cache_bytes=prefix_cache_bytes,
            kept_facts=kept_facts,
            progress=progress,
        )

    def generate(self, request: GenerationRequest) -> Generation:
        """Continue the prompt, greedily, under the grammar, by at most `max_tokens` tokens.

        A text that the rules decide is repeated, without an evaluation.

        Raises:
            ConfigError: the prompt is empty, the limit is less than 1, or both together exceed the
                context.
            GrammarError: llguidance rejects the grammar.
            EngineFault: the engine's process died, or a logit is not finite.
        """
        if request.decided:
            return repeat_decided(request)
        return self._continue_generation(request, ())

    def generate_reference(self, request: GenerationRequest) -> Generation:
        """Return the result of `generate` by the slow reference implementation, for checks.

        The reference reuses nothing, evaluates token by token, and chooses each token under the
        grammar's whole mask.

        Raises: as `generate`.
        """
        if request.decided:
            return repeat_decided(request)
        return _parse_generation(self.engine.ask(self._build_request(request, "reference")))

    def resume(self, request: GenerationRequest, known: Generation) -> Generation:
        """Return the result of `generate(request)`, given a generation cut by a lower limit.

        Input:
            known: a generation for the same prompt and grammar that the limit cut.

        Raises: as `generate`; and ConfigError if longer than the request's limit.
        """
        if len(known.tokens) > request.max_tokens:
            raise ConfigError(
                f"{len(known.tokens)} tokens are known but {request.max_tokens} are requested: "
                "raise max_tokens, or truncate the known generation"
            )
        if request.scoring is not None and known.confidence is None:
            return self._continue_generation(request, ())
        more = self._continue_generation(request, known.tokens)
        margins = [margin for margin in (known.margin, more.margin) if margin is not None]
        return replace(
            more,
            forced_tokens=known.forced_tokens + more.forced_tokens,
            margin=min(margins, key=lambda margin: margin.gap, default=None),
            confidence=_join_confidences(known.confidence, more.confidence),
        )

    def _continue_generation(
        self, request: GenerationRequest, known: tuple[int, ...]
    ) -> Generation:
        message = self._build_request(request, "generate")
        message["known_tokens"] = list(known)
        message["wants_progress"] = self._progress is not None
        listener = ProgressRelay(self._progress)
        reply = self.engine.ask(message, listener.report)
        self._loading_relay.warn_of_error()
        listener.warn_of_error()
        self.last_stats = EvaluationStats(**reply["work"])
        return _parse_generation(reply)

    def _build_request(self, request: GenerationRequest, operation: str) -> EngineRequest:
        limit = require_limit(request)
        context_tokens = self.profile_facts.context_tokens
        if not request.prompt_tokens:
            raise ConfigError("empty prompt: must have at least one token")
        if len(request.prompt_tokens) + limit > context_tokens:
            raise ConfigError(
                f"{len(request.prompt_tokens)} prompt tokens and up to {limit} more exceed "
                f"the model's context of {context_tokens} tokens"
            )
        return EngineRequest(
            operation=operation,
            tokens=list(request.prompt_tokens),
            grammar=request.grammar,
            max_tokens=limit,
            scoring=None if request.scoring is None else request.scoring.value,
        )

    def forget(self) -> None:
        """Make the next generation evaluate the whole prompt, as in a new process.

        Raises:
            EngineFault: the engine's process died.
        """
        self.engine.ask(EngineRequest(operation="forget"))


def require_limit(request: GenerationRequest) -> int:
    """Return a request's token limit.

    Raises:
        ConfigError: the limit is less than 1.
    """
    if request.max_tokens < 1:
        raise ConfigError(f"invalid max_tokens {request.max_tokens}: must be at least 1")
    return request.max_tokens


def require_text(text: str) -> None:
    """Check that a text is valid Unicode, for encoding in UTF-8.

    Raises:
        ConfigError: names the first invalid character.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ConfigError(
            f"invalid text: half of a surrogate pair at character {error.start}: "
            f"{text[error.start]!r}; pass valid UTF-8"
        ) from error


def _parse_generation(reply: EngineReply) -> Generation:
    return Generation(
        text=reply["text"],
        tokens=tuple(reply["tokens"]),
        forced_tokens=reply["forced_tokens"],
        is_complete=reply["is_complete"],
        margin=None if reply["margin"] is None else Margin(**reply["margin"]),
        confidence=None if reply["surprisal"] is None else Confidence(surprisal=reply["surprisal"]),
        tail_tokens=reply["tail_tokens"],
    )


def _join_confidences(known: Confidence | None, more: Confidence | None) -> Confidence | None:
    """Return the confidence of two parts of a generation."""
    if known is None or more is None:
        return None
    return Confidence(surprisal=known.surprisal + more.surprisal)
