"""Constrained text: which admitted tokens are admissible, in the order of logits.

The rule, which is part of consensus, for the tokens T up to now:

1. *Forced.* If the grammar leaves a single text F as continuation, the tokens of F that no further
    text could change (`compute_ff_tokens`) follow without a choice, while matching the canonical
    tokens of T's text and F. The last one is dropped if a dead end (see 2).
2. *Chosen.* Otherwise the tokens admitted by the grammar are tried in the order of logits
    (`TokenRanking`), at most `MAX_CANDIDATES`. The first admissible one is taken:
   - T and the token begin the canonical tokens of the joint text and of the forced text that
     follows; a text that ends inside a character is not compared before the character ends;
   - and the token is not a dead end: a text is forced next, or the text may end, or more than
     `MAX_PROBED_TOKENS` tokens are admitted, or one of the admitted tokens is canonical there.
   - The end is admissible if the grammar allows the end and T are the canonical tokens of T's text.
3. *Break.* If no token is admissible, the most likely token admitted by the grammar is taken, and
    later text is compared alone: the break stays, and causes no further one.

The order in which these conditions are evaluated does not change the result.

Source: docs/architecture.md#constrained-output
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import llguidance
import numpy as np

from pyevm_agents.errors import EngineFault, GrammarError
from pyevm_agents.models.decoding.canonical_tokens import CanonicalMatch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from pyevm_agents.models.decoding.canonical_tokens import CanonicalTokenizer


MAX_CANDIDATES = 64
"""Candidates of a choice. About one spelling in ten is canonical where a grammar lists words, so
the best one is far within the limit."""

MAX_PROBED_TOKENS = 256
"""Limit of tokens admitted after a candidate up to which it is checked for a dead end. Free text
admits tens of thousands of tokens, lists of words and numbers some dozens."""

PROBES = (" the", "1", "0", '"', ".", "a")
"""Single tokens, common in free text and numbers, that are tried first as continuations."""

UNMASKED_TOKENS = 3
"""Tokens that are tried singly before the grammar's whole mask is computed. The mask costs as much
as about ten of them, and in free text the first one is nearly always admitted."""


class ConstrainedText:
    """A grammar matcher with the consumed tokens."""

    def __init__(
        self, matcher: llguidance.LLMatcher, canonical: CanonicalTokenizer, ends: Sequence[int]
    ) -> None:
        """Start a text; `matcher` must not have consumed any token."""
        self.tokens: list[int] = []
        self.breaks = 0
        self._matcher = matcher
        self._canonical = canonical
        self._ends = list(ends)
        self._start = 0
        # Cached results: whether the text up to each token is in its canonical tokens, and whether
        # it # would be with one more token.
        self._wholes: list[bool] = []
        self._is_whole_with: dict[int, bool] = {}
        self._probes = canonical.find_single_tokens(PROBES)

    @property
    def is_complete(self) -> bool:
        """Whether no token can follow."""
        return self._matcher.is_stopped()

    def take_forced_tokens(self) -> list[int]:
        """Consume and return the forced tokens that follow."""
        run = self._matcher.compute_ff_tokens()
        if not run:
            return run
        forced = self._matcher.compute_ff_bytes()
        run = run[: self._canonical.count_shared_tokens(self.tokens, self._start, forced, run)]
        for token in run:
            self.accept(token)
        if run and not self._can_continue(self._match_canonical()):
            self._matcher.rollback(1)
            self.tokens.pop()
            self._wholes.pop()
            run.pop()
        return run

    def is_allowed(self, token: int) -> bool:
        """Return whether the grammar admits a token next."""
        return self._matcher.validate_tokens([token]) == 1

    def get_bitmask(self) -> bytes:
        """Return the tokens that the grammar admits next, as one bit per token."""
        mask = self._matcher.compute_bitmask()
        require_valid(self._matcher)
        return mask

    def is_admissible(self, token: int) -> bool:
        """Return whether a token admitted by the grammar is admissible by the rule."""
        if token == self._ends[0]:
            return self._match_canonical() is CanonicalMatch.WHOLE
        self._consume(token)
        self.tokens.append(token)
        fit = self._match_canonical()
        is_admitted = self._can_continue(fit)
        self.tokens.pop()
        self._matcher.rollback(1)
        self._is_whole_with[token] = fit is CanonicalMatch.WHOLE
        return is_admitted

    def accept(self, token: int) -> None:
        """Consume a token that the grammar admits."""
        self._consume(token)
        self.tokens.append(token)
        self._wholes.append(self._is_whole_with.get(token, False))
        self._is_whole_with.clear()

    def _consume(self, token: int) -> None:
        if not self._matcher.consume_token(token):
            raise build_grammar_error(self._matcher)

    def accept_break(self, token: int) -> None:
        """Consume a token that the grammar admits but the rule does not: a break."""
        self.accept(token)
        self._start = len(self.tokens)
        self.breaks += 1

    def _match_canonical(self) -> CanonicalMatch:
        is_new = len(self._wholes) < len(self.tokens)
        return self._canonical.match_tokens(
            self.tokens,
            self._start,
            self._matcher.compute_ff_bytes(),
            is_whole_before=is_new and self._wholes[-1:] == [True],
        )

    def _can_continue(self, fit: CanonicalMatch) -> bool:
        """Return whether the text may end here, or an admissible token follows."""
        matcher = self._matcher
        if fit is CanonicalMatch.NO:
            return False
        if matcher.is_stopped():
            require_valid(matcher)
            return fit is CanonicalMatch.WHOLE
        if matcher.compute_ff_bytes() or (fit is CanonicalMatch.WHOLE and matcher.is_accepting()):
            return True
        return (
            any(self._is_followed_by(token) for token in self._probes) or self._has_continuation()
        )

    def _is_followed_by(self, token: int) -> bool:
        """Return whether a token is admitted and canonical next, usually after a word boundary."""
        return self.is_allowed(token) and (
            self._canonical.is_word_boundary(self.tokens[-1], token)
            or self._is_canonical_with(token)
        )

    def _has_continuation(self) -> bool:
        """Return whether any admitted token is canonical next; true if too many are admitted."""
        mask = unpack_bitmask(self.get_bitmask(), len(self._canonical.pieces))
        mask[self._ends] = False
        allowed = mask.nonzero()[0]
        if len(allowed) > MAX_PROBED_TOKENS:
            return True
        return any(self._is_canonical_with(token) for token in allowed.tolist())

    def _is_canonical_with(self, token: int) -> bool:
        self.tokens.append(token)
        try:
            return self._canonical.match_tokens(self.tokens, self._start) is not CanonicalMatch.NO
        finally:
            self.tokens.pop()


def require_valid(matcher: llguidance.LLMatcher) -> None:
    """Reject a grammar on which llguidance failed.

    Raises:
        GrammarError: with llguidance's reason.
    """
    if matcher.is_error():
        raise build_grammar_error(matcher)


def build_grammar_error(matcher: llguidance.LLMatcher) -> GrammarError:
    """Build the error for a grammar that llguidance rejected or failed on."""
    return GrammarError(
        f"llguidance {llguidance.__version__} rejects the grammar: {matcher.get_error()}"
    )


@dataclass(frozen=True, slots=True)
class TokenCandidate:
    """A candidate for the next token, and the logit."""

    token: int
    logit: float

    is_allowed: bool
    """Whether the grammar is known to admit the token; otherwise it must still be checked."""


class TokenRanking:
    """Ranks the tokens of a vocabulary by logit; ties go to the lowest token.

    All end-of-generation tokens are one candidate, because of equal meaning: the vocabulary's own
    end token, with the highest logit among these tokens.
    """

    def __init__(self, vocabulary_tokens: int, ends: Sequence[int]) -> None:
        """Allocate an array for the logits of a vocabulary."""
        self._scores = np.empty(vocabulary_tokens, dtype=np.float32)
        self._ends = np.array(ends, dtype=np.intp)

    def iter_candidates(
        self, logits: NDArray[np.float32], bitmask: Callable[[], bytes]
    ) -> Iterator[TokenCandidate]:
        """Iterate over all tokens that the grammar admits, and a few others, highest logit first.

        Input:
            bitmask: returns the tokens that the grammar admits, one bit per token; called at most
                twice.

        Raises:
            EngineFault: the logit of a token admitted by the grammar is not finite.
        """
        scores = self._scores
        np.copyto(scores, logits)
        unmasked_tokens = UNMASKED_TOKENS
        with np.errstate(over="ignore", invalid="ignore"):
            is_sound = math.isfinite(
                scores.sum()
            )  # A logit that is not finite makes the sum so too.
        if not is_sound:
            require_finite(logits, unpack_bitmask(bitmask(), len(scores)))
            unmasked_tokens = 0
        self._merge_end_tokens()
        for tried in itertools.count():
            if tried == unmasked_tokens:
                np.copyto(scores, -np.inf, where=~unpack_bitmask(bitmask(), len(scores)))
            token = int(scores.argmax())
            logit = float(scores[token])
            if logit == -math.inf:
                return
            yield TokenCandidate(token, logit, tried >= unmasked_tokens)
            scores[token] = -np.inf

    def _merge_end_tokens(self) -> None:
        scores = self._scores
        best = np.fmax.reduce(scores[self._ends])  # Ignores NaN if any logit is a number.
        scores[self._ends] = -np.inf
        scores[self._ends[0]] = -np.inf if math.isnan(best) else best


def unpack_bitmask(bitmask: bytes, vocabulary_tokens: int) -> NDArray[np.bool_]:
    """Return for each token whether the bit is set."""
    bits = np.frombuffer(bitmask, dtype=np.uint8)
    return np.unpackbits(bits, count=vocabulary_tokens, bitorder="little").view(np.bool_)


def require_finite(logits: NDArray[np.float32], mask: NDArray[np.bool_]) -> None:
    """Reject logits that are not finite, of tokens that could be chosen.

    Raises:
        EngineFault: names the first of these tokens.
    """
    broken = np.flatnonzero(mask & ~np.isfinite(logits))
    if len(broken):
        token = int(broken[0])
        raise EngineFault(
            f"The model computed {float(logits[token])} as the logit of token {token}: it must be "
            "finite. The model file is damaged or its numbers overflow; "
            "check the file's SHA-256, or use another quantisation"
        )
