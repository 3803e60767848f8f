"""Uniswap V2 with tokens, pools and an owned switch, on any chain.

The contracts of Uniswap are those of the npm packages, unmodified: `uniswap_v2/`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eth_typing import Address
from eth_utils import to_canonical_address

from pyevm_agents.abi.bundled import Artifact, load_artifact
from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyevm_agents.client.accounts import SendingAccount

UNISWAP_FOLDER = Path(__file__).with_name("uniswap_v2")

UNISWAP_CONTRACTS = ("UniswapV2Factory", "UniswapV2Pair", "UniswapV2Router02", "WETH9")

SWAP_CHAIN_ID = 56
"""The chain of the demo: its native currency is BNB.

Source: Autonomify Agent Architecture v2, "Test Scenarios"."""

NO_DEADLINE = 2**256 - 1

ONE_NATIVE = 10**18
"""Wei of one whole unit of the native currency."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldToken:
    """A token of the world, and the amounts in whole tokens."""

    symbol: str
    name: str
    decimals: int
    account_tokens: int
    """What `SwapWorld.fund` transfers."""

    @property
    def unit(self) -> int:
        """Base units of a whole token."""
        return int(10**self.decimals)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldPool:
    """A pool of two tokens, and the liquidity in whole tokens."""

    symbols: tuple[str, str]
    amounts: tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldContract:
    """A contract of the world."""

    name: str
    artifact: Artifact
    address: Address


TOKENS = (
    WorldToken(symbol="USDT", name="Tether USD", decimals=6, account_tokens=1_000),
    WorldToken(symbol="USDC", name="USD Coin", decimals=6, account_tokens=250),
    WorldToken(symbol="DAI", name="Dai Stablecoin", decimals=18, account_tokens=400),
)
SUPPLY_TOKENS = 10**9
"""Whole tokens of each kind that the owner mints to itself."""

WRAPPED = "WETH"
"""The key of the wrapped native token in `SwapWorld.tokens`, and its symbol in `WETH9`."""

POOLS = (
    WorldPool(symbols=("USDT", WRAPPED), amounts=(60_000, 100)),
    WorldPool(symbols=("DAI", WRAPPED), amounts=(30_000, 50)),
    WorldPool(symbols=("USDT", "USDC"), amounts=(40_000, 40_000)),
)
"""USDC has no pool with the native token, so that its path has three tokens."""

ACCOUNT_NATIVE_WEI = 5 * ONE_NATIVE


@cache
def load_uniswap_artifact(name: str) -> Artifact:
    """Return a contract of Uniswap V2 by name, such as `UniswapV2Router02`.

    Raises: ConfigError: unknown contract.
    """
    if name not in UNISWAP_CONTRACTS:
        raise ConfigError(f"no contract {name!r}; there are {', '.join(UNISWAP_CONTRACTS)}")
    form = json.loads((UNISWAP_FOLDER / f"{name}.json").read_text())
    return Artifact(
        name=name,
        abi=tuple(form["abi"]),
        bytecode=bytes.fromhex(form["bytecode"].removeprefix("0x")),
    )


class WorldContracts:
    """Contracts by name, which one account deploys and calls."""

    def __init__(self, owner: SendingAccount) -> None:
        self.owner = owner
        self.contracts: dict[str, WorldContract] = {}
        """By name."""

    def address(self, name: str) -> Address:
        """Return the address of a contract by name."""
        return self.contracts[name].address

    def deploy(self, name: str, artifact: Artifact, *arguments: object) -> Address:
        """Deploy a contract as the owner, under a name."""
        address = self.owner.deploy(artifact.encode_creation(*arguments))
        return self.add(name, artifact, address)

    def add(self, name: str, artifact: Artifact, address: Address) -> Address:
        """Add a contract that is on the chain.

        Raises: ConfigError: the name is taken.
        """
        if name in self.contracts:
            raise ConfigError(f"contract {name!r}: must have a name of its own")
        self.contracts[name] = WorldContract(name=name, artifact=artifact, address=address)
        return address

    def execute(self, name: str, function: str, *arguments: object, value_wei: int = 0) -> None:
        """Call a function as the owner, in a transaction. A revert is an exception."""
        data = self.contracts[name].artifact.encode_call(function, *arguments)
        self.owner.transact(self.address(name), data, value_wei=value_wei)

    def read(self, name: str, function: str, *arguments: object) -> Any:  # noqa: ANN401 - what Solidity returns
        """Call a function without a transaction; return the result."""
        contract = self.contracts[name]
        output = self.owner.read(
            contract.address, contract.artifact.encode_call(function, *arguments)
        )
        return contract.artifact.decode_result(function, output)


