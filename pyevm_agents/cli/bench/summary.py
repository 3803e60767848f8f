"""Print the summary of `pyevm-agents bench`, on one screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from pyevm_agents.bench.measurement.intervals import estimate_median, scale_interval
from pyevm_agents.bench.measurement.results import NUMERIC_UNITS, REFERENCES, TERMS
from pyevm_agents.bench.pricing.parity import OPERATIONS_PER_GAS
from pyevm_agents.bench.report import findings
from pyevm_agents.bench.report.chapters import TITLE, list_warnings
from pyevm_agents.bench.report.chapters.changes import (
    abbreviate,
    describe_comparison,
    format_amount,
)
from pyevm_agents.bench.report.summary import build_summary
from pyevm_agents.cli.output import out, print_table
from pyevm_agents.reports import number_format
from pyevm_agents.reports.document import Strong

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyevm_agents.bench.measurement.results import NumericResults, Price, Report
    from pyevm_agents.bench.report.compare import ReportComparison
    from pyevm_agents.bench.report.findings import BoughtWork
    from pyevm_agents.reports.number_format import Interval

TOO_LITTLE, TOO_MUCH = 1.25, 0.8
"""Factors of parity over default from which a default price is marked as too low or too high."""

SHOWN_SCHEDULES = ("default", "parity-erc20")

WORTH = "its worth: its time at the pace of an ERC-20 transfer"

GROWTH_TITLES = {"tokens": "tokens", "seconds": "time", "gas": "gas"}
SIZE_TITLES = {"cold": "a token read", "sampled": "written"}
"""Shown terms of models by size."""

SHOWN_CHANGES = 20
"""Shown changes, in the report's order: as many as fit a screen."""


def print_summary(report: Report, *, parity_with: str = findings.MAIN_REFERENCE) -> None:
    """Print the summary, prices, runs, the worst attack, noise, and omitted parts.

    Input: the reference of the schedule whose prices are shown.
    """
    words = [
        f"[bold cyan]{escape(word.text)}[/]" if isinstance(word, Strong) else escape(word)
        for word in build_summary(report)
    ]
    out.print(f"\n[bold]{TITLE}[/]")
    out.print("".join(words))
    for table in (
        _build_price_table(report),
        _build_term_table(report),
        _build_yardstick_table(report),
        _build_run_table(report),
    ):
        if table.row_count:
            out.print()
            print_table(table)
    if report.runs and report.yardsticks:
        out.print(f"[dim]{WORTH}[/]")
    _print_emitted_prices(report, parity_with)
    _print_most_work(report, "Most work for 30 million gas", report.attacks)
    _print_numeric_models(report)
    for table in (_build_growth_table(report), _build_size_table(report)):
        if table.row_count:
            out.print()
            print_table(table)
    noise = findings.describe_noise(report.noise, report.machine.cores)
    is_noisy = findings.is_noisy(report.noise, report.machine.cores)
    out.print(
        f"\n[bold]Machine[/]  {'[yellow]' if is_noisy else ''}{escape(noise)}",
        soft_wrap=not out.is_terminal,
    )
    for warning in list_warnings(report):
        out.print(f"[yellow]{escape(warning)}[/]", soft_wrap=True)
    for what, why in report.left_out:
        out.print(f"[dim]left out: {escape(what)}: {escape(why)}[/]", soft_wrap=True)
    out.print(f"[dim]{report.mode} run, {number_format.format_seconds(report.seconds)}[/]")


def _print_emitted_prices(report: Report, reference: str) -> None:
    gas = findings.compute_emitted_gas(report, reference)
    if not gas:
        return
    table = _create_table(f"Emitted schedule: parity {REFERENCES[reference]}", "gas")
    for name, price in gas.items():
        table.add_row(findings.PRICES[name], f"{price:,}")
    out.print()
    print_table(table)
    out.print(f"[dim]{findings.describe_emission(report)}[/]")


