"""Plots of reliability: right tool uses by confidence, and a gate's risk by coverage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.shares import percent
from pyevm_agents.bench.report.plots.axes import set_linear
from pyevm_agents.reports.palette import LIGHT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from benchmarks.reliability import Bin, Reliability
    from pyevm_agents.bench.report.plots.axes import Sheet

PANEL_INCHES, CURVE_INCHES = 3.2, 3.0
MARGIN = 1.03
"""End of an axis of shares, so that a mark at 100 % is whole."""


def draw_reliability(found: Reliability, sheet: Sheet) -> Figure:
    """Draw the share of right uses against the mean confidence, a panel for each kind of bins."""
    figure, panels = sheet.create_panels(2, columns=2, row_inches=PANEL_INCHES)
    kinds = (("Bins of equal widths", found.equal_width), ("Bins of equal size", found.equal_mass))
    for axes, (title, bins) in zip(panels, kinds, strict=True):
        draw_bins(axes, bins, ("mean confidence", "right"))
        axes.set_title(title)
    sheet.add_legend(figure, *panels)
    return figure


def draw_bins(axes: Axes, bins: Sequence[Bin], labels: tuple[str, str]) -> None:
    """Draw bins with Wilson's intervals, beside the diagonal of a perfect calibration.

    Input:  the labels of both axes.
    """
    axes.plot([0, 1], [0, 1], color=LIGHT["muted"], linestyle="--", linewidth=1, label="calibrated")
    shares = [one.right.value for one in bins]
    ends = [one.right.interval for one in bins]
    below = [share - low for share, (low, _) in zip(shares, ends, strict=True)]
    above = [high - share for share, (_, high) in zip(shares, ends, strict=True)]
    axes.errorbar(
        [one.confidence for one in bins],
        shares,
        yerr=[below, above],
        fmt="o",
        color=LIGHT["blue"],
        elinewidth=1,
        label="right, with 95 % interval",
    )
    _set_shares(axes, *labels)


def draw_gate(found: Reliability, sheet: Sheet) -> Figure:
    """Draw the risk of acting runs against the coverage, over the gate's thresholds."""
    figure, (axes,) = sheet.create_panels(1, columns=1, row_inches=CURVE_INCHES)
    places = [
        (one.coverage.value, 1 - one.precision.value)
        for one in found.curve
        if one.precision.total and one.coverage.total
    ]
    axes.plot(
        [coverage for coverage, _ in places],
        [risk for _, risk in places],
        color=LIGHT["orange"],
        marker="o",
        markersize=3.5,
    )
    _set_shares(axes, "coverage", "risk")
    axes.set_ylim(0, MARGIN * max([0.1, *(risk for _, risk in places)]))
    return figure


def _set_shares(axes: Axes, x: str, y: str) -> None:
    """Label both axes in per cent, from 0 to 100."""
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_xlim(1 - MARGIN, MARGIN)
    axes.set_ylim(1 - MARGIN, MARGIN)
    for axis in (axes.xaxis, axes.yaxis):
        set_linear(axis, lambda share: f"{percent(share)} %")