class SwapWorld(WorldContracts):
    """The contracts on a chain, deployed by the owner.

    These are the tokens by symbol, `factory`, `router`, `switch`, and pools such as `USDT-WETH`.
    """

    def __init__(self, owner: SendingAccount, *, native_symbol: str) -> None:
        """Deploy the contracts and add liquidity.

        Input:
            owner: owns the tokens and the switch. Needs 150 units of the native currency, and more
                for gas.
            native_symbol: users' name for the native currency of the chain, such as `BNB`.
        """
        super().__init__(owner)
        self.native_symbol = native_symbol
        for token in TOKENS:
            arguments = (token.name, token.symbol, token.decimals, owner.address)
            self.deploy(token.symbol, load_artifact("OwnedToken"), *arguments)
            self.execute(token.symbol, "mint", owner.address, SUPPLY_TOKENS * token.unit)
        self.deploy(WRAPPED, load_uniswap_artifact("WETH9"))
        self.deploy("factory", load_uniswap_artifact("UniswapV2Factory"), owner.address)
        router = load_uniswap_artifact("UniswapV2Router02")
        self.deploy("router", router, self.address("factory"), self.address(WRAPPED))
        self.deploy("switch", load_artifact("AdminSwitch"), owner.address)
        for pool in POOLS:
            self._add_pool(pool)

    @property
    def tokens(self) -> Mapping[str, Address]:
        """Addresses of the tokens by symbol, the wrapped native one included."""
        return {symbol: self.address(symbol) for symbol in (*(t.symbol for t in TOKENS), WRAPPED)}

    @property
    def pools(self) -> Mapping[tuple[str, str], Address]:
        """Addresses of the pools by their tokens' symbols."""
        return {pool.symbols: self.address("-".join(pool.symbols)) for pool in POOLS}

    @property
    def router(self) -> Address:
        """Address of the router."""
        return self.address("router")

    @property
    def switch(self) -> Address:
        """Address of the switch with `adminFunction()`, which the owner alone may call."""
        return self.address("switch")

    def fund(self, account: Address) -> None:
        """Transfer tokens of each kind, and native currency, from the owner to an account.

        Input:  account: must take native currency without calldata.
        """
        for token in TOKENS:
            self.execute(token.symbol, "transfer", account, token.account_tokens * token.unit)
        self.owner.transact(account, b"", value_wei=ACCOUNT_NATIVE_WEI)

    def quote(self, amount_in: int, *symbols: str) -> int:
        """Return the amount that a swap along a path of tokens gives, in base units."""
        path = [self.address(symbol) for symbol in symbols]
        return int(self.read("router", "getAmountsOut", amount_in, path)[-1])

    def _add_pool(self, pool: WorldPool) -> None:
        units = {token.symbol: token.unit for token in TOKENS}
        first, second = pool.symbols
        amounts = [
            amount * units.get(symbol, ONE_NATIVE)
            for symbol, amount in zip(pool.symbols, pool.amounts, strict=True)
        ]
        to = (self.owner.address, NO_DEADLINE)
        for symbol, amount in zip(pool.symbols, amounts, strict=True):
            if symbol != WRAPPED:
                self.execute(symbol, "approve", self.router, amount)
        if second == WRAPPED:
            self.execute(
                "router", "addLiquidityETH", self.address(first), amounts[0], *amounts, *to,
                value_wei=amounts[1],
            )  # fmt: skip
        else:
            both = (self.address(first), self.address(second))
            self.execute("router", "addLiquidity", *both, *amounts, *amounts, *to)
        pair = self.read("factory", "getPair", self.address(first), self.address(second))
        self.add(
            f"{first}-{second}",
            load_uniswap_artifact("UniswapV2Pair"),
            Address(to_canonical_address(pair)),
        )
