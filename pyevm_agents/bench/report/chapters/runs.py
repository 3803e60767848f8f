"""What whole transactions take, and what schedules ask for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.bench.measurement.intervals import interval
from pyevm_agents.bench.measurement.results import REFERENCES
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

    from pyevm_agents.bench.measurement.results import Report, Run


def runs(report: Report) -> Chapter | None:
    """Return the runs; None where there are none."""
    if not report.runs:
        return None
    words = (
        "Transactions with agents in them, on the real model: where their time goes, where "
        "their gas goes, and what each schedule asks for the same work."
    )
    return Chapter(
        name="runs",
        title="Whole transactions",
        words=((words,),),
        parts=(
            Picture(
                name="runs",
                title="Where time and gas go",
                alt="; ".join(_alt(report, run) for run in report.runs) + ".",
                note="Gas by the default schedule. What a call, its bytes and its tools cost "
                "counts with the prompt.",
            ),
            _used(report),
            _asked(report),
            *_schedules(report),
        ),
    )


def _used(report: Report) -> Table:
    columns = (
        *names("Transaction"),
        *numbers("Time", "EVM", "Prompt", "Output", "Predicted"),
        *numbers("Calls", "Cold tokens", "Warm tokens", "Output tokens", "of them forced"),
    )
    return Table(title="Time and tokens", columns=columns, rows=tuple(map(_row, report.runs)))


def _row(run: Run) -> tuple[Cell, ...]:
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
        said(run.title),
        timed(interval(run.seconds), is_marked=True)
        if run.seconds
        else said(number_format.NOTHING),
        timed(run.evm_seconds),
        timed(run.prompt_seconds),
        timed(run.output_seconds),
        said(number_format.NOTHING if predicted is None else number_format.seconds(predicted)),
        *(said(f"{each:,}") for each in counts),
    )


def _asked(report: Report) -> Table:
    schedules = findings.run_schedules(report)
    rows = [*_worth(report)]
    for schedule in schedules:
        gases = [findings.gas_of(run.costs, schedule) for run in report.runs]
        cells = [
            said(number_format.NOTHING) if gas is None else Cell(text=f"{gas:,}") for gas in gases
        ]
        rows.append((said(schedule), *cells))
    columns = (*names("Schedule"), *numbers(*(f"{run.title}, gas" for run in report.runs)))
    note = (
        "A parity schedule asks for each unit what it takes where it takes longest, at the upper "
        "end of its interval: more than the time of a run is worth."
    )
    return Table(title="What schedules ask", columns=columns, rows=tuple(rows), note=note)


def _worth(report: Report) -> Iterator[tuple[Cell, ...]]:
    """Yield what the runs' time is worth: what a schedule would ask that fitted each run."""
    for name, words in REFERENCES.items():
        gases = [findings.gas_worth(report, run, name) for run in report.runs]
        if any(gases):
            cells = (said(number_format.NOTHING) if gas is None else measured(gas) for gas in gases)
            yield (said(f"none: what its time is worth, {words}"), *cells)


def _schedules(report: Report) -> tuple[Table, ...]:
    if not report.schedules:
        return ()
    rows = tuple((said(name), said(words)) for name, words in report.schedules)
    context = report.model.context_tokens
    note = (
        "A schedule at parity is an upper bound. Each price is what a unit takes at most, after "
        f"{context:,} tokens, over the least that a gas of its reference takes: the fitted curves "
        "are gone on with where shorter prompts were measured. So it asks more of a run than the "
        "run's time is worth."
    )
    columns = names("Schedule", "Asks")
    return (Table(title="The schedules", columns=columns, rows=rows, note=note),)


def _alt(report: Report, run: Run) -> str:
    taken = (run.evm_seconds, run.prompt_seconds, run.output_seconds)
    parts = ", ".join(
        f"{name} {number_format.seconds(it.middle)}"
        for name, it in zip(findings.PARTS, taken, strict=True)
    )
    gas = findings.gas_parts(report, run)
    if gas is None:
        return f"{run.title}: {parts}"
    shares = ", ".join(
        f"{name} {number_format.count(part)}"
        for name, part in zip(findings.PARTS, gas, strict=True)
    )
    return f"{run.title}: {parts}; gas {shares}"
