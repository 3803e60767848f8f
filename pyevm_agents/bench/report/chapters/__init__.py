"""The chapters of a report, one file each; here is their order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.bench.inference.fits import longest_measured
from pyevm_agents.bench.pricing.parity import is_extrapolated
from pyevm_agents.bench.report import findings, number_format
from pyevm_agents.bench.report.chapters.attacks import attacks
from pyevm_agents.bench.report.chapters.changes import changes
from pyevm_agents.bench.report.chapters.evm import evm
from pyevm_agents.bench.report.chapters.measuring import circumstances, measuring
from pyevm_agents.bench.report.chapters.prices import prices
from pyevm_agents.bench.report.chapters.published import published
from pyevm_agents.bench.report.chapters.runs import runs
from pyevm_agents.bench.report.chapters.scale import growth, sizes
from pyevm_agents.bench.report.chapters.terms import terms
from pyevm_agents.bench.report.document import Document
from pyevm_agents.bench.report.summary import answer

if TYPE_CHECKING:
    from pyevm_agents.bench.measurement.results import Report
    from pyevm_agents.bench.report.compare import Comparison

TITLE = "What does inference cost in gas?"


def document(report: Report, comparison: Comparison | None = None) -> Document:
    """Return what a report says, and what changed since an older one."""
    chapters = [
        prices(report),
        None if comparison is None else changes(comparison),
        evm(report),
        terms(report),
        runs(report),
        attacks(report),
        published(report),
        growth(report),
        sizes(report),
        measuring(report),
    ]
    return Document(
        title=TITLE,
        answer=answer(report),
        circumstances=circumstances(report),
        warnings=warnings_of(report),
        chapters=tuple(chapter for chapter in chapters if chapter is not None),
        ending=f"Made by {report.command} at {number_format.moment(report.made_at)}.",
    )


def warnings_of(report: Report) -> tuple[str, ...]:
    """Return what a reader has to know before believing a number."""
    warnings = []
    if findings.is_noisy(report.noise, report.machine.cores):
        warnings.append(
            "The machine was noisy: times are longer than on a quiet one, intervals are wide, and "
            "prices in gas are as unsure as these say."
        )
    if report.mode == "quick":
        warnings.append(
            "A quick run: few rounds, short prompts. Its intervals are wider than a full run's."
        )
    if report.terms and is_extrapolated(report.terms, report.model):
        warnings.append(
            f"No prompt longer than {longest_measured(report.terms):,} tokens was measured. Parity "
            f"schedules hold to {report.model.context_tokens:,}, by the fitted curves alone: they "
            "may ask several times too much."
        )
    return tuple(warnings)
