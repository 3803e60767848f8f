"""Figures of a chooser from its scores: shares accepted, precision and recall, choices of a tool.

Scores are logits in nats. A pair is accepted if its score exceeds the logit of a threshold. Of a
choice, the best call is chosen, or none if no score exceeds 0, whose odds are even. The confidence
of a choice is the softmax over the calls' scores and 0.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.shares import Share, share_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

THRESHOLDS = (0.5, 0.7, 0.9, 0.98)
PRECISIONS = (0.95, 0.97, 0.98, 0.99)

Table = dict[str, dict[str, Share]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredPair:
    """A pair for measuring, and its scores."""

    part: str
    kind: str
    accepts: bool
    orders: bool | None
    call: float
    mood: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredChoice:
    """A choice for measuring, and the scores of its calls."""

    part: str
    setting: str
    wording: str
    right: int | None
    scores: tuple[float, ...]

    @property
    def best(self) -> int:
        """The call with the highest score, the first of equals."""
        return max(range(len(self.scores)), key=lambda place: self.scores[place])

    @property
    def with_none(self) -> int | None:
        """The best call, or None if none exceeds 0."""
        return self.best if self.scores[self.best] > 0 else None

    @property
    def confidence(self) -> float:
        """Softmax of the best call over all calls and none."""
        top = max(*self.scores, 0.0)
        return math.exp(self.scores[self.best] - top) / (
            sum(math.exp(score - top) for score in self.scores) + math.exp(-top)
        )


TENTHS = 10


def logit(threshold: float) -> float:
    """Return the score at which a probability is reached."""
    return math.log(threshold / (1 - threshold))


def tabulate_accepted(pairs: Sequence[ScoredPair]) -> Table:
    """Return what is accepted of each kind of pair: orders of their call first, then the others.

    Columns: the call's score over each threshold; the mood's over 0.5 and 0.9; both over 0.5.
    """
    kinds: defaultdict[tuple[bool, str], list[ScoredPair]] = defaultdict(list)
    for pair in pairs:
        kinds[not pair.accepts, pair.kind].append(pair)
    return {
        ("no: " if is_no else "order: ") + kind: _accepted(own)
        for (is_no, kind), own in sorted(kinds.items())
    }


def _accepted(pairs: Sequence[ScoredPair]) -> dict[str, Share]:
    row = {f"call > {t}": share_of([p.call > logit(t) for p in pairs]) for t in THRESHOLDS}
    said = [pair for pair in pairs if pair.orders is not None]
    for threshold in (0.5, 0.9):
        row[f"mood > {threshold}"] = share_of([p.mood > logit(threshold) for p in said])
    return row | {"both > 0.5": share_of([p.call > 0 and p.mood > 0 for p in pairs])}


def tabulate_precision(pairs: Sequence[ScoredPair]) -> Table:
    """Return precision and recall at each threshold, of the call and of the mood."""
    table: Table = {}
    for name, rows in _outcomes(pairs).items():
        for threshold in THRESHOLDS:
            passed = [is_right for score, is_right in rows if score > logit(threshold)]
            right = [score > logit(threshold) for score, is_right in rows if is_right]
            table[f"{name} > {threshold}"] = {
                "precision": share_of(passed),
                "recall": share_of(right),
            }
    return table


def tabulate_reliability(pairs: Sequence[ScoredPair]) -> Table:
    """Return the share that is right of the scores in each tenth of probability."""
    table: Table = {}
    for name, rows in _outcomes(pairs).items():
        tenths: defaultdict[int, list[bool]] = defaultdict(list)
        for score, is_right in rows:
            tenths[min(int(sigmoid(score) * TENTHS), TENTHS - 1)].append(is_right)
        for tenth, right in sorted(tenths.items()):
            table[f"{name} {tenth / TENTHS:.1f} to {(tenth + 1) / TENTHS:.1f}"] = {
                "right": share_of(right)
            }
    return table


def find_thresholds(pairs: Sequence[ScoredPair]) -> dict[str, dict[str, float | None]]:
    """Return the least probability with each of `PRECISIONS`, of the call and of the mood."""
    return {
        name: {
            f"{precision:.0%}": None
            if (found := find_score(rows, precision)) is None
            else sigmoid(found)
            for precision in PRECISIONS
        }
        for name, rows in _outcomes(pairs).items()
    }


def _outcomes(pairs: Sequence[ScoredPair]) -> dict[str, list[tuple[float, bool]]]:
    return {
        "call": [(pair.call, pair.accepts) for pair in pairs],
        "mood": [(pair.mood, pair.orders) for pair in pairs if pair.orders is not None],
    }


def tabulate_choices(choices: Sequence[ScoredChoice]) -> Table:
    """Return how often the right tool is chosen, with and without none, and none where none serves.

    `right at` is the share of all requests with a tool that are answered rightly over the
    confidence that has the precision on the same choices.
    """
    with_tool = [one for one in choices if one.setting == "plain"]
    orders = [one for one in with_tool if one.wording not in {"indirect", "terse"}]
    table: Table = {
        "tool, none not admitted": {"right": _right(with_tool, none=False)},
        "of two or more": {
            "right": _right([one for one in with_tool if len(one.scores) > 1], none=False)
        },
        "tool with none": {"right": _right(with_tool, none=True)},
        "orders and questions: tool": {"right": _right(orders, none=False)},
        "orders and questions: tool with none": {"right": _right(orders, none=True)},
    }
    for setting in ("near", "twin", "none", "idle"):
        own = [one for one in choices if one.setting == setting]
        table[f"{setting}: with none"] = {"right": _right(own, none=True)}
    answered = [one for one in choices if one.with_none is None]
    table["none, precision"] = {"right": share_of([one.right is None for one in answered])}
    measured = [one for one in choices if one.setting in {"plain", "none", "idle"}]
    rows = _confident(measured)
    for precision in PRECISIONS:
        least = find_score(rows, precision)
        table[f"right at {precision:.0%}"] = {"right": _right_over(with_tool, least)}
    return table


def apply_confidence(
    fitted: Sequence[ScoredChoice], measured: Sequence[ScoredChoice]
) -> dict[str, dict[str, Share]]:
    """Return precision and right answers over confidences that were fitted on other choices."""
    table: Table = {}
    kept = [one for one in measured if one.setting in {"plain", "none", "idle"}]
    rows = _confident([one for one in fitted if one.setting in {"plain", "none", "idle"}])
    for precision in PRECISIONS:
        least = find_score(rows, precision)
        name = f"fitted for {precision:.0%}: {'no confidence' if least is None else f'{least:.3f}'}"
        over = [right for score, right in _confident(kept) if least is not None and score >= least]
        plain = [one for one in kept if one.setting == "plain"]
        table[name] = {"precision": share_of(over), "right": _right_over(plain, least)}
    return table


def find_score(rows: Iterable[tuple[float, bool]], precision: float) -> float | None:
    """Return the least score over which at least a share of the rows is right; None without any.

    Rows of one score are taken together.
    """
    ordered = sorted(rows, reverse=True)
    found, right = None, 0
    for count, (score, is_right) in enumerate(ordered, start=1):
        right += is_right
        is_last = count == len(ordered) or ordered[count][0] != score
        if is_last and right >= precision * count:
            found = score
    return found


def sigmoid(score: float) -> float:
    """Return the probability of a score."""
    return 1 / (1 + math.exp(-score))


def _confident(choices: Iterable[ScoredChoice]) -> list[tuple[float, bool]]:
    return [(one.confidence, one.best == one.right) for one in choices]


def _right(choices: Iterable[ScoredChoice], *, none: bool) -> Share:
    return share_of([(one.with_none if none else one.best) == one.right for one in choices])


def _right_over(choices: Iterable[ScoredChoice], least: float | None) -> Share:
    return share_of(
        [least is not None and one.confidence >= least and one.best == one.right for one in choices]
    )
