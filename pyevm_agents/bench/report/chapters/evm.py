"""The EVM's own pace: how long a gas takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.bench.measurement.intervals import interval, ratio
from pyevm_agents.bench.pricing.parity import own_yardsticks
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
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyevm_agents.bench.measurement.results import Report, Yardstick


def evm(report: Report) -> Chapter | None:
    """Return the yardsticks; None where there are none."""
    if not report.yardsticks:
        return None
    slowest = findings.slowest(report)
    words = (
        "How long a gas of the EVM's own operations takes. Ethereum prices them for machine code; "
        "this EVM is written in Python, with hashes and signatures in C."
    )
    if slowest is not None:
        bought = number_format.seconds(findings.block_seconds(slowest).middle)
        words += f" The slowest for its gas is {slowest.title}: 30 million gas of it take {bought}."
    return Chapter(
        name="evm",
        title="The EVM's own pace",
        words=((words,),),
        parts=(
            Picture(
                name="gas_time",
                title="Gas against time, for each transaction",
                alt=_alt(report),
                note="Above a line a transaction takes longer for its gas than what the line is "
                "named for. Runs and attacks stand at what the default schedule asks.",
            ),
            _table(report),
        ),
    )


def _table(report: Report) -> Table:
    vms = tuple(dict.fromkeys(one.vm for one in report.yardsticks))
    columns = [*names("Operation"), *numbers("Gas")]
    for vm in vms:
        columns += numbers(f"Time, {vm}", f"ns a gas, {vm}")
    columns += [one for vm in vms[1:] for one in numbers(f"{vms[0]} over {vm}")]
    known = tuple(dict.fromkeys(one.name for one in report.yardsticks))
    found = {(one.name, one.vm): one for one in report.yardsticks}
    rows = []
    for name in known:
        row = [found.get((name, vm)) for vm in vms]
        first = next(one for one in row if one is not None)
        cells = [said(first.title), said(f"{first.gas:,}")]
        for one in row:
            cells += _cells(one)
        cells += [_over(row[0], one) for one in row[1:]]
        rows.append(tuple(cells))
    note = "Medians with 95 % intervals of "
    note += f"{max(len(one.seconds) for one in report.yardsticks)} rounds at most."
    if len(vms) > 1:
        note += (
            f" The gas is that of a sample on {vms[0]}. Another VM does more in a sample, and its "
            "time is of that; signatures are not in it."
        )
    return Table(title="Yardsticks", columns=tuple(columns), rows=tuple(rows), note=note)


def _cells(one: Yardstick | None) -> Iterator[Cell]:
    if one is None:
        yield from (said(number_format.NOTHING), said(number_format.NOTHING))
        return
    taken = interval(one.seconds).middle if one.seconds else float("nan")
    yield said(number_format.seconds(taken))
    yield measured(one.ns_per_gas, is_marked=True)


def _over(own: Yardstick | None, other: Yardstick | None) -> Cell:
    if own is None or other is None or not other.ns_per_gas.low:
        return said(number_format.NOTHING)
    return said(number_format.times(ratio(own.ns_per_gas, other.ns_per_gas).middle))


def _alt(report: Report) -> str:
    told = [
        f"{one.title} {number_format.number(one.ns_per_gas.middle)} ns a gas"
        for one in own_yardsticks(report.yardsticks)
    ]
    runs, attacks = len(report.runs), len(report.attacks)
    return (
        f"Time against gas, both logarithmic, of {len(report.yardsticks)} yardsticks, {runs} runs "
        f"and {attacks} attacks. {'; '.join(told)}."
    )
