"""The chapter of attacks: the most work per gas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.bench.measurement.intervals import estimate_median
from pyevm_agents.bench.measurement.results import REFERENCES
from pyevm_agents.bench.pricing.parity import find_reference
from pyevm_agents.bench.report import findings
from pyevm_agents.reports import number_format
from pyevm_agents.reports.document import (
    Cell,
    Chapter,
    Picture,
    ReportTable,
    make_number_columns,
    make_text_cell,
    make_text_columns,
    make_time_cell,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyevm_agents.bench.measurement.results import Report
    from pyevm_agents.bench.report.findings import BoughtWork


def build_attack_chapter(report: Report) -> Chapter | None:
    """Return the chapter of attacks, or None."""
    if not report.attacks:
        return None
    return Chapter(
        name="attacks",
        title="Attacks",
        words=(
            (describe_most_work(report, report.attacks),),
            *((each,) for each in iter_parity_breaches(report, report.attacks)),
        ),
        parts=(
            Picture(
                name="attacks",
                title="Work for 30 million gas",
                alt=_build_alt_text(report),
                note="Seconds, on a logarithmic axis; the line is the EVM's own worst case on this "
                "VM. Attacks beyond it are too cheap.",
            ),
            build_seconds_table(report, report.attacks),
            build_method_table(report.attacks),
        ),
    )


def describe_most_work(report: Report, attacks: Sequence[BoughtWork]) -> str:
    """Describe the most work of attacks under each schedule, beside the EVM's own worst case."""
    slowest = findings.find_slowest(report)
    phrases = [
        f"{number_format.format_seconds(found[1].middle)} under {schedule} "
        f"({number_format.lower_first_letter(found[0].title)})"
        for schedule in findings.list_work_schedules(attacks)
        if (found := findings.find_most_work(attacks, schedule))
    ]
    words = f"The most work that 30 million gas bought: {number_format.join_names(phrases)}."
    if slowest is None:
        return words
    limit = findings.compute_block_seconds(slowest)
    beyond = [
        schedule
        for schedule in findings.list_work_schedules(attacks)
        if (found := findings.find_most_work(attacks, schedule)) and found[1].low > limit.high
    ]
    time = number_format.format_seconds(limit.middle)
    words += f" The EVM's own worst, {slowest.title}, takes {time}: "
    if not beyond:
        return words + "no attack is worse under any schedule."
    return words + f"attacks are worse under {number_format.join_names(beyond)}."


def iter_parity_breaches(report: Report, attacks: Sequence[BoughtWork]) -> Iterator[str]:
    """Yield, for each reference, the attacks that take longer than their gas is worth at parity."""
    for name in REFERENCES:
        yardstick, schedule = find_reference(report.yardsticks, name), f"parity-{name}"
        if yardstick is None or schedule not in findings.list_work_schedules(attacks):
            continue
        pace = findings.compute_block_seconds(yardstick)
        beyond = [
            number_format.lower_first_letter(attack.title)
            for attack in attacks
            if (bought := dict(attack.seconds_per_30m_gas).get(schedule)) and bought.low > pace.high
        ]
        if beyond:
            yield (
                f"Spent {REFERENCES[name]}, 30 million gas take "
                f"{number_format.format_seconds(pace.middle)}; under {schedule} they buy more by "
                f"{number_format.join_names(beyond)}. No schedule prices the EVM's own "
                "work."
            )


def build_seconds_table(
    report: Report, attacks: Sequence[BoughtWork], *, title: str = "Attack"
) -> ReportTable:
    """Return the seconds of 30 million gas, marked where the EVM's own worst case is faster."""
    schedules = findings.list_work_schedules(attacks)
    slowest = findings.find_slowest(report)
    limit = float("inf") if slowest is None else findings.compute_block_seconds(slowest).high
    rows = tuple(_build_row(attack, schedules, limit) for attack in attacks)
    columns = (*make_text_columns(title), *make_number_columns("Once", *schedules))
    return ReportTable(
        title="Seconds for 30 million gas, by schedule",
        columns=columns,
        rows=rows,
        note="Bold: worse than the EVM's own worst case.",
    )


def _build_row(attack: BoughtWork, schedules: tuple[str, ...], limit: float) -> tuple[Cell, ...]:
    bought = dict(attack.seconds_per_30m_gas)
    once = (
        make_time_cell(estimate_median(attack.seconds))
        if attack.seconds
        else make_text_cell(number_format.NOTHING)
    )
    cells = (
        make_time_cell(bought[name], is_marked=bought[name].low > limit)
        if name in bought
        else make_text_cell(number_format.NOTHING)
        for name in schedules
    )
    return (make_text_cell(attack.title), once, *cells)


def build_method_table(attacks: Sequence[BoughtWork]) -> ReportTable:
    """Return method, end and gas of each attack."""
    rows = tuple(
        (
            make_text_cell(attack.title),
            make_text_cell(attack.how),
            make_text_cell(attack.outcome),
            make_text_cell(_format_gas(attack)),
        )
        for attack in attacks
    )
    columns = (*make_text_columns("Attack", "How", "Ends"), *make_number_columns("Gas by default"))
    return ReportTable(title="The attacks", columns=columns, rows=rows)


def _format_gas(attack: BoughtWork) -> str:
    gas = findings.find_gas(attack.gas, "default")
    return number_format.NOTHING if gas is None else f"{gas:,}"


def _build_alt_text(report: Report) -> str:
    phrases = [
        f"{attack.title} {number_format.format_seconds(bought['default'].middle)}"
        for attack in report.attacks
        if "default" in (bought := dict(attack.seconds_per_30m_gas))
    ]
    return f"Seconds of work for 30 million gas by default: {'; '.join(phrases) or 'none'}."
