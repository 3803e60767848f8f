"""The judge of orders: does a request order exactly these calls, now?

The rules say which calls a request admits. The judge, a chooser, scores the mood of each order's
sentence, and each way to carry the order out. It removes calls, and never adds one:

    Pay Ann 5. Kidding!                the request          the mood is too low: nothing is done
    Close the blinds of room 3?        an order in doubt    the mood is too low: nothing is done
    Freshen the hatch                  open: rejected       paint: admitted

A request that changes something and has words beside its orders is judged as a whole, so that all
of them count, and all orders before the first act. What only reads needs no order: there the scores
rank, and decide in doubt. With a judge the rules also leave to it which tool a verb means
that no list of theirs has, but not of tools that move something.

Source: docs/architecture.md#order-judge.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import TYPE_CHECKING

from precompiles.chooser import ChooserLimitError
from precompiles.language_model import NAT
from precompiles.short_format.call_text import hide_quotations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from precompiles.chooser import Chooser

PROBABILITY_ONE = 1 << 16
"""A probability of 1 in the units of thresholds."""

_EXACT = Context(prec=40, rounding=ROUND_HALF_EVEN)
"""Decimal arithmetic of 40 digits: `ln` is rounded correctly, alike on every machine."""


def to_logit(probability: int) -> int:
    """Return the least score of a probability, in 65,536ths of a nat.

    Input:  65,536ths, 1 to 65,535.
    """
    odds = _EXACT.divide(Decimal(probability), Decimal(PROBABILITY_ONE - probability))
    scaled = _EXACT.multiply(_EXACT.ln(odds), Decimal(NAT))
    return int(scaled.to_integral_value(context=_EXACT))


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """The least probabilities of a judge, in 65,536ths, each below 1."""

    doubted: int
    """That a sentence is an order for now, and that it orders exactly a call, where the rules are
    in doubt: the words don't decide, or no list has the verb."""

    choice: int
    """That one way is meant rather than another; below that, or if equally likely, nothing is done,
    and the model chooses what to read."""

    sure: int = 0
    """As `doubted`, where the rules are sure of the order; 0: there the rules alone decide."""

    request: int = 0
    """That a request which changes something, and has words beside its orders, tells to act now, as
    a whole; 0: it is not read."""


@dataclass(frozen=True, slots=True)
class Way:
    """A way to carry an order out."""

    calls: tuple[str, ...]
    """The text of each tool's calls (`call_text.py`), less agents: these judge their own order."""

    acts: bool
    """Whether one of them changes something."""

    is_read: bool = True
    """Whether the chooser can read the texts. What it can't, the rules alone decide."""


@dataclass(frozen=True, slots=True)
class JudgedOrder:
    """An order as the judge reads it."""

    sentence: str
    """The sentence, its quotations shortened; empty if the chooser can't read it."""

    ways: tuple[Way, ...]

    is_sure: bool
    """Whether the rules are sure of the order."""

    is_gated: bool
    """Whether its ways need a probability."""

    @property
    def bare_sentence(self) -> str:
        """The sentence without what its quotations say."""
        return hide_quotations(self.sentence)

    @property
    def has_mood(self) -> bool:
        """Whether the sentence has to be an order."""
        return self.is_gated and bool(self.sentence) and any(way.acts for way in self.ways)

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The sentence with each call; none where the one way needs no probability."""
        if not self.sentence or (not self.is_gated and len(self.ways) == 1):
            return ()
        calls = dict.fromkeys(call for way in self.ways if way.is_read for call in way.calls)
        return tuple((self.sentence, call) for call in calls)


@dataclass(frozen=True, slots=True)
class JudgedRequest:
    """A request as the judge reads it."""

    orders: tuple[JudgedOrder, ...] = ()
    texts: tuple[str, ...] = ()
    """What has to be an order as a whole, quotations hidden; none if nothing is changed, or there
    are no words but the orders'."""


class OrderJudge:
    """A chooser with thresholds."""

    def __init__(self, chooser: Chooser, thresholds: Thresholds) -> None:
        """Create a judge."""
        self._chooser = chooser
        self._thresholds = thresholds

    @property
    def gates_all(self) -> bool:
        """Whether orders of which the rules are sure need a probability as well."""
        return self._thresholds.sure > 0

    @property
    def reads_requests(self) -> bool:
        """Whether a request that changes something needs a probability as a whole."""
        return self._thresholds.request > 0

    def can_read(self, sentence: str, *calls: str) -> bool:
        """Return whether a sentence and calls have at most as many tokens as the chooser reads."""
        try:
            self._chooser.count_mood_tokens(sentence)
            for call in calls:
                self._chooser.count_call_tokens(sentence, call)
        except ChooserLimitError:
            return False
        return True

    def count_tokens(self, request: JudgedRequest) -> int:
        """Return how many tokens the scores of a request read."""
        sentences, pairs = _list_sentences(request), _list_pairs(request.orders)
        moods = sum(map(self._chooser.count_mood_tokens, sentences))
        return moods + sum(self._chooser.count_call_tokens(*pair) for pair in pairs)

    def find_admitted(self, request: JudgedRequest) -> tuple[tuple[int, ...], ...]:
        """Return the ways of each order that may be taken, the surest first."""
        orders, least = request.orders, self._thresholds
        sentences, pairs = _list_sentences(request), _list_pairs(orders)
        moods = dict(zip(sentences, self._chooser.score_moods(sentences), strict=True))
        calls = dict(zip(pairs, self._chooser.score_calls(pairs), strict=True))
        if request.texts and min(moods[one] for one in request.texts) < to_logit(least.request):
            return ((),) * len(orders)
        lead, doubted = max(to_logit(least.choice), 1), to_logit(least.doubted)
        sure = to_logit(least.sure) if self.gates_all else doubted
        admitted = []
        for order in orders:
            call = sure if order.is_sure and order.is_gated else doubted
            is_order = not order.has_mood or moods[order.bare_sentence] >= call
            scores = {
                place: min((calls.get((order.sentence, one), 0) for one in way.calls), default=call)
                for place, way in enumerate(order.ways)
            }
            kept = {
                place: score
                for place, score in scores.items()
                if not order.is_gated
                or (order.is_sure and not order.ways[place].is_read)
                or (is_order and order.ways[place].is_read and score >= call)
            }
            best = max(kept.values(), default=0)
            near = sorted((-score, place) for place, score in scores.items() if best - score < lead)
            # An act that is not likely enough may still be likelier than no other.
            is_open = any(place not in kept and order.ways[place].acts for _, place in near)
            admitted.append(() if is_open else tuple(place for _, place in near if place in kept))
        return tuple(admitted)


def _list_sentences(request: JudgedRequest) -> tuple[str, ...]:
    own = [order.bare_sentence for order in request.orders if order.has_mood]
    return tuple(dict.fromkeys((*request.texts, *own)))


def _list_pairs(orders: Sequence[JudgedOrder]) -> tuple[tuple[str, str], ...]:
    return tuple(dict.fromkeys(pair for order in orders for pair in order.pairs))
