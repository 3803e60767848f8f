"""Chapters of a report."""

from __future__ import annotations

from dataclasses import replace

from pyevm_agents.bench.report.chapters.prices import build_price_chapter
from pyevm_agents.bench.report.chapters.runs import build_run_chapter
from pyevm_agents.reports.document import Chapter, ReportTable
from tests.pyevm_agents.bench import made_up

FULL = made_up.report()


def table(chapter: Chapter | None, title: str) -> ReportTable:
    """Return a chapter's table."""
    assert chapter is not None
    (found,) = (one for one in chapter.parts if isinstance(one, ReportTable) and one.title == title)
    return found


def test_the_worth_of_a_runs_time_stands_beside_its_gas_by_schedule() -> None:
    rows = table(build_run_chapter(FULL), "Gas by schedule").rows
    assert [row[0].text for row in rows[:4]] == [
        "none: the worth of its time, as ecrecover",
        "none: the worth of its time, as an ERC-20 transfer",
        "none: the worth of its time, as the worst EVM case",
        "default",
    ]
    assert rows[1][1].text == "16,900,000"
    (first, *_) = table(build_run_chapter(replace(FULL, yardsticks=())), "Gas by schedule").rows
    assert first[0].text == "default"


def test_a_schedule_at_parity_is_an_upper_bound_for_the_whole_context() -> None:
    note = table(build_run_chapter(FULL), "The schedules").note
    assert "is an upper bound" in note
    assert "after 8,192 tokens" in note


def test_the_most_expensive_units_are_those_after_the_longest_measured_prompt() -> None:
    title = "The same where a unit costs most"
    note = table(build_price_chapter(FULL), title).note
    assert note == "After 8,000 tokens, the longest measured prompt."
    assert table(build_price_chapter(replace(FULL, terms=())), title).note == ""
