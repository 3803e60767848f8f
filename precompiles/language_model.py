"""What a host supplies to the executor precompile: language models, and what they say.

The executor knows a `LanguageModel`; it never learns whether llama.cpp, a script or a recording
answers. A failure of the host (model file gone, engine died, a text outside the grammar) is an
exception that is no `eth.exceptions.VMError`: it leaves py-evm uncaught, and no block holds it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """One piece of a prompt, tokenised by itself.

    Tokenising piece by piece makes the tokens of a prompt a prefix of the tokens of every prompt
    that continues it, so what a transaction has paid for stays paid (architecture, decision 7).
    """

    text: str
    """The characters of the piece."""

    is_template: bool = False
    """True for the chat template's own literals: control tokens written in them are control
    tokens. False for everything else: no character sequence in it becomes a control token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationRequest:
    """Everything a generation is a function of, and the bound at which the caller stops paying."""

    segments: tuple[Segment, ...]
    """The prompt as text."""

    prompt_tokens: tuple[int, ...]
    """The prompt as tokens: `LanguageModel.tokenize(segments)`."""

    grammar: str
    """What may be said, as a Lark grammar in llguidance's dialect. Its start rule is `start`."""

    max_tokens: int
    """Output tokens the caller can pay for, at least 1. Not part of what determines the text."""

    handles: tuple[tuple[str, str], ...] = ()
    """(handle, checksummed address) of each address the prompt names. For fakes: the same
    information is in `segments` and `grammar`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Margin:
    """The closest decision of a generation: where other hardware would first say something else.

    For people who read a trace; no rule depends on it.
    """

    gap: float
    """Logit of the token that was chosen, less that of the best one that was not: at least 0."""

    token_index: int
    """Which of the generation's tokens it was, from 0."""

    chosen: str
    """The text of the token that was chosen; end-of-generation tokens are spelled out."""

    other: str
    """The text of the best one that the grammar admitted beside it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """What a model said."""

    text: str
    """The text, without the end-of-generation token."""

    tokens: tuple[int, ...]
    """The output tokens, the end-of-generation token included where the model emitted one. At
    most `GenerationRequest.max_tokens`."""

    forced_tokens: int
    """How many of `tokens` the grammar left no choice about."""

    is_complete: bool
    """False when `max_tokens` ended the text before its grammar did."""

    margin: Margin | None = None
    """The closest decision; None where none was made, or the model has no weights."""


class LanguageModel(Protocol):
    """A model: a vocabulary, and a pure function from a prompt and a grammar to a text."""

    def tokenize(self, segments: tuple[Segment, ...]) -> tuple[int, ...]:
        """Return the tokens of a prompt: those of its segments, one after the other.

        Where the vocabulary asks for a beginning-of-text token, it comes first, once.
        """

    def generate(self, request: GenerationRequest) -> Generation:
        """Continue the prompt, greedily, under the grammar, by at most `max_tokens` tokens.

        The result is a function of the model's weights, the engine's build, `prompt_tokens` and
        `grammar`; `max_tokens` only says where it is cut off. Ties go to the lowest token.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelProfile:
    """A model as the chain's rules know it: a part of genesis."""

    name: str
    """The name under which contracts ask for it."""

    aliases: tuple[str, ...]
    """Other names for it, such as the ERC's `llama_model_3`."""

    digest: bytes
    """SHA-256 of its GGUF file, 32 bytes; with an adapter, SHA-256 of that of the file and that of
    the adapter's, one after the other."""

    context_tokens: int
    """Prompt and output together may be this many tokens."""

    max_output_tokens: int
    """Output tokens a single generation may be."""

    chat_prefix: str
    """Literal text of its chat template before the system message."""

    chat_middle: str
    """Literal text of its chat template between the system and the user message."""

    chat_suffix: str
    """Literal text of its chat template between the user message and the model's own words."""

    cold_prompt_token_gas: int
    """Price of a prompt token that this transaction has not paid for yet."""

    warm_prompt_token_gas: int
    """Price of a prompt token that this transaction has already paid for."""

    output_token_gas: int
    """Price of an output token."""


class ModelIdentity(Protocol):
    """What a language model's file and engine say of themselves."""

    @property
    def digest(self) -> bytes:
        """As `ModelProfile.digest`, 32 bytes."""

    @property
    def context_tokens(self) -> int:
        """Prompt and output together that it can hold."""

    @property
    def fingerprint(self) -> str:
        """Canonical JSON of what decides about bits; its canary is empty where nothing computes."""


@runtime_checkable
class HasProfile(Protocol):
    """A language model that can be held against a chain's configuration."""

    @property
    def profile_facts(self) -> ModelIdentity | None:
        """What it says of itself; None where it knows nothing."""
