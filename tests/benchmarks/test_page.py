"""The benchmark of the page measures few blocks and many in a real browser."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.page import FEW, LABELS, PageSample, as_json, build_table, compute_medians, measure

REPORT = Path(__file__).parents[2] / "benchmarks" / "reports" / "page.json"
BLOCKS = 60
MAX_NODES_RATIO = 1.5
"""Elements of 10,000 blocks by those of 10: the list keeps a screen of rows."""


def build_sample(number: int) -> PageSample:
    return PageSample(
        first_paint_ms=number,
        first_list_ms=number,
        bytes_opened=number,
        bytes_scrolled=number,
        nodes=number,
        nodes_most=number,
        frames_a_second=number,
        longest_frame_ms=number,
        oldest_ms=number,
    )


def test_medians_stand_beside_each_other_with_their_ratio() -> None:
    samples = {FEW: [build_sample(each) for each in (1, 2, 90)], BLOCKS: [build_sample(8)] * 3}
    assert set(compute_medians(samples[FEW]).values()) == {2}
    shown = io.StringIO()
    Console(width=100, file=shown).print(build_table(samples))
    assert shown.getvalue().count("4.00") == len(LABELS)


def test_the_report_is_of_ten_thousand_blocks() -> None:
    medians = json.loads(REPORT.read_text("utf-8"))["medians"]
    few, many = medians[str(FEW)], medians["10000"]
    assert set(few) == set(many) == set(LABELS)
    assert many["nodes_most"] < MAX_NODES_RATIO * few["nodes_most"]


@pytest.mark.slow
def test_few_blocks_and_many_are_measured() -> None:
    samples = measure(BLOCKS, 1, Console(quiet=True))
    assert list(samples) == [FEW, BLOCKS]
    for taken in samples.values():
        (sample,) = taken
        assert sample.nodes_most >= sample.nodes > 0
        assert sample.bytes_scrolled >= sample.bytes_opened > 0
        assert sample.first_list_ms >= sample.first_paint_ms > 0
    assert json.loads(json.dumps(as_json(samples)))["medians"].keys() == {str(FEW), str(BLOCKS)}
