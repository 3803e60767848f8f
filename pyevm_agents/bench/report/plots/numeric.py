"""The plot of numeric models: the time of a call against gas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.bench.measurement.intervals import estimate_median
from pyevm_agents.bench.report import findings
from pyevm_agents.bench.report.plots.axes import (
    format_short,
    format_time,
    is_plottable,
    set_logarithmic,
)
from pyevm_agents.bench.report.plots.cost import draw_parity_lines
from pyevm_agents.reports.palette import LIGHT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.figure import Figure

    from pyevm_agents.bench.measurement.results import NumericTransaction, Report
    from pyevm_agents.bench.report.plots.axes import Sheet

HEIGHT_INCHES = 4.8
KINDS = (
    ("models", "s", LIGHT["blue"], False),
    ("attacks", "^", LIGHT["orange"], True),
)
"""Titles, marks and colours of usual calls and of attacks."""


def draw_numeric(report: Report, sheet: Sheet) -> Figure:
    """Draw the time of each call of the precompile against gas, with the lines of parity."""
    figure = sheet.create_figure(HEIGHT_INCHES)
    axes = figure.subplots()
    transactions = () if report.numeric is None else report.numeric.transactions
    points: list[tuple[float, float]] = []
    for words, mark, colour, is_attack in KINDS:
        places = [
            place
            for each in transactions
            if each.is_attack == is_attack
            for place in _iter_places(each)
        ]
        if places:
            axes.scatter(
                [gas for gas, _ in places],
                [taken for _, taken in places],
                marker=mark,
                s=34,
                color=colour,
                label=words,
                zorder=3,
            )
        points += places
    set_logarithmic(axes.xaxis, [gas for gas, _ in points], format_short)
    set_logarithmic(axes.yaxis, [taken for _, taken in points], format_time)
    draw_parity_lines(axes, report)
    axes.set_xlabel("gas of a call by default")
    axes.set_ylabel("time")
    sheet.add_legend(figure, axes)
    return figure


def _iter_places(transaction: NumericTransaction) -> Iterator[tuple[float, float]]:
    """Yield the gas and the seconds of one of a transaction's calls, if both are known."""
    gas = findings.find_gas(transaction.gas, "default")
    if gas is None or not transaction.seconds or transaction.times <= 0:
        return
    place = (
        gas / transaction.times,
        estimate_median(transaction.seconds).middle / transaction.times,
    )
    if all(map(is_plottable, place)):
        yield place
