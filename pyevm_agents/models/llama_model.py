"""A GGUF model behind the chain's port: its profile, its tokens, and what it says."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

from precompiles.ports import Generation, GenerationRequest, Margin, Segment
from pyevm_agents.errors import ConfigError
from pyevm_agents.models.build import BATCH_TOKENS
from pyevm_agents.models.chat_template import chat_pieces
from pyevm_agents.models.engine import Engine, EngineIdentity, EngineOptions
from pyevm_agents.models.gguf import check_file, default_model_path
from pyevm_agents.models.threads import checked_threads
from pyevm_agents.models.wire import Reply, Request

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a generation is."""

    phase: Literal["prompt", "output"]
    done_tokens: int
    total_tokens: int
    """Tokens of the prompt, or the limit of the output."""

    text: str
    """The output so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileFacts:
    """What a file and its engine say, for the rules of a chain."""

    digest: bytes
    """SHA-256 of the GGUF file, 32 bytes."""

    name: str
    """The file's own name for the model, else the name of the file."""

    architecture: str
    """Such as `llama`."""

    context_tokens: int
    vocabulary_tokens: int
    chat_prefix: str
    chat_middle: str
    chat_suffix: str

    fingerprint: str
    """Canonical JSON of everything else that decides about bits: versions, build, canary."""


class GgufModel:
    """A GGUF file in a child process: what models with and without weights have in common."""

    def __init__(
        self,
        path: Path | str | None,
        *,
        vocabulary_only: bool,
        threads: int = 1,
        context_tokens: int | None = None,
    ) -> None:
        """Start the engine.

        Raises:
            ConfigError: file, option, build or processor is unfit.
            EngineFault: the engine died over it.
        """
        self.path = default_model_path() if path is None else Path(path).expanduser().absolute()
        check_file(self.path)
        if context_tokens is not None and (
            isinstance(context_tokens, bool)
            or not isinstance(context_tokens, int)
            or context_tokens < 1
        ):
            raise ConfigError(
                f"context_tokens is {context_tokens!r}; it must be a whole number of at least 1, "
                "or None"
            )
        self.engine = Engine(
            EngineOptions(
                path=self.path,
                vocabulary_only=vocabulary_only,
                threads=threads,
                context_tokens=context_tokens,
            )
        )
        try:
            self.profile_facts = _profile_facts(self.path, self.engine.identity)
        except BaseException:
            self.engine.close()
            raise

    def tokenize(self, segments: tuple[Segment, ...]) -> tuple[int, ...]:
        """Return the tokens of a prompt: those of its segments, one after the other.

        Raises:
            ConfigError: a segment is no text: it holds half of a surrogate pair.
            EngineFault: the engine died.
        """
        for segment in segments:
            require_text(segment.text)
        pairs = [(segment.text, segment.is_template) for segment in segments]
        return tuple(self.engine.ask(Request(operation="tokenize", segments=pairs))["tokens"])

    def text_of(self, tokens: tuple[int, ...]) -> str:
        """Return the text of tokens, special ones spelled out."""
        return self.engine.ask(Request(operation="text", tokens=list(tokens)))["text"]

    def follow(self, text: str, request: GenerationRequest) -> Generation:
        """Say a given text as a model would have said it.

        Raises:
            ScriptError: the grammar does not admit it.
        """
        require_text(text)
        return _generation(
            self.engine.ask(
                Request(
                    operation="follow",
                    text=text,
                    grammar=request.grammar,
                    max_tokens=checked_limit(request),
                )
            )
        )

    def close(self) -> None:
        """End the engine's process."""
        self.engine.close()

    def __enter__(self) -> Self:
        """Return the model itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End the engine's process."""
        self.close()


class Vocabulary(GgufModel):
    """The vocabulary of a GGUF file, without its weights: tokens for models that have none."""

    def __init__(
        self, path: Path | str | None = None, *, context_tokens: int | None = None
    ) -> None:
        """Load a file's vocabulary, of the default model if none is named; see `GgufModel`."""
        super().__init__(path, vocabulary_only=True, context_tokens=context_tokens)


