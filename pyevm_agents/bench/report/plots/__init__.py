"""The plots of a report, as SVG in light colours, which a page may replace."""

from __future__ import annotations

import io
from functools import partial
from typing import TYPE_CHECKING

from pyevm_agents.bench.extras import require_package
from pyevm_agents.reports.palette import COLOURS, RC
from pyevm_agents.reports.svg import as_file, as_inline, build_css

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from matplotlib.figure import Figure

    from pyevm_agents.bench.measurement.results import Report
    from pyevm_agents.bench.report.plots.axes import Sheet

__all__ = [
    "COLOURS",
    "PLOTS",
    "as_file",
    "as_inline",
    "build_css",
    "draw_plot",
    "draw_plots",
    "require_matplotlib",
]

PLOTS = (
    "prices",
    "gas_time",
    "marginal",
    "residuals",
    "runs",
    "attacks",
    "numeric",
    "growth",
    "sizes",
)
"""Names of plots, and of the functions that draw them."""


def require_matplotlib() -> None:
    """Check that plots can be drawn.

    Raises: ConfigError: matplotlib is not installed.
    """
    require_package("matplotlib", use="plots", alternative="use --json alone")


def draw_plots(
    report: Report, names: Collection[str], *, is_narrow: bool = False
) -> dict[str, str]:
    """Draw plots, for a wide or a narrow page; return each one's SVG by name.

    Raises: ConfigError: matplotlib is not installed.
    """
    require_matplotlib()
    painters = {name: _get_painter(name) for name in PLOTS if name in names}
    return {
        name: draw_plot(partial(paint, report), is_narrow=is_narrow)
        for name, paint in painters.items()
    }


def draw_plot(paint: Callable[[Sheet], Figure], *, is_narrow: bool = False) -> str:
    """Return the SVG of a plot, for a wide or a narrow page, in the style of all plots.

    Raises: ConfigError: matplotlib is not installed.
    """
    require_matplotlib()
    import matplotlib as mpl  # noqa: PLC0415 - an extra

    from pyevm_agents.bench.report.plots.axes import NARROW, WIDE  # noqa: PLC0415 - as above

    with mpl.rc_context(RC):
        return _render_svg(paint(NARROW if is_narrow else WIDE))


def _get_painter(name: str) -> Callable[[Report, Sheet], Figure]:
    """Return the painter of a plot; imports matplotlib."""
    from pyevm_agents.bench.report.plots import cost, numeric, scale, time  # noqa: PLC0415 - matplotlib is an extra

    painters: dict[str, Callable[[Report, Sheet], Figure]] = {
        "prices": cost.draw_prices,
        "gas_time": cost.draw_gas_time,
        "runs": cost.draw_runs,
        "attacks": cost.draw_attacks,
        "numeric": numeric.draw_numeric,
        "marginal": time.draw_marginal,
        "residuals": time.draw_residuals,
        "growth": scale.draw_growth,
        "sizes": scale.draw_sizes,
    }
    return painters[name]


def _render_svg(figure: Figure) -> str:
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    return file.getvalue()
