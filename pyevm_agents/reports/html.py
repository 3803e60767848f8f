"""A document as one HTML file without scripts or external resources, for light, dark and print."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from jinja2 import Environment, StrictUndefined

from pyevm_agents.reports.document import EntryList, ReportTable, Strong
from pyevm_agents.reports.svg import as_inline, build_css

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyevm_agents.reports.document import Document

PACKAGE = "pyevm_agents.reports"

TEMPLATE, STYLE = "report.html.jinja", "report.css"


def as_html(document: Document, plots: Mapping[str, str], narrow: Mapping[str, str]) -> str:
    """Return a document as HTML, with the plots (SVG, by name) inline.

    Input: plots for wide and for narrow windows; a page shows those that fit.
    """
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.tests |= {
        "table": lambda value: isinstance(value, ReportTable),
        "entries": lambda value: isinstance(value, EntryList),
        "strong": lambda value: isinstance(value, Strong),
    }
    template = environment.from_string(_read_resource(TEMPLATE))
    return template.render(
        document=document,
        style=build_css() + _read_resource(STYLE),
        plots=_inline_plots(plots, ""),
        narrow=_inline_plots(narrow, "narrow-"),
    )


def _inline_plots(plots: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {name: as_inline(prefix + name, svg) for name, svg in plots.items()}


def _read_resource(name: str) -> str:
    return files(PACKAGE).joinpath(name).read_text(encoding="utf-8")
