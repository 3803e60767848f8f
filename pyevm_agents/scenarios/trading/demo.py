"""The trading demo: a decision on each post of a stream, in one transaction each.

Each run is compared with the ideal one, which a scripted model makes from the same state: the
needed tools once and in order, with the post and the nested request copied exactly. The tools'
answers, and the desk's holdings in the end, come from the contracts in both.

Nothing here prints. Reported holdings are read from the chain.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.agents.failures import find_answer, require_success
from pyevm_agents.agents.trace import extract_agent_steps
from pyevm_agents.chain import Chain
from pyevm_agents.devnet.local_account import LocalAccount
from pyevm_agents.model_registry.profiles import build_numeric_profiles
from pyevm_agents.models import answer, use
from pyevm_agents.scenarios.ideal_runs import (
    RunOutcome,
    explain_outcome,
    list_run_differences,
    make_swappable,
    run_beside_ideal,
)
from pyevm_agents.scenarios.recorded import Scenario, require_scenario, restart_from_state
from pyevm_agents.scenarios.trading.posts import read_posts
from pyevm_agents.scenarios.trading.world import (
    DAY_SECONDS,
    TradingWorld,
    open_trading_models,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pyevm_agents.models.fakes.script_steps import Step
    from pyevm_agents.scenarios.trading.posts import Post

SENTIMENT, FORECAST, OPTIMIZER, WEIGHTS, TRADE = (
    "rate_sentiment", "forecast_prices", "Portfolio Optimizer", "optimize_weights",
    "execute_trade",
)  # fmt: skip
"""Names of the tools that a run needs; the fourth is the optimizer's own."""

COMPARED_TOOLS = (SENTIMENT, FORECAST, WEIGHTS, TRADE)
"""Tools whose answers come from contracts alone."""

DEFAULT_POST_COUNT = 6
RECORDED_POST_COUNT = 4
"""A purchase, a sale, another purchase, and a run that is undone."""

ANSWER = "Done."


@dataclass(frozen=True, slots=True, kw_only=True)
class TradingOutcome(RunOutcome):
    """The outcome of a run, and the desk's holdings."""

    holdings: Mapping[str, int]
    """What the desk has afterwards, in base units by symbol."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TradingRun:
    """A decision on a post, beside the ideal one from the same state."""

    number: int
    """From 1."""

    post: Post
    request: str
    before: Mapping[str, int]
    """What the desk had, in base units by symbol."""

    outcome: TradingOutcome
    ideal: TradingOutcome
    value: int
    """The desk's value afterwards at the feed's prices, in base units of cash."""

    shares: Mapping[str, float]
    """Each asset's part of it."""

    @property
    def differences(self) -> tuple[str, ...]:
        """How the run differs from the ideal, a sentence each; none for an ideal run."""
        return tuple(list_differences(self.outcome, self.ideal))

    @property
    def is_ideal(self) -> bool:
        """Whether the run ended as the ideal."""
        return not self.differences


def list_differences(made: TradingOutcome, ideal: TradingOutcome) -> Iterator[str]:
    """Yield how a run differs from the ideal: in tools' answers, the failure and the holdings.

    Tools that change nothing may be used besides.
    """
    yield from list_run_differences(made, ideal, COMPARED_TOOLS)
    for symbol, amount in ideal.holdings.items():
        if made.holdings[symbol] != amount:
            yield f"{symbol}: expected {amount} base units; the desk has {made.holdings[symbol]}"


def list_ideal_steps(request: str) -> list[Step]:
    """Return the output of a model that does each thing of a request once, in order.

    Input:  request: of `TradingAgent.requestFor`; the quotations are the post and the optimizer's
        request.
    """
    _, post, _, nested, _ = request.split('"')
    return [
        use(SENTIMENT, post=post),
        use(FORECAST),
        use(OPTIMIZER, prompt=nested),
        use(WEIGHTS),
        answer(ANSWER),
        use(TRADE),
        answer(ANSWER),
    ]


