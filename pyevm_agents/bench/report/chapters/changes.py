"""The chapter of changes since an older report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.bench.report.compare import PARITY_PRICE
from pyevm_agents.display import truncate
from pyevm_agents.reports import number_format
from pyevm_agents.reports.document import (
    Cell,
    Chapter,
    ReportTable,
    Strong,
    make_number_columns,
    make_text_cell,
    make_text_columns,
    make_time_cell,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyevm_agents.bench.report.compare import Difference, ReportComparison
    from pyevm_agents.reports.document import Paragraph
    from pyevm_agents.reports.number_format import Interval

SECONDS = "s"
"""`Difference.unit` of times, which are shown in a unit that fits."""

OTHER_MODE = (
    "A quick run reads shorter prompts than a full one, which alone changes times and prices of "
    "tokens, attacks with long prompts and schedules at parity."
)

MAX_SHOWN_CHARACTERS = 60
"""Shown characters of a digest or a profile: enough to see that it differs."""


def build_change_chapter(comparison: ReportComparison) -> Chapter:
    """Return the changed and the unchanged figures."""
    parts = [_build_circumstance_table(comparison)] if comparison.circumstances else []
    parts += _iter_difference_tables(comparison)
    parts += _build_unmatched_tables(
        "In the new report alone", comparison.added
    ) + _build_unmatched_tables("In the old one alone", comparison.gone)
    words: list[Paragraph] = [(describe_comparison(comparison),)]
    if comparison.circumstances:
        what = number_format.join_names([name for name, _, _ in comparison.circumstances])
        words.insert(0, (Strong(f"Not the same: {what}."),))
    return Chapter(
        name="changes",
        title=f"Compared with {number_format.format_timestamp(comparison.old_made_at)}",
        words=tuple(words),
        parts=tuple(parts),
    )


def describe_comparison(comparison: ReportComparison) -> str:
    """Return the result of a comparison as a sentence."""
    count, all_of = len(comparison.changed), len(comparison.differences)
    if not all_of:
        return "Nothing was measured in both."
    changed = f"{count:,}" if count else "None"
    words = f"{changed} of {all_of:,} figures changed beyond both intervals."
    if prices := [price for price in comparison.differences if price.group == PARITY_PRICE]:
        agreeing = sum(not price.is_beyond for price in prices)
        words += f" Parity prices that agree within their intervals: {agreeing} of {len(prices)}."
    is_other_mode = any(what == "mode" for what, _, _ in comparison.circumstances)
    return f"{words} {OTHER_MODE}" if is_other_mode else words


def format_amount(value: float, unit: str) -> str:
    """Return a value of a figure with the unit."""
    if unit == SECONDS:
        return number_format.format_seconds(value)
    return f"{number_format.format_number(value)} {unit}".rstrip()


def abbreviate(text: str) -> str:
    """Return the start of a long text."""
    return truncate(text, MAX_SHOWN_CHARACTERS)


def _build_circumstance_table(comparison: ReportComparison) -> ReportTable:
    rows = tuple(
        (make_text_cell(name), make_text_cell(abbreviate(was)), make_text_cell(abbreviate(now)))
        for name, was, now in comparison.circumstances
    )
    return ReportTable(
        title="Not the same", columns=make_text_columns("What", "Old", "New"), rows=rows
    )


def _iter_difference_tables(comparison: ReportComparison) -> Iterator[ReportTable]:
    """Yield the table of changes, and the folded table of unchanged figures."""
    columns = (*make_text_columns("What"), *make_number_columns("Old", "New", "New over old"))
    for is_beyond, title in ((True, "Beyond both intervals"), (False, "Within the intervals")):
        rows = tuple(
            _build_row(difference)
            for difference in comparison.differences
            if difference.is_beyond is is_beyond
        )
        if rows:
            yield ReportTable(title=title, columns=columns, rows=rows, is_folded=not is_beyond)


def _build_unmatched_tables(title: str, figures: tuple[str, ...]) -> list[ReportTable]:
    rows = tuple((make_text_cell(figure),) for figure in figures)
    return (
        [ReportTable(title=title, columns=make_text_columns("What"), rows=rows, is_folded=True)]
        if rows
        else []
    )


def _build_value_cell(value: Interval, unit: str) -> Cell:
    if unit == SECONDS:
        return make_time_cell(value)
    text = number_format.format_estimate(value, lambda each: format_amount(each, unit))
    return Cell(text=text, span=number_format.format_span(value))


def _build_row(difference: Difference) -> tuple[Cell, ...]:
    return (
        make_text_cell(f"{difference.group}: {difference.title}"),
        _build_value_cell(difference.old, difference.unit),
        _build_value_cell(difference.new, difference.unit),
        Cell(
            text=number_format.format_factor(difference.ratio.middle),
            span=number_format.format_span(difference.ratio),
            is_marked=difference.is_beyond,
        ),
    )
