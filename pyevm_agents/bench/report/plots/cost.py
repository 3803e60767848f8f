"""Plots of gas: prices, gas against time, the parts of a run's gas, and attacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyevm_agents.bench.measurement.results import OWN_VM, REFERENCES
from pyevm_agents.bench.pricing.parity import find_reference
from pyevm_agents.bench.report import findings
from pyevm_agents.bench.report.plots.axes import (
    compute_whiskers,
    format_plain,
    format_short,
    format_time,
    is_plottable,
    set_linear,
    set_logarithmic,
    wrap_label,
)
from pyevm_agents.reports.palette import (
    LIGHT,
    PART_COLOURS,
    REFERENCE_MARKS,
    SCHEDULE_COLOURS,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from pyevm_agents.bench.measurement.results import Report
    from pyevm_agents.bench.report.plots.axes import Sheet

ROW_INCHES = 0.42
BAR_INCHES = 0.17
RUNS_INCHES, RUN_INCHES = 1.1, 0.62
OFFSET = 0.2
"""Distance of marks of one row, as a share of the row."""

NEXT_TO_NOTHING = 1e-12
"""Gas beyond the left end of any axis: an interval that includes 0 leaves the plot."""

SMALL = 8
"""Font size of labels beside marks, in points."""


def draw_prices(report: Report, sheet: Sheet) -> Figure:
    """Draw each unit's price by default and at parity."""
    figure = sheet.create_figure(1.2 + ROW_INCHES * len(report.prices))
    axes = figure.subplots()
    values: list[float] = []
    for at, (name, words) in enumerate(REFERENCES.items()):
        gases = [
            (row, findings.get_parity_gas(price, name)) for row, price in enumerate(report.prices)
        ]
        known = [
            (row, gas)
            for row, gas in gases
            if gas is not None and is_plottable(gas.middle) and not gas.is_upper_bound
        ]
        colour, mark = REFERENCE_MARKS[name]
        axes.errorbar(
            [gas.middle for _, gas in known],
            [row + OFFSET * (at - 1) for row, _ in known],
            xerr=compute_whiskers(gas for _, gas in known),
            fmt=mark,
            color=colour,
            elinewidth=1.4,
            label=f"parity {words}",
        )
        values += [end for _, gas in known for end in (gas.low, gas.middle, gas.high)]
        little = [(row, gas.high) for row, gas in gases if gas is not None and gas.is_upper_bound]
        little = [(row, most) for row, most in little if is_plottable(most)]
        axes.hlines(
            [row + OFFSET * (at - 1) for row, _ in little],
            NEXT_TO_NOTHING,
            [most for _, most in little],
            colors=colour,
            linewidth=1.4,
        )
        values += [most for _, most in little]
    defaults = [
        (row, price.default_gas) for row, price in enumerate(report.prices) if price.default_gas
    ]
    axes.scatter(
        [gas for _, gas in defaults],
        [row for row, _ in defaults],
        marker="|",
        s=320,
        linewidths=2.4,
        color=LIGHT["ink"],
        label="default",
        zorder=3,
    )
    set_logarithmic(axes.xaxis, values + [float(gas) for _, gas in defaults], format_short)
    sheet.label_rows(axes, [findings.PRICES.get(price.term, price.term) for price in report.prices])
    for row in range(1, len(report.prices)):
        axes.axhline(row - 0.5, color=LIGHT["rule"], linewidth=0.7)
    axes.set_xlabel("gas of one unit")
    sheet.add_legend(figure, axes, narrow=1)
    return figure


def draw_gas_time(report: Report, sheet: Sheet) -> Figure:
    """Draw each transaction's time against gas, with the lines of parity."""
    figure = sheet.create_figure(5.2)
    axes = figure.subplots()
    mine = [yardstick for yardstick in report.yardsticks if yardstick.vm == OWN_VM]
    others = [yardstick for yardstick in report.yardsticks if yardstick.vm != OWN_VM]
    runs = [(findings.find_gas(run.costs, "default"), run.seconds) for run in report.runs]
    tried = [
        (findings.find_gas(attack.gas, "default"), attack.seconds) for attack in report.attacks
    ]
    kinds = (
        ("EVM, this VM", "o", LIGHT["grey"], True, [(point.gas, point.seconds) for point in mine]),
        ("EVM, anvil", "o", LIGHT["grey"], False, [(point.gas, point.seconds) for point in others]),
        ("runs", "s", LIGHT["blue"], True, runs),
        ("attacks", "^", LIGHT["orange"], True, tried),
    )
    points: list[tuple[float, float]] = []
    for words, mark, colour, is_full, samples in kinds:
        places = [(float(gas), _compute_median(taken)) for gas, taken in samples if gas]
        places = [place for place in places if is_plottable(place[1])]
        if not places:
            continue
        axes.scatter(
            [gas for gas, _ in places],
            [taken for _, taken in places],
            marker=mark,
            s=34,
            facecolors=colour if is_full else "none",
            edgecolors=colour,
            label=words,
            zorder=3,
        )
        points += places
    set_logarithmic(axes.xaxis, [gas for gas, _ in points], format_short)
    set_logarithmic(axes.yaxis, [taken for _, taken in points], format_time)
    draw_parity_lines(axes, report)
    axes.set_xlabel("gas")
    axes.set_ylabel("time")
    sheet.add_legend(figure, axes)
    return figure


