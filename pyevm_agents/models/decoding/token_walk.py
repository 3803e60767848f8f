"""Constrained text: which tokens the grammar admits next, by logit, and which are canonical.

The rule, which is consensus, for the tokens T so far:

1. *Forced.* Where the grammar leaves one text F to go on with, the tokens of it that no further
   text could change (`compute_ff_tokens`) follow without a choice, as far as they are those of the
   canonical tokens of T's text and F; but for the last of these, where it is a dead end (2).
2. *Chosen.* Else the tokens that the grammar admits are gone through in the order of their logits
   (`TokenRanking`), up to `MAX_CANDIDATES` of them. The first admissible one is taken:
   - T and the token begin the canonical tokens of their text and of what is forced after it; a
     text that ends inside of a character is not compared before the character ends;
   - and the token is no dead end: after it something is forced, or the text may end, or more than
     `MAX_PROBED_TOKENS` tokens are admitted, or one of those admitted is canonical after it.
   - The end is admissible where the grammar allows it and T are the canonical tokens of its text.
3. *Broken.* Where none is admissible, the likeliest token that the grammar admits is taken, and
   what follows it is compared as a text of its own: the seam stays, and it stays the only one.

The order in which facts are looked up changes none of them, so it is free.
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
"""Tokens that a choice goes through. One spelling in ten or so is canonical where a grammar lists
words, so the best one is far within it."""

MAX_PROBED_TOKENS = 256
"""Tokens that the grammar may admit after a token for that one to be looked at as a dead end. Free
text admits tens of thousands, lists of words and numbers some dozens."""

PROBES = (" the", "1", "0", '"', ".", "a")
"""Texts of tokens that often show at once that a token is no dead end, in free text and numbers."""


class ConstrainedText:
    """A matcher with the tokens that it consumed."""

    def __init__(
        self, matcher: llguidance.LLMatcher, canonical: CanonicalTokenizer, ends: Sequence[int]
    ) -> None:
        """Begin a text; `matcher` has consumed nothing."""
        self.tokens: list[int] = []
        self.breaks = 0
        self._matcher = matcher
        self._canonical = canonical
        self._ends = list(ends)
        self._start = 0
        # What was found out, so that it need not be read again: whether the text up to each token
        # is in its canonical tokens as it stands, and whether it would be with a token more.
        self._wholes: list[bool] = []
        self._is_whole_with: dict[int, bool] = {}
        self._probes = canonical.find_single_tokens(PROBES)

    @property
    def is_complete(self) -> bool:
        """Whether nothing can follow."""
        return self._matcher.is_stopped()

    def take_forced_tokens(self) -> list[int]:
        """Consume and return the tokens that follow without a choice."""
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
        """Whether the grammar admits a token."""
        return self._matcher.validate_tokens([token]) == 1

    def get_bitmask(self) -> bytes:
        """Return all that the grammar admits, a bit for each token."""
        mask = self._matcher.compute_bitmask()
        require_valid(self._matcher)
        return mask

    def is_admissible(self, token: int) -> bool:
        """Whether the rule admits a token that the grammar admits."""
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
        """Consume a token that the grammar admits and the rule does not."""
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
        """Whether the text may end here, or an admissible token follows."""
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
        """Whether a token is admitted and canonical next; most often the text parts before it."""
        return self.is_allowed(token) and (
            self._canonical.is_word_boundary(self.tokens[-1], token)
            or self._is_canonical_with(token)
        )

    def _has_continuation(self) -> bool:
        """Look at everything that is admitted, where that is little."""
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
    """Refuse a grammar that llguidance has given up.

    Raises:
        GrammarError: repeats its reason.
    """
    if matcher.is_error():
        raise build_grammar_error(matcher)


def build_grammar_error(matcher: llguidance.LLMatcher) -> GrammarError:
    """Return the error of a grammar that llguidance refuses or gave up."""
    return GrammarError(
        f"llguidance {llguidance.__version__} refuses the grammar: {matcher.get_error()}"
    )


UNMASKED_TOKENS = 3
"""Tokens that are tried singly before the grammar's whole mask is asked for: it costs as much as
some ten of them, and in free text the first one is nearly always admitted."""


@dataclass(frozen=True, slots=True)
class TokenCandidate:
    """A token that may come next, and its logit."""

    token: int
    logit: float

    is_allowed: bool
    """Whether the grammar is known to admit it; else it is to be asked."""


class TokenRanking:
    """The tokens of a vocabulary in the order of their logits; ties go to the lowest token.

    All end-of-generation tokens are one candidate, since they say the same: the vocabulary's own
    one, with the highest logit among them.
    """

    def __init__(self, vocabulary_tokens: int, ends: Sequence[int]) -> None:
        """Make room for the logits of a vocabulary."""
        self._scores = np.empty(vocabulary_tokens, dtype=np.float32)
        self._ends = np.array(ends, dtype=np.intp)

    def iter_candidates(
        self, logits: NDArray[np.float32], bitmask: Callable[[], bytes]
    ) -> Iterator[TokenCandidate]:
        """Go through all tokens that the grammar admits, and a few others, highest logit first.

        Input:
            bitmask: what the grammar admits, a bit for each token; asked for once, if at all.

        Raises:
            EngineFault: the logit of a token that the grammar admits is not a finite number.
        """
        scores = self._scores
        np.copyto(scores, logits)
        unmasked_tokens = UNMASKED_TOKENS
        with np.errstate(over="ignore", invalid="ignore"):
            is_sound = math.isfinite(scores.sum())  # One that is not makes the sum none either.
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
        best = np.fmax.reduce(scores[self._ends])  # A number, where there is one.
        scores[self._ends] = -np.inf
        scores[self._ends[0]] = -np.inf if math.isnan(best) else best


def unpack_bitmask(bitmask: bytes, vocabulary_tokens: int) -> NDArray[np.bool_]:
    """Return for each token whether its bit is set."""
    bits = np.frombuffer(bitmask, dtype=np.uint8)
    return np.unpackbits(bits, count=vocabulary_tokens, bitorder="little").view(np.bool_)


def require_finite(logits: NDArray[np.float32], mask: NDArray[np.bool_]) -> None:
    """Refuse logits that can't be compared, where they could be chosen.

    Raises:
        EngineFault: names the first token.
    """
    broken = np.flatnonzero(mask & ~np.isfinite(logits))
    if len(broken):
        token = int(broken[0])
        raise EngineFault(
            f"The model computed {float(logits[token])} as the logit of token {token}: its file is "
            "damaged or its numbers overflow; "
            "check the file's SHA-256, or use another quantisation"
        )
