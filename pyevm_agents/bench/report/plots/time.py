"""Plots of time: the marginal time of tokens, and the residuals of fits."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pyevm_agents.bench.measurement.results import TERMS
from pyevm_agents.bench.report.plots.axes import format_plain, format_short, format_time, set_linear
from pyevm_agents.reports.palette import LIGHT, TERM_MARKS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from pyevm_agents.bench.measurement.results import Report, Term
    from pyevm_agents.bench.report.plots.axes import Sheet

COLUMNS = 3
ROW_INCHES = 1.9
MARGINAL_COLUMNS, MARGINAL_INCHES = 2, 2.3
OUTLYING = 3.0
"""An interval beyond this multiple of the largest value is cut."""

BAND = 0.2
"""Opacity of an interval's shade."""


def draw_marginal(report: Report, sheet: Sheet) -> Figure:
    """Draw the time of one more token against the prompt's length."""
    terms = [term for term in report.terms if term.name in TERM_MARKS and term.marginal]
    figure, panels = sheet.create_panels(
        len(terms), columns=MARGINAL_COLUMNS, row_inches=MARGINAL_INCHES
    )
    for axes, term in zip(panels, terms, strict=True):
        _draw_marginal_panel(axes, term)
    return figure


def _draw_marginal_panel(axes: Axes, term: Term) -> None:
    """Draw one kind of token from zero up, with the interval."""
    points = [point for point in term.marginal if math.isfinite(point.y.middle)]
    colour, mark = TERM_MARKS[term.name]
    x = [point.x for point in points]
    most = max((point.y.middle for point in points), default=1.0)
    ends = [(point.y.low, min(point.y.high, OUTLYING * most)) for point in points]
    axes.fill_between(
        x,
        [max(0.0, low) / 1e9 for low, _ in ends],
        [high / 1e9 for _, high in ends],
        color=colour,
        alpha=BAND,
        linewidth=0,
    )
    axes.plot(x, [point.y.middle / 1e9 for point in points], color=colour, marker=mark)
    axes.set_title(TERMS[term.name])
    axes.set_xlabel(term.axis)
    axes.set_xlim(0, 1.04 * max([1.0, *x]))
    axes.set_ylim(0, 1.15 / 1e9 * max([1e-9, *(high for _, high in ends)]))
    axes.locator_params(nbins=5)
    set_linear(axes.xaxis, format_short)
    set_linear(axes.yaxis, format_time)


def draw_residuals(report: Report, sheet: Sheet) -> Figure:
    """Draw measured less fitted times, a panel for each term."""
    terms = [term for term in report.terms if term.residuals]
    figure, panels = sheet.create_panels(len(terms), columns=COLUMNS, row_inches=ROW_INCHES)
    for axes, term in zip(panels, terms, strict=True):
        places = [(x, 1e3 * left) for x, left in term.residuals if math.isfinite(x + left)]
        axes.axhline(0, color=LIGHT["muted"], linewidth=0.9)
        axes.scatter(
            [x for x, _ in places], [left for _, left in places], s=16, color=LIGHT["blue"]
        )
        most = max((abs(left) for _, left in places), default=0.0) or 1.0
        axes.set_ylim(-1.25 * most, 1.25 * most)
        axes.set_title(term.name, fontsize=9)
        axes.set_xlabel(term.axis, fontsize=8)
        axes.tick_params(labelsize=8)
        axes.locator_params(nbins=4)
        set_linear(axes.xaxis, format_short)
        set_linear(axes.yaxis, format_plain)
    figure.supylabel("measured less fitted, ms", fontsize=9)
    return figure
