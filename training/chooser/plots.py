"""Draw how far a chooser's probabilities are right, from figures of `training.chooser.evaluate`.

    python -m training.chooser.plots figures.json reliability.svg

A panel for each output and part: the share that is right of the pairs in each tenth of probability,
with 95 % intervals. Needs matplotlib, an extra of the package.
"""

from __future__ import annotations

import argparse
import json
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.accuracy_plots import PANEL_INCHES, draw_bins
from benchmarks.reliability import Bin
from benchmarks.shares import Share
from pyevm_agents.bench.report.plots import draw_plot
from training.chooser.figures import TENTHS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure

    from pyevm_agents.bench.report.plots.axes import Sheet

PARTS = ("calibration", "contracts")
"""Families that are never trained on, and tools of contracts; both in held-out templates."""

OUTPUTS = {"call": "orders the call", "mood": "is an order"}


def read_bins(tables: Mapping[str, Any], part: str, output: str) -> list[Bin]:
    """Return the bins of an output on a part, each at the middle of its tenth.

    Raises: KeyError: the figures lack the part.
    """
    found = []
    for name, row in tables[f"reliability: {part}"].items():
        if name.startswith(f"{output} "):
            count, total = row["right"][:2]
            start = float(name.split()[1])
            found.append(Bin(confidence=start + 0.5 / TENTHS, right=Share(count, total)))
    return found


def draw(tables: Mapping[str, Any], sheet: Sheet) -> Figure:
    """Draw a panel for each output and part."""
    shown = [(output, part) for output in OUTPUTS for part in PARTS]
    figure, panels = sheet.create_panels(len(shown), columns=len(PARTS), row_inches=PANEL_INCHES)
    for axes, (output, part) in zip(panels, shown, strict=True):
        draw_bins(axes, read_bins(tables, part, output), ("said", OUTPUTS[output]))
        axes.set_title(f"{output}, {part}")
    sheet.add_legend(figure, *panels)
    return figure


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the plot; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m training.chooser.plots",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("figures", type=Path, help="the JSON of training.chooser.evaluate")
    parser.add_argument("plot", type=Path, help="the SVG file to write")
    options = parser.parse_args(arguments)
    try:
        tables = json.loads(options.figures.read_text("utf-8"))["tables"]
        plot = draw_plot(partial(draw, tables))
    except (OSError, ValueError, KeyError, TypeError) as error:
        sys.stderr.write(
            f"figures {options.figures} can't be read: {error!r}; write them with "
            "python -m training.chooser.evaluate … --json FILE\n"
        )
        return 1
    options.plot.write_text(plot, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
