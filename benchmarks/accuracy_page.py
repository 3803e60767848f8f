"""A measurement as one HTML page without scripts or external resources: tables and plots."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from rich.text import Text

from benchmarks import reliability
from benchmarks.accuracy_report import tables_of
from benchmarks.shares import percent
from pyevm_agents.atomic_files import write_output_file
from pyevm_agents.bench.report.plots import draw_plot
from pyevm_agents.reports.document import (
    Cell,
    Chapter,
    Document,
    Picture,
    ReportTable,
    make_text_cell,
    make_text_columns,
)
from pyevm_agents.reports.html import as_html

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from matplotlib.figure import Figure
    from rich.table import Table

    from benchmarks.accuracy_runs import Findings
    from benchmarks.reliability import Reliability
    from pyevm_agents.bench.report.plots.axes import Sheet

    Painters = dict[str, Callable[[Sheet], Figure]]

GATE_NOTE = (
    "Risk: of the runs that acted, those with a wrong final state. Coverage: of the runs that "
    "should act, those that acted and were right. Each point is a threshold of the surprisal."
)


def write_page(path: Path, findings: Findings) -> None:
    """Write a measurement as one HTML file, atomically.

    Raises:
        ConfigError: matplotlib is not installed.
        AgentsError: the file is not writable.
    """
    found = reliability.measure_all(findings.tasks, findings.rules)
    painters = _find_painters(found)
    plots = {name: draw_plot(paint) for name, paint in painters.items()}
    narrow = {name: draw_plot(paint, is_narrow=True) for name, paint in painters.items()}
    write_output_file(path, as_html(build_page(findings, found), plots, narrow))


def build_page(findings: Findings, found: dict[str, Reliability]) -> Document:
    """Return a measurement as a document.

    Input:
        found: the reliability of contenders that have one.
    """
    tables = tuple(_to_report_table(table) for table in tables_of(findings))
    pictures = tuple(_build_pictures(found))
    chapters = [Chapter(name="tables", title="Tables", parts=tables)]
    if pictures:
        chapters.append(Chapter(name="reliability", title="Reliability", parts=pictures))
    return Document(
        title="How often does an agent do exactly its task?",
        headlines=(),
        answer=("Shares have Wilson's 95 % confidence intervals.",),
        circumstances=tuple(findings.digests.items()),
        warnings=(),
        chapters=tuple(chapters),
        ending="Written by benchmarks.agent_accuracy, which defines the marks.",
    )


def _find_painters(found: dict[str, Reliability]) -> Painters:
    """Return the painters of all plots, by the names of their pictures."""
    from benchmarks.accuracy_plots import draw_gate, draw_reliability  # noqa: PLC0415 - an extra

    painters: Painters = {}
    for number, one in enumerate(found.values()):
        painters[f"reliability-{number}"] = partial(draw_reliability, one)
        painters[f"gate-{number}"] = partial(draw_gate, one)
    return painters


def _build_pictures(found: dict[str, Reliability]) -> Iterator[Picture]:
    for number, (name, one) in enumerate(found.items()):
        width, mass = (
            percent(reliability.compute_error(bins)) for bins in (one.equal_width, one.equal_mass)
        )
        yield Picture(
            name=f"reliability-{number}",
            title=f"{name}: right tool uses by confidence",
            alt="The same numbers as in the table of reliability.",
            note=f"{len(one.uses)} tool uses. Expected calibration error: {width} points in bins "
            f"of equal widths, {mass} in bins of equal size.",
        )
        yield Picture(
            name=f"gate-{number}",
            title=f"{name}: risk and coverage of a gate",
            alt="The same numbers as in the table of a gate's effect.",
            note=GATE_NOTE,
        )


def _to_report_table(table: Table) -> ReportTable:
    """Return a terminal's table for a page, without its colours."""
    columns = [[_to_cell(str(cell)) for cell in column.cells] for column in table.columns]
    return ReportTable(
        title=str(table.title),
        columns=make_text_columns(*(str(column.header) for column in table.columns)),
        rows=tuple(zip(*columns, strict=True)),
    )


def _to_cell(markup: str) -> Cell:
    return make_text_cell(Text.from_markup(markup).plain.replace("\n", " "))
