"""A desk with its tools, agents and Uniswap V2 pools, on a plain EVM or on an agent chain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyevm_agents.scenarios.swap.world import NO_DEADLINE, UNISWAP_FOLDER, load_uniswap_artifact
from tests.contracts.named_contracts import NamedContracts
from tests.contracts.plain_evm import OWNER, ZERO, Contract, Evm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyevm_agents.testing import AgentChain
    from tests.contracts.named_contracts import Deployer

EXECUTOR = "0x0000000000000000000000000000000000000019"

USDT, DAI = 10**6, 10**18
ETH, BTC = 10**18, 10**8
"""Base units of a whole token."""

SUPPLY = 10**9

PRICE_DECIMALS = 8
ETH_PRICE, BTC_PRICE = 600, 60_000

POOLS = (
    ("USDT", 6_000_000, "ETH", 10_000),
    ("DAI", 30_000_000, "ETH", 50_000),
    ("USDT", 40_000_000, "DAI", 40_000_000),
    ("USDT", 6_000_000, "BTC", 100),
    ("DAI", 600_000, "BTC", 10),
)
"""Symbols and whole tokens. ETH has two routes of like price; BTC's second pool is thin."""

UNITS = {"USDT": USDT, "DAI": DAI, "ETH": ETH, "BTC": BTC}
DECIMALS = {"USDT": 6, "DAI": 18, "ETH": 18, "BTC": 8}

CASH = 100_000
"""Whole USDT of the desk at the start."""

HOUR = 3_600
ONE = 10**18


@dataclass(frozen=True, kw_only=True)
class Limits:
    """`TradingDesk.Limits`, in base units of USDT."""

    min_trade: int = 10 * USDT
    max_trade: int = 20_000 * USDT
    max_turnover: int = 50_000 * USDT
    period: int = HOUR
    max_price_age: int = HOUR
    max_slippage_bps: int = 100

    def as_abi(self) -> tuple[int, ...]:
        return (
            self.min_trade, self.max_trade, self.max_turnover, self.period, self.max_price_age,
            self.max_slippage_bps,
        )  # fmt: skip


SENTIMENT_DIGEST, FORECAST_DIGEST, RISK_DIGEST = (bytes([n]) * 32 for n in (1, 2, 3))

SENTIMENT_WORDS, SENTIMENT_BUCKETS = 48, 2**21
RETURNS = 20

STEPS = 21
"""Prices that the models take."""


@dataclass(frozen=True)
class PlainDeployer:
    """Deploys on an EVM without executor."""

    evm: Evm

    @property
    def owner(self) -> str:
        return OWNER.address

    def deploy(self, name: str, *arguments: object) -> Contract:
        return self.evm.deploy(name, *arguments)

    def deploy_uniswap(self, name: str, *arguments: object) -> Contract:
        artifact = load_uniswap_artifact(name)
        self.evm.send(None, artifact.encode_creation(*arguments))
        return Contract(self.evm, artifact, "0x" + self.evm.last.msg.storage_address.hex())

    def at_pair(self, address: str) -> Contract:
        return Contract(self.evm, load_uniswap_artifact("UniswapV2Pair"), address)


@dataclass(frozen=True)
class ChainContract:
    """A contract on an agent chain."""

    contract: Any

    @property
    def address(self) -> str:
        return str(self.contract.address)

    def __call__(self, function: str, *arguments: object) -> Any:  # noqa: ANN401 - what Solidity returns
        abi = next(each for each in self.contract.abi if each.get("name") == function)
        call = self.contract.functions[function](*arguments)
        return call.call() if abi["stateMutability"] in {"view", "pure"} else call.transact()


@dataclass(frozen=True)
class ChainDeployer:
    """Deploys on an agent chain."""

    chain: AgentChain

    @property
    def owner(self) -> str:
        return str(self.chain.accounts[0])

    def deploy(self, name: str, *arguments: object) -> ChainContract:
        return ChainContract(self.chain.deploy(name, *arguments))

    def deploy_uniswap(self, name: str, *arguments: object) -> ChainContract:
        return ChainContract(self.chain.deploy(UNISWAP_FOLDER / f"{name}.json", *arguments))

    def at_pair(self, address: str) -> ChainContract:
        abi = load_uniswap_artifact("UniswapV2Pair").abi
        return ChainContract(self.chain.w3.eth.contract(address=address, abi=abi))  # type: ignore[call-overload]


