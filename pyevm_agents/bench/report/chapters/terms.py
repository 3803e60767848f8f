"""What each unit of inference takes: fits, their intervals, and what they leave over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.bench.measurement.intervals import scaled
from pyevm_agents.bench.measurement.results import TERMS
from pyevm_agents.bench.report import number_format
from pyevm_agents.bench.report.document import Chapter, Picture, Table, names, numbers, said, timed

if TYPE_CHECKING:
    from pyevm_agents.bench.measurement.results import Interval, Point, Report
    from pyevm_agents.bench.report.document import Cell

TOKEN_TERMS = ("cold", "warm", "sampled", "forced")


def terms(report: Report) -> Chapter | None:
    """Return the fitted terms; None where there are none."""
    if not report.terms:
        return None
    parts: list[Table | Picture] = []
    if any(term.name in TOKEN_TERMS and term.marginal for term in report.terms):
        parts.append(
            Picture(
                name="marginal",
                title="Time of one more token, by the length of the prompt",
                alt=_marginal_alt(report),
                note="Shaded: 95 % intervals of the fits.",
            )
        )
    parts.append(_table(report))
    parts.append(_coefficients(report))
    if any(term.residuals for term in report.terms):
        parts.append(
            Picture(
                name="residuals",
                title="What the fits leave over",
                alt=_residuals_alt(report),
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


def _table(report: Report) -> Table:
    samples = {term.name: 0 for term in report.terms}
    for probe in report.probes:
        samples[probe.term] = samples.get(probe.term, 0) + len(probe.seconds)
    rows = tuple(
        (
            said(TERMS.get(term.name, term.name)),
            timed(scaled(term.ns, 1e-9), is_marked=True),
            timed(scaled(term.ns_at_most, 1e-9)),
            said(number_format.percent(term.relative_error)),
            said(f"{samples[term.name]:,}"),
        )
        for term in report.terms
    )
    columns = (*names("One more"), *numbers("takes", "where most", "error of fit", "samples"))
    note = "The error is the root mean square of what the fit leaves over, over the mean."
    return Table(title="Time of each unit", columns=columns, rows=rows, note=note)


def _coefficients(report: Report) -> Table:
    """Return each fit in a row, a column for each coefficient there is."""
    known = tuple(dict.fromkeys(name for term in report.terms for name, _ in term.coefficients))
    rows = tuple(
        (
            said(TERMS.get(term.name, term.name)),
            said(term.formula),
            *(_coefficient(dict(term.coefficients).get(name)) for name in known),
        )
        for term in report.terms
    )
    columns = (*names("Term", "Function"), *numbers(*known))
    return Table(title="Fitted functions", columns=columns, rows=rows)


def _coefficient(it: Interval | None) -> Cell:
    return said(number_format.NOTHING) if it is None else timed(it)


def _marginal_alt(report: Report) -> str:
    told = [
        f"{TERMS[term.name]} from {_at(term.marginal[0])} to {_at(term.marginal[-1])} {term.axis}"
        for term in report.terms
        if term.name in TOKEN_TERMS and term.marginal
    ]
    return "; ".join(told) + "."


def _at(point: Point) -> str:
    return f"{number_format.seconds(point.y.middle / 1e9)} at {number_format.number(point.x)}"


def _residuals_alt(report: Report) -> str:
    told = [
        f"{TERMS.get(term.name, term.name)} {number_format.percent(term.relative_error)}"
        for term in report.terms
    ]
    return f"Residuals of each fit, in milliseconds. Errors: {'; '.join(told)}."
