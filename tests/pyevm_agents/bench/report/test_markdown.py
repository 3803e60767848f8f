"""Markdown: aligned tables, plots beside them."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from pyevm_agents.bench.report.chapters import build_document
from pyevm_agents.bench.report.compare import compare
from pyevm_agents.bench.report.markdown import as_markdown, write_markdown
from pyevm_agents.reports.document import Picture, ReportTable
from tests.pyevm_agents.bench import made_up

if TYPE_CHECKING:
    from pathlib import Path

DEGENERATE = made_up.degenerate()


def tables(text: str) -> list[list[str]]:
    """Return the tables of Markdown, line by line."""
    groups = groupby(text.splitlines(), key=lambda line: line.startswith("|"))
    return [list(lines) for is_table, lines in groups if is_table]


@pytest.mark.parametrize("kind", DEGENERATE)
def test_tables_are_aligned(kind: str) -> None:
    report = DEGENERATE[kind]
    told = build_document(report, compare(made_up.report(), report))
    found = tables(as_markdown(told))
    expected = [part for it in told.chapters for part in it.parts if isinstance(part, ReportTable)]
    assert len(found) == len(expected)
    for lines, table in zip(found, expected, strict=True):
        assert len(lines) == len(table.rows) + 2
        assert {len(line) for line in lines} == {len(lines[0])}
        bars = {len(re.findall(r"(?<!\\)\|", line)) for line in lines}
        assert bars == {len(table.columns) + 1}


def test_words_are_shown_as_they_are() -> None:
    text = as_markdown(build_document(DEGENERATE["strange words"]))
    assert r"\<script\>alert(1)\</script\>" in text
    assert r"\<b\>\$a\_1\$ \| \*x\* " in text


def test_a_folder_has_a_page_and_its_plots(tmp_path: Path) -> None:
    folder = tmp_path / "report"
    report = made_up.bare_report()
    write_markdown(folder, report)
    write_markdown(folder, report)  # Over what is there.
    names = {
        part.name
        for it in build_document(report).chapters
        for part in it.parts
        if isinstance(part, Picture)
    }
    found = {file.stem for file in (folder / "plots").iterdir()}
    assert names == found == {"gas_time"}
    text = (folder / "README.md").read_text()
    for name in names:
        assert f"](plots/{name}.svg)" in text
        ET.parse(folder / "plots" / f"{name}.svg")  # noqa: S314 - our own
