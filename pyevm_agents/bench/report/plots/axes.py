"""Figures and axes in one style: logarithms with units, labels, legends above."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

from matplotlib.axis import XAxis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from pyevm_agents.reports import number_format
from pyevm_agents.reports.palette import LIGHT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

    from pyevm_agents.reports.number_format import Interval

NARROW_COLUMNS = {1: 1, 2: 1, 3: 2}
"""Panels in a row of a narrow sheet, by their number on a wide one."""

LEGEND_ROW_INCHES = 0.22
MAX_TICKS = 7
DECADE_MARGIN = 0.06
"""Free share of an axis at each end."""

TICK_SHARE = 0.2
"""Share of an axis that a tick's label takes."""

ROUNDING = 1e-9
"""Tolerance of ticks for floating-point errors."""

SHORT = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """The target of a plot: labels have one size on each."""

    width_inches: float
    label_characters: int
    """Characters of a line of a row's label."""

    is_narrow: bool

    def create_figure(self, height_inches: float) -> Figure:
        """Return an empty figure."""
        return Figure(figsize=(self.width_inches, height_inches), layout="constrained")

    def create_panels(
        self, count: int, *, columns: int, row_inches: float
    ) -> tuple[Figure, list[Axes]]:
        """Return a figure of `count` axes in a grid."""
        columns = min(max(1, count), NARROW_COLUMNS[columns] if self.is_narrow else columns)
        rows_ = max(1, math.ceil(count / columns))
        figure = self.create_figure(row_inches * rows_ + LEGEND_ROW_INCHES)
        panels = list(figure.subplots(rows_, columns, squeeze=False).flat)
        for empty in panels[count:]:
            empty.set_visible(False)
        return figure, panels[:count]

    def add_legend(self, figure: Figure, *axes: Axes, columns: int = 4, narrow: int = 2) -> None:
        """Put one legend above all axes, each label once."""
        labelled: dict[str, Artist] = {}
        for panel in axes:
            handles, labels = panel.get_legend_handles_labels()
            labelled.update(zip(labels, handles, strict=True))
        if labelled:
            figure.legend(
                list(labelled.values()),
                list(labelled),
                loc="outside upper left",
                ncols=narrow if self.is_narrow else columns,
                handlelength=1.4,
            )

    def label_rows(self, axes: Axes, labels: Iterable[str]) -> None:
        """Label rows from the top down."""
        texts = [wrap_label(label, self.label_characters) for label in labels]
        axes.set_yticks(range(len(texts)), texts)
        axes.set_ylim(len(texts) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0, labelcolor=LIGHT["ink"])
        axes.grid(visible=False, axis="y")
        axes.spines["left"].set_visible(False)


WIDE = Sheet(width_inches=7.4, label_characters=26, is_narrow=False)
NARROW = Sheet(width_inches=4.0, label_characters=14, is_narrow=True)
"""For a page, and for a phone held upright."""


def is_plottable(value: float) -> bool:
    """Return whether a value has a place on a logarithmic axis."""
    return math.isfinite(value) and value > 0


def compute_whiskers(its: Iterable[Interval]) -> list[list[float]]:
    """Return the distances of intervals' ends from their middles."""
    pairs = [
        (
            max(0.0, interval.middle - interval.low),
            interval.high - interval.middle if math.isfinite(interval.high) else 0.0,
        )
        for interval in its
    ]
    return [[low for low, _ in pairs], [high for _, high in pairs]]


def set_logarithmic(axis: Axis, values: Iterable[float], unit: Callable[[float], str]) -> None:
    """Make an axis logarithmic around values, with powers of ten as tick labels."""
    known = [value for value in values if is_plottable(value)] or [1.0]
    low, high = math.log10(min(known)), math.log10(max(known))
    margin = max(0.15, DECADE_MARGIN * (high - low))
    limits = (10 ** (low - margin), 10 ** (high + margin))
    axes = axis.axes
    if isinstance(axis, XAxis):
        axes.set_xscale("log")
        axes.set_xlim(*limits)
    else:
        axes.set_yscale("log")
        axes.set_ylim(*limits)
    axis.set_major_locator(LogLocator(numticks=MAX_TICKS))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: unit(value)))
    axis.set_minor_formatter(NullFormatter())


def space_ticks(values: Iterable[float]) -> list[float]:
    """Return the ticks of a logarithmic axis that have room for their labels."""
    known = [value for value in values if is_plottable(value)]
    room = TICK_SHARE * math.log10(known[-1] / known[0]) if known else 0.0
    ticks: list[float] = []
    for value in known:
        if not ticks or math.log10(value / ticks[-1]) > room:
            ticks.append(value)
    return ticks


def set_linear(axis: Axis, unit: Callable[[float], str]) -> None:
    """Label a linear axis."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: unit(value)))


def format_plain(value: float) -> str:
    """Return a number for a tick, as short as possible."""
    return f"{value:,.6g}".replace("-", number_format.MINUS)


def format_short(value: float) -> str:
    """Return a large number for a tick: 10 k."""
    for factor, unit in SHORT:
        if abs(value) >= factor:
            return f"{format_plain(value / factor)} {unit}"
    return format_plain(value)


def format_time(value: float) -> str:
    """Return a time for a tick: 10 ms."""
    for factor, unit in reversed(number_format.TIME_UNITS):
        if abs(value) >= factor * (1 - ROUNDING):
            return f"{format_plain(value / factor)} {unit}"
    return format_plain(value)


def wrap_label(text: str, characters: int) -> str:
    """Return a label in several lines."""
    return "\n".join(textwrap.wrap(text, characters)) or text