@dataclass
class TradingWorld(NamedContracts):
    """The contracts by name; everything belongs to the deployer's owner."""

    limits: Limits = Limits()
    shares_bps: Sequence[int] = (5_000, 3_000)

    def build_market(self) -> None:
        """Deploy tokens, Uniswap V2 and pools."""
        for symbol, decimals in DECIMALS.items():
            self.add(symbol, "OwnedToken", symbol, symbol, decimals, self.deployer.owner)
            self[symbol]("mint", self.deployer.owner, SUPPLY * UNITS[symbol])
        factory = self.deployer.deploy_uniswap("UniswapV2Factory", self.deployer.owner)
        wrapped = self.deployer.deploy_uniswap("WETH9")
        router = self.deployer.deploy_uniswap("UniswapV2Router02", factory.address, wrapped.address)
        self.contracts |= {"factory": factory, "router": router}
        for symbol, unit in UNITS.items():
            self[symbol]("approve", router.address, SUPPLY * unit)
        for first, first_amount, second, second_amount in POOLS:
            amounts = (first_amount * UNITS[first], second_amount * UNITS[second])
            tokens = (self.address(first), self.address(second))
            router("addLiquidity", *tokens, *amounts, *amounts, self.deployer.owner, NO_DEADLINE)

    def build_desk(self) -> None:
        """Deploy the feed and the desk, with cash and routes."""
        feed = ("view_prices", ["ETH", "BTC"], "USDT", PRICE_DECIMALS)
        self.add("feed", "PriceFeed", self.deployer.owner, *feed)
        for _ in range(STEPS):
            self.push(ETH_PRICE, BTC_PRICE)
        addresses = (self.address("router"), self.address("feed"), self.address("USDT"))
        desk = self.add(
            "desk", "TradingDesk", self.deployer.owner, *addresses, self.limits.as_abi()
        )
        for asset, symbol in enumerate(("ETH", "BTC")):
            desk("addAsset", self.address(symbol), self.shares_bps[asset])
            desk("addRoute", asset, "directly", [])
            desk("addRoute", asset, "via DAI", [self.address("DAI")])
        self["USDT"]("transfer", desk.address, CASH * USDT)

    def push(self, eth_price: float, btc_price: float) -> None:
        prices = [round(price * 10**PRICE_DECIMALS) for price in (eth_price, btc_price)]
        self["feed"]("push", prices)

    def build_models(self) -> None:
        """Deploy models that are linear maps: more words are more joy; joy is a rise."""
        models = self.add("models", "ScriptedNumericModels")
        joy = (SENTIMENT_DIGEST, [0] * SENTIMENT_WORDS, [4, 0], 0, SENTIMENT_BUCKETS)
        weights = [1] * SENTIMENT_WORDS + [0] * SENTIMENT_WORDS
        models("set", "sentiment", (*joy, weights, [-30_000, 1], 1, 10_000))
        rise = (FORECAST_DIGEST, [6] * 7 + [4], [6], -(10**6), 10**6)
        models("set", "forecast", (*rise, [0] * 7 + [1], [0], 1, 10**6))
        spread = (RISK_DIGEST, [6] * RETURNS, [6], -(10**6), 10**6)
        models("set", "risk", (*spread, [0] * RETURNS, [20_000], 1, 10**6))

    def build_tools(self) -> None:
        """Deploy the tools over the models."""
        models = self.address("models")
        post = ("post", "text of the post")
        self.add(
            "sentiment", "TextModelTool", "rate_sentiment", "Rates the sentiment of a post", *post,
            (models, "sentiment", SENTIMENT_DIGEST), SENTIMENT_BUCKETS, SENTIMENT_SENTENCE,
        )  # fmt: skip
        feed, sentiment = self.address("feed"), self.address("sentiment")
        forecast_inputs = self.add("forecast_inputs", "FeedInputs", feed, 0, sentiment)
        risk_inputs = self.add("risk_inputs", "FeedInputs", feed, 1, ZERO)
        self.add(
            "forecast", "ModelTool", "forecast_prices",
            "Forecasts the next price moves from the last sentiment and recent prices",
            (models, "forecast", FORECAST_DIGEST), FORECAST_FIELDS, forecast_inputs.address,
            FORECAST_SENTENCE,
        )  # fmt: skip
        self.add(
            "risk", "ModelTool", "estimate_risk", "Estimates the volatility of the assets",
            (models, "risk", RISK_DIGEST), RISK_FIELDS, risk_inputs.address, RISK_SENTENCE,
        )  # fmt: skip
        self.add(
            "optimizer", "MeanVarianceTool", self.address("desk"), self.address("forecast"),
            self.address("risk"), 20 * ONE, ONE // 1_000,
        )  # fmt: skip

    def build_agents(self, executor: str) -> None:
        """Deploy both agents and the tool that trades, and let them work together."""
        owner, desk = self.deployer.owner, self.address("desk")
        optimizer_agent = self.add(
            "optimizer_agent", "OptimizerAgent", owner, executor, "default",
            [self.address("optimizer")],
        )  # fmt: skip
        trader = self.add(
            "trader", "ExecuteTradeTool", desk, self.address("optimizer"), optimizer_agent.address
        )
        tools = [self.address(name) for name in ("sentiment", "forecast")]
        tools += [optimizer_agent.address, trader.address, self.address("feed")]
        agent = self.add("agent", "TradingAgent", owner, executor, "default", tools)
        optimizer_agent("setCaller", agent.address, True)  # noqa: FBT003 - Solidity's order
        self["desk"]("setAgent", agent.address, trader.address)

    def share_bps(self, asset: int) -> float:
        """Return an asset's share of the desk's value, in basis points."""
        total, of_assets = self["desk"]("values")
        return float(of_assets[asset] * 10_000 / total)


