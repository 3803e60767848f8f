"""The chapter of runs: the time of whole transactions, and their gas under each schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.bench.measurement.intervals import estimate_median
from pyevm_agents.bench.measurement.results import REFERENCES
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

    from pyevm_agents.bench.measurement.results import Report, Run


def build_run_chapter(report: Report) -> Chapter | None:
    """Return the chapter of runs, or None."""
    if not report.runs:
        return None
    words = (
        "Transactions that run agents on the real model: the parts of their time and of their gas, "
        "and the gas of the same work under each schedule."
    )
    return Chapter(
        name="runs",
        title="Whole transactions",
        words=((words,),),
        parts=(
            Picture(
                name="runs",
                title="Parts of time and gas",
                alt="; ".join(_build_alt_text(report, run) for run in report.runs) + ".",
                note="Gas by the default schedule. Calls, bytes and tools count with the prompt.",
            ),
            _build_usage_table(report),
            _build_cost_table(report),
            *_build_schedule_tables(report),
        ),
    )


def _build_usage_table(report: Report) -> ReportTable:
    columns = (
        *make_text_columns("Transaction"),
        *make_number_columns("Time", "EVM", "Prompt", "Output", "Predicted"),
        *make_number_columns(
            "Calls", "Cold tokens", "Warm tokens", "Output tokens", "of them forced"
        ),
    )
    return ReportTable(
        title="Time and tokens", columns=columns, rows=tuple(map(_build_row, report.runs))
    )


def _build_row(run: Run) -> tuple[Cell, ...]:
    usage = run.usage
    counts = (
        usage.calls,
        usage.cold_tokens,
        usage.warm_tokens,
        usage.output_tokens,
        usage.forced_tokens,
    )
    predicted = run.predicted_seconds
    return (
        make_text_cell(run.title),
        make_time_cell(estimate_median(run.seconds), is_marked=True)
        if run.seconds
        else make_text_cell(number_format.NOTHING),
        make_time_cell(run.evm_seconds),
        make_time_cell(run.prompt_seconds),
        make_time_cell(run.output_seconds),
        make_text_cell(
            number_format.NOTHING if predicted is None else number_format.format_seconds(predicted)
        ),
        *(make_text_cell(f"{each:,}") for each in counts),
    )


def _build_cost_table(report: Report) -> ReportTable:
    schedules = findings.list_run_schedules(report)
    rows = [*_iter_worth_rows(report)]
    for schedule in schedules:
        gases = [findings.find_gas(run.costs, schedule) for run in report.runs]
        cells = [
            make_text_cell(number_format.NOTHING) if gas is None else Cell(text=f"{gas:,}")
            for gas in gases
        ]
        rows.append((make_text_cell(schedule), *cells))
    columns = (
        *make_text_columns("Schedule"),
        *make_number_columns(*(f"{run.title}, gas" for run in report.runs)),
    )
    note = (
        "A parity schedule charges each unit for its longest time, at the upper end of the "
        "interval: more than the worth of a run's time."
    )
    return ReportTable(title="Gas by schedule", columns=columns, rows=tuple(rows), note=note)


def _iter_worth_rows(report: Report) -> Iterator[tuple[Cell, ...]]:
    """Yield the worth of each run's time: the gas of a schedule that fits each run exactly."""
    for name, words in REFERENCES.items():
        gases = [findings.compute_gas_worth(report, run, name) for run in report.runs]
        if any(gases):
            cells = (
                make_text_cell(number_format.NOTHING) if gas is None else make_number_cell(gas)
                for gas in gases
            )
            yield (make_text_cell(f"none: the worth of its time, {words}"), *cells)


def _build_schedule_tables(report: Report) -> tuple[ReportTable, ...]:
    if not report.schedules:
        return ()
    rows = tuple((make_text_cell(name), make_text_cell(words)) for name, words in report.schedules)
    note = findings.describe_emission(report) if report.terms else ""
    columns = make_text_columns("Schedule", "Prices, gas")
    return (ReportTable(title="The schedules", columns=columns, rows=rows, note=note),)


def _build_alt_text(report: Report, run: Run) -> str:
    taken = (run.evm_seconds, run.prompt_seconds, run.output_seconds)
    parts = ", ".join(
        f"{name} {number_format.format_seconds(seconds.middle)}"
        for name, seconds in zip(findings.PARTS, taken, strict=True)
    )
    gas = findings.divide_gas(report, run)
    if gas is None:
        return f"{run.title}: {parts}"
    shares = ", ".join(
        f"{name} {number_format.format_count(part)}"
        for name, part in zip(findings.PARTS, gas, strict=True)
    )
    return f"{run.title}: {parts}; gas {shares}"
