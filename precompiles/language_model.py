"""The interface between the executor precompile and the host: `LanguageModel`.

The executor does not know whether llama.cpp, a script or a recording implements it. A fault of the
host (model file gone, engine died, text outside the grammar) is an exception other than
`eth.exceptions.VMError`: py-evm does not catch the exception, and the transaction enters no
block.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """One piece of a prompt, tokenized separately.

    Hence the tokens of a prompt are a prefix of the tokens of every prompt that continues it.
    Source: docs/architecture.md#warm-prompt-tokens.
    """

    text: str
    """The characters of the piece."""

    is_template: bool = False
    """True for literals of the chat template, in which control tokens are recognized. False for
    all other text, of which no character sequence becomes a control token."""


class Scoring(Enum):
    """The chosen tokens that count in a step's surprisal; see `Confidence`."""

    AFTER_THOUGHT = "after thought"
    """All after the first line, in the short format."""

    DECISION = "decision"
    """Those that choose between acting and answering, and the tool, in the free format."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationRequest:
    """Everything that determines a generation, and the caller's bound on the length."""

    segments: tuple[Segment, ...]
    """The prompt as text."""

    prompt_tokens: tuple[int, ...]
    """The prompt as tokens: `LanguageModel.tokenize(segments)`."""

    grammar: str
    """The admitted texts, as a Lark grammar in llguidance's dialect. Its start rule is `start`."""

    max_tokens: int
    """Upper bound of output tokens, at least 1: the number that the caller's gas pays for. It may
    truncate the text but does not change it. With `scoring`, the forced tokens after the last
    chosen one do not count."""

    handles: tuple[tuple[str, str], ...] = ()
    """(handle, checksummed address) of each address in the prompt. For fakes; `segments` and
    `grammar` contain the same information."""

    scoring: Scoring | None = None
    """None for the free format without a gate."""

    decided: str = ""
    """The text of a step that the rules decide, which is all that `grammar` admits; empty if the
    model chooses. A model with weights repeats it without an evaluation (`repeat_decided`)."""

    free_grammar: str = ""
    """With `scoring`: the grammar of the free format. A fake, which has neither short format nor
    scores, follows it instead of `grammar`, and reports that (`Generation.is_free`)."""

    def to_free_format(self) -> GenerationRequest:
        """Return the request in the free format without scores; the same object if already so."""
        if self.scoring is None:
            return self
        return replace(self, grammar=self.free_grammar, scoring=None, free_grammar="", decided="")


@dataclass(frozen=True, slots=True, kw_only=True)
class Margin:
    """The closest decision of a generation: where other hardware would first choose differently.

    For readers of a trace; no rule depends on it.
    """

    gap: float
    """Logit of the chosen token minus the best other admitted one: at least 0."""

    token_index: int
    """Index of the token in the generation, from 0."""

    chosen: str
    """Text of the chosen token; end-of-generation tokens by their names."""

    other: str
    """Text of the best other token that the grammar admitted."""


NAT = 1 << 16
"""A nat in the units of scores and surprisals."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Confidence:
    """How sure a model was of a step, in integers that every machine computes alike."""

    surprisal: int
    """Sum of -log p of chosen tokens, over the whole vocabulary, in 65,536ths of a nat. What the
    grammar forbids counts: a model that wanted something else is not sure.

    In the short format, of the tokens after the thought. In the free format, of those that decide:
    they begin in the second line, before `Final Answer:` or the tool's name ends. So the choice
    between acting and answering counts, and that of the tool; thoughts, arguments and answers do
    not. Forced tokens are not chosen, and count nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """The output of one inference."""

    text: str
    """The text, without the end-of-generation token."""

    tokens: tuple[int, ...]
    """The output tokens, with the end-of-generation token if the model emitted one. At most
    `GenerationRequest.max_tokens`."""

    forced_tokens: int
    """Number of `tokens` that were the only ones the grammar admitted."""

    is_complete: bool
    """False if `max_tokens` truncated the text."""

    margin: Margin | None = None
    """The closest decision; None if all tokens were forced, or the model has no weights."""

    confidence: Confidence | None = None
    """None for a request without `scoring`, and for a model without weights."""

    is_free: bool = False
    """Whether it follows the request's `free_grammar`. No model with weights does."""

    tail_tokens: int = 0
    """For a request with `scoring`: the forced tokens after the last chosen one, which the model
    does not evaluate. Else, and for a cut generation, 0."""


def repeat_decided(request: GenerationRequest) -> Generation:
    """Return the generation of a step that the rules decide: the text, without a token."""
    return Generation(text=request.decided, tokens=(), forced_tokens=0, is_complete=True)


class LanguageModel(Protocol):
    """A model: a tokenizer, and a pure function from prompt and grammar to a generation."""

    def tokenize(self, segments: tuple[Segment, ...]) -> tuple[int, ...]:
        """Return the tokens of a prompt: the concatenated tokens of the segments.

        A beginning-of-text token that the vocabulary requires comes first, once.
        """

    def generate(self, request: GenerationRequest) -> Generation:
        """Continue the prompt, greedily, under the grammar, by at most `max_tokens` tokens.

        The result is a function of the model's weights, the engine's build, `prompt_tokens`,
        `grammar` and `scoring`; `max_tokens` only truncates the result. Ties go to the lowest token
        ID.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelProfile:
    """A model as the rules know it: part of the chain config, hence of genesis."""

    name: str
    """The model ID that contracts use."""

    aliases: tuple[str, ...]
    """Other model IDs, such as the ERC's `llama_model_3`."""

    digest: bytes
    """SHA-256 of its GGUF file, 32 bytes; with an adapter, SHA-256 of the concatenated SHA-256
    digests of both files."""

    context_tokens: int
    """Upper bound of prompt and output tokens together."""

    max_output_tokens: int
    """Upper bound of the output tokens of one generation."""

    chat_prefix: str
    """Literal text of its chat template before the system message."""

    chat_middle: str
    """Literal text of its chat template between the system and the user message."""

    chat_suffix: str
    """Literal text of its chat template between the user message and the model's turn."""

    cold_prompt_token_gas: int
    """Gas per prompt token that the transaction has not paid for yet."""

    warm_prompt_token_gas: int
    """Gas per prompt token that the transaction has already paid for."""

    output_token_gas: int
    """Gas per output token."""

    decoding: tuple[tuple[str, int], ...] = ()
    """(name, value) of each decoding rule (`precompiles.decoding_rules`), sorted by name. Empty:
    the free format."""

    chooser: bytes = b""
    """SHA-256 of the file of the chooser that judges orders, 32 bytes. Empty: none does."""

    chooser_token_gas: int = 0
    """Gas per token that the chooser reads; 0 without a chooser."""

    fingerprint: str = ""
    """Fingerprint of this model's engine profile. Empty: it is the chain config's."""


class ModelIdentity(Protocol):
    """Digest, context length and fingerprint of a model file and the engine."""

    @property
    def digest(self) -> bytes:
        """As `ModelProfile.digest`, 32 bytes."""

    @property
    def context_tokens(self) -> int:
        """Upper bound of prompt and output tokens together."""

    @property
    def fingerprint(self) -> str:
        """Canonical JSON of the profile; the canary is empty for a model without weights."""


@runtime_checkable
class HasProfile(Protocol):
    """A language model that can be compared with a chain config."""

    @property
    def profile_facts(self) -> ModelIdentity | None:
        """The model's identity, or None."""
