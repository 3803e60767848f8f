"""Greedy text under a grammar: llguidance says what may follow, the highest logit what does."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import llguidance

from precompiles.language_model import Margin
from pyevm_agents.errors import EngineFault, ScriptError
from pyevm_agents.models.decoding.canonical_tokens import CanonicalTokenizer, TextVocabulary
from pyevm_agents.models.decoding.greedy import TopTwoMargin, choose_token
from pyevm_agents.models.decoding.token_walk import (
    ConstrainedText,
    TokenRanking,
    require_valid,
    unpack_bitmask,
)
from pyevm_agents.models.decoding.tokenizer import TokenKind, tokenize_data

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from pyevm_agents.models.decoding.tokenizer import SpecialTokenSplitter

SHOWN_ALTERNATIVES = 8
"""Tokens that an error lists, of those the grammar would have admitted."""

SHOWN_CHARACTERS = 300
"""Characters of any one text that an error repeats."""


KEPT_GRAMMARS = 64
"""Compiled grammars that are kept for scripts: a step of an agent has one, with its tools in it."""

STEP_LEXER_FUEL = 10_000_000
"""Work that llguidance's lexer may do between two masks, some 14,000 a millisecond. Its own limit
of 200,000 is meant for a single token, and a whole text without a mask may come between: 300 zeros
in a string exceeded it, as each is a new state of the rule against `0x`."""


class GuidedVocabulary(TextVocabulary, Protocol):
    """What llguidance needs of a vocabulary."""

    vocab: int

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
class GuidedOutput:
    """Tokens under a grammar; the fields are those of `language_model.Generation`."""

    text: str
    tokens: list[int]
    forced_tokens: int
    is_complete: bool
    margin: Margin | None = None

    breaks: int = 0
    """Tokens, known ones among them, after which the text is not in its canonical tokens."""


class GuidedDecoder:
    """Grammars over one vocabulary."""

    def __init__(self, vocabulary: GuidedVocabulary, cutter: SpecialTokenSplitter) -> None:
        """Take a vocabulary; the work (0.6 s) is done at the first grammar."""
        self.vocabulary = vocabulary
        self.cutter = cutter
        self._ends = vocabulary.end_tokens()
        self.canonical = CanonicalTokenizer(vocabulary, cutter)
        self._compiled: OrderedDict[str, llguidance.LLMatcher] = OrderedDict()

    @cached_property
    def _tokenizer(self) -> llguidance.LLTokenizer:
        vocabulary = self.vocabulary
        # 0xff marks what is no text: the model can't say it where a grammar admits its spelling.
        pieces = [
            piece if kind is TokenKind.PLAIN else b"\xff" + piece
            for piece, kind in zip(self.canonical.pieces, self.canonical.kinds, strict=True)
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

    def compile_grammar(self, grammar: str) -> llguidance.LLMatcher:
        """Compile a Lark grammar.

        Raises:
            GrammarError: llguidance refuses it.
        """
        matcher = llguidance.LLMatcher(
            self._tokenizer,
            llguidance.LLMatcher.grammar_from_lark(grammar),
            log_level=0,
            limits=llguidance.LLParserLimits(step_lexer_fuel=STEP_LEXER_FUEL),
        )
        require_valid(matcher)
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
    ) -> GuidedOutput:
        """Continue a prompt greedily, by at most `max_tokens` tokens.

        The limit changes nothing but where the tokens end: forced ones are counted singly.

        Input:
            known: the first tokens of the output, from a generation with a lower limit. They come
                back in the output; `forced_tokens` and `margin` speak of those after them.

        Raises:
            GrammarError: llguidance refuses the grammar or gives it up.
            EngineFault: a logit that may be chosen is not finite, or llama.cpp fails.
        """
        walk = ConstrainedText(self.compile_grammar(grammar), self.canonical, self._ends)
        forced_tokens = _replay_tokens(walk, known)
        closest: TopTwoMargin | None = None
        report_prompt = (
            None if report is None else (lambda done, total: report("prompt", done, total, ""))
        )
        # One list that grows: a prompt is long, and would be copied for each token.
        sequence = prompt + walk.tokens
        ranking = TokenRanking(self.vocabulary.vocabulary_tokens, self._ends)
        while len(walk.tokens) < max_tokens and not walk.is_complete:
            done = len(walk.tokens)
            run = walk.take_forced_tokens()
            if run:
                forced_tokens += len(run)
            else:
                logits = evaluator.evaluate(sequence, report_prompt)
                report_prompt = None
                closest = choose_token(walk, ranking, logits, closest)
            sequence += walk.tokens[done:]
            if report is not None:
                tokens = walk.tokens[:max_tokens]
                report("output", len(tokens), max_tokens, self.detokenize(tokens))
        excess_tokens = max(0, len(walk.tokens) - max_tokens)
        tokens = walk.tokens[:max_tokens]
        return GuidedOutput(
            text=self.detokenize(tokens),
            tokens=tokens,
            # Only a forced run is longer than one token, so what is too much was forced.
            forced_tokens=forced_tokens - excess_tokens,
            is_complete=walk.is_complete and not excess_tokens,
            margin=None if closest is None else self._build_margin(closest),
            breaks=walk.breaks,
        )

    def encode_given_text(self, text: str, grammar: str, max_tokens: int) -> GuidedOutput:
        """Return a given text as a model would have said it: in its canonical tokens.

        The end-of-generation token follows where the grammar would admit more. A token counts as
        forced where the grammar left no choice about it at that point of the canonical tokens.

        Raises:
            GrammarError: llguidance refuses the grammar.
            ScriptError: the grammar does not admit the text, or asks for more.
        """
        matcher = self._copy_matcher(grammar)
        tokens = tokenize_data(self.vocabulary, self.cutter, text)
        if b"".join(map(self.vocabulary.piece, tokens)) != text.encode():
            raise ScriptError(
                f"The model's vocabulary can't spell the scripted text {_quote(text)}; leave out "
                "rare characters"
            )
        done = forced_tokens = 0
        while done < len(tokens):
            run = self._compute_forced_tokens(matcher)
            is_forced = bool(run) and tokens[done : done + len(run)] == run
            step = run if is_forced else [tokens[done]]
            if matcher.is_stopped() or matcher.validate_tokens(step) < len(step):
                raise self._build_refusal_error(text, tokens[:done], tokens[done], matcher)
            matcher.consume_tokens(step)
            done += len(step)
            forced_tokens += len(step) if is_forced else 0
        require_valid(matcher)
        if not matcher.is_stopped():
            if not matcher.is_accepting():
                raise ScriptError(
                    f"The scripted text {_quote(text)} ends too early; the grammar expects "
                    f"{self._describe_expected(matcher)} next"
                )
            tokens.append(self._ends[0])
        is_complete = len(tokens) <= max_tokens
        tokens = tokens[:max_tokens]
        return GuidedOutput(
            text=text if is_complete else self.detokenize(tokens),
            tokens=tokens,
            forced_tokens=min(forced_tokens, len(tokens)),
            is_complete=is_complete,
        )

    def _copy_matcher(self, grammar: str) -> llguidance.LLMatcher:
        """Return a matcher at its start: a copy of one that nobody uses, compiled once.

        Compiling takes some 2 ms, most of what a scripted step does; scripts say many steps under
        one grammar.
        """
        compiled = self._compiled.get(grammar)
        if compiled is None:
            compiled = self._compiled[grammar] = self.compile_grammar(grammar)
            while len(self._compiled) > KEPT_GRAMMARS:
                self._compiled.popitem(last=False)
        return compiled.deep_copy()

    def detokenize(self, tokens: list[int]) -> str:
        """Return the text of tokens, without end tokens and without half a character at the end."""
        return b"".join(
            self.vocabulary.piece(token) for token in tokens if token not in self._ends
        ).decode("utf-8", "ignore")

    def _build_margin(self, closest: TopTwoMargin) -> Margin:
        return Margin(
            gap=closest.gap,
            token_index=closest.token_index,
            chosen=self.vocabulary.piece(closest.chosen).decode("utf-8", "replace"),
            other=self.vocabulary.piece(closest.other).decode("utf-8", "replace"),
        )

    def _compute_forced_tokens(self, matcher: llguidance.LLMatcher) -> list[int]:
        run = matcher.compute_ff_tokens()
        return run if matcher.validate_tokens(run) == len(run) else []

    def _build_refusal_error(
        self, text: str, before: list[int], token: int, matcher: llguidance.LLMatcher
    ) -> ScriptError:
        admitted = b"".join(self.vocabulary.piece(each) for each in before)
        for character in self.vocabulary.piece(token).decode("utf-8", "ignore"):
            probe = tokenize_data(self.vocabulary, self.cutter, character)
            if matcher.is_stopped() or matcher.validate_tokens(probe) < len(probe):
                break
            matcher.consume_tokens(probe)
            admitted += character.encode()
        position = len(admitted.decode("utf-8", "ignore"))
        return ScriptError(
            f"The grammar does not admit the scripted text {_quote(text)}: after "
            f"{_quote(text[:position], is_end_shown=True)} it "
            f"says {text[position : position + 40]!r}, "
            f"where the grammar expects {self._describe_expected(matcher)}"
        )

    def _describe_expected(self, matcher: llguidance.LLMatcher) -> str:
        """Describe what may follow, for people."""
        forced = matcher.compute_ff_bytes()
        if forced:
            return _quote(forced.decode("utf-8", "replace"))
        if matcher.is_stopped():
            return "the end of the text"
        allowed = [
            token
            for token in unpack_bitmask(
                matcher.compute_bitmask(), self.vocabulary.vocabulary_tokens
            )
            .nonzero()[0]
            .tolist()
            if token not in self._ends
        ]
        pieces = sorted(
            {self.vocabulary.piece(token).decode("utf-8", "replace") for token in allowed},
            key=lambda piece: (-len(piece), piece),
        )
        alternatives = ", ".join(_quote(piece) for piece in pieces[:SHOWN_ALTERNATIVES])
        rest = len(pieces) - SHOWN_ALTERNATIVES
        return f"one of {alternatives}" + (f" or {rest} others" if rest > 0 else "")


def _replay_tokens(walk: ConstrainedText, known: Sequence[int]) -> int:
    """Say known tokens again; return how many forced ones follow them at once.

    The runs of forced tokens are those of the first time, wherever the limit cut them.

    Raises:
        EngineFault: the grammar and the rule would have said something else.
    """
    while (done := len(walk.tokens)) < len(known):
        token = known[done]
        is_choice = not walk.is_complete and not walk.take_forced_tokens()
        if is_choice and walk.is_allowed(token):
            (walk.accept if walk.is_admissible(token) else walk.accept_break)(token)
        new_tokens = walk.tokens[done : len(known)]
        if not new_tokens or new_tokens != list(known[done : done + len(new_tokens)]):
            raise EngineFault(
                f"Token {done} of the {len(known)} known ones is {token}, which does not "
                "follow here; the generation is another grammar's, so generate anew"
            )
    return len(walk.tokens) - len(known)


def _quote(text: str, *, is_end_shown: bool = False) -> str:
    """Return a text in quotation marks, or its beginning or end where it is long."""
    if len(text) <= SHOWN_CHARACTERS:
        return repr(text)
    if is_end_shown:
        return f"…{text[-SHOWN_CHARACTERS:]!r}"
    return f"{text[:SHOWN_CHARACTERS]!r}… ({len(text):,} characters)"
