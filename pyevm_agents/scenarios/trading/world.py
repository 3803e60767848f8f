"""A trading desk on any chain: Uniswap V2, a price feed, models as tools, and two agents.

The agent rates a post, forecasts prices, requests weights from another agent, and trades toward the
weights. The contracts are those of `contracts/examples/trading/`. Every account may read the feed,
and the desk enforces the limits.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt
from pathlib import Path
from typing import TYPE_CHECKING

from eth_typing import Address
from eth_utils import to_canonical_address

from precompiles.numeric_spec import NUMERIC_MODELS_ADDRESS
from precompiles.spec import EXECUTOR_ADDRESS
from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.model_registry.profiles import ALIASES
from pyevm_agents.scenarios.swap.world import NO_DEADLINE, WorldContracts, load_uniswap_artifact
from pyevm_agents.scenarios.trading.posts import PRICE_DECIMALS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from precompiles.numeric_model import NumericModel
    from pyevm_agents.devnet.local_account import LocalAccount
    from pyevm_agents.scenarios.trading.posts import Prices

MODELS_FOLDER = Path(__file__).parents[2] / "models" / "numeric" / "files"
MODEL_NAMES = ("sentiment", "forecast", "risk")

CASH = "USDT"
ASSETS = ("ETH", "BTC")
DECIMALS = {"USDT": 6, "DAI": 18, "ETH": 18, "BTC": 8}
SUPPLY_TOKENS = 10**9
"""Whole tokens of each kind that the owner mints to itself."""

CASH_TOKENS = 100_000
"""Whole tokens of cash that the desk begins with."""

POOLS = (
    ("USDT", "ETH", 3_000_000),
    ("DAI", "ETH", 30_000_000),
    ("USDT", "BTC", 3_000_000),
    ("DAI", "BTC", 30_000_000),
)
"""Money, asset, and the money in the pool in whole tokens. The way by DAI has two fees but deep
pools, so it is better for large trades."""

MONEY_POOL_TOKENS = 40_000_000
"""Whole USDT, and as many DAI, in their pool."""

FIRST_PRICES = (3_000, 60_000)
"""Prices at which the pools begin, in whole USDT."""

DAY_SECONDS = 86_400

MAX_SHARES_BPS = (5_000, 3_000)
"""The largest share of each asset in the desk's value, in hundredths of a percent."""

RISK_AVERSION = 4 * 10**18
TRADING_COST = 4 * 10**15
"""With 18 decimals, as `MeanVarianceTool` takes them. With days as steps and returns of about two
percent, forecasts of a tenth of a percent then fill about half of a portfolio."""

FORECAST_ROW, RISK_ROW = 0, 1
"""`FeedInputs.Row`."""

FROM_CONTRACT = 2
"""`ModelTool.Source`."""

RETURN_MOST = 10**6
SCORE_MOST = 10**4
"""Ends of the models' inputs: 100 percent with 6 decimals, and 1 with 4."""

WINDOW = 20
"""Returns that the models take."""

