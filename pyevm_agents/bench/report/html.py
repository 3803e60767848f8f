"""A report as one HTML file without scripts or external resources, for light, dark and print."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from jinja2 import Environment, StrictUndefined

from pyevm_agents.atomic_files import write_output_file
from pyevm_agents.bench.report.chapters import build_document
from pyevm_agents.bench.report.document import Picture, ReportTable, Strong
from pyevm_agents.bench.report.plots import as_inline, build_css, draw_plots

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pyevm_agents.bench.measurement.results import Report
    from pyevm_agents.bench.report.compare import ReportComparison
    from pyevm_agents.bench.report.document import Document

PACKAGE = "pyevm_agents.bench.report"
TEMPLATE, STYLE = "report.html.jinja", "report.css"


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


def as_html(document: Document, plots: Mapping[str, str], narrow: Mapping[str, str]) -> str:
    """Return a document as HTML, with its plots (SVG, by name) inline.

    Input: plots for wide and for narrow windows; a page shows those that fit.
    """
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.tests |= {
        "table": lambda value: isinstance(value, ReportTable),
        "strong": lambda value: isinstance(value, Strong),
    }
    template = environment.from_string(_read_resource(TEMPLATE))
    return template.render(
        document=document,
        style=build_css() + _read_resource(STYLE),
        plots=_inline_plots(plots, ""),
        narrow=_inline_plots(narrow, "narrow-"),
    )


def _list_picture_names(document: Document) -> set[str]:
    """Return the names of a document's pictures."""
    return {
        part.name
        for chapter in document.chapters
        for part in chapter.parts
        if isinstance(part, Picture)
    }


def _inline_plots(plots: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {name: as_inline(prefix + name, svg) for name, svg in plots.items()}


def _read_resource(name: str) -> str:
    return files(PACKAGE).joinpath(name).read_text(encoding="utf-8")
