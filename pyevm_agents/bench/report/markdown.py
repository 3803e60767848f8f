"""A report as a folder of Markdown and SVG, for a repository."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyevm_agents.atomic_files import write_output_file
from pyevm_agents.bench.report.chapters import build_document
from pyevm_agents.bench.report.plots import as_file, draw_plots
from pyevm_agents.errors import AgentsError
from pyevm_agents.reports.document import EntryList, Picture, Strong

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pyevm_agents.bench.measurement.results import Report
    from pyevm_agents.bench.report.compare import ReportComparison
    from pyevm_agents.reports.document import (
        Cell,
        Chapter,
        Column,
        Document,
        Headline,
        Paragraph,
        ReportTable,
    )

PAGE, PLOTS = "README.md", "plots"
"""The file that a repository shows for a folder, and the folder of its plots."""

_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~$])")


def write_markdown(
    folder: Path, report: Report, comparison: ReportComparison | None = None
) -> None:
    """Write a report into a folder, created if absent: plots, then the page.

    Raises:
        ConfigError: matplotlib is not installed.
        AgentsError: a file is not writable.
    """
    document = build_document(report, comparison)
    plots = draw_plots(report, {picture.name for picture in _iter_pictures(document)})
    try:
        (folder / PLOTS).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AgentsError(f"{folder} could not be made: {error.strerror}") from error
    for name, svg in plots.items():
        write_output_file(folder / PLOTS / f"{name}.svg", as_file(svg))
    write_output_file(folder / PAGE, as_markdown(document))


def as_markdown(document: Document) -> str:
    """Return a document as Markdown with links to `plots/NAME.svg`."""
    return "\n\n".join(_iter_blocks(document)) + "\n"


def _iter_blocks(document: Document) -> Iterator[str]:
    yield f"# {_escape(document.title)}"
    if document.headlines:
        yield "\n".join(_format_headline(headline) for headline in document.headlines)
    for warning in document.warnings:
        yield f"> {_escape(warning)}"
    yield _format_words(document.answer)
    facts = (f"- {_escape(name)}: {_escape(value)}" for name, value in document.circumstances)
    yield "\n".join(facts)
    for chapter in document.chapters:
        yield from _iter_chapter_blocks(chapter)
    yield f"---\n\n{_escape(document.ending)}"


def _format_headline(headline: Headline) -> str:
    notes = _escape("; ".join(headline.notes))
    text = f"- **{_escape(headline.value)}** for {_escape(headline.title)}"
    return f"{text}. {notes[:1].upper()}{notes[1:]}." if notes else f"{text}."


def _iter_chapter_blocks(chapter: Chapter) -> Iterator[str]:
    yield f"## {_escape(chapter.title)}"
    yield from map(_format_words, chapter.words)
    for part in chapter.parts:
        if isinstance(part, Picture):
            yield f"![{_escape(part.alt)}]({PLOTS}/{part.name}.svg)"
            yield f"**{_escape(part.title)}.** {_escape(part.note)}".rstrip()
            continue
        title = _escape(part.title)
        if isinstance(part, EntryList):
            yield f"### {title}"
            yield "\n".join(f"- {_escape(it.label)}: {_escape(it.text)}" for it in part.entries)
            continue
        yield f"<details><summary>{title}</summary>" if part.is_folded else f"### {title}"
        yield "\n".join(_iter_table_lines(part))
        if part.note:
            yield _escape(part.note)
        if part.is_folded:
            yield "</details>"


def _iter_table_lines(table: ReportTable) -> Iterator[str]:
    """Yield a table's lines, with columns aligned in the source."""
    titles = [_escape(column.title) for column in table.columns]
    rows = [titles, *([_format_cell(cell) for cell in row] for row in table.rows)]
    widths = [max(3, *map(len, column)) for column in zip(*rows, strict=True)]
    yield _format_row(rows[0], widths, table.columns)
    rules = zip(table.columns, widths, strict=True)
    yield (
        "| " + " | ".join("-" * (w - 1) + ":" if c.is_number else "-" * w for c, w in rules) + " |"
    )
    for row in rows[1:]:
        yield _format_row(row, widths, table.columns)


def _format_row(row: Sequence[str], widths: Sequence[int], columns: Sequence[Column]) -> str:
    cells = zip(row, widths, columns, strict=True)
    return "| " + " | ".join(t.rjust(w) if c.is_number else t.ljust(w) for t, w, c in cells) + " |"


def _format_cell(cell: Cell) -> str:
    text = _escape(cell.text)
    if cell.is_marked and text:
        text = f"**{text}**"
    if cell.span:
        text = f"{text} ({cell.span})"
    return f"{text}, {_escape(cell.note)}" if cell.note else text


def _format_words(words: Paragraph) -> str:
    return "".join(
        f"**{_escape(word.text)}**" if isinstance(word, Strong) else _escape(word) for word in words
    )


def _iter_pictures(document: Document) -> Iterator[Picture]:
    for chapter in document.chapters:
        yield from (part for part in chapter.parts if isinstance(part, Picture))


def _escape(text: str) -> str:
    """Return text escaped for Markdown, on one line."""
    return _SPECIAL.sub(r"\\\1", re.sub(r"\s+", " ", text))