def draw_parity_lines(axes: Axes, report: Report) -> None:
    """Draw the lines on which a transaction takes as long per gas as each reference."""
    left, right = axes.get_xlim()
    bottom, top = axes.get_ylim()
    for name, words in REFERENCES.items():
        yardstick = find_reference(report.yardsticks, name)
        if yardstick is None or not is_plottable(yardstick.ns_per_gas.middle):
            continue
        pace = yardstick.ns_per_gas.middle / 1e9
        is_main = name == findings.MAIN_REFERENCE
        axes.plot(
            [left, right],
            [left * pace, right * pace],
            color=REFERENCE_MARKS[name][0],
            linewidth=1.8 if is_main else 1.1,
            linestyle="-" if is_main else "--",
            zorder=1,
        )
        start, end = max(left, bottom / pace), min(right, top / pace)
        if not start < end:
            continue
        place = end if is_main else start  # Lines that lie close are named at different ends.
        axes.annotate(
            words.removeprefix("as "),
            (place, place * pace),
            xytext=(-6, -18) if is_main else (6, 10),
            ha="right" if is_main else "left",
            textcoords="offset points",
            color=REFERENCE_MARKS[name][0],
            fontsize=SMALL,
            bbox={"facecolor": LIGHT["surface"], "edgecolor": "none", "pad": 1.0},
        )


def draw_runs(report: Report, sheet: Sheet) -> Figure:
    """Draw the parts of each run's time and gas."""
    figure, (left, right) = sheet.create_panels(
        2, columns=2, row_inches=RUNS_INCHES + RUN_INCHES * len(report.runs)
    )
    taken = [
        (run.evm_seconds.middle, run.prompt_seconds.middle, run.output_seconds.middle)
        for run in report.runs
    ]
    _draw_stacked_bars(left, taken)
    gases = [findings.divide_gas(report, run) for run in report.runs]
    _draw_stacked_bars(right, [(0.0, 0.0, 0.0) if gas is None else gas for gas in gases])
    for row, (run, gas) in enumerate(zip(report.runs, gases, strict=True)):
        total = findings.find_gas(run.costs, "default")
        if gas is None and total is not None:
            right.barh(row, total, 0.55, color=LIGHT["rule"], label="not divided")
    sheet.label_rows(left, [run.title for run in report.runs])
    sheet.label_rows(right, [run.title if sheet.is_narrow else "" for run in report.runs])
    set_linear(left.xaxis, format_plain)
    set_linear(right.xaxis, format_short)
    left.set_xlabel("seconds")
    right.set_xlabel("gas by default")
    left.set_title("Time")
    right.set_title("Gas")
    sheet.add_legend(figure, left, right)
    return figure


def _draw_stacked_bars(axes: Axes, parts: Sequence[tuple[float, float, float]]) -> None:
    start = np.zeros(len(parts))
    for at, (words, colour) in enumerate(zip(findings.PARTS, PART_COLOURS, strict=True)):
        widths = np.asarray(
            [max(0.0, part[at]) if is_plottable(part[at]) else 0.0 for part in parts]
        )
        axes.barh(
            range(len(parts)),
            widths,
            0.55,
            left=start,
            color=colour,
            edgecolor=LIGHT["surface"],
            linewidth=0.8,
            label=words,
        )
        start += widths


def draw_attacks(report: Report, sheet: Sheet) -> Figure:
    """Draw the work of each attack for a block's gas, under each schedule."""
    schedules = findings.list_attack_schedules(report)
    figure = sheet.create_figure(1.4 + (BAR_INCHES * len(schedules) + 0.12) * len(report.attacks))
    axes = figure.subplots()
    slowest = findings.find_slowest(report)
    limit = None if slowest is None else findings.compute_block_seconds(slowest).middle
    bought = [dict(attack.seconds_per_30m_gas) for attack in report.attacks]
    known = [seconds.middle for work in bought for seconds in work.values()]
    known += [] if limit is None else [limit]
    set_logarithmic(axes.xaxis, known, format_time)
    floor = axes.get_xlim()[0]
    height = 0.8 / max(1, len(schedules))
    for at, schedule in enumerate(schedules):
        places = [
            (row, work[schedule])
            for row, work in enumerate(bought)
            if schedule in work and is_plottable(work[schedule].middle)
        ]
        axes.barh(
            [row + height * (at - (len(schedules) - 1) / 2) for row, _ in places],
            [seconds.middle - floor for _, seconds in places],
            height * 0.86,
            left=floor,
            xerr=compute_whiskers(seconds for _, seconds in places),
            error_kw={"ecolor": LIGHT["muted"], "elinewidth": 1.0},
            color=SCHEDULE_COLOURS.get(schedule, LIGHT["orange"]),
            label=schedule,
        )
    if limit is not None and is_plottable(limit) and slowest is not None:
        words = wrap_label(f"worst of the EVM: {slowest.title}", 40)
        axes.axvline(limit, color=LIGHT["orange"], linewidth=1.8, label=words)
    sheet.label_rows(axes, [attack.title for attack in report.attacks])
    axes.set_xlabel("work for 30 million gas")
    sheet.add_legend(figure, axes, columns=3, narrow=1)
    return figure


def _compute_median(seconds: tuple[float, ...]) -> float:
    return float(np.median(seconds)) if seconds else float("nan")
