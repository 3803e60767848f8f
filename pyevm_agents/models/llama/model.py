"""A GGUF model behind the chain's port: its profile, its tokens, and what it says."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from precompiles.language_model import Generation, GenerationRequest, Margin, Segment
from pyevm_agents.errors import ConfigError
from pyevm_agents.models.closeable import Closeable
from pyevm_agents.models.engine_messages import EngineReply, EngineRequest, EvaluationStats
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
"""Bytes of evaluated prompts set aside, at most: what `spec.WARM_PREFIXES` whole contexts of the
default model take (192 MB each), with room to spare. Fewer, and a prompt that the rules hold to be
warm, at 100 gas a token, could have to be read again: 256 MB were four prompts of 2,800 tokens."""


class GgufModel(Closeable):
    """A GGUF file in a child process: what models with and without weights have in common.

    Nothing is loaded before it is needed: the vocabulary for tokens, the weights for the first
    generation, and everything for `build_profile_facts`, unless a folder has kept them.
    """

    def __init__(  # noqa: PLR0913 - each is a setting of its own
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
        """Look at the files; start nothing.

        Raises:
            ConfigError: file or option is unfit.
        """
        self.path = find_default_model() if path is None else resolve_path(path)
        self.adapter = adapter_path(adapter, is_default_model=path is None)
        """The file of the LoRA adapter that is applied to the model, or None."""
        check_files(self.path, self.adapter)
        if context_tokens is not None and (
            isinstance(context_tokens, bool)
            or not isinstance(context_tokens, int)
            or context_tokens < 1
        ):
            raise ConfigError(
                f"context_tokens is {context_tokens!r}; it must be a whole number of at least 1, "
                "or None"
            )
        if (
            isinstance(prefix_cache_bytes, bool)
            or not isinstance(prefix_cache_bytes, int)
            or prefix_cache_bytes < 0
        ):
            raise ConfigError(
                f"prefix_cache_bytes is {prefix_cache_bytes!r}; it must be a whole number of "
                "bytes, or 0 to keep no prefixes"
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
        """What the file and its engine say, for the rules of a chain.

        Raises:
            ConfigError: the file, the build or the processor is unfit.
            EngineFault: the engine died over it.
        """
        # No `cached_property`: until Python 3.12 its lock is one for all models.
        if self._profile_facts is None:
            named = self.path if self.adapter is None else self.adapter
            self._profile_facts = build_profile_facts(named, self.engine.identity)
            self._loading_relay.warn_of_error()
        return self._profile_facts

    def tokenize(self, segments: tuple[Segment, ...]) -> tuple[int, ...]:
        """Return the tokens of a prompt: those of its segments, one after the other.

        Raises:
            ConfigError: a segment is no text: it holds half of a surrogate pair; or the file is
                unfit, where nothing has loaded it yet.
            EngineFault: the engine died.
        """
        for segment in segments:
            require_text(segment.text)
        pairs = [(segment.text, segment.is_template) for segment in segments]
        return tuple(self.engine.ask(EngineRequest(operation="tokenize", segments=pairs))["tokens"])

    def detokenize(self, tokens: tuple[int, ...]) -> str:
        """Return the text of tokens, special ones spelled out."""
        return self.engine.ask(EngineRequest(operation="text", tokens=list(tokens)))["text"]

    def encode_given_text(self, text: str, request: GenerationRequest) -> Generation:
        """Say a given text as a model would have said it.

        Raises:
            ScriptError: the grammar does not admit it.
        """
        require_text(text)
        return _parse_generation(
            self.engine.ask(
                EngineRequest(
                    operation="follow",
                    text=text,
                    grammar=request.grammar,
                    max_tokens=require_limit(request),
                )
            )
        )

    def close(self) -> None:
        """End the engine's process."""
        self.engine.close()


class Vocabulary(GgufModel):
    """The vocabulary of a GGUF file, without its weights: tokens for models that have none."""

    def __init__(
        self,
        path: Path | str | None = None,
        *,
        adapter: Adapter = None,
        context_tokens: int | None = None,
        kept_facts: Path | str | None = None,
    ) -> None:
        """Name a file, the default model's if none is named; see `LlamaModel`.

        An adapter changes no token; it is a part of the digest, as that of the model.
        """
        super().__init__(
            path,
            vocabulary_only=True,
            adapter=adapter,
            context_tokens=context_tokens,
            kept_facts=kept_facts,
        )


