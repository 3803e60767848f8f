"""`pyevm-agents demo --scenario trading`: decisions of a trading agent on a stream of posts."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pyevm_agents.atomic_files import require_file_path, write_output_file
from pyevm_agents.cli.demo_output import (
    format_amount,
    iter_ending_lines,
    print_beginning,
    print_decision,
    print_ideal_count,
)
from pyevm_agents.cli.option_group import add_option_group
from pyevm_agents.cli.output import out
from pyevm_agents.cli.trading_picture import draw_terminal_picture, find_trades
from pyevm_agents.devnet.trading_demo import (
    DEFAULT_POST_COUNT,
    FORECAST,
    SENTIMENT,
    TRADE,
    WEIGHTS,
    TradingDemo,
    serialize_trading,
)
from pyevm_agents.devnet.trading_posts import PRICE_DECIMALS, read_posts
from pyevm_agents.devnet.trading_world import ASSETS, CASH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pyevm_agents.chain import Chain
    from pyevm_agents.cli.tools.inspect import SlowStatus
    from pyevm_agents.devnet.trading_demo import TradingRun

LABELS = {SENTIMENT: "Sentiment", FORECAST: "Forecast", WEIGHTS: "Target", TRADE: "Trade"}
"""Tools to labels of what they answer."""


# -- options -- #


@dataclass(frozen=True, slots=True, kw_only=True)
class TradingOptions:
    """Options of this scenario; the loan's has `--html`, `--ideal`, runs and councils `--html`."""

    posts: int | None
    html: Path | None
    ideal: bool

    def require_none(self) -> None:
        """Reject the options for another scenario.

        Raises: click.UsageError.
        """
        self.require_no_posts()
        if self.html is not None:
            raise click.UsageError(
                "--html is for --scenario trading, loan, run and council; omit it"
            )
        self.require_no_ideal()

    def require_no_ideal(self) -> None:
        """Reject the scripted ideal.

        Raises: click.UsageError.
        """
        if self.ideal:
            raise click.UsageError("--ideal is for --scenario trading and loan; omit it")

    def require_no_posts(self) -> None:
        """Reject a number of posts.

        Raises: click.UsageError.
        """
        if self.posts is not None:
            raise click.UsageError("--posts is for --scenario trading; omit it")

    def require_consistent(self, record_path: Path | None) -> None:
        """Reject options that do not fit together, and a page that can't be written.

        Raises: click.UsageError; ConfigError.
        """
        if self.ideal and record_path is not None:
            raise click.UsageError("--record: records what the model wrote; omit --ideal")
        if self.html is not None:
            require_file_path(self.html)


def add_trading_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of this scenario to a command, which gets them as `trading`."""
    return add_option_group(command, "trading", TradingOptions, _OPTIONS)


_OPTIONS = (
    click.option(
        "--posts", type=click.IntRange(1, len(read_posts().posts)), metavar="N",
        help=f"trading: The first N of {len(read_posts().posts)} posts.  "
        f"[default: {DEFAULT_POST_COUNT}]",
    ),
    click.option(
        "--html", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
        help="trading, loan, run, council: Write the decisions or runs as a self-contained page.",
    ),
    click.option(
        "--ideal", is_flag=True,
        help="trading, loan: Run the scripted ideal in place of the model.",
    ),
)  # fmt: skip


# -- the run -- #


def run_trading_demo(  # noqa: PLR0913 - keyword arguments
    chain: Chain,
    options: TradingOptions,
    *,
    model: Mapping[str, str],
    watch: SlowStatus,
    keep: Callable[[Chain, str], None],
    as_json: bool,
) -> None:
    """Deploy everything, decide on the posts, and print the decisions.

    Input:
        chain: has the model and the account.
        model: its name and digest.
        keep: gets the chain of the runs, and what they are.

    Raises: EngineFault: the model failed. AgentsError: the page can't be written.
    """
    started = time.monotonic()
    demo = TradingDemo.deploy(chain, is_ideal=options.ideal, report=watch.report)
    watch.stop()
    if not as_json:
        print_beginning(model, is_ideal=options.ideal)
    runs = []
    posts = read_posts().posts[: options.posts or DEFAULT_POST_COUNT]
    for run in demo.run_all(posts):
        watch.stop()
        runs.append(run)
        if not as_json:
            print_run(run, demo)
    seconds = time.monotonic() - started
    if as_json:
        form = serialize_trading(runs, demo, model=model, seconds=seconds)
        click.echo(json.dumps(form, indent=2, ensure_ascii=False))
    else:
        _print_result(runs, seconds)
    if options.html is not None:
        from pyevm_agents.cli.trading_page import build_page  # noqa: PLC0415 - imports jinja2

        write_output_file(options.html, build_page(runs, demo, model=model))
        watch.show_status(f"written: {options.html}")
    keep(demo.chain, "the decisions of --scenario trading")


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
