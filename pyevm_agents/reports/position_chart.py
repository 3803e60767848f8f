"""A chart of prices, trades and positions, as data and as SVG."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from pyevm_agents.reports.palette import LIGHT

if TYPE_CHECKING:
    from collections.abc import Iterator

LEFT, RIGHT, TOP = 66, 14, 26
PRICE_HEIGHT, SHARE_HEIGHT, GAP, BOTTOM = 150, 80, 30, 40
FONT_PIXELS = 12
MARK = 5
"""Half the width of a mark in pixels."""

MOST_LABELS = 12
"""Points that have their number below the chart, at most."""


class TradeKind(Enum):
    """A trade at a point of a chart."""

    BOUGHT = "bought"
    SOLD = "sold"
    UNDONE = "undone"
    NONE = "no trade"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartPoint:
    """A point of a chart."""

    price: float
    """In whole units of the currency."""

    trade: TradeKind
    share: float
    """The position afterwards, as a part of the whole value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionChart:
    """An asset's prices, trades and positions, one point after the other."""

    symbol: str
    currency: str
    points: tuple[ChartPoint, ...]
    share_limit: float
    """The largest share that is allowed."""

    noun: str
    """Of a point, such as `post`."""

    @property
    def prices(self) -> list[float]:
        """The prices in their order."""
        return [point.price for point in self.points]

    @property
    def shares(self) -> list[float]:
        """The shares in their order."""
        return [point.share for point in self.points]

    def count(self, trade: TradeKind) -> int:
        """Return the number of points with a trade of this kind."""
        return sum(point.trade is trade for point in self.points)


@dataclass(slots=True)
class _Drawing:
    """Elements of an SVG picture with an axis of points."""

    width: int
    count: int
    parts: list[str] = field(default_factory=list)

    def x(self, place: int) -> float:
        """Return the middle of a point's column."""
        column = (self.width - LEFT - RIGHT) / self.count
        return LEFT + column * (place + 0.5)

    def add_text(self, x: float, y: float, text: str, *, anchor: str, colour: str) -> None:
        self.parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{LIGHT[colour]}" '
            f'font-size="{FONT_PIXELS}" font-family="inherit">{text}</text>'
        )

    def add_line(self, y: float, *, is_dashed: bool = False) -> None:
        dashes = ' stroke-dasharray="5 4"' if is_dashed else ""
        colour = LIGHT["accent" if is_dashed else "rule"]
        self.parts.append(
            f'<path d="M{LEFT} {y:.1f}H{self.width - RIGHT}" stroke="{colour}"{dashes}/>'
        )

    def finish(self, height: int) -> str:
        """Return the picture."""
        inside = "\n".join(self.parts)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {height}">\n'
            f"{inside}\n</svg>"
        )