class LlamaModel(GgufModel):
    """A GGUF model on llama.cpp: processor only, greedy, bit for bit the same everywhere.

    Implements `LanguageModel`. One generation at a time; threads wait in line.
    """

    def __init__(  # noqa: PLR0913 - settings, each with its default
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
        """Name a model; it is loaded when it is needed.

        Input:
            path: a GGUF file; None for the default model.
            adapter: a LoRA adapter in GGUF that is applied to the model; None for the one that is
                installed with the default model, and for none with a file of one's own;
                `NO_ADAPTER` for the default model as it is.
            threads: 1 to 512; None for the number of cores, up to 4. Changes the time alone.
            context_tokens: None for what the model was trained for, up to 8,192.
            prefix_cache_bytes: how much of evaluated prompts is set aside for their return, beside
                the context itself: 23 KB a token for the default model. Changes the time alone; but
                a chain that strangers send to wants `spec.WARM_PREFIXES` whole contexts, so that
                what is warm by the rules is so in memory. 0 for none.
            kept_facts: a folder where the file's facts are kept between processes, so that a chain
                can begin before its model is loaded; None for nowhere.
            progress: is called while the model is loaded, a prompt is read and a text is written.
                What it raises ends the reports and never the work, but for what is no `Exception`.

        Raises:
            ConfigError: file or option is unfit.
        """
        self.last_stats: EvaluationStats | None = None
        """What the generation that ended last had to evaluate; None before the first."""
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

        Raises:
            ConfigError: no prompt, no limit, or both together exceed the context.
            GrammarError: llguidance refuses the grammar.
            EngineFault: the engine died, or computed a number that is none.
        """
        return self._continue_generation(request, ())

    def generate_reference(self, request: GenerationRequest) -> Generation:
        """Return what `generate` does, the slow way: for checks that nothing fast changes it.

        Nothing kept is used, no token is fed with another one, and each is chosen under the
        grammar's whole mask.

        Raises: as `generate`.
        """
        return _parse_generation(self.engine.ask(self._build_request(request, "reference")))

    def resume(self, request: GenerationRequest, known: Generation) -> Generation:
        """Return what `generate(request)` would, given what it said under a lower limit.

        Input:
            known: a generation for the same prompt and grammar that its limit cut.

        Raises: as `generate`; and ConfigError where more is known than is asked for.
        """
        if len(known.tokens) > request.max_tokens:
            raise ConfigError(
                f"{len(known.tokens)} tokens are known and {request.max_tokens} are asked for; "
                "ask for more, or cut what is known"
            )
        more = self._continue_generation(request, known.tokens)
        margins = [margin for margin in (known.margin, more.margin) if margin is not None]
        return replace(
            more,
            forced_tokens=known.forced_tokens + more.forced_tokens,
            margin=min(margins, key=lambda margin: margin.gap, default=None),
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
            raise ConfigError("The prompt has no tokens; a model continues at least one")
        if len(request.prompt_tokens) + limit > context_tokens:
            raise ConfigError(
                f"{len(request.prompt_tokens)} prompt tokens and up to {limit} more do not fit in "
                f"the model's context of {context_tokens}"
            )
        return EngineRequest(
            operation=operation,
            tokens=list(request.prompt_tokens),
            grammar=request.grammar,
            max_tokens=limit,
        )

    def forget(self) -> None:
        """Make the next generation evaluate all of its prompt, as in a fresh process.

        Raises:
            EngineFault: the engine died.
        """
        self.engine.ask(EngineRequest(operation="forget"))


def require_limit(request: GenerationRequest) -> int:
    """Return a request's limit.

    Raises:
        ConfigError: it is less than 1.
    """
    if request.max_tokens < 1:
        raise ConfigError(
            f"max_tokens is {request.max_tokens}; who can't pay for one token must not ask"
        )
    return request.max_tokens


def require_text(text: str) -> None:
    """Refuse what UTF-8 can't express.

    Raises:
        ConfigError: names the first offender.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ConfigError(
            f"The text holds half of a surrogate pair at character {error.start}: "
            f"{text[error.start]!r}; pass valid UTF-8"
        ) from error


def _parse_generation(reply: EngineReply) -> Generation:
    return Generation(
        text=reply["text"],
        tokens=tuple(reply["tokens"]),
        forced_tokens=reply["forced_tokens"],
        is_complete=reply["is_complete"],
        margin=None if reply["margin"] is None else Margin(**reply["margin"]),
    )
