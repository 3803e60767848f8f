"""Plots of scale: longer runs, larger models."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyevm_agents.bench.measurement.intervals import scale_interval
from pyevm_agents.bench.measurement.results import REFERENCES, TERMS
from pyevm_agents.bench.report import findings
from pyevm_agents.bench.report.plots.axes import (
    compute_whiskers,
    format_plain,
    format_short,
    format_time,
    is_plottable,
    set_linear,
    set_logarithmic,
    space_ticks,
)
from pyevm_agents.reports import number_format
from pyevm_agents.reports.palette import LIGHT, TERM_MARKS

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from pyevm_agents.bench.measurement.results import Growth, ModelSize, Report
    from pyevm_agents.bench.report.plots.axes import Sheet
    from pyevm_agents.reports.number_format import Interval

GROWTH_INCHES, SIZES_INCHES = 2.9, 3.4

SERIES = (
    ("tokens", LIGHT["green"], "s"),
    ("seconds", LIGHT["orange"], "o"),
    ("gas", LIGHT["blue"], "^"),
)
"""Quantities with their colours and marks."""

TITLES = {"tokens": "tokens", "seconds": "time", "gas": "gas"}


def draw_growth(report: Report, sheet: Sheet) -> Figure:
    """Draw tokens, time and gas against steps, tools and levels, as shares of the largest run's."""
    figure, panels = sheet.create_panels(len(report.growth), columns=3, row_inches=GROWTH_INCHES)
    for axes, growth in zip(panels, report.growth, strict=True):
        _draw_growth_panel(axes, growth)
    figure.supylabel("of the largest run", fontsize=9)
    sheet.add_legend(figure, *panels)
    return figure


def _draw_growth_panel(axes: Axes, growth: Growth) -> None:
    exponents = dict(growth.exponents)
    values = {
        "tokens": [float(point.tokens) for point in growth.points],
        "seconds": [float(np.median(point.seconds or (np.nan,))) for point in growth.points],
        "gas": [float(point.gas) for point in growth.points],
    }
    x = [point.x for point in growth.points]
    lines = []
    for name, colour, mark in SERIES:
        most = max((value for value in values[name] if is_plottable(value)), default=1.0)
        shares = [value / most for value in values[name]]
        axes.plot(x, shares, color=colour, marker=mark, markersize=4.5, label=TITLES[name])
        if name in exponents:
            lines.append(
                f"{TITLES[name]} p = {number_format.format_number(exponents[name].middle)}"
            )
    axes.set_title(f"By {growth.axis}")
    axes.set_xlabel(growth.axis)
    axes.set_xlim(0, 1.06 * max(x, default=1))
    axes.set_ylim(0, 1.08)
    set_linear(axes.xaxis, format_plain)
    set_linear(axes.yaxis, lambda share: f"{100 * share:.0f} %")
    axes.text(
        0.97,
        0.05,
        "\n".join(lines),
        transform=axes.transAxes,
        ha="right",
        va="bottom",
        fontsize=8,
        color=LIGHT["muted"],
    )


def draw_sizes(report: Report, sheet: Sheet) -> Figure:
    """Draw a token's time and parity gas against the model's parameters."""
    figure, (left, right) = sheet.create_panels(2, columns=2, row_inches=SIZES_INCHES)
    reference = findings.MAIN_REFERENCE
    _draw_size_panel(
        left,
        report,
        lambda size: {name: scale_interval(ns, 1e-9) for name, ns in size.ns},
        format_time,
    )
    _draw_size_panel(
        right, report, lambda size: dict(dict(size.parity_gas).get(reference, ())), format_short
    )
    left.set_title("Time of a token")
    right.set_title(f"Parity gas, {REFERENCES[reference]}", fontsize=9.5)
    sheet.add_legend(figure, left, right)
    return figure


def _draw_size_panel(
    axes: Axes,
    report: Report,
    values: Callable[[ModelSize], dict[str, Interval]],
    unit: Callable[[float], str],
) -> None:
    middles: list[float] = []
    ordered = sorted(report.sizes, key=lambda size: size.parameters)
    for name, (colour, mark) in TERM_MARKS.items():
        places = [
            (size.parameters, found[name]) for size in ordered if name in (found := values(size))
        ]
        places = [place for place in places if is_plottable(place[1].middle)]
        if not places:
            continue
        axes.errorbar(
            [parameters for parameters, _ in places],
            [value.middle for _, value in places],
            yerr=compute_whiskers(value for _, value in places),
            fmt=mark,
            linestyle="-",
            linewidth=1.2,
            color=colour,
            label=TERMS[name],
        )
        middles += [value.middle for _, value in places]
    parameters = [float(size.parameters) for size in ordered]
    set_logarithmic(axes.xaxis, parameters, lambda value: format_short(float(f"{value:.3g}")))
    axes.set_xticks(space_ticks(parameters))
    set_logarithmic(axes.yaxis, middles, unit)
    axes.set_xlabel("parameters")
