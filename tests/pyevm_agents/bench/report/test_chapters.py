"""What the chapters of a report say."""

from __future__ import annotations

from dataclasses import replace

from pyevm_agents.bench.report.chapters.prices import build_price_chapter
from pyevm_agents.bench.report.chapters.runs import build_run_chapter
from pyevm_agents.bench.report.document import Chapter, ReportTable
from tests.pyevm_agents.bench import made_up

FULL = made_up.report()


def table(chapter: Chapter | None, title: str) -> ReportTable:
    """Return a chapter's table."""
    assert chapter is not None
    (found,) = (one for one in chapter.parts if isinstance(one, ReportTable) and one.title == title)
    return found


def test_what_a_runs_time_is_worth_stands_beside_what_schedules_ask() -> None:
    rows = table(build_run_chapter(FULL), "What schedules ask").rows
    assert [row[0].text for row in rows[:4]] == [
        "none: what its time is worth, as ecrecover",
        "none: what its time is worth, as an ERC-20 transfer",
        "none: what its time is worth, as the worst EVM case",
        "default",
    ]
    assert rows[1][1].text == "16,900,000"
    (first, *_) = table(build_run_chapter(replace(FULL, yardsticks=())), "What schedules ask").rows
    assert first[0].text == "default"


def test_a_schedule_at_parity_is_said_to_ask_more_than_parity() -> None:
    note = table(build_run_chapter(FULL), "The schedules").note
    assert "is an upper bound" in note
    assert "after 8,192 tokens" in note


def test_where_a_unit_costs_most_is_where_was_measured() -> None:
    title = "The same where a unit costs most"
    assert "After 8,000 tokens" in table(build_price_chapter(FULL), title).note
    assert table(build_price_chapter(replace(FULL, terms=())), title).note.startswith("From these")
