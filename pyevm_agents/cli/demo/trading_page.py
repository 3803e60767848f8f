"""The picture of a trading agent's decisions as one HTML page, in the style of reports."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyevm_agents.cli.demo.trading_picture import list_prices, name_decision
from pyevm_agents.display import pluralize
from pyevm_agents.reports.document import (
    Chapter,
    Document,
    Headline,
    Picture,
    ReportTable,
    make_number_columns,
    make_text_cell,
    make_text_columns,
)
from pyevm_agents.reports.html import as_html
from pyevm_agents.reports.palette import LIGHT
from pyevm_agents.scenarios.trading.demo import FORECAST, SENTIMENT, TRADE, WEIGHTS
from pyevm_agents.scenarios.trading.world import ASSETS, CASH, MAX_SHARES_BPS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyevm_agents.scenarios.trading.demo import TradingDemo, TradingRun

WIDE, NARROW = 760, 360
"""Widths of a picture in pixels; the page shows the one that fits."""

LEFT, RIGHT, TOP = 66, 14, 26
PRICE_HEIGHT, SHARE_HEIGHT, GAP, BOTTOM = 150, 80, 30, 40
FONT_PIXELS = 12
MARK = 5
"""Half the width of a mark in pixels."""

MOST_LABELS = 12
"""Posts that have their number below the picture, at most."""

UNDONE = "The transaction was undone"

ANSWER = (
    "Each post is one transaction: a model rates the post, another forecasts the returns of the "
    "next day, an agent of its own finds weights, and the desk trades toward them."
)


def build_page(runs: Sequence[TradingRun], demo: TradingDemo, *, model: Mapping[str, str]) -> str:
    """Return a page with the pictures of all assets and a table of the decisions."""
    document = _build_document(runs, demo, model)
    wide = {symbol: draw_asset(runs, symbol, WIDE) for symbol in ASSETS}
    narrow = {symbol: draw_asset(runs, symbol, NARROW) for symbol in ASSETS}
    return as_html(document, wide, narrow)


def _build_document(
    runs: Sequence[TradingRun], demo: TradingDemo, model: Mapping[str, str]
) -> Document:
    ideal = sum(run.is_ideal for run in runs)
    undone = sum(not run.outcome.is_success for run in runs)
    gas = sum(run.outcome.gas_used for run in runs) / len(runs)
    value = runs[-1].value / demo.world.unit[CASH]
    who = "the scripted ideal" if demo.is_ideal else model["name"]
    return Document(
        title="Decisions of a trading agent",
        headlines=(
            Headline(title="ended as the ideal", value=f"{ideal} of {len(runs)}"),
            Headline(title="undone as a whole", value=f"{undone}"),
            Headline(title="gas of a decision", value=f"{gas:,.0f}", notes=("the mean",)),
            Headline(title="value in the end", value=f"{value:,.0f}", notes=(CASH,)),
        ),
        answer=(ANSWER,),
        circumstances=(("model", who), ("sha256", model["sha256"])),
        warnings=("Posts and prices are made up. The models are no advice.",),
        chapters=(
            Chapter(
                name="pictures", title="Prices and positions", parts=tuple(_list_pictures(runs))
            ),
            Chapter(name="decisions", title="Decisions", parts=(_build_table(runs),)),
        ),
        ending="Written by pyevm-agents demo --scenario trading.",
    )


def _list_pictures(runs: Sequence[TradingRun]) -> Iterator[Picture]:
    for symbol, most in zip(ASSETS, MAX_SHARES_BPS, strict=True):
        decisions = [name_decision(run, symbol) for run in runs]
        counts = [
            f"{decisions.count(name)} {text}"
            for name, text in (("Bought", "bought"), ("Sold", "sold"), ("Undone", "undone"))
        ]
        prices = list_prices(runs, symbol)
        share = max(run.shares[symbol] for run in runs)
        yield Picture(
            name=symbol,
            title=f"{symbol}: price, trades, and share of the desk's value",
            alt=f"{symbol} at {pluralize(len(runs), 'post')}: prices from {min(prices):,.2f} to "
            f"{max(prices):,.2f} {CASH}; {', '.join(counts)}; a share of {100 * share:.1f} % at "
            f"most. The table has all numbers.",
            note=f"Triangles: bought (up) and sold (down); a cross: undone. The dashed line is the "
            f"limit of {most / 100:.0f} %, which the desk enforces.",
        )


def _build_table(runs: Sequence[TradingRun]) -> ReportTable:
    prices = make_number_columns(*(f"{symbol}, {CASH}" for symbol in ASSETS))
    answers = make_text_columns("Sentiment and forecast", "Target", "Trade")
    ideal = make_number_columns("As the ideal")
    return ReportTable(
        title="Each post, and what the tools answered",
        columns=(*make_text_columns("Post"), *prices, *answers, *ideal),
        rows=tuple(
            tuple(make_text_cell(text) for text in _list_cells(run, place))
            for place, run in enumerate(runs)
        ),
    )


def _list_cells(run: TradingRun, place: int) -> Iterator[str]:
    yield f"{place + 1}. {run.post.text}"
    for symbol in ASSETS:
        yield f"{list_prices([run], symbol)[0]:,.2f}"
    sentiment, forecast, target = (
        (run.outcome.find_answer(tool) or "none").partition(": ")[2] or "none"
        for tool in (SENTIMENT, FORECAST, WEIGHTS)
    )
    yield f"{sentiment}; {forecast}"
    yield target
    trade = run.outcome.find_answer(TRADE) or "none"
    done = trade if run.outcome.failure is None else f"{UNDONE}: {run.outcome.failure}"
    yield "; ".join([done, *run.differences])
    yield "yes" if run.is_ideal else "no"


# -- pictures -- #


@dataclass(slots=True)
class _Drawing:
    """Elements of an SVG picture with an axis of posts."""

    width: int
    count: int
    parts: list[str] = field(default_factory=list)

    def x(self, place: int) -> float:
        """Return the middle of a post's column."""
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


