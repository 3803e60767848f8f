"""The picture of a trading agent's decisions in a terminal: prices, trades and positions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

from pyevm_agents.scenarios.trading.demo import TRADE
from pyevm_agents.scenarios.trading.posts import PRICE_DECIMALS
from pyevm_agents.scenarios.trading.world import ASSETS, CASH, MAX_SHARES_BPS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyevm_agents.scenarios.trading.demo import TradingRun

Trades: TypeAlias = dict[str, str]
"""Symbols of assets to `Bought` or `Sold`."""

BLOCKS = " ▁▂▃▄▅▆▇█"
PRICE_ROWS, SHARE_ROWS = 4, 3
COLUMNS = 60
"""Characters of a picture's width, at most."""

MOST_WIDTH = 5
"""Characters of a post's column, at most."""

MARKS = {"Bought": "[green]▲[/]", "Sold": "[red]▼[/]", "Undone": "[yellow]✗[/]", "": "[dim]·[/]"}

PRICE_FLOOR = 0.15
"""Part of a price's height below its lowest one, so that it is seen."""

_TRADE = re.compile(r"(Bought|Sold) [0-9.]+ (\w+) for")


def find_trades(run: TradingRun) -> Trades:
    """Return the trades of a run; none if it was undone."""
    text = run.outcome.find_answer(TRADE)
    if text is None or not run.outcome.is_success:
        return {}
    return {symbol: verb for verb, symbol in _TRADE.findall(text)}


def name_decision(run: TradingRun, symbol: str) -> str:
    """Return `Bought`, `Sold`, `Undone` or an empty text."""
    return find_trades(run).get(symbol, "") if run.outcome.is_success else "Undone"


def list_prices(runs: Sequence[TradingRun], symbol: str) -> list[float]:
    """Return an asset's price at each post, in whole cash tokens."""
    place = ASSETS.index(symbol)
    return [run.post.prices[place] / 10**PRICE_DECIMALS for run in runs]


def draw_terminal_picture(runs: Sequence[TradingRun]) -> Iterator[str]:
    """Yield the lines of the picture, with markup. A column is a post."""
    width = max(1, min(MOST_WIDTH, COLUMNS // len(runs)))
    for symbol, most_bps in zip(ASSETS, MAX_SHARES_BPS, strict=True):
        prices = list_prices(runs, symbol)
        least, most = min(prices), max(prices)
        yield f"[bold]{symbol}[/]  price {least:,.2f} to {most:,.2f} {CASH}"
        floor = least - PRICE_FLOOR * ((most - least) or most)
        for line in _draw_bars(prices, floor, most, PRICE_ROWS, width):
            yield f"     [blue]{line}[/]" if line else ""
        marks = (MARKS[name_decision(run, symbol)] + " " * (width - 1) for run in runs)
        yield "     " + "".join(marks).rstrip()
        limit = most_bps / 10_000
        shares = [run.shares[symbol] for run in runs]
        peak = f"at most {100 * max(shares):.1f} %, limit {100 * limit:.0f} %"
        yield f"     share of the value, {peak}"
        for line in _draw_bars(shares, 0, max(limit, *shares), SHARE_ROWS, width):
            yield f"     [cyan]{line}[/]" if line else ""
    yield "     ▲ bought  ▼ sold  · no trade  ✗ undone"


def _draw_bars(
    values: Sequence[float], least: float, most: float, rows: int, width: int
) -> Iterator[str]:
    """Yield the rows of a bar chart, the highest first."""
    steps = len(BLOCKS) - 1
    heights = [round((value - least) / (most - least) * rows * steps) for value in values]
    gap = " " if width > 1 else ""
    for row in reversed(range(rows)):
        cells = (BLOCKS[max(0, min(steps, height - row * steps))] for height in heights)
        yield "".join(cell * (width - len(gap)) + gap for cell in cells).rstrip()