def print_comparison(comparison: ReportComparison) -> None:
    """Print the changes since an older report, after the differing circumstances."""
    when = number_format.format_timestamp(comparison.old_made_at)
    out.print(f"\n[bold]Compared with {escape(when)}[/]")
    for name, was, now in comparison.circumstances:
        out.print(
            f"[yellow]another {escape(name)}[/]: "
            f"{escape(abbreviate(was))} → {escape(abbreviate(now))}",
            soft_wrap=True,
        )
    out.print(escape(describe_comparison(comparison)), soft_wrap=True)
    table = _create_table("Changed", "old", "new", "new over old")
    for difference in comparison.changed[:SHOWN_CHANGES]:
        style = "red" if difference.ratio.middle > 1 else "green"
        table.add_row(
            escape(f"{difference.group}: {difference.title}"),
            escape(_format_side(difference.old, difference.unit)),
            escape(_format_side(difference.new, difference.unit)),
            f"[{style}]{number_format.format_factor(difference.ratio.middle)}[/]",
        )
    if table.row_count:
        print_table(table)
    if (others := len(comparison.changed) - SHOWN_CHANGES) > 0:
        out.print(f"[dim]and {others:,} more: --html and --markdown show all, with intervals[/]")


def _format_side(value: Interval, unit: str) -> str:
    return number_format.format_estimate(value, lambda each: format_amount(each, unit))


def _build_price_table(report: Report) -> Table:
    """Return parity prices; a factor is red if the default price is too low."""
    main = findings.MAIN_REFERENCE
    others = [name for name in REFERENCES if name != main]
    table = _create_table("Gas at parity", "time", "default", main, "", *others)
    for price in report.prices:
        ns = findings.get_unit_ns(report, price.term)
        table.add_row(
            findings.PRICES.get(price.term, price.term),
            number_format.NOTHING
            if ns is None
            else number_format.format_estimate(
                scale_interval(ns, 1e-9), number_format.format_seconds
            ),
            number_format.NOTHING if price.default_gas is None else f"{price.default_gas:,}",
            _format_parity_gas(price, main),
            _format_factor(price, main),
            *(_format_parity_gas(price, name) for name in others),
        )
    return table


def _build_term_table(report: Report) -> Table:
    """Return the time of each unit; no rows for a report with prices, which show that time."""
    table = _create_table("One more", "takes", "where most")
    for term in () if report.prices else report.terms:
        times = (
            number_format.format_estimate(scale_interval(ns, 1e-9), number_format.format_seconds)
            for ns in (term.ns, term.ns_at_most)
        )
        table.add_row(TERMS.get(term.name, term.name), *times)
    return table


def _format_parity_gas(price: Price, name: str) -> str:
    gas = findings.get_parity_gas(price, name)
    return number_format.NOTHING if gas is None else number_format.format_estimate(gas)


def _format_factor(price: Price, name: str) -> str:
    factor = findings.compute_price_factor(price, name)
    if factor is None:
        return ""
    most = factor.high if factor.is_upper_bound else factor.middle
    is_low, is_high = most > TOO_LITTLE and not factor.is_upper_bound, most < TOO_MUCH
    style = "red" if is_low else "yellow" if is_high else "green"
    return f"[{style}]{number_format.format_estimate(factor, number_format.format_factor)}[/]"


def _build_yardstick_table(report: Report) -> Table:
    vms = tuple(dict.fromkeys(yardstick.vm for yardstick in report.yardsticks))
    table = _create_table("ns a gas of the EVM", *vms)
    ns_per_gas = {
        (yardstick.title, yardstick.vm): yardstick.ns_per_gas for yardstick in report.yardsticks
    }
    for title in dict.fromkeys(yardstick.title for yardstick in report.yardsticks):
        table.add_row(escape(title), *(_format_interval(ns_per_gas.get((title, vm))) for vm in vms))
    return table


