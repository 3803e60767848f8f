"""Decisions on posts with the package's numeric models, by scripts and by adversarial models."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, seed
from hypothesis import strategies as st

from pyevm_agents.models import answer, use
from pyevm_agents.models.fakes.adversary import AdversarialModel
from pyevm_agents.models.numeric.text_features import text_features
from pyevm_agents.scenarios.trading.demo import (
    COMPARED_TOOLS,
    FORECAST,
    OPTIMIZER,
    SENTIMENT,
    TRADE,
    WEIGHTS,
    list_ideal_steps,
)
from pyevm_agents.scenarios.trading.posts import PRICE_DECIMALS, Post, read_posts
from pyevm_agents.scenarios.trading.world import (
    ASSETS,
    CASH,
    CASH_TOKENS,
    DAY_SECONDS,
    MAX_SHARES_BPS,
    POOLS,
)
from pyevm_agents.testing import adversary_settings
from pyevm_agents.testing.strategies import StepStrategy
from tests.pyevm_agents.scenarios.trading.trading_bench import TradingBench, open_trading_bench

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hypothesis.strategies import DataObject

    from pyevm_agents.models import Vocabulary
    from pyevm_agents.models.fakes.adversary import DecisionContext
    from pyevm_agents.models.fakes.script_steps import Step
    from pyevm_agents.scenarios.trading.demo import TradingDemo, TradingRun
    from tests.samples import Sample

pytestmark = pytest.mark.slow

POSTS = read_posts().posts
LIKELY_TEXTS = (*(post.text for post in POSTS[:2]), "Optimize the weights")
NO_ADVANTAGE = 1e-9
"""Rounding of shares as floats."""


@pytest.fixture(scope="module")
def bench(vocabulary: Vocabulary) -> TradingBench:
    return open_trading_bench(vocabulary)


@pytest.fixture
def demo(bench: TradingBench) -> Iterator[TradingDemo]:
    """The demo, whose runs are undone."""
    with bench.undone() as demo:
        yield demo


def decide(bench: TradingBench, post: Post, *steps: Step) -> TradingRun:
    """Decide on a post with these steps; without any, with the ideal ones."""
    request = bench.demo.world.read_request(post.text)
    bench.script.steps = [*steps] or list_ideal_steps(request)
    return bench.demo.run(post)


def test_each_post_is_one_transaction_and_the_ideal_is_the_ideal(
    bench: TradingBench, demo: TradingDemo
) -> None:
    last: Mapping[str, int] = demo.world.read_holdings()
    assert last == {CASH: CASH_TOKENS * demo.world.unit[CASH], "ETH": 0, "BTC": 0}
    for post in POSTS[2:5]:
        run = decide(bench, post)
        assert run.is_ideal, run.differences
        assert run.before == last
        last = run.outcome.holdings
        assert run.outcome.is_success == post.do_pools_follow
        assert (run.before == last) != run.outcome.is_success
        assert next(step.action for step in run.outcome.steps if step.depth == 1) == WEIGHTS
        assert all(run.outcome.find_answer(tool) for tool in COMPARED_TOOLS[:3])


def test_tools_answer_what_the_models_compute(bench: TradingBench, demo: TradingDemo) -> None:
    post = POSTS[1]
    run = decide(bench, post)
    model = demo.chain.numeric_models["sentiment"]
    most = model.input_ranges[0][1]
    score, kind = model.run(text_features(post.text, len(model.input_ranges), most))
    word = {-1: "negative", 0: "neutral", 1: "positive"}[kind]
    found = str(run.outcome.find_answer(SENTIMENT))
    assert found == f"Sentiment: {score / 10**4:.2f} ({word})"
    score_at = demo.chain.numeric_models["forecast"].input_decimals.index(4)
    assert score_at == len(demo.chain.numeric_models["forecast"].input_ranges) - 1


def test_a_bad_post_is_sold_and_a_good_one_bought(bench: TradingBench, demo: TradingDemo) -> None:
    bought = decide(bench, POSTS[0])
    assert str(bought.outcome.find_answer(TRADE)).startswith("Bought ")
    sold = decide(bench, POSTS[1])
    assert str(sold.outcome.find_answer(TRADE)).startswith("Sold ")
    assert sold.shares["ETH"] == demo.world.read_shares()["ETH"] == 0


def test_a_step_that_is_left_out_undoes_the_run(bench: TradingBench, demo: TradingDemo) -> None:
    request = demo.world.read_request(POSTS[0].text)
    steps = list_ideal_steps(request)
    run = decide(bench, POSTS[0], steps[0], steps[1], use(TRADE), answer("Done."))
    assert "NoOutput" in str(run.outcome.failure)
    assert run.outcome.holdings == run.before
    texts = "\n".join(run.differences)
    assert f"{WEIGHTS}: expected " in texts
    assert "expected success; the transaction reverted: " in texts
    assert f"{CASH}: expected " in texts


def test_another_post_is_a_difference(bench: TradingBench, demo: TradingDemo) -> None:
    steps = list_ideal_steps(demo.world.read_request(POSTS[0].text))
    run = decide(bench, POSTS[0], use(SENTIMENT, post="terrible crash"), *steps[1:])
    assert run.outcome.is_success
    assert run.differences[0].startswith(f"{SENTIMENT}: expected ")
    assert any(line.startswith(f"{FORECAST}: expected ") for line in run.differences)


def test_a_look_at_the_prices_is_no_difference(bench: TradingBench, demo: TradingDemo) -> None:
    steps = list_ideal_steps(demo.world.read_request(POSTS[0].text))
    run = decide(bench, POSTS[0], use("view_prices"), *steps)
    assert run.is_ideal, run.differences


def test_pools_follow_the_feed(demo: TradingDemo) -> None:
    post = POSTS[0]
    demo.world.push_prices(post.prices)
    for money, asset, _ in POOLS:
        pair = demo.world.address(f"{money}-{asset}")
        held = [
            demo.world.read(each, "balanceOf", pair) / demo.world.unit[each]
            for each in (money, asset)
        ]
        price = post.prices[ASSETS.index(asset)] / 10**PRICE_DECIMALS
        assert held[0] / held[1] == pytest.approx(price, rel=2e-3)


def test_the_posts_are_made_for_the_agent() -> None:
    assert len(POSTS) == 40
    assert len({post.text for post in POSTS}) == len(POSTS)
    assert all(len(post.prices) == len(ASSETS) for post in POSTS)
    assert sum(not post.do_pools_follow for post in POSTS) == 1


# -- limits -- #


@pytest.mark.sample(count=6, seed=24)
def test_no_words_of_the_model_exceed_the_limits(
    bench: TradingBench, vocabulary: Vocabulary, sample: Sample
) -> None:
    """Two decisions a day for two days, by a model that writes whatever the grammar admits.

    It follows the needed steps most of the time, so that trades happen, from any state that other
    steps make.
    """

    @seed(sample.seed)
    @adversary_settings(max_examples=sample.count, database=None)
    @given(data=st.data())
    def check(data: DataObject) -> None:
        def choose(situation: DecisionContext) -> Step:
            plan = _plan(situation)
            if plan is not None and data.draw(st.integers(0, 7)):
                return plan
            return data.draw(StepStrategy(situation, texts=LIKELY_TEXTS))

        model = AdversarialModel(choose, vocabulary=vocabulary)
        with bench.undone() as demo, bench.swapped(model):
            for post in POSTS[:2]:
                day = demo.chain.head.timestamp + DAY_SECONDS
                demo.world.push_prices(post.prices, timestamp_seconds=day)
                for count in (1, 2):
                    _check_decision(demo, post, count, sample.figures)

    check()
    assert sample.figures["trades"] >= sample.count


def _plan(situation: DecisionContext) -> Step | None:
    """Return the needed step, with a likely text; None if the grammar does not admit it."""
    tools = {tool.name for tool in situation.allowed_steps.tools}
    done = " ".join(situation.texts)
    for step in (
        use(SENTIMENT, post=LIKELY_TEXTS[len(done) % len(LIKELY_TEXTS)]), use(FORECAST),
        use(OPTIMIZER, prompt=LIKELY_TEXTS[-1]), use(WEIGHTS), use(TRADE),
    ):  # fmt: skip
        if step.tool in tools and f"Action: {step.tool}" not in done:
            return step
    return answer("Done.") if situation.allowed_steps.may_answer else None


def _check_decision(demo: TradingDemo, post: Post, number: int, figures: dict[str, int]) -> None:
    world = demo.world
    before, shares = world.read_holdings(), world.read_shares()
    (total, _), limits = world.read("desk", "values"), world.limits
    agent = world.contracts["agent"]
    sent = world.account.send(agent.address, agent.artifact.encode_call("decide", post.text))
    after = world.read_holdings()
    figures["decisions"] = figures.get("decisions", 0) + 1
    figures["trades"] = figures.get("trades", 0) + (before != after)
    figures["reverted"] = figures.get("reverted", 0) + (not sent.is_success)
    assert sent.is_success or before == after
    for (symbol, share), limit in zip(world.read_shares().items(), MAX_SHARES_BPS, strict=True):
        assert share <= max(limit / 10_000, shares[symbol]) + NO_ADVANTAGE
    period = demo.chain.head.timestamp // limits.period_seconds
    turnover = world.read("desk", "turnoverOf", period)
    unit = world.unit[CASH]
    assert turnover <= limits.max_turnover * unit
    _check_amounts(before, after, limits.max_trade * unit, demo)
    most_lost = min(limits.max_turnover, 2 * number * limits.max_trade) * unit
    least = total - most_lost * limits.max_slippage_bps // 10_000
    assert world.read("desk", "values")[0] >= least


def _check_amounts(
    before: Mapping[str, int], after: Mapping[str, int], most: int, demo: TradingDemo
) -> None:
    """Insist on the limit of each trade, at the feed's prices."""
    for place, symbol in enumerate(ASSETS):
        price = int(demo.world.read("feed", "priceOf", place))
        moved = abs(after[symbol] - before[symbol])
        unit = demo.world.unit[symbol] * 10**PRICE_DECIMALS
        assert moved * price * demo.world.unit[CASH] // unit <= most
