"""A chart of prices and positions, in block characters and as SVG."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from pyevm_agents.reports.position_chart import (
    ChartPoint,
    PositionChart,
    TradeKind,
    draw_svg,
    draw_text,
)

KINDS = (TradeKind.BOUGHT, TradeKind.NONE, TradeKind.UNDONE, TradeKind.SOLD)


def build_chart(count: int) -> PositionChart:
    return PositionChart(
        symbol="ETH",
        currency="USDT",
        points=tuple(
            ChartPoint(price=100.0 + 10 * i, trade=KINDS[i % 4], share=0.1 * (i % 4))
            for i in range(count)
        ),
        share_limit=0.5,
        noun="post",
    )


@pytest.mark.parametrize("count", [1, 4, 40])
def test_both_drawings_have_a_mark_for_each_point(count: int) -> None:
    chart = build_chart(count)
    title, *lines = draw_text(chart)
    assert title == f"ETH  price 100.00 to {90 + 10 * count}.00 USDT"
    (marks,) = (line for line in lines if "▲" in line)
    assert marks.split() == list("▲·✗▼" * 10)[:count] or marks.strip() == ("▲·✗▼" * 10)[:count]
    assert all(len(line) <= 80 for line in lines)
    picture = ET.fromstring(draw_svg(chart, 760))  # noqa: S314 - of this program
    bars = [each for each in picture if each.tag.endswith("rect")]
    circles = [each for each in picture if each.tag.endswith("circle")]
    assert (len(bars), len(circles)) == (count, chart.count(TradeKind.NONE))


def test_the_highest_price_has_the_highest_bar() -> None:
    rows = list(draw_text(build_chart(4)))[1:5]
    assert [row.count("█") for row in rows] == sorted(row.count("█") for row in rows)
    assert rows[0].rstrip().endswith("█")