def shown(
    index: int, *, shift: int = 0, decimals: int = 2, unit: str = "", word_index: int = 0,
    bands: Sequence[tuple[int, str]] = (),
) -> tuple[object, ...]:  # fmt: skip
    """Return a `NumericTool.ShownValue`."""
    return (index, "", unit, shift, decimals, word_index, list(bands))


def on_chain(count: int, least: int, most: int, name: str) -> tuple[object, ...]:
    """Return a `ModelTool.Field` that a contract fills."""
    return (2, count, 0, name, "", least, most, 0)


SENTIMENT_SENTENCE: tuple[object, ...] = (
    "Sentiment", [], [],
    [shown(0, word_index=1, bands=[(-1, "negative"), (0, "neutral"), (1, "positive")])],
)  # fmt: skip
FORECAST_SENTENCE: tuple[object, ...] = (
    "Forecast", ["ETH", "BTC"], [],
    [shown(0, shift=2, unit=" %", bands=[(-(10**6), "down"), (-500, "flat"), (501, "up")])],
)  # fmt: skip
RISK_SENTENCE: tuple[object, ...] = (
    "Volatility",
    ["ETH", "BTC"],
    [],
    [shown(0, shift=2, unit=" %")],
)
FORECAST_FIELDS = [
    on_chain(6, -(10**6), 10**6, "returns and momentum"),
    on_chain(1, 0, 10**6, "volatility"),
    on_chain(1, -(10**4), 10**4, "sentiment"),
]
RISK_FIELDS = [on_chain(RETURNS, -(10**6), 10**6, "returns")]


def build_world(deployer: Deployer, *, executor: str = EXECUTOR, **fields: Any) -> TradingWorld:  # noqa: ANN401 - fields of TradingWorld
    world = TradingWorld(deployer, **fields)
    world.build_market()
    world.build_desk()
    world.build_models()
    world.build_tools()
    world.build_agents(executor)
    return world
