"""The most that one can make the precompile do for its gas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.bench.measurement.intervals import interval
from pyevm_agents.bench.measurement.results import REFERENCES
from pyevm_agents.bench.pricing.parity import reference
from pyevm_agents.bench.report import findings, number_format
from pyevm_agents.bench.report.document import (
    Cell,
    Chapter,
    Picture,
    Table,
    names,
    numbers,
    said,
    timed,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyevm_agents.bench.measurement.results import Attack, Report


def attacks(report: Report) -> Chapter | None:
    """Return the attacks; None where there are none."""
    if not report.attacks:
        return None
    return Chapter(
        name="attacks",
        title="Attacks",
        words=((_verdict(report),), *((each,) for each in _beyond_parity(report))),
        parts=(
            Picture(
                name="attacks",
                title="Work that 30 million gas buy",
                alt=_alt(report),
                note="Seconds, on a logarithmic axis; the line is the EVM's own worst case on this "
                "VM. What reaches beyond it is cheaper than it should be.",
            ),
            _table(report),
            _ways(report),
        ),
    )


def _verdict(report: Report) -> str:
    slowest = findings.slowest(report)
    told = [
        f"{number_format.seconds(found[1].middle)} under {schedule} "
        f"({number_format.within(found[0].title)})"
        for schedule in findings.attack_schedules(report)
        if (found := findings.worst_attack(report, schedule))
    ]
    words = f"The most work that 30 million gas bought: {number_format.listed(told)}."
    if slowest is None:
        return words
    limit = findings.block_seconds(slowest)
    beyond = [
        schedule
        for schedule in findings.attack_schedules(report)
        if (found := findings.worst_attack(report, schedule)) and found[1].low > limit.high
    ]
    words += f" The EVM's own worst, {slowest.title}, takes {number_format.seconds(limit.middle)}: "
    if not beyond:
        return words + "no attack is worse under any schedule."
    return words + f"attacks are worse under {number_format.listed(beyond)}."


def _beyond_parity(report: Report) -> Iterator[str]:
    """Yield, for each reference, what takes longer than the gas of parity with it is worth."""
    for name in REFERENCES:
        one, schedule = reference(report.yardsticks, name), f"parity-{name}"
        if one is None or schedule not in findings.attack_schedules(report):
            continue
        pace = findings.block_seconds(one)
        beyond = [
            number_format.within(attack.title)
            for attack in report.attacks
            if (bought := dict(attack.seconds_per_30m_gas).get(schedule)) and bought.low > pace.high
        ]
        if beyond:
            yield (
                f"Spent {REFERENCES[name]}, 30 million gas take "
                f"{number_format.seconds(pace.middle)}; under {schedule} they buy more by "
                f"{number_format.listed(beyond)}. No schedule of the executor prices what the EVM "
                "itself does."
            )


def _table(report: Report) -> Table:
    schedules = findings.attack_schedules(report)
    slowest = findings.slowest(report)
    limit = float("inf") if slowest is None else findings.block_seconds(slowest).high
    rows = tuple(_row(attack, schedules, limit) for attack in report.attacks)
    columns = (*names("Attack"), *numbers("Once", *schedules))
    return Table(
        title="Seconds for 30 million gas, by schedule",
        columns=columns,
        rows=rows,
        note="Bold: worse than the EVM's own worst case.",
    )


def _row(attack: Attack, schedules: tuple[str, ...], limit: float) -> tuple[Cell, ...]:
    bought = dict(attack.seconds_per_30m_gas)
    once = timed(interval(attack.seconds)) if attack.seconds else said(number_format.NOTHING)
    cells = (
        timed(bought[name], is_marked=bought[name].low > limit)
        if name in bought
        else said(number_format.NOTHING)
        for name in schedules
    )
    return (said(attack.title), once, *cells)


def _ways(report: Report) -> Table:
    rows = tuple(
        (
            said(attack.title),
            said(attack.how),
            said(attack.outcome),
            said(_gas(attack)),
        )
        for attack in report.attacks
    )
    columns = (*names("Attack", "How", "Ends"), *numbers("Gas by default"))
    return Table(title="What they do", columns=columns, rows=rows)


def _gas(attack: Attack) -> str:
    gas = findings.gas_of(attack.gas, "default")
    return number_format.NOTHING if gas is None else f"{gas:,}"


def _alt(report: Report) -> str:
    told = [
        f"{attack.title} {number_format.seconds(bought['default'].middle)}"
        for attack in report.attacks
        if "default" in (bought := dict(attack.seconds_per_30m_gas))
    ]
    return f"Seconds of work for 30 million gas by default: {'; '.join(told) or 'none'}."
