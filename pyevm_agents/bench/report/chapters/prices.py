"""What each unit of inference would cost at parity, beside what it costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.bench.measurement.intervals import scaled
from pyevm_agents.bench.measurement.results import REFERENCES
from pyevm_agents.bench.pricing.parity import reference
from pyevm_agents.bench.report import findings, number_format
from pyevm_agents.bench.report.document import (
    Cell,
    Chapter,
    Picture,
    Table,
    measured,
    names,
    numbers,
    said,
    timed,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyevm_agents.bench.measurement.results import Interval, Price, Report
    from pyevm_agents.bench.report.document import Words

ONE_UNIT = "What one more unit costs"
AT_MOST = "The same where a unit costs most"


def prices(report: Report) -> Chapter | None:
    """Return the parity prices; None where inference was not measured."""
    if not report.prices:
        return None
    return Chapter(
        name="prices",
        title="Parity prices",
        words=(_meaning(report),),
        parts=(
            Picture(
                name="prices",
                title="Default and parity price of each unit",
                alt=_alt(report),
                note="Gas of one unit, on a logarithmic axis; bars are 95 % intervals, those "
                "without a mark of what is too little to measure.",
            ),
            _table(
                report,
                title=ONE_UNIT,
                at_most=False,
                note="Over the middle of what was measured. The factor is parity over "
                "default: above 1 the default schedule asks too little.",
            ),
            _table(
                report,
                title=AT_MOST,
                at_most=True,
                note=_where_most(report),
            ),
        ),
    )


def _meaning(report: Report) -> Words:
    told = [
        f"{one.title} ({number_format.number(one.ns_per_gas.middle)} ns a gas)"
        for name in REFERENCES
        if (one := reference(report.yardsticks, name))
    ]
    words = (
        "A parity price is the gas at which inference takes as long for its gas as something of "
        f"the EVM's own does on this machine: {number_format.listed(told)}."
    )
    return (words,)


def _where_most(report: Report) -> str:
    longest = findings.longest_prompt(report)
    where = "" if longest is None else f"After {longest:,} tokens, the longest prompt measured. "
    return f"{where}From these a schedule at parity follows: an upper bound, that nobody can abuse."


def _table(report: Report, *, title: str, at_most: bool, note: str) -> Table:
    columns = [*names("Unit"), *numbers("Time", "Default, gas")]
    for words in REFERENCES.values():
        columns += numbers(f"{words[:1].upper()}{words[1:]}, gas")
    rows = tuple(tuple(_row(report, one, at_most=at_most)) for one in report.prices)
    return Table(title=title, columns=tuple(columns), rows=rows, note=note)


def _row(report: Report, one: Price, *, at_most: bool) -> Iterator[Cell]:
    yield said(findings.PRICES.get(one.term, one.term))
    ns = findings.unit_ns(report, one.term, at_most=at_most)
    yield said(number_format.NOTHING) if ns is None else timed(scaled(ns, 1e-9))
    yield said(number_format.NOTHING if one.default_gas is None else f"{one.default_gas:,}")
    for name in REFERENCES:
        factor = findings.factor(one, name, at_most=at_most)
        times = "" if factor is None else number_format.times(factor.middle)
        yield _measured(findings.parity(one, name, at_most=at_most), name, times)


def _measured(it: Interval | None, name: str, times: str) -> Cell:
    if it is None:
        return said(number_format.NOTHING)
    return measured(it, note=times, is_marked=name == findings.MAIN_REFERENCE)


def _alt(report: Report) -> str:
    words = REFERENCES[findings.MAIN_REFERENCE]
    told = [
        f"{findings.PRICES.get(one.term, one.term)} {number_format.number(gas.middle)} gas"
        + (f" for {one.default_gas:,} by default" if one.default_gas is not None else "")
        for one in report.prices
        if (gas := findings.parity(one, findings.MAIN_REFERENCE))
    ]
    return f"Parity prices {words}: {'; '.join(told) or 'none'}."
