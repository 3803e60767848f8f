"""The chapter of prices: each unit of inference at parity, beside the default price."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.bench.measurement.intervals import scale_interval
from pyevm_agents.bench.measurement.results import REFERENCES
from pyevm_agents.bench.pricing.parity import find_reference
from pyevm_agents.bench.report import findings
from pyevm_agents.reports import number_format
from pyevm_agents.reports.document import (
    Cell,
    Chapter,
    Picture,
    ReportTable,
    make_number_cell,
    make_number_columns,
    make_text_cell,
    make_text_columns,
    make_time_cell,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyevm_agents.bench.measurement.results import Price, Report
    from pyevm_agents.reports.document import Paragraph
    from pyevm_agents.reports.number_format import Interval

ONE_UNIT = "Cost of one more unit"
AT_MOST = "The same where a unit costs most"
EMITTED = "The schedule that --emit-schedule writes"


def build_price_chapter(report: Report) -> Chapter | None:
    """Return the chapter of parity prices; None if inference was not measured."""
    if not report.prices:
        return None
    return Chapter(
        name="prices",
        title="Parity prices",
        words=(_describe_parity(report),),
        parts=(
            Picture(
                name="prices",
                title="Default and parity price of each unit",
                alt=_build_alt_text(report),
                note="Gas of one unit, on a logarithmic axis. Bars are 95 % intervals; a bar "
                "without a mark is not distinguishable from zero.",
            ),
            _build_price_table(
                report,
                title=ONE_UNIT,
                at_most=False,
                note="Averages over the measured range. The factor is parity over default: above "
                "1 the default price is too low. < marks an upper bound: the figure is not "
                "distinguishable from zero.",
            ),
            _build_price_table(
                report,
                title=AT_MOST,
                at_most=True,
                note=_describe_longest_prompt(report),
            ),
            *_build_schedule_tables(report),
        ),
    )


def _describe_parity(report: Report) -> Paragraph:
    phrases = [
        f"{one.title} ({number_format.format_number(one.ns_per_gas.middle)} ns a gas)"
        for name in REFERENCES
        if (one := find_reference(report.yardsticks, name))
    ]
    words = (
        "At its parity price, inference takes as long per gas as an operation of the EVM on this "
        f"machine: {number_format.join_names(phrases)}."
    )
    return (words,)


def _describe_longest_prompt(report: Report) -> str:
    longest = findings.get_longest_prompt(report)
    return "" if longest is None else f"After {longest:,} tokens, the longest measured prompt."


def _build_schedule_tables(report: Report) -> tuple[ReportTable, ...]:
    emitted = {name: findings.compute_emitted_gas(report, name) for name in REFERENCES}
    emitted = {name: gas for name, gas in emitted.items() if gas}
    if not emitted:
        return ()
    titles = (
        f"{words[:1].upper()}{words[1:]}, gas" for words in map(REFERENCES.get, emitted) if words
    )
    rows = tuple(
        (
            make_text_cell(findings.PRICES.get(price.term, price.term)),
            *(
                Cell(text=f"{gas[price.term]:,}", is_marked=name == findings.MAIN_REFERENCE)
                for name, gas in emitted.items()
            ),
        )
        for price in report.prices
    )
    columns = (*make_text_columns("Unit"), *make_number_columns(*titles))
    note = findings.describe_emission(report)
    return (ReportTable(title=EMITTED, columns=columns, rows=rows, note=note),)


def _build_price_table(report: Report, *, title: str, at_most: bool, note: str) -> ReportTable:
    columns = [*make_text_columns("Unit"), *make_number_columns("Time", "Default, gas")]
    for words in REFERENCES.values():
        columns += make_number_columns(f"{words[:1].upper()}{words[1:]}, gas")
    rows = tuple(tuple(_iter_row_cells(report, price, at_most=at_most)) for price in report.prices)
    return ReportTable(title=title, columns=tuple(columns), rows=rows, note=note)


def _iter_row_cells(report: Report, price: Price, *, at_most: bool) -> Iterator[Cell]:
    yield make_text_cell(findings.PRICES.get(price.term, price.term))
    ns = findings.get_unit_ns(report, price.term, at_most=at_most)
    yield (
        make_text_cell(number_format.NOTHING)
        if ns is None
        else make_time_cell(scale_interval(ns, 1e-9))
    )
    yield make_text_cell(
        number_format.NOTHING if price.default_gas is None else f"{price.default_gas:,}"
    )
    for name in REFERENCES:
        factor = findings.compute_price_factor(price, name, at_most=at_most)
        times = (
            ""
            if factor is None
            else number_format.format_estimate(factor, number_format.format_factor)
        )
        yield _build_parity_cell(findings.get_parity_gas(price, name, at_most=at_most), name, times)


def _build_parity_cell(gas: Interval | None, name: str, times: str) -> Cell:
    if gas is None:
        return make_text_cell(number_format.NOTHING)
    return make_number_cell(gas, note=times, is_marked=name == findings.MAIN_REFERENCE)


def _build_alt_text(report: Report) -> str:
    words = REFERENCES[findings.MAIN_REFERENCE]
    phrases = [
        f"{findings.PRICES.get(unit.term, unit.term)} {number_format.format_estimate(gas)} gas"
        + (f" for {unit.default_gas:,} by default" if unit.default_gas is not None else "")
        for unit in report.prices
        if (gas := findings.get_parity_gas(unit, findings.MAIN_REFERENCE))
    ]
    return f"Parity prices {words}: {'; '.join(phrases) or 'none'}."