def draw_asset(runs: Sequence[TradingRun], symbol: str, width: int) -> str:
    """Return the picture of an asset as SVG, in light colours."""
    drawing = _Drawing(width, len(runs))
    _draw_prices(drawing, runs, symbol)
    top = TOP + PRICE_HEIGHT + GAP
    _draw_shares(drawing, runs, symbol, top)
    bottom = top + SHARE_HEIGHT
    every = -(-len(runs) // MOST_LABELS)
    for place in range(0, len(runs), every):
        drawing.add_text(
            drawing.x(place), bottom + 16, str(runs[place].number), anchor="middle", colour="muted"
        )
    middle = (LEFT + width - RIGHT) / 2
    drawing.add_text(middle, bottom + 34, "post", anchor="middle", colour="ink")
    return drawing.finish(bottom + BOTTOM)


def _draw_prices(drawing: _Drawing, runs: Sequence[TradingRun], symbol: str) -> None:
    prices = list_prices(runs, symbol)
    least, most = min(prices), max(prices)
    spread = (most - least) or most
    heights = [TOP + PRICE_HEIGHT * (1 - (price - least) / spread) for price in prices]
    title = f"price in {CASH}"
    drawing.add_text(LEFT, TOP - 12, title, anchor="start", colour="ink")
    for price in dict.fromkeys((least, (least + most) / 2, most)):
        y = TOP + PRICE_HEIGHT * (1 - (price - least) / spread)
        drawing.add_line(y)
        drawing.add_text(LEFT - 8, y + 4, f"{price:,.0f}", anchor="end", colour="muted")
    points = " ".join(f"{drawing.x(place):.1f},{y:.1f}" for place, y in enumerate(heights))
    drawing.parts.append(
        f'<polyline points="{points}" fill="none" stroke="{LIGHT["blue"]}" stroke-width="1.8"/>'
    )
    for place, (run, y) in enumerate(zip(runs, heights, strict=True)):
        drawing.parts += _draw_mark(drawing.x(place), y, name_decision(run, symbol))


def _draw_mark(x: float, y: float, decision: str) -> list[str]:
    shapes = {
        "Bought": (f"M{x - MARK:.1f} {y + MARK:.1f}h{2 * MARK}l-{MARK} -{2 * MARK}z", "green"),
        "Sold": (f"M{x - MARK:.1f} {y - MARK:.1f}h{2 * MARK}l-{MARK} {2 * MARK}z", "orange"),
    }
    if decision in shapes:
        path, colour = shapes[decision]
        return [f'<path d="{path}" fill="{LIGHT[colour]}" stroke="{LIGHT["surface"]}"/>']
    if decision:
        arms = f"l{2 * MARK} {2 * MARK}m0 -{2 * MARK}l-{2 * MARK} {2 * MARK}"
        start = f"M{x - MARK:.1f} {y - MARK:.1f}"
        return [f'<path d="{start}{arms}" fill="none" stroke="{LIGHT["ink"]}" stroke-width="2"/>']
    return [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{LIGHT["grey"]}"/>']


def _draw_shares(drawing: _Drawing, runs: Sequence[TradingRun], symbol: str, top: float) -> None:
    limit = MAX_SHARES_BPS[ASSETS.index(symbol)] / 10_000
    shares = [run.shares[symbol] for run in runs]
    most = max(limit, *shares)
    bottom = top + SHARE_HEIGHT
    drawing.add_text(LEFT, top - 8, "share of the desk's value", anchor="start", colour="ink")
    column = (drawing.width - LEFT - RIGHT) / drawing.count
    bar = max(1.0, column * 0.7)
    for place, share in enumerate(shares):
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
