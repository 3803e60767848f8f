"""A scenario's report in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from pyevm_agents.cli.output import out, print_table
from pyevm_agents.display import sanitize
from pyevm_agents.reports.document import EntryList, Picture, ReportTable, Strong, Tone
from pyevm_agents.reports.position_chart import describe_signs, draw_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyevm_agents.reports.document import Paragraph
    from pyevm_agents.reports.position_chart import PositionChart
    from pyevm_agents.scenarios.report import ScenarioReport

LABEL_WIDTH = 12
"""Characters of a label, at least."""

STYLES = {
    Tone.PLAIN: "default",
    Tone.FAINT: "dim",
    Tone.TOOL: "cyan",
    Tone.GOOD: "green",
    Tone.WARNING: "bold yellow",
    Tone.BAD: "red",
}


def print_beginning(model: Mapping[str, str], *, is_scripted: bool) -> None:
    """Print the model's name and digest, or also that a script runs instead."""
    digest = model["digest"].removeprefix("0x")[:16]
    out.print(
        f"[bold]{escape(model['name'])}[/] [dim]sha256 {digest}… in genesis[/]", soft_wrap=True
    )
    if is_scripted:
        out.print("[bold yellow]The scripted ideal, in place of the model[/]")


def print_part(part: EntryList | ReportTable | Picture) -> None:
    """Print a part of a report."""
    match part:
        case EntryList():
            _print_entries(part)
        case ReportTable():
            _print_table(part)
        case Picture():
            out.print(escape(part.alt), soft_wrap=True)


def _print_entries(part: EntryList) -> None:
    out.print(f"\n[bold]{escape(sanitize(part.title))}[/]", soft_wrap=True)
    width = max([LABEL_WIDTH, *(len(entry.label) for entry in part.entries)])
    for entry in part.entries:
        text = escape(sanitize(entry.text))
        line = f"   {entry.label:<{width}} [{STYLES[entry.tone]}]{text}[/]"
        out.print(line, soft_wrap=True)


def print_end(report: ScenarioReport, shown: Sequence[EntryList | ReportTable]) -> None:
    """Print the rest of a report, and how many runs ended as the ideal.

    Input:  shown: parts that are printed already.
    """
    for chapter in report.chapters:
        parts = [part for part in chapter.parts if part not in shown]
        if not parts:
            continue
        out.print(f"\n[bold underline]{escape(sanitize(chapter.title))}[/]", soft_wrap=True)
        for words in chapter.words:
            out.print(f"[dim]{escape(_join_words(words))}[/]", soft_wrap=True)
        for part in parts:
            print_part(part)
    _print_charts(report.charts)
    _print_verdict(report)


def _join_words(words: Paragraph) -> str:
    return "".join(word.text if isinstance(word, Strong) else word for word in words)


def _print_table(part: ReportTable) -> None:
    out.print(f"\n[bold]{escape(part.title)}[/]", soft_wrap=True)
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in part.columns:
        table.add_column(
            escape(column.title),
            justify="right" if column.is_number else "left",
            overflow="fold",
        )
    for row in part.rows:
        table.add_row(*(escape(sanitize(cell.text)) for cell in row))
    print_table(table)


def _print_charts(charts: Sequence[PositionChart]) -> None:
    for chart in charts:
        out.print()
        for line in draw_text(chart):
            out.print(escape(line), soft_wrap=True)
    if charts:
        out.print(describe_signs(), soft_wrap=True)


def _print_verdict(report: ScenarioReport) -> None:
    is_ideal = report.has_ended_as_ideal
    ended = "ended as the ideal"
    if report.count > 1:
        verdict = f"{report.ideal_count} of {report.count} {ended}"
    else:
        verdict = ended.capitalize() if is_ideal else "Differs from the ideal"
    style = "bold green" if is_ideal else "bold yellow"
    rest = "; ".join([f"after {report.seconds:.1f} s", *([report.remark] if report.remark else [])])
    out.print(f"\n[{style}]{verdict}[/], {escape(rest)}", soft_wrap=True)
