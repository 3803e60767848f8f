"""The chapter of published schedules, and their worst abuse."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.reports import number_format
from pyevm_agents.reports.document import (
    Cell,
    Chapter,
    ReportTable,
    make_number_columns,
    make_text_cell,
    make_text_columns,
)

if TYPE_CHECKING:
    from pyevm_agents.bench.measurement.results import Report


def build_published_chapter(report: Report) -> Chapter | None:
    """Return the chapter of published schedules; None if not computed."""
    if not report.published:
        return None
    rows = tuple(
        (
            make_text_cell(audit.title),
            make_text_cell(audit.formula),
            make_text_cell(audit.worst_use),
            Cell(text=number_format.format_number(audit.worst_ns_per_gas)),
            Cell(text=_format_bought_seconds(audit.seconds_per_30m_gas), is_marked=True),
            make_text_cell(audit.source),
        )
        for audit in report.published
    )
    columns = (
        *make_text_columns("Schedule", "Prices", "Worst call"),
        *make_number_columns("ns a gas", "Work for 30 million gas"),
        *make_text_columns("Source"),
    )
    words = (
        "These schedules were published without measurements. The worst call is computed from the "
        "terms fitted here: it takes longest for its gas. "
        f"{number_format.INFINITE} where work is free."
    )
    return Chapter(
        name="published",
        title="Published schedules",
        words=((words,),),
        parts=(ReportTable(title="The worst calls", columns=columns, rows=rows),),
    )


def _format_bought_seconds(seconds: float) -> str:
    return (
        number_format.INFINITE if seconds == float("inf") else number_format.format_seconds(seconds)
    )