def draw_svg(chart: PositionChart, width: int) -> str:
    """Return a chart as SVG, in light colours. Input: the chart; pixels of the width."""
    drawing = _Drawing(width, len(chart.points))
    _draw_prices(drawing, chart)
    top = TOP + PRICE_HEIGHT + GAP
    _draw_shares(drawing, chart, top)
    bottom = top + SHARE_HEIGHT
    every = -(-len(chart.points) // MOST_LABELS)
    for place in range(0, len(chart.points), every):
        drawing.add_text(
            drawing.x(place), bottom + 16, str(place + 1), anchor="middle", colour="muted"
        )
    middle = (LEFT + width - RIGHT) / 2
    drawing.add_text(middle, bottom + 34, chart.noun, anchor="middle", colour="ink")
    return drawing.finish(bottom + BOTTOM)


def _draw_prices(drawing: _Drawing, chart: PositionChart) -> None:
    least, most = min(chart.prices), max(chart.prices)
    spread = (most - least) or most
    heights = [TOP + PRICE_HEIGHT * (1 - (price - least) / spread) for price in chart.prices]
    title = f"price in {chart.currency}"
    drawing.add_text(LEFT, TOP - 12, title, anchor="start", colour="ink")
    for price in dict.fromkeys((least, (least + most) / 2, most)):
        y = TOP + PRICE_HEIGHT * (1 - (price - least) / spread)
        drawing.add_line(y)
        drawing.add_text(LEFT - 8, y + 4, f"{price:,.0f}", anchor="end", colour="muted")
    points = " ".join(f"{drawing.x(place):.1f},{y:.1f}" for place, y in enumerate(heights))
    drawing.parts.append(
        f'<polyline points="{points}" fill="none" stroke="{LIGHT["blue"]}" stroke-width="1.8"/>'
    )
    for place, (point, y) in enumerate(zip(chart.points, heights, strict=True)):
        drawing.parts.append(_draw_mark(drawing.x(place), y, point.trade))


def _draw_mark(x: float, y: float, trade: TradeKind) -> str:
    surface = LIGHT["surface"]
    match trade:
        case TradeKind.BOUGHT:
            path = f"M{x - MARK:.1f} {y + MARK:.1f}h{2 * MARK}l-{MARK} -{2 * MARK}z"
            return f'<path d="{path}" fill="{LIGHT["green"]}" stroke="{surface}"/>'
        case TradeKind.SOLD:
            path = f"M{x - MARK:.1f} {y - MARK:.1f}h{2 * MARK}l-{MARK} {2 * MARK}z"
            return f'<path d="{path}" fill="{LIGHT["orange"]}" stroke="{surface}"/>'
        case TradeKind.UNDONE:
            arms = f"l{2 * MARK} {2 * MARK}m0 -{2 * MARK}l-{2 * MARK} {2 * MARK}"
            path = f"M{x - MARK:.1f} {y - MARK:.1f}{arms}"
            return f'<path d="{path}" fill="none" stroke="{LIGHT["ink"]}" stroke-width="2"/>'
        case TradeKind.NONE:
            return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{LIGHT["grey"]}"/>'


def _draw_shares(drawing: _Drawing, chart: PositionChart, top: float) -> None:
    limit = chart.share_limit
    most = max(limit, *chart.shares)
    bottom = top + SHARE_HEIGHT
    drawing.add_text(LEFT, top - 8, "share of the value", anchor="start", colour="ink")
    column = (drawing.width - LEFT - RIGHT) / drawing.count
    bar = max(1.0, column * 0.7)
    for place, share in enumerate(chart.shares):
        height = SHARE_HEIGHT * share / most
        drawing.parts.append(
            f'<rect x="{drawing.x(place) - bar / 2:.1f}" y="{bottom - height:.1f}" '
            f'width="{bar:.1f}" height="{height:.1f}" fill="{LIGHT["green"]}"/>'
        )
    drawing.add_line(bottom)
    drawing.add_text(LEFT - 8, bottom + 4, "0 %", anchor="end", colour="muted")
    y = bottom - SHARE_HEIGHT * limit / most
    drawing.add_line(y, is_dashed=True)
    drawing.add_text(LEFT - 8, y + 4, f"{100 * limit:.0f} %", anchor="end", colour="muted")


BLOCKS = " ▁▂▃▄▅▆▇█"
PRICE_ROWS, SHARE_ROWS = 4, 3
COLUMNS = 60
"""Characters of a chart's width in a terminal, at most."""

MOST_WIDTH = 5
"""Characters of a point's column, at most."""

PRICE_FLOOR = 0.15
"""Part of a price's height below the lowest price, so that the lowest price is seen."""

SIGNS = {TradeKind.BOUGHT: "▲", TradeKind.SOLD: "▼", TradeKind.NONE: "·", TradeKind.UNDONE: "✗"}


def draw_text(chart: PositionChart) -> Iterator[str]:
    """Yield the lines of a chart in block characters. A column is a point."""
    width = max(1, min(MOST_WIDTH, COLUMNS // len(chart.points)))
    prices, shares, limit = chart.prices, chart.shares, chart.share_limit
    least, most = min(prices), max(prices)
    yield f"{chart.symbol}  price {least:,.2f} to {most:,.2f} {chart.currency}"
    floor = least - PRICE_FLOOR * ((most - least) or most)
    yield from _iter_bars(prices, (floor, most), PRICE_ROWS, width)
    yield f"     {''.join(SIGNS[each.trade] + ' ' * (width - 1) for each in chart.points)}".rstrip()
    yield f"     share of the value, at most {100 * max(shares):.1f} %, limit {100 * limit:.0f} %"
    yield from _iter_bars(shares, (0, max(limit, *shares)), SHARE_ROWS, width)


def describe_signs() -> str:
    """Return the legend of `draw_text`."""
    return "     " + "  ".join(f"{sign} {trade.value}" for trade, sign in SIGNS.items())


def _iter_bars(
    values: list[float], ends: tuple[float, float], rows: int, width: int
) -> Iterator[str]:
    """Yield the rows of a bar chart, the highest first."""
    steps = len(BLOCKS) - 1
    least, most = ends
    heights = [round((value - least) / (most - least) * rows * steps) for value in values]
    gap = " " if width > 1 else ""
    for row in reversed(range(rows)):
        cells = (BLOCKS[max(0, min(steps, height - row * steps))] for height in heights)
        line = "".join(cell * (width - len(gap)) + gap for cell in cells)
        yield f"     {line}".rstrip()