class TradingDemo:
    """A trading desk, an agent, and a stream of posts."""

    def __init__(self, world: TradingWorld, *, is_ideal: bool = False) -> None:
        """Use deployed contracts; see `deploy`."""
        self.world = world
        self.is_ideal = is_ideal
        self._sender = world.account

    @classmethod
    def deploy(
        cls,
        chain: Chain,
        *,
        is_ideal: bool = False,
        report: Callable[[str], None] = lambda _: None,
    ) -> Self:
        """Deploy everything on a chain like another one, with the numeric models.

        Input:
            chain: has one language model, and a funded development account.
            is_ideal: whether the scripted ideal runs in place of the model.
            report: gets a text at each step.
        """
        report("deploying Uniswap V2, pools, the price feed, the models' tools and the agents")
        sender = LocalAccount(_add_numeric_models(chain))
        return cls(TradingWorld(sender, read_posts().history), is_ideal=is_ideal)

    @property
    def chain(self) -> Chain:
        """The chain on which the agents run."""
        return self._sender.chain

    def move_to(self, chain: Chain) -> None:
        """Go on on another chain that has the same contracts."""
        self._sender.chain = chain

    def run_all(self, posts: Sequence[Post]) -> Iterator[TradingRun]:
        """Decide on posts, one a day, each in one transaction.

        Raises: EngineFault: the model failed.
        """
        for number, post in enumerate(posts, start=1):
            yield self.run(post, number)

    def run(self, post: Post, number: int = 1) -> TradingRun:
        """Push the post's prices, and let the agent decide on the post in one transaction.

        Raises: EngineFault: the model failed.
        """
        world = self.world
        day = self.chain.head.timestamp + DAY_SECONDS
        world.push_prices(post.prices, do_pools_follow=post.do_pools_follow, timestamp_seconds=day)
        request = world.read_request(post.text)
        before = world.read_holdings()
        outcome, ideal = run_beside_ideal(
            self.chain,
            list_ideal_steps(request),
            lambda: self._decide(post),
            is_ideal=self.is_ideal,
        )
        total, _ = world.read("desk", "values")
        return TradingRun(
            number=number, post=post, request=request, before=before, outcome=outcome, ideal=ideal,
            value=int(total), shares=world.read_shares(),
        )  # fmt: skip

    def _decide(self, post: Post) -> TradingOutcome:
        artifact = load_artifact("TradingAgent")
        call = artifact.encode_call("decide", post.text)
        sent = self._sender.send(self.world.address("agent"), call)
        return TradingOutcome(
            transaction_hash=sent.hash,
            block_number=sent.block.number,
            computation=sent.computation,
            gas_used=sent.receipt.gas_used,
            failure=explain_outcome(sent),
            answer=find_answer(
                sent.computation, lambda output: artifact.decode_result("decide", output)
            ),
            steps=extract_agent_steps(sent.computation),
            holdings=self.world.read_holdings(),
        )


def _add_numeric_models(chain: Chain) -> Chain:
    """Return a new chain with the same genesis accounts, the numeric models, and swappable ones."""
    numeric = open_trading_models()
    config = replace(chain.config, numeric_models=build_numeric_profiles(numeric))
    return Chain(
        config,
        make_swappable(chain),
        numeric_models=numeric,
        accounts=chain.genesis_accounts,
    )


# -- recording -- #


def _build_trading(building: Chain) -> Chain:
    demo = TradingDemo.deploy(building)
    chain = restart_from_state(demo.chain)
    demo.move_to(chain)
    for run in demo.run_all(read_posts().posts[:RECORDED_POST_COUNT]):
        who = f"the run of post {run.number}"
        if run.post.do_pools_follow:
            require_success(run.outcome.computation, who)
        text = "; ".join(run.differences)
        require_scenario(run.is_ideal, f"{who} is not the ideal: {text}")
    return chain


TRADING = Scenario(
    comment="A trading agent decides on posts: a sentiment model rates the post, a forecaster "
    "takes the rating and recent prices, an agent of its own finds weights, and a desk trades "
    "toward them on Uniswap V2 within its limits. In the last run the pools are worse than the "
    "desk's slippage allows, so all of it is undone. Posts and prices are made up.",
    make=_build_trading,
)
"""The scenario `trading` of `chain_fixtures/`."""
