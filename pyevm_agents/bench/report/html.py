"""A report as one HTML file: nothing is fetched, nothing runs, light and dark, on paper too."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from jinja2 import Environment, StrictUndefined

from pyevm_agents.atomic_files import write_output_file
from pyevm_agents.bench.report.chapters import document
from pyevm_agents.bench.report.document import Picture, Strong, Table
from pyevm_agents.bench.report.plots import as_inline, css_of, drawn

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pyevm_agents.bench.measurement.results import Report
    from pyevm_agents.bench.report.compare import Comparison
    from pyevm_agents.bench.report.document import Document

PACKAGE = "pyevm_agents.bench.report"
TEMPLATE, STYLE = "report.html.jinja", "report.css"


def write_html(path: Path, report: Report, comparison: Comparison | None = None) -> None:
    """Write a report as one HTML file, whole or not at all.

    Raises:
        ConfigError: matplotlib is not installed.
        AgentsError: the file can't be written.
    """
    told = document(report, comparison)
    names = _pictures(told)
    plots = drawn(report, names)
    narrow = drawn(report, names, is_narrow=True)
    write_output_file(path, as_html(told, plots, narrow))


def as_html(told: Document, plots: Mapping[str, str], narrow: Mapping[str, str]) -> str:
    """Return a document as HTML, with its plots (SVG, by name) inside.

    Input: plots for wide and for narrow windows; a page shows those that fit.
    """
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.tests |= {
        "table": lambda it: isinstance(it, Table),
        "strong": lambda it: isinstance(it, Strong),
    }
    template = environment.from_string(_packaged(TEMPLATE))
    return template.render(
        document=told,
        style=css_of() + _packaged(STYLE),
        plots=_inlined(plots, ""),
        narrow=_inlined(narrow, "narrow-"),
    )


def _pictures(told: Document) -> set[str]:
    """Return the names of a document's pictures."""
    return {
        part.name
        for chapter in told.chapters
        for part in chapter.parts
        if isinstance(part, Picture)
    }


def _inlined(plots: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {name: as_inline(prefix + name, svg) for name, svg in plots.items()}


def _packaged(name: str) -> str:
    return files(PACKAGE).joinpath(name).read_text(encoding="utf-8")
