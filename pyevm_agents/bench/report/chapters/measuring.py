"""The chapter of circumstances: the machine, the method, the omitted parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.bench.report import findings
from pyevm_agents.reports import number_format
from pyevm_agents.reports.document import (
    Chapter,
    ReportTable,
    make_text_cell,
    make_text_columns,
)

if TYPE_CHECKING:
    from pyevm_agents.bench.measurement.results import Report


def list_circumstances(report: Report) -> tuple[tuple[str, str], ...]:
    """Return the facts at the head of a report."""
    machine, model = report.machine, report.model
    taken = number_format.format_seconds(report.seconds)
    cores = "1 core" if machine.cores == 1 else f"{machine.cores} cores"
    return (
        ("Model", f"{model.name}, {number_format.format_count(model.parameters)} parameters"),
        ("SHA-256", model.digest),
        (
            "Machine",
            ", ".join(
                (
                    machine.processor,
                    cores,
                    number_format.format_bytes(machine.memory_bytes),
                    machine.system,
                )
            ),
        ),
        ("Noise", findings.describe_noise(report.noise, machine.cores)),
        (
            "Measured",
            f"{number_format.format_timestamp(report.made_at)}, a {report.mode} run of {taken}",
        ),
    )


def build_method_chapter(report: Report) -> Chapter:
    """Return the machine, the versions, the method, and the omitted parts."""
    parts = [_build_fact_table(report)]
    if report.left_out:
        rows = tuple((make_text_cell(what), make_text_cell(why)) for what, why in report.left_out)
        parts.append(
            ReportTable(title="Left out", columns=make_text_columns("What", "Why"), rows=rows)
        )
    words = (
        "Everything was timed once, then everything again, round after round, with the same small "
        "piece of work in between as a measure of noise. Values are medians or fits, with 95 % "
        "intervals. < marks the upper bound of a figure that is not distinguishable from zero. The "
        "JSON form has the samples of every measurement."
    )
    return Chapter(
        name="measuring",
        title="How it was measured",
        words=((words,),),
        parts=tuple(parts),
    )


def _build_fact_table(report: Report) -> ReportTable:
    machine, model = report.machine, report.model
    facts = [
        ("command", report.command),
        ("processor", f"{machine.processor}, {machine.cores} cores"),
        ("memory", number_format.format_bytes(machine.memory_bytes)),
        ("system", machine.system),
        ("Python", machine.python),
        *machine.versions,
        ("model's file", number_format.format_bytes(model.file_bytes)),
        ("model's context", f"{model.context_tokens:,} tokens"),
        ("engine's profile", model.fingerprint),
        ("noise", findings.describe_noise(report.noise, machine.cores)),
    ]
    rows = tuple((make_text_cell(what), make_text_cell(which)) for what, which in facts)
    return ReportTable(
        title="Machine and versions", columns=make_text_columns("What", "Which"), rows=rows
    )
