"""A scenario's report as one HTML page, in the style of benchmark reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.display import pluralize
from pyevm_agents.reports.document import Chapter, Document, Headline, Picture
from pyevm_agents.reports.html import as_html
from pyevm_agents.reports.position_chart import TradeKind, draw_svg

if TYPE_CHECKING:
    from pyevm_agents.reports.position_chart import PositionChart
    from pyevm_agents.scenarios.report import ScenarioReport

WIDE, NARROW = 760, 360
"""Widths of a chart in pixels; the page shows the one that fits."""


def build_page(report: ScenarioReport) -> str:
    """Return a report as a page without scripts or external resources."""
    wide, narrow = (
        {chart.symbol: draw_svg(chart, width) for chart in report.charts}
        for width in (WIDE, NARROW)
    )
    return as_html(_build_document(report), wide, narrow)


def _build_document(report: ScenarioReport) -> Document:
    charts = Chapter(
        name="charts",
        title="Prices and positions",
        parts=tuple(_describe_chart(chart) for chart in report.charts),
    )
    verdict = f"{report.ideal_count} of {report.count}"
    who = "the scripted ideal" if report.is_scripted else report.model["name"]
    return Document(
        title=report.title,
        headlines=(Headline(title="ended as the ideal", value=verdict), *report.headlines),
        answer=(report.summary,),
        circumstances=(("model", who), ("digest", report.model["digest"]), *report.facts),
        warnings=report.warnings,
        chapters=(*([charts] if report.charts else []), *report.chapters),
        ending=f"Written by pyevm-agents demo --scenario {report.scenario}, after "
        f"{report.seconds:.1f} s.",
    )


def _describe_chart(chart: PositionChart) -> Picture:
    counts = ", ".join(
        f"{chart.count(kind)} {kind.value}"
        for kind in (TradeKind.BOUGHT, TradeKind.SOLD, TradeKind.UNDONE)
    )
    return Picture(
        name=chart.symbol,
        title=f"{chart.symbol}: price, trades, and share of the value",
        alt=f"{chart.symbol} at {pluralize(len(chart.points), chart.noun)}: prices from "
        f"{min(chart.prices):,.2f} to {max(chart.prices):,.2f} {chart.currency}; {counts}; a share "
        f"of {100 * max(chart.shares):.1f} % at most. The decisions below have all numbers.",
        note="Triangles: bought (up) and sold (down); a cross: undone. The dashed line is the "
        f"limit of {100 * chart.share_limit:.0f} %, which the desk enforces.",
    )
