"""What changed since an older report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.bench.report import number_format
from pyevm_agents.bench.report.compare import PARITY_PRICE
from pyevm_agents.bench.report.document import (
    Cell,
    Chapter,
    Strong,
    Table,
    names,
    numbers,
    said,
    timed,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyevm_agents.bench.measurement.results import Interval
    from pyevm_agents.bench.report.compare import Comparison, Difference
    from pyevm_agents.bench.report.document import Words

SECONDS = "s"
"""`Difference.unit` of times, which are told in the unit that fits."""

OTHER_MODE = (
    "A quick run reads shorter prompts than a full one: times and prices of tokens, attacks with "
    "long prompts and schedules at parity differ for that alone."
)

MAX_SHOWN_CHARACTERS = 60
"""Of a digest or a profile: enough to see that it is another."""


def changes(it: Comparison) -> Chapter:
    """Return what changed, and what did not."""
    parts = [_circumstances(it)] if it.circumstances else []
    parts += _differences(it)
    parts += _alone("In the new report alone", it.added) + _alone("In the old one alone", it.gone)
    words: list[Words] = [(verdict(it),)]
    if it.circumstances:
        what = number_format.listed([name for name, _, _ in it.circumstances])
        words.insert(0, (Strong(f"Not the same: {what}."),))
    return Chapter(
        name="changes",
        title=f"Compared with {number_format.moment(it.old_made_at)}",
        words=tuple(words),
        parts=tuple(parts),
    )


def verdict(it: Comparison) -> str:
    """Say in a sentence what a comparison found."""
    count, all_of = len(it.changed), len(it.differences)
    if not all_of:
        return "Nothing was measured in both."
    changed = f"{count:,}" if count else "None"
    told = f"{changed} of {all_of:,} figures changed beyond both intervals."
    if prices := [one for one in it.differences if one.group == PARITY_PRICE]:
        agreeing = sum(not one.is_beyond for one in prices)
        told += f" Parity prices that agree within their intervals: {agreeing} of {len(prices)}."
    is_other_mode = any(what == "mode" for what, _, _ in it.circumstances)
    return f"{told} {OTHER_MODE}" if is_other_mode else told


def amount(value: float, unit: str) -> str:
    """Return a value of a figure with its unit."""
    if unit == SECONDS:
        return number_format.seconds(value)
    return f"{number_format.number(value)} {unit}".rstrip()


def shown(text: str) -> str:
    """Return the beginning of what is too long to read."""
    if len(text) <= MAX_SHOWN_CHARACTERS:
        return text
    return text[:MAX_SHOWN_CHARACTERS] + "…"


def _circumstances(it: Comparison) -> Table:
    rows = tuple(
        (said(name), said(shown(was)), said(shown(now))) for name, was, now in it.circumstances
    )
    return Table(title="Not the same", columns=names("What", "Old", "New"), rows=rows)


def _differences(it: Comparison) -> Iterator[Table]:
    """Yield what changed, and folded up what did not."""
    columns = (*names("What"), *numbers("Old", "New", "New over old"))
    for is_beyond, title in ((True, "Beyond both intervals"), (False, "Within the intervals")):
        rows = tuple(_row(one) for one in it.differences if one.is_beyond is is_beyond)
        if rows:
            yield Table(title=title, columns=columns, rows=rows, is_folded=not is_beyond)


def _alone(title: str, figures: tuple[str, ...]) -> list[Table]:
    rows = tuple((said(figure),) for figure in figures)
    return [Table(title=title, columns=names("What"), rows=rows, is_folded=True)] if rows else []


def _value(it: Interval, unit: str) -> Cell:
    if unit == SECONDS:
        return timed(it)
    return Cell(text=amount(it.middle, unit), span=number_format.span(it))


def _row(one: Difference) -> tuple[Cell, ...]:
    return (
        said(f"{one.group}: {one.title}"),
        _value(one.old, one.unit),
        _value(one.new, one.unit),
        Cell(
            text=number_format.times(one.ratio.middle),
            span=number_format.span(one.ratio),
            is_marked=one.is_beyond,
        ),
    )
