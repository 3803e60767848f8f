"""Greedy text under a grammar: llguidance says what may follow, the highest logit what does."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import llguidance
import numpy as np

from pyevm_agents.errors import EngineFault, GrammarError, ScriptError
from pyevm_agents.models.vocabulary import TokenKind, VocabularySource, tokens_of_data

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from pyevm_agents.models.vocabulary import SpecialCutter
    from pyevm_agents.models.wire import MarginMessage

SHOWN_ALTERNATIVES = 8
"""Tokens that an error lists, of those the grammar would have admitted."""


class GuidedVocabulary(VocabularySource, Protocol):
    """What llguidance needs of a vocabulary."""

    vocab: int
    vocabulary_tokens: int

    def end_tokens(self) -> list[int]:
        """Return the tokens that end a text, the vocabulary's own end token first."""

    def tokenize_function(self) -> int:
        """Return the address of `llama_tokenize`."""


class Evaluator(Protocol):
    """Computes the logits of what follows after tokens."""

    def evaluate(
        self, tokens: list[int], report: Callable[[int, int], None] | None = None
    ) -> NDArray[np.float32]:
        """Return one float32 for each token of the vocabulary."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """Tokens under a grammar; the fields are those of `ports.Generation`."""

    text: str
    tokens: list[int]
    forced_tokens: int
    is_complete: bool
    margin: MarginMessage | None = None


class Guide:
    """Grammars over one vocabulary."""

    def __init__(self, vocabulary: GuidedVocabulary, cutter: SpecialCutter) -> None:
        """Take a vocabulary; the work (0.6 s) is done at the first grammar."""
        self._vocabulary = vocabulary
        self._cutter = cutter
        self._ends = vocabulary.end_tokens()

    @cached_property
    def _tokenizer(self) -> llguidance.LLTokenizer:
        vocabulary = self._vocabulary
        # 0xff marks what is no text: the model can't say it where a grammar admits its spelling.
        pieces = [
            vocabulary.piece(token)
            if vocabulary.kind(token) is TokenKind.PLAIN
            else b"\xff" + vocabulary.piece(token)
            for token in range(vocabulary.vocabulary_tokens)
        ]
        if not self._ends:
            raise EngineFault(
                "The model's vocabulary has no end-of-generation token, so no text could end; use "
                "another model"
            )
        make = llguidance.LLTokenizer.from_llamacpp  # type: ignore[attr-defined]
        try:
            tokenizer: llguidance.LLTokenizer = make(
                tokens=pieces,
                vocab_ptr=vocabulary.vocab,
                tokenize_fptr=vocabulary.tokenize_function(),
                eos_token=self._ends,
                slices=None,
            )
        except ValueError as error:
            raise EngineFault(
                f"llguidance can't use the model's vocabulary: {error}; use another model"
            ) from error
        return tokenizer

    def start(self, grammar: str) -> llguidance.LLMatcher:
        """Compile a Lark grammar.

        Raises:
            GrammarError: llguidance refuses it.
        """
        matcher = llguidance.LLMatcher(
            self._tokenizer, llguidance.LLMatcher.grammar_from_lark(grammar), log_level=0
        )
        self._require_sound(matcher)
        return matcher

    def generate(  # noqa: PLR0913 - what a generation is a function of
        self,
        evaluator: Evaluator,
        prompt: list[int],
        grammar: str,
        max_tokens: int,
        report: Callable[[str, int, int, str], None] | None = None,
        *,
        known: Sequence[int] = (),
    ) -> Output:
        """Continue a prompt greedily, by at most `max_tokens` tokens.

        The limit changes nothing but where the tokens end: forced ones are counted singly.

        Input:
            known: the first tokens of the output, from a generation with a lower limit. They come
                back in the output; `forced_tokens` and `margin` speak of those after them.

        Raises:
            GrammarError: llguidance refuses the grammar or gives it up.
            EngineFault: a logit that may be chosen is not finite, or llama.cpp fails.
        """
        matcher = self.start(grammar)
        tokens = list(known)
        matcher.consume_tokens(tokens)
        self._require_sound(matcher)
        forced_tokens = 0
        report_prompt = (
            None if report is None else (lambda done, total: report("prompt", done, total, ""))
        )
        while len(tokens) < max_tokens and not matcher.is_stopped():
            run = self._forced(matcher)[: max_tokens - len(tokens)]
            if run:
                forced_tokens += len(run)
            else:
                logits = evaluator.evaluate(prompt + tokens, report_prompt)
                report_prompt = None
                run = [choose(logits, matcher.compute_bitmask())]
            matcher.consume_tokens(run)
            self._require_sound(matcher)
            tokens += run
            if report is not None:
                report("output", len(tokens), max_tokens, self.text_of(tokens))
        self._require_sound(matcher)
        return Output(
            text=self.text_of(tokens),
            tokens=tokens,
            forced_tokens=forced_tokens,
            is_complete=matcher.is_stopped(),
        )

    def follow(self, text: str, grammar: str, max_tokens: int) -> Output:
        """Return a given text as a model would have said it: in its canonical tokens.

        The end-of-generation token follows where the grammar would admit more. A token counts as
        forced where the grammar left no choice about it at that point of the canonical tokens.

        Raises:
            GrammarError: llguidance refuses the grammar.
            ScriptError: the grammar does not admit the text, or asks for more.
        """
        matcher = self.start(grammar)
        tokens = tokens_of_data(self._vocabulary, self._cutter, text)
        if b"".join(map(self._vocabulary.piece, tokens)) != text.encode():
            raise ScriptError(
                f"The model's vocabulary can't spell the scripted text {text!r}; leave out rare "
                "characters"
            )
        done = forced_tokens = 0
        while done < len(tokens):
            run = self._forced(matcher)
            is_forced = bool(run) and tokens[done : done + len(run)] == run
            step = run if is_forced else [tokens[done]]
            if matcher.is_stopped() or matcher.validate_tokens(step) < len(step):
                raise self._refusal(text, tokens[:done], tokens[done], matcher)
            matcher.consume_tokens(step)
            done += len(step)
            forced_tokens += len(step) if is_forced else 0
        self._require_sound(matcher)
        if not matcher.is_stopped():
            if not matcher.is_accepting():
                raise ScriptError(
                    f"The scripted text {text!r} ends too early; the grammar expects "
                    f"{self._expected(matcher)} next"
                )
            tokens.append(self._ends[0])
        is_complete = len(tokens) <= max_tokens
        tokens = tokens[:max_tokens]
        return Output(
            text=text if is_complete else self.text_of(tokens),
            tokens=tokens,
            forced_tokens=min(forced_tokens, len(tokens)),
            is_complete=is_complete,
        )

    def text_of(self, tokens: list[int]) -> str:
        """Return the text of tokens, without end tokens and without half a character at the end."""
        return b"".join(
            self._vocabulary.piece(token) for token in tokens if token not in self._ends
        ).decode("utf-8", "ignore")

    def _forced(self, matcher: llguidance.LLMatcher) -> list[int]:
        run = matcher.compute_ff_tokens()
        return run if matcher.validate_tokens(run) == len(run) else []

    def _refusal(
        self, text: str, before: list[int], token: int, matcher: llguidance.LLMatcher
    ) -> ScriptError:
        admitted = b"".join(self._vocabulary.piece(each) for each in before)
        for character in self._vocabulary.piece(token).decode("utf-8", "ignore"):
            probe = tokens_of_data(self._vocabulary, self._cutter, character)
            if matcher.is_stopped() or matcher.validate_tokens(probe) < len(probe):
                break
            matcher.consume_tokens(probe)
            admitted += character.encode()
        position = len(admitted.decode("utf-8", "ignore"))
        return ScriptError(
            f"The grammar does not admit the scripted text {text!r}: after {text[:position]!r} it "
            f"says {text[position : position + 40]!r}, "
            f"where the grammar expects {self._expected(matcher)}"
        )

    def _expected(self, matcher: llguidance.LLMatcher) -> str:
        """Describe what may follow, for people."""
        forced = matcher.compute_ff_bytes()
        if forced:
            return repr(forced.decode("utf-8", "replace"))
        if matcher.is_stopped():
            return "the end of the text"
        allowed = [
            token
            for token in allowed_tokens(matcher.compute_bitmask()).tolist()
            if token not in self._ends
        ]
        pieces = sorted(
            {self._vocabulary.piece(token).decode("utf-8", "replace") for token in allowed},
            key=lambda piece: (-len(piece), piece),
        )
        shown = ", ".join(repr(piece) for piece in pieces[:SHOWN_ALTERNATIVES])
        rest = len(pieces) - SHOWN_ALTERNATIVES
        return f"one of {shown}" + (f" or {rest} others" if rest > 0 else "")

    def _require_sound(self, matcher: llguidance.LLMatcher) -> None:
        if matcher.is_error():
            raise GrammarError(
                f"llguidance {llguidance.__version__} refuses the grammar: {matcher.get_error()}"
            )


def allowed_tokens(bitmask: bytes) -> NDArray[np.intp]:
    """Return the tokens whose bit is set, in ascending order."""
    return np.flatnonzero(np.unpackbits(np.frombuffer(bitmask, dtype=np.uint8), bitorder="little"))


def choose(logits: NDArray[np.float32], bitmask: bytes) -> int:
    """Return the allowed token with the highest logit; ties go to the lowest token.

    Raises:
        GrammarError: nothing is allowed.
        EngineFault: the logit of an allowed token is not a finite number.
    """
    allowed = allowed_tokens(bitmask)
    allowed = allowed[allowed < len(logits)]
    if not len(allowed):
        raise GrammarError(
            "The grammar admits no token of this vocabulary here; make its alternatives spellable"
        )
    scores = logits[allowed]
    if not np.isfinite(scores).all():
        token = int(allowed[int(np.flatnonzero(~np.isfinite(scores))[0])])
        raise EngineFault(
            f"The model computed {float(logits[token])} as the logit of token {token}: its file is "
            "damaged or its numbers overflow; "
            "check the file's SHA-256, or use another quantisation"
        )
    return int(allowed[int(scores.argmax())])
