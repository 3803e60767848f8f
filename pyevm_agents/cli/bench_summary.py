"""What `pyevm-agents bench` found, on one screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from pyevm_agents.bench import findings, wording
from pyevm_agents.bench.answer import answer
from pyevm_agents.bench.chapters import warnings_of
from pyevm_agents.bench.chapters.changes import amount, shown, verdict
from pyevm_agents.bench.document import Strong
from pyevm_agents.bench.form import REFERENCES
from pyevm_agents.bench.intervals import interval
from pyevm_agents.cli.screen import out, print_table

if TYPE_CHECKING:
    from pyevm_agents.bench.compare import Comparison
    from pyevm_agents.bench.form import Interval, Price, Report

TOO_LITTLE, TOO_MUCH = 1.25, 0.8
"""Factors between parity and default from which a default price is told to be off."""

SHOWN_SCHEDULES = ("default", "parity-erc20")


def print_summary(report: Report) -> None:
    """Print the answer, prices, runs, the worst attack, noise, and what was left out."""
    words = [
        f"[bold cyan]{escape(word.text)}[/]" if isinstance(word, Strong) else escape(word)
        for word in answer(report)
    ]
    out.print()
    out.print("".join(words))
    for table in (_prices(report), _yardsticks(report), _runs(report)):
        if table.row_count:
            out.print()
            print_table(table)
    _print_attacks(report)
    noise = findings.noise_in_words(report.noise, report.machine.cores)
    is_noisy = findings.is_noisy(report.noise, report.machine.cores)
    out.print(
        f"\n[bold]Machine[/]  {'[yellow]' if is_noisy else ''}{escape(noise)}", soft_wrap=True
    )
    for warning in warnings_of(report):
        out.print(f"[yellow]{escape(warning)}[/]", soft_wrap=True)
    for what, why in report.left_out:
        out.print(f"[dim]left out: {escape(what)}: {escape(why)}[/]", soft_wrap=True)
    out.print(f"[dim]{report.mode} run, {wording.seconds(report.seconds)}[/]")


def print_comparison(comparison: Comparison) -> None:
    """Print what changed since an older report, and first what else is not the same."""
    when = wording.moment(comparison.old_made_at)
    out.print(f"\n[bold]Compared with {escape(when)}[/]")
    for name, was, now in comparison.circumstances:
        out.print(
            f"[yellow]another {escape(name)}[/]: {escape(shown(was))} → {escape(shown(now))}",
            soft_wrap=True,
        )
    out.print(escape(verdict(comparison)), soft_wrap=True)
    table = _table("Changed", "old", "new", "new over old", "")
    for one in comparison.changed:
        style = "red" if one.ratio.middle > 1 else "green"
        table.add_row(
            escape(f"{one.group}: {one.title}"),
            escape(amount(one.old.middle, one.unit)),
            escape(amount(one.new.middle, one.unit)),
            f"[{style}]{wording.times(one.ratio.middle)}[/]",
            f"[dim]{wording.span(one.ratio)}[/]",
        )
    if table.row_count:
        print_table(table)


def _prices(report: Report) -> Table:
    """Return parity prices; a factor is red where the default price is too low."""
    main = findings.MAIN_REFERENCE
    others = [name for name in REFERENCES if name != main]
    table = _table("Gas at parity", "time", "default", main, "", *others)
    for one in report.prices:
        ns = findings.unit_ns(report, one.term)
        table.add_row(
            findings.PRICES.get(one.term, one.term),
            wording.NOTHING if ns is None else wording.seconds(ns.middle / 1e9),
            wording.NOTHING if one.default_gas is None else f"{one.default_gas:,}",
            _price(one, main),
            _factor(one, main),
            *(_price(one, name) for name in others),
        )
    return table


def _price(one: Price, name: str) -> str:
    gas = findings.parity(one, name)
    return wording.NOTHING if gas is None else wording.number(gas.middle)


def _factor(one: Price, name: str) -> str:
    factor = findings.factor(one, name)
    if factor is None:
        return ""
    is_low, is_high = factor.middle > TOO_LITTLE, factor.middle < TOO_MUCH
    style = "red" if is_low else "yellow" if is_high else "green"
    return f"[{style}]{wording.times(factor.middle)}[/]"


def _yardsticks(report: Report) -> Table:
    vms = tuple(dict.fromkeys(one.vm for one in report.yardsticks))
    table = _table("ns a gas of the EVM", *vms)
    found = {(one.title, one.vm): one.ns_per_gas for one in report.yardsticks}
    for title in dict.fromkeys(one.title for one in report.yardsticks):
        table.add_row(escape(title), *(_spread(found.get((title, vm))) for vm in vms))
    return table


def _runs(report: Report) -> Table:
    table = _table("Transaction", "time", *(f"{name}, gas" for name in SHOWN_SCHEDULES))
    for run in report.runs:
        gases = [findings.gas_of(run.costs, name) for name in SHOWN_SCHEDULES]
        table.add_row(
            escape(run.title),
            wording.seconds(interval(run.seconds).middle) if run.seconds else wording.NOTHING,
            *(wording.NOTHING if gas is None else f"{gas:,}" for gas in gases),
        )
    return table


def _print_attacks(report: Report) -> None:
    slowest = findings.slowest(report)
    table = _table("Most work for 30 million gas", "", "")
    limit = None if slowest is None else findings.block_seconds(slowest)
    for schedule in findings.attack_schedules(report):
        found = findings.worst_attack(report, schedule)
        if found is None:
            continue
        attack, bought = found
        is_beyond = limit is not None and bought.low > limit.high
        seconds = wording.seconds(bought.middle)
        table.add_row(
            schedule, f"[red]{seconds}[/]" if is_beyond else seconds, f"[dim]{escape(attack.title)}"
        )
    if not table.row_count:
        return
    if limit is not None and slowest is not None:
        own = wording.seconds(limit.middle)
        table.add_row("the EVM itself", own, f"[dim]{escape(slowest.title)}")
    out.print()
    print_table(table)


def _spread(it: Interval | None) -> str:
    if it is None:
        return wording.NOTHING
    return f"{wording.number(it.middle)} [dim]{wording.span(it)}[/]"


def _table(first: str, *others: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column(first)
    for title in others:
        table.add_column(title, justify="right", no_wrap=True)
    return table
