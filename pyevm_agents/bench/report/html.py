"""A report as one HTML file without scripts or external resources, for light, dark and print."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.atomic_files import write_output_file
from pyevm_agents.bench.report.chapters import build_document
from pyevm_agents.bench.report.plots import draw_plots
from pyevm_agents.reports.document import Picture
from pyevm_agents.reports.html import as_html

if TYPE_CHECKING:
    from pathlib import Path

    from pyevm_agents.bench.measurement.results import Report
    from pyevm_agents.bench.report.compare import ReportComparison
    from pyevm_agents.reports.document import Document


def write_html(path: Path, report: Report, comparison: ReportComparison | None = None) -> None:
    """Write a report as one HTML file, atomically.

    Raises:
        ConfigError: matplotlib is not installed.
        AgentsError: the file is not writable.
    """
    document = build_document(report, comparison)
    names = _list_picture_names(document)
    plots = draw_plots(report, names)
    narrow = draw_plots(report, names, is_narrow=True)
    write_output_file(path, as_html(document, plots, narrow))


def _list_picture_names(document: Document) -> set[str]:
    """Return the names of a document's pictures."""
    return {
        part.name
        for chapter in document.chapters
        for part in chapter.parts
        if isinstance(part, Picture)
    }