FLAT_LEAST, UP_LEAST = -200, 201
"""Forecasts within 0.02 percent, with 6 decimals, are called flat."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeskLimits:
    """`TradingDesk.Limits`, in whole cash tokens."""

    min_trade: int = 250
    max_trade: int = 15_000
    max_turnover: int = 25_000
    period_seconds: int = DAY_SECONDS
    max_price_age_seconds: int = 3_600
    max_slippage_bps: int = 150

    def encode(self) -> tuple[int, ...]:
        """Return the fields in the order of Solidity, amounts in base units."""
        unit = 10 ** DECIMALS[CASH]
        return (
            self.min_trade * unit, self.max_trade * unit, self.max_turnover * unit,
            self.period_seconds, self.max_price_age_seconds, self.max_slippage_bps,
        )  # fmt: skip


def open_trading_models() -> dict[str, NumericModel]:
    """Open the three models that the package has, by name."""
    from pyevm_agents.models.numeric import NumericFile  # noqa: PLC0415 - imports onnx and NumPy

    return {name: NumericFile.open(MODELS_FOLDER / f"{name}.onnx") for name in MODEL_NAMES}


class TradingWorld(WorldContracts):
    """The contracts on a chain, deployed by the owner.

    These are the tokens by symbol, `factory`, `router`, pools such as `USDT-ETH`, `feed`, `desk`,
    the tools `sentiment`, `forecast`, `risk`, `optimizer` and `trader` with `forecast_inputs` and
    `risk_inputs`, and the agents `optimizer_agent` and `agent`.
    """

    def __init__(
        self,
        owner: LocalAccount,
        history: Sequence[Prices],
        *,
        limits: DeskLimits | None = None,
    ) -> None:
        """Deploy everything on a chain that has the models of `open_trading_models` at 0x1a.

        Input:
            owner: owns the contracts and runs the agent.
            history: prices before the first post, at least 21 steps.
            limits: the desk's; None for the defaults.
        """
        super().__init__(owner)
        self.account = owner
        self.limits = limits or DeskLimits()
        self._deploy_market()
        self._deploy_desk(history)
        self._deploy_tools()
        self._deploy_agents()

    @property
    def unit(self) -> Mapping[str, int]:
        """Base units of a whole token, by symbol."""
        return {symbol: 10**decimals for symbol, decimals in DECIMALS.items()}

    def push_prices(
        self,
        prices: Prices,
        *,
        do_pools_follow: bool = True,
        timestamp_seconds: int | None = None,
    ) -> None:
        """Push prices to the feed and trade the pools to these prices, in one block.

        Input:
            do_pools_follow: False leaves the pools unchanged.
            timestamp_seconds: of the block; by default one second after the parent's.
        """
        calls = [self._encode("feed", "push", list(prices))]
        for money, asset, _ in POOLS if do_pools_follow else ():
            calls += self._encode_arbitrage(money, asset, prices[ASSETS.index(asset)])
        self.account.execute_all(calls, timestamp_seconds=timestamp_seconds)

    def read_holdings(self) -> dict[str, int]:
        """Return the desk's holdings, in base units by symbol."""
        desk = self.address("desk")
        return {each: int(self.read(each, "balanceOf", desk)) for each in (CASH, *ASSETS)}

    def read_shares(self) -> dict[str, float]:
        """Return the share of each asset in the desk's value, at the feed's prices."""
        total, values = self.read("desk", "values")
        return {each: value / total for each, value in zip(ASSETS, values, strict=True)}

    def read_request(self, post: str) -> str:
        """Return the request to the agent for a post."""
        return str(self.read("agent", "requestFor", post))

    # -- deployment -- #

    def _deploy_market(self) -> None:
        owner = self.owner.address
        for symbol, decimals in DECIMALS.items():
            self.deploy(symbol, load_artifact("OwnedToken"), symbol, symbol, decimals, owner)
            self.execute(symbol, "mint", owner, SUPPLY_TOKENS * self.unit[symbol])
        self.deploy("WETH", load_uniswap_artifact("WETH9"))
        self.deploy("factory", load_uniswap_artifact("UniswapV2Factory"), owner)
        router = load_uniswap_artifact("UniswapV2Router02")
        self.deploy("router", router, self.address("factory"), self.address("WETH"))
        for symbol in DECIMALS:
            supply = SUPPLY_TOKENS * self.unit[symbol]
            self.execute(symbol, "approve", self.address("router"), supply)
        whole = MONEY_POOL_TOKENS
        self._add_pool("USDT", whole * self.unit["USDT"], "DAI", whole * self.unit["DAI"])
        for money, asset, tokens in POOLS:
            price = FIRST_PRICES[ASSETS.index(asset)]
            assets = tokens * self.unit[asset] // price
            self._add_pool(money, tokens * self.unit[money], asset, assets)

    def _add_pool(self, first: str, first_amount: int, second: str, second_amount: int) -> None:
        amounts = (first_amount, second_amount)
        tokens = (self.address(first), self.address(second))
        to = (self.owner.address, NO_DEADLINE)
        self.execute("router", "addLiquidity", *tokens, *amounts, *amounts, *to)
        pair = Address(to_canonical_address(self.read("factory", "getPair", *tokens)))
        self.add(f"{first}-{second}", load_uniswap_artifact("UniswapV2Pair"), pair)

    def _deploy_desk(self, history: Sequence[Prices]) -> None:
        owner = self.owner.address
        feed = load_artifact("PriceFeed")
        self.deploy("feed", feed, owner, "view_prices", list(ASSETS), CASH, PRICE_DECIMALS)
        for each in history[:-1]:
            self.execute("feed", "push", list(each))
        self.push_prices(history[-1])
        places = [self.address(name) for name in ("router", "feed", CASH)]
        self.deploy("desk", load_artifact("TradingDesk"), owner, *places, self.limits.encode())
        for asset, (symbol, share) in enumerate(zip(ASSETS, MAX_SHARES_BPS, strict=True)):
            self.execute("desk", "addAsset", self.address(symbol), share)
            self.execute("desk", "addRoute", asset, "directly", [])
            self.execute("desk", "addRoute", asset, "via DAI", [self.address("DAI")])
        self.execute(CASH, "transfer", self.address("desk"), CASH_TOKENS * self.unit[CASH])

    def _deploy_tools(self) -> None:
        models = open_trading_models()
        pins = {
            name: (NUMERIC_MODELS_ADDRESS, name, model.digest) for name, model in models.items()
        }
        buckets = models["sentiment"].input_ranges[0][1]
        self.deploy(
            "sentiment", load_artifact("TextModelTool"), "rate_sentiment",
            "Rates the sentiment of a post", "post", "text of the post", pins["sentiment"],
            buckets, SENTIMENT_SENTENCE,
        )  # fmt: skip
        self._deploy_inputs("forecast_inputs", FORECAST_ROW, self.address("sentiment"))
        self._deploy_inputs("risk_inputs", RISK_ROW, Address(bytes(20)))
        model_tool = load_artifact("ModelTool")
        self.deploy(
            "forecast", model_tool, "forecast_prices",
            "Forecasts the next price moves from the last sentiment and recent prices",
            pins["forecast"], FORECAST_FIELDS, self.address("forecast_inputs"), FORECAST_SENTENCE,
        )  # fmt: skip
        self.deploy(
            "risk", model_tool, "estimate_risk", "Estimates the volatility of the assets",
            pins["risk"], RISK_FIELDS, self.address("risk_inputs"), RISK_SENTENCE,
        )  # fmt: skip
        places = [self.address(name) for name in ("desk", "forecast", "risk")]
        optimizer = load_artifact("MeanVarianceTool")
        self.deploy("optimizer", optimizer, *places, RISK_AVERSION, TRADING_COST)

    def _deploy_inputs(self, name: str, row: int, sentiment: Address) -> None:
        self.deploy(name, load_artifact("FeedInputs"), self.address("feed"), row, sentiment)

    def _deploy_agents(self) -> None:
        owner = self.owner.address
        common = (owner, EXECUTOR_ADDRESS, ALIASES[1])
        optimizer = load_artifact("OptimizerAgent")
        self.deploy("optimizer_agent", optimizer, *common, [self.address("optimizer")])
        places = [self.address(name) for name in ("desk", "optimizer", "optimizer_agent")]
        self.deploy("trader", load_artifact("ExecuteTradeTool"), *places)
        names = ("sentiment", "forecast", "optimizer_agent", "trader", "feed")
        tools = [self.address(name) for name in names]
        self.deploy("agent", load_artifact("TradingAgent"), *common, tools)
        agent = self.address("agent")
        self.execute("optimizer_agent", "setCaller", agent, True)  # noqa: FBT003 - Solidity's order
        self.execute("desk", "setAgent", agent, self.address("trader"))

    # -- the market -- #

    def _encode(self, name: str, function: str, *arguments: object) -> tuple[Address, bytes]:
        contract = self.contracts[name]
        return contract.address, contract.artifact.encode_call(function, *arguments)

    def _encode_arbitrage(self, money: str, asset: str, price: int) -> list[tuple[Address, bytes]]:
        """Return the swap that brings a pool to a price, but for the fee; none if there already."""
        pair = self.contracts[f"{money}-{asset}"]
        held = [int(self.read(each, "balanceOf", pair.address)) for each in (money, asset)]
        # Money for a base unit of the asset, as a fraction.
        numerator, denominator = price * self.unit[money], self.unit[asset] * 10**PRICE_DECIMALS
        product = held[0] * held[1]
        wanted = (
            isqrt(product * numerator // denominator),
            isqrt(product * denominator // numerator),
        )
        for index, path in enumerate(((money, asset), (asset, money))):
            if (amount := wanted[index] - held[index]) > 0:
                places = [self.address(symbol) for symbol in path]
                to = (self.owner.address, NO_DEADLINE)
                return [self._encode("router", "swapExactTokensForTokens", amount, 0, places, *to)]
        return []


# -- what the tools say -- #


def _on_chain(count: int, least: int, most: int, name: str) -> tuple[object, ...]:
    """Return a `ModelTool.Field` that a contract fills."""
    return (FROM_CONTRACT, count, 0, name, "", least, most, 0)


def _show(
    *, decimals: int = 2, shift: int = 0, unit: str = "", word_index: int = 0,
    bands: Sequence[tuple[int, str]] = (),
) -> tuple[object, ...]:  # fmt: skip
    """Return a `NumericTool.ShownValue` for the first value of an output."""
    return (0, "", unit, shift, decimals, word_index, list(bands))


SENTIMENT_SENTENCE: tuple[object, ...] = (
    "Sentiment", [], [],
    [_show(word_index=1, bands=[(-1, "negative"), (0, "neutral"), (1, "positive")])],
)  # fmt: skip
FORECAST_BANDS = [(-RETURN_MOST, "down"), (FLAT_LEAST, "flat"), (UP_LEAST, "up")]
FORECAST_SENTENCE: tuple[object, ...] = (
    "Forecast", list(ASSETS), [],
    [_show(shift=2, unit=" %", bands=FORECAST_BANDS)],
)  # fmt: skip
RISK_SENTENCE: tuple[object, ...] = ("Volatility", list(ASSETS), [], [_show(shift=2, unit=" %")])
FORECAST_FIELDS = [
    _on_chain(6, -RETURN_MOST, RETURN_MOST, "returns and momentum"),
    _on_chain(1, 0, RETURN_MOST, "volatility"),
    _on_chain(1, -SCORE_MOST, SCORE_MOST, "sentiment"),
]
RISK_FIELDS = [_on_chain(WINDOW, -RETURN_MOST, RETURN_MOST, "returns")]
"""The layouts of the models' inputs are in `training/numeric/CARDS.md`."""
