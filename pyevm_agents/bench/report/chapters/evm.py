"""The chapter of the EVM's pace: the time of a gas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.bench.measurement.intervals import divide_intervals, estimate_median
from pyevm_agents.bench.pricing.parity import filter_own_yardsticks
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
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyevm_agents.bench.measurement.results import Report, Yardstick


def build_evm_chapter(report: Report) -> Chapter | None:
    """Return the chapter of yardsticks, or None."""
    if not report.yardsticks:
        return None
    slowest = findings.find_slowest(report)
    words = (
        "How long a gas of the EVM's own operations takes. Ethereum prices them for machine code; "
        "this EVM is written in Python, with hashes and signatures in C."
    )
    if slowest is not None:
        bought = number_format.format_seconds(findings.compute_block_seconds(slowest).middle)
        words += f" The slowest for its gas is {slowest.title}: 30 million gas of it take {bought}."
    return Chapter(
        name="evm",
        title="The EVM's own pace",
        words=((words,),),
        parts=(
            Picture(
                name="gas_time",
                title="Gas against time, for each transaction",
                alt=_build_alt_text(report),
                note="Above a line a transaction takes longer for its gas than the operation that "
                "names the line. Runs and attacks have the gas of the default schedule.",
            ),
            _build_yardstick_table(report),
        ),
    )


def _build_yardstick_table(report: Report) -> ReportTable:
    vms = tuple(dict.fromkeys(yardstick.vm for yardstick in report.yardsticks))
    columns = [*make_text_columns("Operation"), *make_number_columns("Gas")]
    for vm in vms:
        columns += make_number_columns(f"Time, {vm}", f"ns a gas, {vm}")
    columns += [column for vm in vms[1:] for column in make_number_columns(f"{vms[0]} over {vm}")]
    known = tuple(dict.fromkeys(yardstick.name for yardstick in report.yardsticks))
    yardsticks = {(yardstick.name, yardstick.vm): yardstick for yardstick in report.yardsticks}
    rows = []
    for name in known:
        row = [yardsticks.get((name, vm)) for vm in vms]
        first = next(yardstick for yardstick in row if yardstick is not None)
        cells = [make_text_cell(first.title), make_text_cell(f"{first.gas:,}")]
        for yardstick in row:
            cells += _iter_cells(yardstick)
        cells += [_build_ratio_cell(row[0], yardstick) for yardstick in row[1:]]
        rows.append(tuple(cells))
    note = "Medians with 95 % intervals of "
    note += f"{max(len(yardstick.seconds) for yardstick in report.yardsticks)} rounds at most."
    if len(vms) > 1:
        note += (
            f" The gas is that of a sample on {vms[0]}. Another VM does more in a sample, and its "
            "time is of that; signatures are not in it."
        )
    return ReportTable(title="Yardsticks", columns=tuple(columns), rows=tuple(rows), note=note)


def _iter_cells(yardstick: Yardstick | None) -> Iterator[Cell]:
    if yardstick is None:
        yield from (make_text_cell(number_format.NOTHING), make_text_cell(number_format.NOTHING))
        return
    taken = estimate_median(yardstick.seconds).middle if yardstick.seconds else float("nan")
    yield make_text_cell(number_format.format_seconds(taken))
    yield make_number_cell(yardstick.ns_per_gas, is_marked=True)


def _build_ratio_cell(own: Yardstick | None, other: Yardstick | None) -> Cell:
    if own is None or other is None or not other.ns_per_gas.low:
        return make_text_cell(number_format.NOTHING)
    return make_text_cell(
        number_format.format_factor(divide_intervals(own.ns_per_gas, other.ns_per_gas).middle)
    )


def _build_alt_text(report: Report) -> str:
    phrases = [
        f"{yardstick.title} {number_format.format_number(yardstick.ns_per_gas.middle)} ns a gas"
        for yardstick in filter_own_yardsticks(report.yardsticks)
    ]
    runs, attacks = len(report.runs), len(report.attacks)
    return (
        f"Time against gas, both logarithmic, of {len(report.yardsticks)} yardsticks, {runs} runs "
        f"and {attacks} attacks. {'; '.join(phrases)}."
    )
