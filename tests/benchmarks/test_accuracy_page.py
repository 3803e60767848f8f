"""The page of a measurement: well-formed, self-contained, with all tables and plots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.accuracy_page import write_page
from benchmarks.accuracy_report import tables_of
from benchmarks.accuracy_runs import Findings
from tests.benchmarks.test_reliability import HELPLESS, OVERZEALOUS, RIGHT, WRONG
from tests.pyevm_agents.bench.report.test_html import Page, assert_alone

if TYPE_CHECKING:
    from pathlib import Path


def test_the_page_has_all_tables_and_plots(tmp_path: Path) -> None:
    runs = [RIGHT, WRONG, OVERZEALOUS, HELPLESS]
    findings = Findings(
        digests={"ungated": "0xabc", "model": "0xabc", "right": "0xdef"},
        rules={"ungated": {"short_format": 2}, "model": {"max_surprisal": 1}, "right": {}},
        tasks={"ungated": runs, "model": runs, "right": runs[:1]},
    )
    path = tmp_path / "runs.html"
    write_page(path, findings)
    text = path.read_text()
    assert_alone(text)
    page = Page(text)
    tables = [*tables_of(findings)]
    assert page.counts["table"] == len(tables) == 3 + 1 + 2 + 1 + 2 * 2
    assert page.counts["svg"] == 2 * 2 * 2
    words = " ".join("".join(page.words).split())
    for table in tables:
        assert str(table.title) in words
    assert "ungated: right tool uses by confidence" in words
    assert "[green]" not in text


def test_runs_without_confidence_have_no_plots(tmp_path: Path) -> None:
    path = tmp_path / "runs.html"
    write_page(path, Findings(digests={"right": "0xdef"}, rules={}, tasks={"right": [HELPLESS]}))
    page = Page(path.read_text())
    assert "svg" not in page.counts
    assert "reliability" not in page.names
