"""Ratios against bars: the lines of a benchmark's table."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from rich.table import Table


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table."""

    name: str
    ours: str
    theirs: str
    value: float
    """A ratio, or a share."""

    bar: float | None = None
    is_least: bool = False
    """Whether the bar is a minimum; else it is a maximum."""

    note: str = ""

    @property
    def is_met(self) -> bool | None:
        """Whether the bar is met; None without a bar."""
        if self.bar is None:
            return None
        return self.value >= self.bar if self.is_least else self.value <= self.bar


def ratio(  # noqa: PLR0913 - a line of the table
    name: str,
    over: list[float],
    under: list[float],
    *,
    bar: float,
    is_least: bool = False,
    note: str = "",
) -> Figure:
    """Return the ratio of two medians."""
    one, other = statistics.median(over), statistics.median(under)
    left, right = name.split(" / ")
    return Figure(
        name=name,
        ours=f"{left}: {one:.3f} s",
        theirs=f"{right}: {other:.3f} s",
        value=one / other,
        bar=bar,
        is_least=is_least,
        note=note,
    )


def table_of(figures: list[Figure]) -> Table:
    """Return the figures as a table."""
    table = Table("figure", "measured", "against", "ratio", "bar", "", title="inference")
    table.columns[3].justify = "right"
    for it in figures:
        name = f"{it.name} [dim]({it.note})[/]" if it.note else it.name
        sign = "≥" if it.is_least else "≤"
        bar = "" if it.bar is None else f"{sign} {it.bar:g}"
        mark = {True: "[green]met[/]", False: "[red]missed[/]", None: ""}[it.is_met]
        table.add_row(name, it.ours, it.theirs, f"{it.value:.3f}", bar, mark)
    return table
