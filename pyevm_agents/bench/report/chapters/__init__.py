"""The chapters of a report, one file each, in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.bench.inference.fits import find_longest_measured
from pyevm_agents.bench.measurement.budget import OUT_OF_TIME
from pyevm_agents.bench.pricing.parity import is_extrapolated
from pyevm_agents.bench.report import findings
from pyevm_agents.bench.report.chapters.attacks import build_attack_chapter
from pyevm_agents.bench.report.chapters.changes import build_change_chapter
from pyevm_agents.bench.report.chapters.evm import build_evm_chapter
from pyevm_agents.bench.report.chapters.measuring import build_method_chapter, list_circumstances
from pyevm_agents.bench.report.chapters.numeric import build_numeric_chapter
from pyevm_agents.bench.report.chapters.prices import build_price_chapter
from pyevm_agents.bench.report.chapters.published import build_published_chapter
from pyevm_agents.bench.report.chapters.runs import build_run_chapter
from pyevm_agents.bench.report.chapters.scale import build_growth_chapter, build_size_chapter
from pyevm_agents.bench.report.chapters.terms import build_term_chapter
from pyevm_agents.bench.report.summary import build_headlines, build_summary
from pyevm_agents.reports import number_format
from pyevm_agents.reports.document import Document

if TYPE_CHECKING:
    from pyevm_agents.bench.measurement.results import Report
    from pyevm_agents.bench.report.compare import ReportComparison

TITLE = "What does inference cost in gas?"


def build_document(report: Report, comparison: ReportComparison | None = None) -> Document:
    """Return the document of a report, with the changes since an older one."""
    chapters = [
        build_price_chapter(report),
        None if comparison is None else build_change_chapter(comparison),
        build_evm_chapter(report),
        build_term_chapter(report),
        build_run_chapter(report),
        build_attack_chapter(report),
        build_numeric_chapter(report),
        build_published_chapter(report),
        build_growth_chapter(report),
        build_size_chapter(report),
        build_method_chapter(report),
    ]
    return Document(
        title=TITLE,
        headlines=build_headlines(report),
        answer=build_summary(report),
        circumstances=list_circumstances(report),
        warnings=list_warnings(report),
        chapters=tuple(chapter for chapter in chapters if chapter is not None),
        ending=f"Made by {report.command} at {number_format.format_timestamp(report.made_at)}.",
    )


def list_warnings(report: Report) -> tuple[str, ...]:
    """Return the caveats of a report's numbers."""
    warnings = []
    if findings.is_noisy(report.noise, report.machine.cores):
        warnings.append(
            "The machine was noisy: times are longer than on a quiet one, and intervals are wide."
        )
    if report.mode == "quick":
        warnings.append(
            "A quick run: few rounds, short prompts. Its intervals are wider than a full run's."
        )
    skipped = sum(reason.startswith(OUT_OF_TIME) for _, reason in report.left_out)
    if skipped:
        warnings.append(
            f"The run was out of time: {skipped} measurements were skipped, see the last chapter."
        )
    if report.terms and is_extrapolated(report.terms, report.model):
        warnings.append(
            f"No prompt longer than {find_longest_measured(report.terms):,} tokens was measured. "
            "Parity schedules extrapolate the fitted curves to "
            f"{report.model.context_tokens:,}: they may charge several times too much."
        )
    return tuple(warnings)
