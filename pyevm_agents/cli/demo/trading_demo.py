"""`pyevm-agents demo --scenario trading`: decisions of a trading agent on a stream of posts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.cli.demo.output import (
    format_amount,
    iter_ending_lines,
    print_beginning,
    print_decision,
    print_ideal_count,
)
from pyevm_agents.cli.demo.trading_picture import draw_terminal_picture, find_trades
from pyevm_agents.cli.output import out
from pyevm_agents.scenarios.trading.demo import (
    DEFAULT_POST_COUNT,
    FORECAST,
    SENTIMENT,
    TRADE,
    WEIGHTS,
    TradingDemo,
    serialize_trading,
)
from pyevm_agents.scenarios.trading.posts import PRICE_DECIMALS, read_posts
from pyevm_agents.scenarios.trading.world import ASSETS, CASH

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyevm_agents.cli.demo.job import DemoJob
    from pyevm_agents.scenarios.trading.demo import TradingRun

LABELS = {SENTIMENT: "Sentiment", FORECAST: "Forecast", WEIGHTS: "Target", TRADE: "Trade"}
"""Tools to labels of what they answer."""


# -- the run -- #


def run_trading_demo(job: DemoJob) -> None:
    """Deploy everything, decide on the posts, and print the decisions.

    Raises: EngineFault: the model failed. AgentsError: the page can't be written.
    """
    options = job.options
    demo = TradingDemo.deploy(job.chain, is_ideal=options.ideal, report=job.watch.report)
    job.watch.stop()
    if not job.as_json:
        print_beginning(job.model, is_ideal=options.ideal)
    runs = []
    posts = read_posts().posts[: options.posts or DEFAULT_POST_COUNT]
    for run in demo.run_all(posts):
        job.watch.stop()
        runs.append(run)
        if not job.as_json:
            print_run(run, demo)

    def build_page() -> str:
        from pyevm_agents.cli.demo import trading_page  # noqa: PLC0415 - imports jinja2

        return trading_page.build_page(runs, demo, model=job.model)

    job.finish(
        demo.chain,
        "the decisions of --scenario trading",
        serialize=lambda seconds: serialize_trading(runs, demo, model=job.model, seconds=seconds),
        print_result=lambda seconds: _print_result(runs, seconds),
        build_page=build_page,
    )


# -- output -- #


def print_run(run: TradingRun, demo: TradingDemo) -> None:
    """Print a post and the decision on it."""
    print_decision(f"{run.number}  {run.post.text}", _iter_lines(run, demo))


def _iter_lines(run: TradingRun, demo: TradingDemo) -> Iterator[tuple[str, str, str]]:
    """Yield labels, texts and styles."""
    made = run.outcome
    yield "Prices", format_prices(run), ""
    for tool, label in LABELS.items():
        if (found := made.find_answer(tool)) is not None:
            is_trade = tool == TRADE
            yield label, found.removeprefix(f"{label}: "), "bold cyan" if is_trade else ""
    if made.failure is not None:
        yield "Undone", made.failure, "red"
    yield "Holds", format_holdings(run, demo), ""
    yield from iter_ending_lines(made, run.differences)


def format_prices(run: TradingRun) -> str:
    """Return the prices of a post's day."""
    unit = 10**PRICE_DECIMALS
    pairs = zip(ASSETS, run.post.prices, strict=True)
    text = ", ".join(f"{symbol} {price / unit:,.2f}" for symbol, price in pairs) + f" {CASH}"
    return text if run.post.do_pools_follow else f"{text}; the pools have those of the day before"


def format_holdings(run: TradingRun, demo: TradingDemo) -> str:
    """Return what the desk has, with the share of each asset."""
    parts = []
    for symbol, amount in run.outcome.holdings.items():
        unit = demo.world.unit[symbol]
        shown = 100 if symbol == CASH else 10_000
        text = f"{format_amount(amount * shown // unit, shown)} {symbol}"
        share = run.shares.get(symbol)
        parts.append(text if share is None else f"{text} ({share:.1%})".replace("%", " %"))
    return ", ".join(parts)


def _print_result(runs: Sequence[TradingRun], seconds: float) -> None:
    out.print()
    for line in draw_terminal_picture(runs):
        out.print(line, soft_wrap=True)
    ideal = sum(run.is_ideal for run in runs)
    trades = sum(len(find_trades(run)) for run in runs)
    undone = sum(not run.outcome.is_success for run in runs)
    print_ideal_count(ideal, len(runs), seconds, f"{trades} trades, {undone} undone")
