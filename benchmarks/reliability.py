"""Reliability: is a model that is 90 % sure of a tool use right in 90 % of the cases?

The confidence of a use is exp(-surprisal): the probability of the tokens that the model chose, over
the whole vocabulary. A use is right if it is the next step of the right run, with its arguments.
Only contenders without a gate have a figure: a gate takes away the uses that it withholds. A use
that the rules decide has no confidence: it is not graded, and passes every gate.

Bins have equal widths (Guo et al.) or equal numbers of uses (Nguyen and O'Connor). The expected
calibration error (ECE) is the mean, over the uses, of the distance between the share of right uses
in their bin and its mean confidence.

The gate's curve shows, for each threshold of the surprisal, the risk (the share of the acting runs
that were wrong: 1 less precision) and the coverage, as the gate would have made them
(`training.calibrate`).

Source: C. Guo et al., "On Calibration of Modern Neural Networks", ICML 2017; K. Nguyen and
    B. O'Connor, "Posterior calibration and exploratory analysis for natural language processing
    models", EMNLP 2015.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from itertools import pairwise
from statistics import fmean
from typing import TYPE_CHECKING, Any

from rich.table import Table

from benchmarks.shares import Share, percent
from benchmarks.task_marks import right_uses
from precompiles.language_model import NAT
from training.calibrate import apply_gate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.accuracy_tables import Result
    from training.calibrate import Gated

BINS = 10
CURVE_POINTS = 40
TABLE_POINTS = 10
"""Thresholds of the gate's curve, and those of them in the table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GradedUse:
    """A tool use: the model's surprisal, and whether it was right."""

    surprisal: int
    """In 65,536ths of a nat."""

    is_right: bool

    @property
    def confidence(self) -> float:
        """The probability of the chosen tokens, 0 to 1."""
        return math.exp(-self.surprisal / NAT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """Tool uses of like confidence."""

    confidence: float
    """Their mean confidence."""

    right: Share


@dataclass(frozen=True, slots=True, kw_only=True)
class Reliability:
    """A contender's reliability."""

    uses: tuple[GradedUse, ...]
    equal_width: tuple[Bin, ...]
    equal_mass: tuple[Bin, ...]
    curve: tuple[Gated, ...]
    """The gate's effect, by rising threshold."""


def measure(results: Sequence[Result]) -> Reliability | None:
    """Return the reliability of a contender without a gate; None if it reports no confidence."""
    uses = grade_uses(results)
    if not uses:
        return None
    return Reliability(
        uses=uses,
        equal_width=cut_by_width(uses),
        equal_mass=cut_by_mass(uses),
        curve=draw_curve(results),
    )


def measure_all(
    results: Mapping[str, Sequence[Result]], rules: Mapping[str, Mapping[str, int]]
) -> dict[str, Reliability]:
    """Return the reliability of each contender that reports confidences and has no gate.

    Input:
        rules: the decoding rules of each contender.
    """
    found = {
        name: measure(group)
        for name, group in results.items()
        if "max_surprisal" not in rules.get(name, {})
    }
    return {name: one for name, one in found.items() if one is not None}


def grade_uses(results: Sequence[Result]) -> tuple[GradedUse, ...]:
    """Return the tool uses that have a confidence."""
    return tuple(
        GradedUse(surprisal=use.confidence.surprisal, is_right=is_right)
        for result in results
        for use, is_right in zip(
            result.done.run.uses, right_uses(result.task, result.done.run), strict=True
        )
        if use.confidence is not None
    )


def cut_by_width(uses: Sequence[GradedUse], count: int = BINS) -> tuple[Bin, ...]:
    """Return the uses in bins of equal widths, empty ones left out, less sure ones first.

    A confidence on a border belongs to the lower bin, as in Guo et al.
    """
    bins: dict[int, list[GradedUse]] = {}
    for use in uses:
        bins.setdefault(max(math.ceil(use.confidence * count), 1), []).append(use)
    return tuple(_make_bin(bins[place]) for place in sorted(bins))


def cut_by_mass(uses: Sequence[GradedUse], count: int = BINS) -> tuple[Bin, ...]:
    """Return the uses in bins of equal numbers, up to one, less sure ones first."""
    # Of equal surprisals the order is that of the tasks, which favours neither right nor wrong.
    ranked = sorted(uses, key=lambda use: -use.surprisal)
    ends = [len(ranked) * place // count for place in range(count + 1)]
    parts = (ranked[low:high] for low, high in pairwise(ends))
    return tuple(_make_bin(part) for part in parts if part)


def _make_bin(uses: Sequence[GradedUse]) -> Bin:
    return Bin(
        confidence=fmean(use.confidence for use in uses),
        right=Share(sum(use.is_right for use in uses), len(uses)),
    )


def compute_error(bins: Sequence[Bin]) -> float:
    """Return the expected calibration error, 0 to 1; 0 of no bins."""
    total = sum(one.right.total for one in bins)
    gaps = (one.right.total * abs(one.right.value - one.confidence) for one in bins)
    return math.fsum(gaps) / total if total else 0.0


def draw_curve(results: Sequence[Result], count: int = CURVE_POINTS) -> tuple[Gated, ...]:
    """Return the gate's effect at evenly spaced ones of the surprisals that occur."""
    found = sorted({use.surprisal for use in grade_uses(results)})
    places = {(len(found) - 1) * place // max(count - 1, 1) for place in range(count)}
    runs = [_gateable(result) for result in results]
    return tuple(apply_gate(runs, found[place]) for place in sorted(places))


def _gateable(result: Result) -> dict[str, Any]:
    """Return a run in the form of `training.rehearsal --json`, as far as the gate needs it."""
    acting = {tool.name for tool in result.task.tools if tool.is_action}
    return {
        "isRight": result.marks.state,
        "wanted": bool(result.task.actions),
        "steps": [
            {
                "tool": use.tool,
                "acts": use.tool in acting,
                "surprisal": use.confidence and use.confidence.surprisal,
            }
            for use in result.done.run.uses
            if use.confidence is not None or use.is_decided
        ],
    }


def bins_table(name: str, found: Reliability) -> Table:
    """Return the share of right tool uses by confidence."""
    table = Table(
        "bins",
        "uses",
        "mean confidence",
        "right",
        title=f"{name}: reliability of tool uses",
    )
    for title, bins in (("equal widths", found.equal_width), ("equal sizes", found.equal_mass)):
        for one in bins:
            table.add_row(
                title, str(one.right.total), f"{percent(one.confidence)} %", str(one.right)
            )
        error = f"expected calibration error {percent(compute_error(bins))} points"
        table.add_row("", "", "", error, end_section=True)
    return table


def curve_table(name: str, found: Reliability) -> Table:
    """Return the gate's effect at some thresholds."""
    columns = ("threshold, nats", "risk", "precision", "coverage", "withheld")
    table = Table(*columns, title=f"{name}: a gate's effect by threshold")
    last = len(found.curve) - 1
    for place in sorted({last * part // (TABLE_POINTS - 1) for part in range(TABLE_POINTS)}):
        one = found.curve[place]
        table.add_row(
            f"{one.max_surprisal / NAT:.3f}",
            _risk_text(one),
            str(one.precision),
            str(one.coverage),
            str(one.withheld),
        )
    return table


def _risk_text(one: Gated) -> str:
    return f"{percent(1 - one.precision.value)} %" if one.precision.total else "-"


def as_json(found: Reliability) -> dict[str, object]:
    """Return a contender's reliability as an object for JSON."""
    return {
        "uses": len(found.uses),
        "calibration_error_equal_width": compute_error(found.equal_width),
        "calibration_error_equal_mass": compute_error(found.equal_mass),
        "equal_width": [asdict(one) for one in found.equal_width],
        "equal_mass": [asdict(one) for one in found.equal_mass],
        "gate": [asdict(one) for one in found.curve],
    }
