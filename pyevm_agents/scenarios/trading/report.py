"""The report of the trading demo: decisions on posts, and charts of prices and positions."""

from __future__ import annotations

import re
from statistics import fmean
from typing import TYPE_CHECKING

from pyevm_agents.reports.document import Chapter, Entry, EntryList, Headline, Tone
from pyevm_agents.reports.position_chart import ChartPoint, PositionChart, TradeKind
from pyevm_agents.scenarios.report import ScenarioReport
from pyevm_agents.scenarios.report_parts import iter_difference_entries, iter_transaction_entries
from pyevm_agents.scenarios.texts import format_tokens
from pyevm_agents.scenarios.trading.demo import (
    DEFAULT_POST_COUNT,
    FORECAST,
    SENTIMENT,
    TRADE,
    WEIGHTS,
    TradingDemo,
)
from pyevm_agents.scenarios.trading.posts import PRICE_DECIMALS, read_posts
from pyevm_agents.scenarios.trading.world import ASSETS, CASH, MAX_SHARES_BPS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyevm_agents.scenarios.setting import ScenarioSetting
    from pyevm_agents.scenarios.trading.demo import TradingRun

LABELS = {SENTIMENT: "Sentiment", FORECAST: "Forecast", WEIGHTS: "Target", TRADE: "Trade"}
"""Labels of the tools' answers."""

SUMMARY = (
    "Each post is one transaction: a model rates the post, another forecasts the returns of the "
    "next day, an agent of its own finds weights, and the desk trades toward them."
)

_TRADE = re.compile(r"(Bought|Sold) [0-9.]+ (\w+) for")


def run_trading(setting: ScenarioSetting, post_count: int | None = None) -> ScenarioReport:
    """Deploy everything, decide on posts, and return the report.

    Input:  post_count: the first posts of the demo's; None for the default number.
    Raises: EngineFault: the model failed.
    """
    demo = TradingDemo.deploy(
        setting.chain, is_ideal=setting.is_scripted, report=setting.show_status
    )
    runs, lists = [], []
    for run in demo.run_all(read_posts().posts[: post_count or DEFAULT_POST_COUNT]):
        runs.append(run)
        title = f"{run.number}  {run.post.text}"
        lists.append(EntryList(title=title, entries=tuple(_iter_entries(run, demo))))
        setting.show(lists[-1])
    setting.keep(demo.chain)
    ideal, undone = sum(run.is_ideal for run in runs), sum(not r.outcome.is_success for r in runs)
    trades = sum(len(find_trades(run)) for run in runs)
    gas, value = fmean(run.outcome.gas_used for run in runs), runs[-1].value
    return ScenarioReport(
        scenario="trading",
        title="Decisions of a trading agent",
        summary=SUMMARY,
        model=setting.model,
        is_scripted=setting.is_scripted,
        headlines=(
            Headline(title="undone as a whole", value=f"{undone}"),
            Headline(title="gas of a decision", value=f"{gas:,.0f}", notes=("the mean",)),
            Headline(
                title="value in the end",
                value=f"{value / demo.world.unit[CASH]:,.0f}",
                notes=(CASH,),
            ),
        ),
        warnings=("Posts and prices are made up. The models are no advice.",),
        transactions=tuple(run.outcome for run in runs),
        chapters=(Chapter(name="decisions", title="Decisions", parts=tuple(lists)),),
        charts=tuple(_build_chart(runs, symbol) for symbol in ASSETS),
        count=len(runs),
        ideal_count=ideal,
        remark=f"{trades} trades, {undone} undone",
        differences=tuple(f"post {run.number}: {text}" for run in runs for text in run.differences),
        seconds=setting.read_seconds(),
        details={
            "limits": {
                "maxShareBps": dict(zip(ASSETS, MAX_SHARES_BPS, strict=True)),
                "maxTrade": str(demo.world.limits.max_trade * demo.world.unit[CASH]),
            },
            "unit": {symbol: str(demo.world.unit[symbol]) for symbol in (CASH, *ASSETS)},
            "posts": [_serialize_run(run) for run in runs],
        },
    )


def find_trades(run: TradingRun) -> dict[str, str]:
    """Return `Bought` or `Sold` by the asset's symbol; nothing of a run that was undone."""
    text = run.outcome.find_answer(TRADE)
    if text is None or not run.outcome.is_success:
        return {}
    return {symbol: verb for verb, symbol in _TRADE.findall(text)}


def format_prices(run: TradingRun) -> str:
    """Return the prices of a post's day."""
    unit = 10**PRICE_DECIMALS
    pairs = zip(ASSETS, run.post.prices, strict=True)
    text = ", ".join(f"{symbol} {price / unit:,.2f}" for symbol, price in pairs) + f" {CASH}"
    return text if run.post.do_pools_follow else f"{text}; the pools have those of the day before"


def format_holdings(run: TradingRun, demo: TradingDemo) -> str:
    """Return the desk's holdings, with the share of each asset."""
    parts = []
    for symbol, amount in run.outcome.holdings.items():
        unit = demo.world.unit[symbol]
        shown = 100 if symbol == CASH else 10_000
        text = f"{format_tokens(amount * shown // unit, shown)} {symbol}"
        share = run.shares.get(symbol)
        parts.append(text if share is None else f"{text} ({100 * share:.1f} %)")
    return ", ".join(parts)


def _iter_entries(run: TradingRun, demo: TradingDemo) -> Iterator[Entry]:
    made = run.outcome
    yield Entry(label="Prices", text=format_prices(run))
    for tool, label in LABELS.items():
        if (found := made.find_answer(tool)) is not None:
            tone = Tone.TOOL if tool == TRADE else Tone.PLAIN
            yield Entry(label=label, text=found.removeprefix(f"{label}: "), tone=tone)
    if made.failure is not None:
        yield Entry(label="Undone", text=made.failure, tone=Tone.BAD)
    yield Entry(label="Holds", text=format_holdings(run, demo))
    yield from iter_transaction_entries(made)
    yield from iter_difference_entries(run.differences)


def _build_chart(runs: Sequence[TradingRun], symbol: str) -> PositionChart:
    place = ASSETS.index(symbol)
    return PositionChart(
        symbol=symbol,
        currency=CASH,
        points=tuple(
            ChartPoint(
                price=run.post.prices[place] / 10**PRICE_DECIMALS,
                trade=_name_trade(run, symbol),
                share=run.shares[symbol],
            )
            for run in runs
        ),
        share_limit=MAX_SHARES_BPS[place] / 10_000,
        noun="post",
    )


def _name_trade(run: TradingRun, symbol: str) -> TradeKind:
    if not run.outcome.is_success:
        return TradeKind.UNDONE
    verb = find_trades(run).get(symbol)
    return TradeKind.NONE if verb is None else TradeKind(verb.lower())


def _serialize_run(run: TradingRun) -> dict[str, object]:
    made = run.outcome
    return {
        "hash": "0x" + made.transaction_hash.hex(),
        "post": run.post.text,
        "prices": dict(zip(ASSETS, map(str, run.post.prices), strict=True)),
        "request": run.request,
        "answer": made.answer,
        "holdings": {
            "before": {symbol: str(amount) for symbol, amount in run.before.items()},
            "after": {symbol: str(amount) for symbol, amount in made.holdings.items()},
        },
        "value": str(run.value),
        "shares": {symbol: round(share, 6) for symbol, share in run.shares.items()},
        "endedAsIdeal": run.is_ideal,
    }
