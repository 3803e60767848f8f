"""A text in the making: what the grammar admits next, and which of it is canonical.

The rule, which is consensus, for the tokens T so far:

1. *Forced.* Where the grammar leaves one text F to go on with, the tokens of it that no further
   text could change (`compute_ff_tokens`) follow without a choice, as far as they are those of the
   canonical tokens of T's text and F; but for the last of these, where it is a dead end (2).
2. *Chosen.* Else the tokens that the grammar admits are gone through in the order of their logits
   (`ranking.py`), up to `MAX_CANDIDATES` of them. The first admissible one is taken:
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

from typing import TYPE_CHECKING

import llguidance

from pyevm_agents.errors import GrammarError
from pyevm_agents.models.decoding.canonical_tokens import Fit
from pyevm_agents.models.decoding.ranking import mask_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyevm_agents.models.decoding.canonical_tokens import CanonicalText

MAX_CANDIDATES = 64
"""Tokens that a choice goes through. One spelling in ten or so is canonical where a grammar lists
words, so the best one is far within it."""

MAX_PROBED_TOKENS = 256
"""Tokens that the grammar may admit after a token for that one to be looked at as a dead end. Free
text admits tens of thousands, lists of words and numbers some dozens."""

PROBES = (" the", "1", "0", '"', ".", "a")
"""Texts of tokens that often show at once that a token is no dead end, in free text and numbers."""


class Walk:
    """A matcher with the tokens that it consumed."""

    def __init__(
        self, matcher: llguidance.LLMatcher, canonical: CanonicalText, ends: Sequence[int]
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
        self._probes = canonical.single_tokens(PROBES)

    @property
    def is_complete(self) -> bool:
        """Whether nothing can follow."""
        return self._matcher.is_stopped()

    def forced(self) -> list[int]:
        """Consume and return the tokens that follow without a choice."""
        run = self._matcher.compute_ff_tokens()
        if not run:
            return run
        forced = self._matcher.compute_ff_bytes()
        run = run[: self._canonical.shared(self.tokens, self._start, forced, run)]
        for token in run:
            self.take(token)
        if run and not self._goes_on(self._fit()):
            self._matcher.rollback(1)
            self.tokens.pop()
            self._wholes.pop()
            run.pop()
        return run

    def allows(self, token: int) -> bool:
        """Whether the grammar admits a token."""
        return self._matcher.validate_tokens([token]) == 1

    def bitmask(self) -> bytes:
        """Return all that the grammar admits, a bit for each token."""
        mask = self._matcher.compute_bitmask()
        require_sound(self._matcher)
        return mask

    def admits(self, token: int) -> bool:
        """Whether the rule admits a token that the grammar admits."""
        if token == self._ends[0]:
            return self._fit() is Fit.WHOLE
        self._consume(token)
        self.tokens.append(token)
        fit = self._fit()
        is_admitted = self._goes_on(fit)
        self.tokens.pop()
        self._matcher.rollback(1)
        self._is_whole_with[token] = fit is Fit.WHOLE
        return is_admitted

    def take(self, token: int) -> None:
        """Consume a token that the grammar admits."""
        self._consume(token)
        self.tokens.append(token)
        self._wholes.append(self._is_whole_with.get(token, False))
        self._is_whole_with.clear()

    def _consume(self, token: int) -> None:
        if not self._matcher.consume_token(token):
            raise refused(self._matcher)

    def break_with(self, token: int) -> None:
        """Consume a token that the grammar admits and the rule does not."""
        self.take(token)
        self._start = len(self.tokens)
        self.breaks += 1

    def _fit(self) -> Fit:
        is_new = len(self._wholes) < len(self.tokens)
        return self._canonical.fit(
            self.tokens,
            self._start,
            self._matcher.compute_ff_bytes(),
            is_whole_before=is_new and self._wholes[-1:] == [True],
        )

    def _goes_on(self, fit: Fit) -> bool:
        """Whether the text may end here, or an admissible token follows."""
        matcher = self._matcher
        if fit is Fit.NO:
            return False
        if matcher.is_stopped():
            require_sound(matcher)
            return fit is Fit.WHOLE
        if matcher.compute_ff_bytes() or (fit is Fit.WHOLE and matcher.is_accepting()):
            return True
        return any(self._is_followed_by(token) for token in self._probes) or self._is_alive()

    def _is_followed_by(self, token: int) -> bool:
        """Whether a token is admitted and canonical next; most often the text parts before it."""
        return self.allows(token) and (
            self._canonical.follows_freely(self.tokens[-1], token) or self._fits_with(token)
        )

    def _is_alive(self) -> bool:
        """Look at everything that is admitted, where that is little."""
        mask = mask_of(self.bitmask(), len(self._canonical.pieces))
        mask[self._ends] = False
        allowed = mask.nonzero()[0]
        if len(allowed) > MAX_PROBED_TOKENS:
            return True
        return any(self._fits_with(token) for token in allowed.tolist())

    def _fits_with(self, token: int) -> bool:
        self.tokens.append(token)
        try:
            return self._canonical.fit(self.tokens, self._start) is not Fit.NO
        finally:
            self.tokens.pop()


def require_sound(matcher: llguidance.LLMatcher) -> None:
    """Refuse a grammar that llguidance has given up.

    Raises:
        GrammarError: repeats its reason.
    """
    if matcher.is_error():
        raise refused(matcher)


def refused(matcher: llguidance.LLMatcher) -> GrammarError:
    """Return the error of a grammar that llguidance refuses or gave up."""
    return GrammarError(
        f"llguidance {llguidance.__version__} refuses the grammar: {matcher.get_error()}"
    )
