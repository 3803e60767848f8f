"""The chapter of terms: fits, their intervals and their residuals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.bench.measurement.intervals import scale_interval
from pyevm_agents.bench.measurement.results import TERMS
from pyevm_agents.reports import number_format
from pyevm_agents.reports.document import (
    Chapter,
    Picture,
    ReportTable,
    make_number_columns,
    make_text_cell,
    make_text_columns,
    make_time_cell,
)

if TYPE_CHECKING:
    from pyevm_agents.bench.measurement.results import Point, Report
    from pyevm_agents.reports.document import Cell
    from pyevm_agents.reports.number_format import Interval

TOKEN_TERMS = ("cold", "warm", "sampled", "forced")


def build_term_chapter(report: Report) -> Chapter | None:
    """Return the chapter of fitted terms, or None."""
    if not report.terms:
        return None
    parts: list[ReportTable | Picture] = []
    if any(term.name in TOKEN_TERMS and term.marginal for term in report.terms):
        parts.append(
            Picture(
                name="marginal",
                title="Time of one more token, by the length of the prompt",
                alt=_build_marginal_alt_text(report),
                note="Shaded: 95 % intervals of the fits.",
            )
        )
    parts.append(_build_time_table(report))
    parts.append(_build_coefficient_table(report))
    if any(term.residuals for term in report.terms):
        parts.append(
            Picture(
                name="residuals",
                title="Residuals of the fits",
                alt=_build_residuals_alt_text(report),
                note="Measured less fitted. A fit is good where points lie on both sides of zero "
                "without order.",
            )
        )
    probes = sum(len(probe.seconds) for probe in report.probes)
    words = (
        f"{probes:,} measurements of {len(report.probes):,} generations and reads, each made to "
        "show one term, and a function fitted to each."
    )
    return Chapter(
        name="terms", title="What inference takes", words=((words,),), parts=tuple(parts)
    )


def _build_time_table(report: Report) -> ReportTable:
    samples = {term.name: 0 for term in report.terms}
    for probe in report.probes:
        samples[probe.term] = samples.get(probe.term, 0) + len(probe.seconds)
    rows = tuple(
        (
            make_text_cell(TERMS.get(term.name, term.name)),
            make_time_cell(scale_interval(term.ns, 1e-9), is_marked=True),
            make_time_cell(scale_interval(term.ns_at_most, 1e-9)),
            make_text_cell(number_format.format_percent(term.relative_error)),
            make_text_cell(f"{samples[term.name]:,}"),
        )
        for term in report.terms
    )
    columns = (
        *make_text_columns("One more"),
        *make_number_columns("takes", "where most", "error of fit", "samples"),
    )
    note = "The error is the root mean square of the residuals, over the mean."
    return ReportTable(title="Time of each unit", columns=columns, rows=rows, note=note)


def _build_coefficient_table(report: Report) -> ReportTable:
    """Return a table with a fit in each row and a coefficient in each column."""
    known = tuple(dict.fromkeys(name for term in report.terms for name, _ in term.coefficients))
    rows = tuple(
        (
            make_text_cell(TERMS.get(term.name, term.name)),
            make_text_cell(term.formula),
            *(_build_coefficient_cell(dict(term.coefficients).get(name)) for name in known),
        )
        for term in report.terms
    )
    columns = (*make_text_columns("Term", "Function"), *make_number_columns(*known))
    return ReportTable(title="Fitted functions", columns=columns, rows=rows)


def _build_coefficient_cell(interval: Interval | None) -> Cell:
    return make_text_cell(number_format.NOTHING) if interval is None else make_time_cell(interval)


def _build_marginal_alt_text(report: Report) -> str:
    phrases = [
        f"{TERMS[term.name]} from {_format_point(term.marginal[0])} "
        f"to {_format_point(term.marginal[-1])} {term.axis}"
        for term in report.terms
        if term.name in TOKEN_TERMS and term.marginal
    ]
    return "; ".join(phrases) + "."


def _format_point(point: Point) -> str:
    time = number_format.format_seconds(point.y.middle / 1e9)
    return f"{time} at {number_format.format_number(point.x)}"


def _build_residuals_alt_text(report: Report) -> str:
    phrases = [
        f"{TERMS.get(term.name, term.name)} {number_format.format_percent(term.relative_error)}"
        for term in report.terms
    ]
    return f"Residuals of each fit, in milliseconds. Errors: {'; '.join(phrases)}."