class LlamaModel(GgufModel):
    """A GGUF model on llama.cpp: processor only, greedy, bit for bit the same everywhere.

    Implements `precompiles.ports.LanguageModel`. One generation at a time; threads wait in line.
    """

    def __init__(
        self,
        path: Path | str | None = None,
        *,
        threads: int | None = None,
        context_tokens: int | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> None:
        """Load a model.

        Input:
            path: a GGUF file; None for the default model.
            threads: 1 to 512; None for the number of cores, up to 4. Changes the time alone.
            context_tokens: None for what the model was trained for, up to 8,192.
            progress: is called while a prompt is read and a text is written. What it raises
                cancels the generation.

        Raises:
            ConfigError: file, option, build or processor is unfit.
            EngineFault: the engine died over it.
        """
        self._progress = progress
        super().__init__(
            path,
            vocabulary_only=False,
            threads=checked_threads(threads),
            context_tokens=context_tokens,
        )

    def generate(self, request: GenerationRequest) -> Generation:
        """Continue the prompt, greedily, under the grammar, by at most `max_tokens` tokens.

        Raises:
            ConfigError: no prompt, no limit, or both together exceed the context.
            GrammarError: llguidance refuses the grammar.
            EngineFault: the engine died, or computed a number that is none.
        """
        return self._continued(request, ())

    def resume(self, request: GenerationRequest, known: Generation) -> Generation:
        """Return what `generate(request)` would, given what it said under a lower limit.

        Input:
            known: a generation for the same prompt and grammar that its limit cut.

        Raises: as `generate`.
        """
        more = self._continued(request, known.tokens)
        margins = [margin for margin in (known.margin, more.margin) if margin is not None]
        return replace(
            more,
            forced_tokens=known.forced_tokens + more.forced_tokens,
            margin=min(margins, key=lambda margin: margin.gap, default=None),
        )

    def _continued(self, request: GenerationRequest, known: tuple[int, ...]) -> Generation:
        limit = checked_limit(request)
        context_tokens = self.profile_facts.context_tokens
        if not request.prompt_tokens:
            raise ConfigError("The prompt has no tokens; a model continues at least one")
        if len(request.prompt_tokens) + limit > context_tokens:
            raise ConfigError(
                f"{len(request.prompt_tokens)} prompt tokens and up to {limit} more do not fit in "
                f"the model's context of {context_tokens}"
            )
        message = Request(
            operation="generate",
            tokens=list(request.prompt_tokens),
            grammar=request.grammar,
            max_tokens=limit,
            known_tokens=list(known),
            wants_progress=self._progress is not None,
        )
        return _generation(
            self.engine.ask(message, None if self._progress is None else self._report)
        )

    def _report(self, phase: str, done: int, total: int, text: str) -> None:
        if self._progress is not None:
            self._progress(
                Progress(
                    phase="prompt" if phase == "prompt" else "output",
                    done_tokens=done,
                    total_tokens=total,
                    text=text,
                )
            )


def checked_limit(request: GenerationRequest) -> int:
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


def _generation(reply: Reply) -> Generation:
    return Generation(
        text=reply["text"],
        tokens=tuple(reply["tokens"]),
        forced_tokens=reply["forced_tokens"],
        is_complete=reply["is_complete"],
        margin=None if reply["margin"] is None else Margin(**reply["margin"]),
    )


def _profile_facts(path: Path, identity: EngineIdentity) -> ProfileFacts:
    facts = identity.facts
    pieces = chat_pieces(
        facts["chat_template"],
        bos_text=facts["bos_text"],
        eos_text=facts["eos_text"],
        adds_bos=facts["adds_bos"],
    )
    fingerprint = {
        "batch_tokens": BATCH_TOKENS,
        "canary": facts["canary"],
        "context_tokens": facts["context_tokens"],
        "engine": identity.engine,
        "features": identity.build.numeric_features,
        "flash_attention": False,
        "grammar": identity.guidance,
        "profile": identity.build.profile,
    }
    return ProfileFacts(
        digest=identity.digest,
        name=facts["name"] or path.stem,
        architecture=facts["architecture"],
        context_tokens=facts["context_tokens"],
        vocabulary_tokens=facts["vocabulary_tokens"],
        chat_prefix=pieces.prefix,
        chat_middle=pieces.middle,
        chat_suffix=pieces.suffix,
        fingerprint=json.dumps(fingerprint, sort_keys=True, separators=(",", ":")),
    )
