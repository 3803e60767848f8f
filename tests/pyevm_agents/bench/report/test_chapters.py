"""What the chapters of a report say."""

from __future__ import annotations

from dataclasses import replace

from pyevm_agents.bench.report.chapters.prices import prices
from pyevm_agents.bench.report.chapters.runs import runs
from pyevm_agents.bench.report.document import Chapter, Table
from tests.pyevm_agents.bench import made_up

FULL = made_up.report()


def table(chapter: Chapter | None, title: str) -> Table:
    """Return a chapter's table."""
    assert chapter is not None
    (found,) = (one for one in chapter.parts if isinstance(one, Table) and one.title == title)
    return found


def test_what_a_runs_time_is_worth_stands_beside_what_schedules_ask() -> None:
    rows = table(runs(FULL), "What schedules ask").rows
    assert [row[0].text for row in rows[:4]] == [
        "none: what its time is worth, as ecrecover",
        "none: what its time is worth, as an ERC-20 transfer",
        "none: what its time is worth, as the worst EVM case",
        "default",
    ]
    assert rows[1][1].text == "16,900,000"
    (first, *_) = table(runs(replace(FULL, yardsticks=())), "What schedules ask").rows
    assert first[0].text == "default"


def test_a_schedule_at_parity_is_said_to_ask_more_than_parity() -> None:
    note = table(runs(FULL), "The schedules").note
    assert "is an upper bound" in note
    assert "after 8,192 tokens" in note


def test_where_a_unit_costs_most_is_where_was_measured() -> None:
    title = "The same where a unit costs most"
    assert "After 8,000 tokens" in table(prices(FULL), title).note
    assert table(prices(replace(FULL, terms=())), title).note.startswith("From these")
