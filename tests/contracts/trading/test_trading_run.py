"""Whole runs of the trading agent: five contracts, two agents, one transaction."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given

from pyevm_agents.testing import (
    Adversary,
    AgentChain,
    adversary,
    adversary_settings,
    answer,
    assert_agent,
    use,
)
from tests.contracts.trading.trading_world import (
    CASH,
    HOUR,
    USDT,
    ChainDeployer,
    Limits,
    TradingWorld,
    build_world,
)

if TYPE_CHECKING:
    from pyevm_agents.models.fakes.script_steps import Step

pytestmark = pytest.mark.slow

POST = "Ethereum breaks resistance, bulls are in control"
NESTED = "Optimize the weights"
GAS = 20_000_000

LIMITS = Limits(max_trade=8_000 * USDT, max_turnover=12_000 * USDT)


@pytest.fixture(scope="module")
def built(module_agent_chain: AgentChain) -> TradingWorld:
    """The world of all tests of this module, each of which is rolled back."""
    return build_world(ChainDeployer(module_agent_chain), limits=LIMITS)


@pytest.fixture
def world(built: TradingWorld, agent_chain: AgentChain) -> TradingWorld:
    assert chain_of(built) is agent_chain
    return built


def chain_of(world: TradingWorld) -> AgentChain:
    assert isinstance(world.deployer, ChainDeployer)
    return world.deployer.chain


def ideal_run() -> list[Step]:
    return [
        use("rate_sentiment", post=POST),
        use("forecast_prices"),
        use("Portfolio Optimizer", prompt=NESTED),
        use("optimize_weights"),
        answer("Done."),
        use("execute_trade"),
        answer("Done."),
    ]


def decide(world: TradingWorld, *steps: Step, gas: int = GAS) -> str:
    """Let the agent decide on the post with these steps; return the transaction's hash."""
    chain_of(world).model.script(*steps)
    return str(world["agent"].contract.functions.decide(POST).transact({"gas": gas}).to_0x_hex())


def held(world: TradingWorld) -> list[int]:
    desk = world.address("desk")
    return [int(world[symbol]("balanceOf", desk)) for symbol in ("USDT", "ETH", "BTC")]


def test_a_post_is_rated_forecast_optimized_and_traded_in_one_transaction(
    world: TradingWorld,
) -> None:
    sent = decide(world, *ideal_run())

    assert_agent(sent).succeeded()
    steps = chain_of(world).steps(sent)
    assert [(step.action, step.depth) for step in steps] == [
        ("rate_sentiment", 0), ("forecast_prices", 0), ("Portfolio Optimizer", 0),
        ("optimize_weights", 1), (None, 1), ("execute_trade", 0), (None, 0),
    ]  # fmt: skip
    results = [step.observation for step in steps if step.action]
    assert results[0] == "Sentiment: 1.00 (positive)"
    assert results[1] == "Forecast: ETH 1.00 % (up), BTC 1.00 % (up)"
    assert results[3] == (
        "Target: ETH 50.00 % (now 0.00 %), BTC 30.00 % (now 0.00 %), cash 20.00 %"
    )
    assert str(results[4]).startswith("Bought 13.3333 ETH for ")
    trades = world["desk"].contract.events.Traded().get_logs()
    assert [(trade.args.asset, trade.args.isBuy) for trade in trades] == [(0, True), (1, True)]
    cash, eth, btc = held(world)
    assert (eth, btc) == tuple(trade.args.assetAmount for trade in trades)
    assert cash == CASH * USDT - sum(trade.args.cashAmount for trade in trades)


def test_a_run_that_ends_early_is_undone(world: TradingWorld) -> None:
    before = held(world)
    steps = ideal_run()
    decide(world, *steps[:-1], answer("UNSURE: Trade or not?"))
    assert held(world) == before
    decide(world, *steps[:3], answer("UNSURE: Which weights?"))
    assert held(world) == before


@pytest.mark.parametrize("taken", [(1,), (0, 2, 3), (0, 1, 5)])
def test_no_step_works_without_the_one_before(world: TradingWorld, taken: tuple[int, ...]) -> None:
    steps = ideal_run()
    before = held(world)
    sent = decide(world, *(steps[place] for place in taken))
    assert_agent(sent).failed(re.compile("NoOutput"))
    assert held(world) == before


def test_strangers_run_neither_agents_nor_the_trade(world: TradingWorld) -> None:
    chain = chain_of(world)
    stranger = chain.accounts[1]
    with chain.as_account(stranger):
        for agent in ("agent", "optimizer_agent"):
            with pytest.raises(Exception, match="CallerNotAllowed"):
                chain.ask(world[agent].contract, POST)
        no_input: tuple[list[object], bytes] = ([], b"")
        with pytest.raises(Exception, match="NotAgent"):
            world["trader"]("run", no_input, stranger)


@adversary_settings(max_examples=25)
@given(adversary=adversary(texts=(POST, NESTED)))
def test_no_words_of_the_model_exceed_the_limits(world: TradingWorld, adversary: Adversary) -> None:
    chain = chain_of(world)
    with adversary.on(chain):
        adversary.run(world["agent"].contract.functions.decide(POST))
        most_lost = LIMITS.max_turnover * LIMITS.max_slippage_bps // 10_000
        total, of_assets = world["desk"]("values")
        assert total >= CASH * USDT - most_lost
        assert world["desk"]("turnoverOf", chain.time // HOUR) <= LIMITS.max_turnover
        assert sum(of_assets) <= LIMITS.max_turnover
        for asset, most in enumerate(world.shares_bps):
            assert world.share_bps(asset) <= most
