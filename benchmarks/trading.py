"""How many decisions of the trading demo end as the ideal, on the real model?

    python -m benchmarks.trading [--posts 40] [--model MODEL] [--json FILE]

The wording of the agent's request was chosen on the first half of the posts. The second half was
not looked at before. Each post is compared with the scripted ideal from the same state: answers of
the tools, failure, and what the desk holds.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from benchmarks.decisions import add_decision_options, report_decisions
from pyevm_agents.devnet.chain import create_development_chain
from pyevm_agents.scenarios.trading.demo import TradingDemo
from pyevm_agents.scenarios.trading.posts import read_posts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyevm_agents.bench.heartbeat import Heartbeat
    from pyevm_agents.model_registry.registry import ModelChoice
    from pyevm_agents.scenarios.trading.demo import TradingRun
    from pyevm_agents.scenarios.trading.posts import Post

POSTS = read_posts().posts
TUNED_COUNT = len(POSTS) // 2
"""Posts on which the wording was chosen: the first ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A run with its duration, in seconds of the wall."""

    run: TradingRun
    seconds: float
    """Of the model's run, the scripted one and the market's block."""


def measure(posts: Sequence[Post], choice: ModelChoice, heartbeat: Heartbeat) -> Iterator[Decision]:
    """Yield the decision on each post.

    Raises: EngineFault: the model failed.
    """
    heartbeat.begin_part("posts", len(posts))
    with choice.open() as llama:
        facts = llama.profile_facts
        chain = create_development_chain(llama, facts, choice.build_profile(facts))
        demo = TradingDemo.deploy(chain)
        for number, post in enumerate(posts, start=1):
            started = time.monotonic()
            run = demo.run(post, number)
            yield Decision(run=run, seconds=time.monotonic() - started)
            heartbeat.finish_step()


def build_report(decisions: Sequence[Decision]) -> dict[str, object]:
    """Return counts, gas and differences as JSON."""
    gas = [each.run.outcome.gas_used for each in decisions]
    return {
        "posts": len(decisions),
        "endedAsIdeal": count_ideal(decisions),
        "halves": {
            name: {"posts": len(part), "endedAsIdeal": count_ideal(part)}
            for name, part in split_halves(decisions).items()
        },
        "undoneAsIdeal": sum(
            each.run.is_ideal and not each.run.outcome.is_success for each in decisions
        ),
        "gas": {"mean": round(fmean(gas)), "most": max(gas)},
        "secondsPerPost": round(fmean(each.seconds for each in decisions), 2),
        "failures": [
            {
                "post": each.run.number,
                "text": each.run.post.text,
                "tools": [step.action for step in each.run.outcome.steps if step.action],
                "differences": list(each.run.differences),
            }
            for each in decisions
            if not each.run.is_ideal
        ],
        "decisions": [_describe(each) for each in decisions],
    }


def split_halves(decisions: Sequence[Decision]) -> Mapping[str, Sequence[Decision]]:
    """Return the decisions on posts of the tuned half, and of the other; none if it is empty."""
    halves = {"tuned": decisions[:TUNED_COUNT], "unseen": decisions[TUNED_COUNT:]}
    return {name: part for name, part in halves.items() if part}


def count_ideal(decisions: Sequence[Decision]) -> int:
    """Return how many ended as the ideal."""
    return sum(each.run.is_ideal for each in decisions)


def _describe(decision: Decision) -> dict[str, object]:
    run = decision.run
    return {
        "post": run.number,
        "endedAsIdeal": run.is_ideal,
        "status": int(run.outcome.is_success),
        "gas": run.outcome.gas_used,
        "trade": run.outcome.find_answer("execute_trade"),
    }


def print_decisions(decisions: Sequence[Decision]) -> None:
    """Print a table of the halves, and the differences."""
    table = Table(title="Decisions that ended as the ideal", box=None, padding=(0, 3, 0, 0))
    for heading in ("posts", "ended as the ideal", "of", "gas, mean", "s a post"):
        table.add_column(heading)
    for name, part in {**split_halves(decisions), "all": decisions}.items():
        gas = fmean(each.run.outcome.gas_used for each in part)
        seconds = fmean(each.seconds for each in part)
        counts = (str(count_ideal(part)), str(len(part)))
        table.add_row(name, *counts, f"{gas:,.0f}", f"{seconds:.1f}")
    console = Console(highlight=False)
    console.print(table)
    for each in decisions:
        for difference in each.run.differences:
            console.print(f"post {each.run.number}: {difference}", markup=False, soft_wrap=True)


def read_options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--posts", type=int, default=len(POSTS), help="the first N posts")
    add_decision_options(parser)
    options = parser.parse_args(arguments)
    if not 1 <= options.posts <= len(POSTS):
        parser.error(f"--posts {options.posts}: must be 1 to {len(POSTS)}")
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and write; return 1 if the model is unfit."""
    options = read_options(arguments)
    return report_decisions(
        "trading",
        options,
        lambda choice, heartbeat: measure(POSTS[: options.posts], choice, heartbeat),
        print_decisions,
        build_report,
    )


if __name__ == "__main__":
    sys.exit(main())
