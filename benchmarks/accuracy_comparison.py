"""Paired comparison of contenders, figure by figure, on the tasks that both did.

The p-values are of single figures: of twenty figures without any difference, one has p < 0.05.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from benchmarks.accuracy_tables import FIGURES
from benchmarks.paired import pair_marks
from benchmarks.shares import percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from benchmarks.accuracy_tables import Figure, Result
    from benchmarks.paired import Paired

SMALLEST_P = 0.0001
"""Smaller p-values are shown as smaller than this."""


def compare(figure: Figure, first: Sequence[Result], second: Sequence[Result]) -> Paired:
    """Pair two contenders' marks of a figure, on the tasks for which both have one.

    A figure of runs that acted counts the tasks in which both acted.
    """
    others = {result.number: figure.mark(result) for result in second}
    pairs = ((figure.mark(result), others.get(result.number)) for result in first)
    return pair_marks((one, other) for one, other in pairs if one is not None and other is not None)


def iter_pairs(
    results: Mapping[str, Sequence[Result]],
) -> Iterator[tuple[str, str, dict[str, Paired]]]:
    """Yield the first contender with each other one, and their counts by figure."""
    if not results:
        return
    (first, own), *others = results.items()
    for name, group in others:
        yield first, name, {figure.name: compare(figure, own, group) for figure in FIGURES}


def paired_table(first: str, second: str, figures: Mapping[str, Paired]) -> Table:
    """Return the paired comparison of two contenders."""
    title = f"{first} against {second}, on the tasks that both did"
    columns = ("figure", "tasks", first, second, f"only {first}", f"only {second}")
    table = Table(*columns, "difference, points", "p", title=title)
    for name, pair in figures.items():
        if not pair.total:
            table.add_row(name, "0", *["-"] * 6)
            continue
        shares = (f"{percent(share.value)} %" for share in (pair.first, pair.second))
        counts = (str(pair.only_first), str(pair.only_second))
        table.add_row(
            name, str(pair.total), *shares, *counts, _difference(pair), p_text(pair.p_value)
        )
    return table


def _difference(pair: Paired) -> str:
    low, high = (100 * end for end in pair.interval)
    return f"{100 * pair.difference:+.1f} ({low:+.1f} to {high:+.1f})"


def p_text(p_value: float) -> str:
    """Return a p-value with two digits that count: 0.012, <0.0001."""
    return f"<{SMALLEST_P}" if p_value < SMALLEST_P else f"{p_value:.2g}"


def pairs_as_json(results: Mapping[str, Sequence[Result]]) -> list[dict[str, object]]:
    """Return the paired comparisons as objects for JSON."""
    return [
        {
            "first": first,
            "second": second,
            "figures": {name: _pair_as_json(pair) for name, pair in figures.items()},
        }
        for first, second, figures in iter_pairs(results)
    ]


def _pair_as_json(pair: Paired) -> dict[str, object]:
    return {
        "tasks": pair.total,
        "both_right": pair.both,
        "only_first": pair.only_first,
        "only_second": pair.only_second,
        "neither": pair.neither,
        "difference": pair.difference,
        "interval": pair.interval,
        "p_value": pair.p_value,
    }