def _build_run_table(report: Report) -> Table:
    table = _create_table("Gas of a transaction", "time", "its worth", *SHOWN_SCHEDULES)
    for run in report.runs:
        gases = [findings.find_gas(run.costs, name) for name in SHOWN_SCHEDULES]
        worth = findings.compute_gas_worth(report, run, findings.MAIN_REFERENCE)
        table.add_row(
            escape(run.title),
            number_format.format_seconds(estimate_median(run.seconds).middle)
            if run.seconds
            else number_format.NOTHING,
            number_format.NOTHING if worth is None else number_format.format_number(worth.middle),
            *(number_format.NOTHING if gas is None else f"{gas:,}" for gas in gases),
        )
    return table


def _build_growth_table(report: Report) -> Table:
    """Return the exponents of growth: 1 is linear."""
    table = _create_table("Growth as xᵖ, p", *GROWTH_TITLES.values())
    for growth in report.growth:
        exponents = dict(growth.exponents)
        table.add_row(
            escape(f"by {growth.axis}"),
            *(_format_interval(exponents.get(name)) for name in GROWTH_TITLES),
        )
    return table


def _build_size_table(report: Report) -> Table:
    """Return a token's time, and the gas at parity, by model."""
    table = _create_table(
        "Models", "parameters", *(f"{words}, gas" for words in SIZE_TITLES.values())
    )
    for size in report.sizes:
        ns = dict(size.ns)
        gas = dict(dict(size.parity_gas).get(findings.MAIN_REFERENCE, ()))
        cells = []
        for name in SIZE_TITLES:
            time = (
                number_format.format_estimate(
                    scale_interval(ns[name], 1e-9), number_format.format_seconds
                )
                if name in ns
                else number_format.NOTHING
            )
            worth = (
                number_format.format_estimate(gas[name]) if name in gas else number_format.NOTHING
            )
            cells.append(f"{time}  {worth}")
        table.add_row(escape(size.name), number_format.format_count(size.parameters), *cells)
    return table


def _print_numeric_models(report: Report) -> None:
    if report.numeric is None:
        return
    table = _build_numeric_table(report.numeric)
    if table.row_count:
        out.print()
        print_table(table)
    _print_most_work(report, "30 million gas of numeric models", report.numeric.transactions)


def _build_numeric_table(numeric: NumericResults) -> Table:
    """Return the time of the units of the four prices, with those by default and at parity."""
    main = findings.MAIN_REFERENCE
    table = _create_table("Numeric models", "time", "at most", "default", main)
    for price in numeric.prices:
        times = (
            number_format.format_estimate(scale_interval(ns, 1e-9), number_format.format_seconds)
            for ns in (price.ns, price.ns_at_most)
        )
        parity = dict(price.parity_at_most).get(main)
        table.add_row(
            NUMERIC_UNITS.get(price.name, price.name),
            *times,
            f"{price.default:,}{' for a gas' if price.name == OPERATIONS_PER_GAS else ''}",
            number_format.NOTHING if parity is None else number_format.format_estimate(parity),
        )
    return table


def _print_most_work(report: Report, title: str, bought: Sequence[BoughtWork]) -> None:
    slowest = findings.find_slowest(report)
    table = _create_table(title, "")
    table.add_column()
    limit = None if slowest is None else findings.compute_block_seconds(slowest)
    for schedule in findings.list_work_schedules(bought):
        worst = findings.find_most_work(bought, schedule)
        if worst is None:
            continue
        work, taken = worst
        is_beyond = limit is not None and taken.low > limit.high
        seconds = number_format.format_seconds(taken.middle)
        table.add_row(
            schedule, f"[red]{seconds}[/]" if is_beyond else seconds, f"[dim]{escape(work.title)}"
        )
    if not table.row_count:
        return
    if limit is not None and slowest is not None:
        own = number_format.format_seconds(limit.middle)
        table.add_row("the EVM itself", own, f"[dim]{escape(slowest.title)}")
    out.print()
    print_table(table)


def _format_interval(interval: Interval | None) -> str:
    if interval is None:
        return number_format.NOTHING
    span = number_format.format_span(interval)
    return number_format.format_estimate(interval) + (f" [dim]({span})[/]" if span else "")


def _create_table(first: str, *others: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column(first)
    for title in others:
        table.add_column(title, justify="right", no_wrap=True)
    return table
