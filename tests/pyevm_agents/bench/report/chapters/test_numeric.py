"""The report's chapter on numeric models."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.bench.measurement.intervals import scale_interval
from pyevm_agents.bench.pricing.parity import compute_numeric_schedule, find_reference
from pyevm_agents.bench.report import findings
from pyevm_agents.bench.report.chapters.numeric import build_numeric_chapter, compute_ns_per_gas
from pyevm_agents.bench.report.compare import compare
from pyevm_agents.reports.document import Chapter, ReportTable
from pyevm_agents.reports.number_format import NOTHING, format_factor
from tests.pyevm_agents.bench import made_up

if TYPE_CHECKING:
    from pyevm_agents.bench.measurement.results import Report

FULL = made_up.report()
assert FULL.numeric is not None
NUMERIC = FULL.numeric
SECONDS = "Seconds for 30 million gas, by schedule"


def chapter_of(report: Report) -> Chapter:
    chapter = build_numeric_chapter(report)
    assert chapter is not None
    return chapter


def words_of(report: Report) -> str:
    return " ".join(str(word) for words in chapter_of(report).words for word in words)


def table_of(report: Report, title: str) -> ReportTable:
    tables = [part for part in chapter_of(report).parts if isinstance(part, ReportTable)]
    (found,) = (table for table in tables if table.title == title)
    return found


def buy(share: float) -> Report:
    """Return a report whose worst transaction takes this share of the EVM's own worst case."""
    slowest = findings.find_slowest(FULL)
    assert slowest is not None
    bought = scale_interval(findings.compute_block_seconds(slowest), share)
    worst = replace(NUMERIC.transactions[-2], seconds_per_30m_gas=(("default", bought),))
    transactions = (*NUMERIC.transactions[:-2], worst)
    return replace(FULL, numeric=replace(NUMERIC, transactions=transactions))


def test_there_is_no_chapter_without_measurements() -> None:
    assert build_numeric_chapter(replace(FULL, numeric=None)) is None


def test_words_follow_from_the_figures() -> None:
    words = words_of(FULL)
    assert re.search(r"an operation 500 ps, and 1(\.0\d)? ns in the slowest model", words)
    assert f"a gas pays for {NUMERIC.prices[-1].default} operations" in words
    assert "less than one of an ERC-20 transfer, 185 ns." in words
    slow = replace(NUMERIC.prices[-1], ns_at_most=made_up.around(1e6))
    slower = replace(NUMERIC, prices=(*NUMERIC.prices[:-1], slow))
    assert "longer than one of an ERC-20 transfer" in words_of(replace(FULL, numeric=slower))
    assert "ERC-20 transfer" not in words_of(replace(FULL, yardsticks=()))


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (3.0, "attacks are worse under default."),
        (0.5, "no attack is worse under any schedule."),
    ],
)
def test_transactions_beyond_the_evms_own_worst_case_are_marked(share: float, words: str) -> None:
    report = buy(share)
    assert words in words_of(report)
    marked = [row[2].is_marked for row in table_of(report, SECONDS).rows]
    assert marked == [False] * (len(marked) - 1) + [share > 1]


def test_a_call_has_its_share_of_its_transaction() -> None:
    rows = {row[0].text: row for row in table_of(FULL, "One call of each transaction").rows}
    cells = [cell.text for cell in rows["Inputs again and again"]]
    assert cells[:5] == ["Inputs again and again", "50", "33,000", "96", "140,000"]
    assert cells[6].endswith("µs")
    refused = [cell.text for cell in rows["Too large again and again"]]
    assert refused[2:5] == ["0", "0", "0"]


def test_the_time_of_a_gas_stands_beside_a_transfers() -> None:
    transfer = find_reference(FULL.yardsticks, findings.MAIN_REFERENCE)
    assert transfer is not None
    rows = table_of(FULL, "One call of each transaction").rows
    for row, transaction in zip(rows, NUMERIC.transactions, strict=True):
        pace = compute_ns_per_gas(transaction)
        assert pace is not None
        assert row[-1].text == format_factor(pace.middle / transfer.ns_per_gas.middle)
    alone = table_of(replace(FULL, yardsticks=()), "One call of each transaction")
    assert {row[-1].text for row in alone.rows} == {NOTHING}


def test_emitted_prices_stand_beside_parity() -> None:
    emitted = compute_numeric_schedule(NUMERIC.prices, "erc20")
    rows = table_of(FULL, "The four prices").rows
    notes = [row[-2].note for row in rows]
    assert notes == [f"emitted {price:,}" for price in emitted.values()]


def test_changes_are_found() -> None:
    first = replace(NUMERIC.prices[0], ns=made_up.around(1.0))
    old = replace(FULL, numeric=replace(NUMERIC, prices=(first, *NUMERIC.prices[1:])))
    changed = {(each.group, each.title) for each in compare(old, FULL).changed}
    assert changed == {("numeric models", "a call")}
    added = compare(replace(FULL, numeric=None), FULL).added
    assert "numeric models: an operation" in added
    assert "30 million gas: Sum again and again, default" in added
