"""Greedy decoding under a grammar: llguidance lists admitted tokens, logits choose one."""

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

    from pyevm_agents.models.decoding.step_scores import StepScorer
    from pyevm_agents.models.decoding.tokenizer import SpecialTokenSplitter

SHOWN_ALTERNATIVES = 8
"""Tokens that an error message lists as expected by the grammar."""

SHOWN_CHARACTERS = 300
"""Characters of a text that an error message quotes."""


KEPT_GRAMMARS = 64
"""Compiled grammars cached for scripts: each agent's grammar includes its tools."""

STEP_LEXER_FUEL = 10_000_000
"""Work limit of llguidance's lexer between two masks; it does about 14,000 units a millisecond. The
default of 200,000 is meant for one token, but a whole text can pass without a mask: 300 zeros in a
string exceeded it, because each is a new state of the rule against `0x`."""


class GuidedVocabulary(TextVocabulary, Protocol):
    """The vocabulary interface that llguidance uses."""

    vocab: int

    def end_tokens(self) -> list[int]:
        """Return the tokens that end a text, the vocabulary's end-of-text token first."""

    def tokenize_function(self) -> int:
        """Return the address of `llama_tokenize`."""


class Evaluator(Protocol):
    """Computes the logits after a token sequence."""

    def evaluate(
        self, tokens: list[int], report: Callable[[int, int], None] | None = None
    ) -> NDArray[np.float32]:
        """Return one float32 logit for each token of the vocabulary."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuidedOutput:
    """Tokens generated under a grammar; fields as in `language_model.Generation`."""

    text: str
    tokens: list[int]
    forced_tokens: int
    is_complete: bool
    margin: Margin | None = None

    surprisal: int | None = None
    tail_tokens: int = 0
    breaks: int = 0
    """Tokens (known ones included) after which the text is not in its canonical tokens."""


class GuidedDecoder:
    """Decodes greedily under grammars, with one vocabulary."""

    def __init__(self, vocabulary: GuidedVocabulary, cutter: SpecialTokenSplitter) -> None:
        """Create a decoder; llguidance's tokenizer (0.6 s) is built for the first grammar."""
        self.vocabulary = vocabulary
        self.cutter = cutter
        self._ends = vocabulary.end_tokens()
        self.canonical = CanonicalTokenizer(vocabulary, cutter)
        self._compiled: OrderedDict[str, llguidance.LLMatcher] = OrderedDict()

    @cached_property
    def _tokenizer(self) -> llguidance.LLTokenizer:
        vocabulary = self.vocabulary
        # 0xff marks special tokens: the model can't generate one where a grammar admits its
        # spelling.
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
                f"llguidance can't read the model's vocabulary: {error}; use another model"
            ) from error
        return tokenizer

    def compile_grammar(self, grammar: str) -> llguidance.LLMatcher:
        """Compile a Lark grammar.

        Raises:
            GrammarError: llguidance rejects the grammar.
        """
        matcher = llguidance.LLMatcher(
            self._tokenizer,
            llguidance.LLMatcher.grammar_from_lark(grammar),
            log_level=0,
            limits=llguidance.LLParserLimits(step_lexer_fuel=STEP_LEXER_FUEL),
        )
        require_valid(matcher)
        return matcher

    def generate(  # noqa: PLR0913 - the arguments that determine a generation
        self,
        evaluator: Evaluator,
        prompt: list[int],
        grammar: str,
        max_tokens: int,
        report: Callable[[str, int, int, str], None] | None = None,
        *,
        known: Sequence[int] = (),
        scorer: StepScorer | None = None,
    ) -> GuidedOutput:
        """Continue a prompt greedily, by at most `max_tokens` tokens.

        The limit changes only where the tokens end: forced tokens are counted one by one.

        Input:
            known: the first tokens of the output, from a generation with a lower limit. The output
                includes the known tokens; `forced_tokens`, `margin` and the scores describe only
                later tokens.
            scorer: scores the step; None for no scores.

        Raises:
            GrammarError: llguidance rejects the grammar or fails.
            EngineFault: a logit that may be chosen is not finite, or llama.cpp fails.
        """
        walk = ConstrainedText(self.compile_grammar(grammar), self.canonical, self._ends)
        forced_tokens = _replay_tokens(walk, known)
        tail_tokens = 0
        closest: TopTwoMargin | None = None
        report_prompt = (
            None if report is None else (lambda done, total: report("prompt", done, total, ""))
        )
        # One growing list: copying a long prompt for each token would be slow.
        sequence = prompt + walk.tokens
        ranking = TokenRanking(self.vocabulary.vocabulary_tokens, self._ends)
        # Scored, forced tokens may follow beyond the limit: they count only if a choice follows.
        while not walk.is_complete and (scorer is not None or len(walk.tokens) < max_tokens):
            done = len(walk.tokens)
            run = walk.take_forced_tokens()
            if run:
                forced_tokens += len(run)
                tail_tokens += len(run) if scorer is not None else 0
            elif done >= max_tokens:
                break
            else:
                tail_tokens = 0
                logits = evaluator.evaluate(sequence, report_prompt)
                report_prompt = None
                closest = choose_token(walk, ranking, logits, closest)
                if scorer is not None:
                    before = b"".join(map(self.vocabulary.piece, walk.tokens[:done]))
                    scorer.add(before, logits, walk.tokens[done])
            sequence += walk.tokens[done:]
            if report is not None:
                tokens = walk.tokens[:max_tokens]
                report("output", len(tokens), max_tokens, self.detokenize(tokens))
        is_complete = walk.is_complete and len(walk.tokens) - tail_tokens <= max_tokens
        excess_tokens = 0 if is_complete else max(0, len(walk.tokens) - max_tokens)
        tokens = walk.tokens[: len(walk.tokens) - excess_tokens]
        return GuidedOutput(
            text=self.detokenize(tokens),
            tokens=tokens,
            # Only a run of forced tokens is longer than one token, so the excess tokens were
            # forced.
            forced_tokens=forced_tokens - excess_tokens,
            is_complete=is_complete,
            margin=None if closest is None else self._build_margin(closest),
            breaks=walk.breaks,
            surprisal=None if scorer is None else scorer.surprisal,
            tail_tokens=tail_tokens if is_complete else 0,
        )

    def encode_given_text(
        self, text: str, grammar: str, max_tokens: int, *, is_scored: bool = False
    ) -> GuidedOutput:
        """Encode a given text as a generation: in canonical tokens.

        An end-of-generation token follows if the grammar would admit more text. A token counts as
        forced if the grammar left no choice at that point of the canonical tokens.

        Input:
            is_scored: whether the request has a scoring, see `Generation.tail_tokens`.

        Raises:
            GrammarError: llguidance rejects the grammar.
            ScriptError: the grammar does not admit the text, or requires more text.
        """
        matcher = self._copy_matcher(grammar)
        tokens = tokenize_data(self.vocabulary, self.cutter, text)
        if b"".join(map(self.vocabulary.piece, tokens)) != text.encode():
            raise ScriptError(
                f"The model's vocabulary can't spell the scripted text {_quote(text)}; leave out "
                "rare characters"
            )
        done = forced_tokens = tail_tokens = 0
        while done < len(tokens):
            run = self._compute_forced_tokens(matcher)
            is_forced = bool(run) and tokens[done : done + len(run)] == run
            step = run if is_forced else [tokens[done]]
            if matcher.is_stopped() or matcher.validate_tokens(step) < len(step):
                raise self._build_refusal_error(text, tokens[:done], tokens[done], matcher)
            matcher.consume_tokens(step)
            done += len(step)
            forced_tokens += len(step) if is_forced else 0
            tail_tokens = tail_tokens + len(step) if is_forced and is_scored else 0
        require_valid(matcher)
        if not matcher.is_stopped():
            if not matcher.is_accepting():
                raise ScriptError(
                    f"The scripted text {_quote(text)} ends too early; the grammar expects "
                    f"{self._describe_expected(matcher)} next"
                )
            tokens.append(self._ends[0])
            tail_tokens = 0
        is_complete = len(tokens) - tail_tokens <= max_tokens
        if not is_complete:
            tokens, tail_tokens = tokens[:max_tokens], 0
        return GuidedOutput(
            text=text if is_complete else self.detokenize(tokens),
            tokens=tokens,
            forced_tokens=min(forced_tokens, len(tokens)),
            is_complete=is_complete,
            tail_tokens=tail_tokens,
        )

    def _copy_matcher(self, grammar: str) -> llguidance.LLMatcher:
        """Return a matcher at the start: a copy of the cached compiled grammar.

        Compiling takes about 2 ms, most of the time of a scripted step, and scripts generate many
        steps under one grammar.
        """
        compiled = self._compiled.get(grammar)
        if compiled is None:
            compiled = self._compiled[grammar] = self.compile_grammar(grammar)
            while len(self._compiled) > KEPT_GRAMMARS:
                self._compiled.popitem(last=False)
        return compiled.deep_copy()

    def detokenize(self, tokens: list[int]) -> str:
        """Return the text of tokens, without end tokens or an incomplete last character."""
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
            f"continues {text[position : position + 40]!r}, "
            f"where the grammar expects {self._describe_expected(matcher)}"
        )

    def _describe_expected(self, matcher: llguidance.LLMatcher) -> str:
        """Describe for an error message which text the grammar expects next."""
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
    """Replay known tokens; return how many forced tokens directly follow.

    The runs of forced tokens are those of the first generation, wherever the limit cut.

    Raises:
        EngineFault: the grammar and the greedy rule would have generated other tokens.
    """
    while (done := len(walk.tokens)) < len(known):
        token = known[done]
        is_choice = not walk.is_complete and not walk.take_forced_tokens()
        if is_choice and walk.is_allowed(token):
            (walk.accept if walk.is_admissible(token) else walk.accept_break)(token)
        new_tokens = walk.tokens[done : len(known)]
        if not new_tokens or new_tokens != list(known[done : done + len(new_tokens)]):
            raise EngineFault(
                f"known token {done} of {len(known)} is {token}, which the grammar does not admit "
                "here: the tokens are of another grammar; generate again without them"
            )
    return len(walk.tokens) - len(known)


def _quote(text: str, *, is_end_shown: bool = False) -> str:
    """Quote a text, or the beginning or end of a long one."""
    if len(text) <= SHOWN_CHARACTERS:
        return repr(text)
    if is_end_shown:
        return f"…{text[-SHOWN_CHARACTERS:]!r}"
    return f"{text[:SHOWN_CHARACTERS]!r}… ({len(text):,} characters)"
