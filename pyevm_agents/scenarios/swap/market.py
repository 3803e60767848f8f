"""A router, a token and a switch: the contracts that the requests of `swap_requests` are about.

These are those of a `SwapWorld`, or on a fork those of a live chain and a switch of our own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eth_typing import Address
from eth_utils import to_canonical_address, to_checksum_address

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.client.accounts import RevertedError
from pyevm_agents.contract_intelligence.contract_reader import ContractReader
from pyevm_agents.devnet.chain import DEVELOPMENT_BALANCE_WEI
from pyevm_agents.errors import ConfigError
from pyevm_agents.scenarios.swap.world import (
    ACCOUNT_NATIVE_WEI,
    NO_DEADLINE,
    ONE_NATIVE,
    WRAPPED,
    SwapWorld,
    WorldContract,
    load_uniswap_artifact,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyevm_agents.chain import Chain
    from pyevm_agents.client.accounts import SendingAccount
    from pyevm_agents.devnet.local_account import LocalAccount

ROUTER, SWITCH = "router", "switch"

WORLD_SYMBOL = "USDT"
"""The token of a `SwapWorld` that the requests are about."""

NATIVE_GIVEN = ONE_NATIVE // 100
"""Wei that a request swaps: 0.01 of the native currency."""

TOKENS_GIVEN = 100
"""Whole tokens that a request swaps back."""

BOUGHT_TOKENS = (1_000, 500, 200, TOKENS_GIVEN)
"""Whole tokens that an account of a fork gets: the first number that the pool sells."""

MOST_PAID_WEI = DEVELOPMENT_BALANCE_WEI // 2
"""The most that these tokens may cost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SwapMarket:
    """The contracts of the requests, and users' names for the currencies."""

    owner: SendingAccount
    """Owns the switch, reads the contracts, and funds accounts."""

    router: WorldContract
    token: WorldContract
    switch: WorldContract
    wrapped: Address
    """The wrapped native token."""

    token_decimals: int
    native_symbol: str

    @property
    def token_symbol(self) -> str:
        """Users' name for the token, which is also the name of the contract."""
        return self.token.name

    @property
    def token_unit(self) -> int:
        """Base units of a whole token."""
        return int(10**self.token_decimals)

    @property
    def contracts(self) -> tuple[WorldContract, ...]:
        """The contracts in the order in which an agent learns them."""
        return self.token, self.router, self.switch

    @property
    def names(self) -> Mapping[Address, str]:
        """Names of the contracts by address, the wrapped native token included."""
        return {self.wrapped: WRAPPED, **{each.address: each.name for each in self.contracts}}

    @property
    def buying_path(self) -> list[Address]:
        """The path from the native currency to the token."""
        return [self.wrapped, self.token.address]

    @property
    def selling_path(self) -> list[Address]:
        """The path from the token to the native currency."""
        return [self.token.address, self.wrapped]

    def read(self, contract: WorldContract, function: str, *arguments: object) -> Any:  # noqa: ANN401 - what Solidity returns
        """Call a function without a transaction; return the result.

        Raises: RevertedError: a revert.
        """
        artifact = contract.artifact
        output = self.owner.read(contract.address, artifact.encode_call(function, *arguments))
        return artifact.decode_result(function, output)

    def quote(self, amount_in: int, path: list[Address]) -> int:
        """Return the amount that a swap along a path of tokens gives, in base units."""
        return int(self.read(self.router, "getAmountsOut", amount_in, path)[-1])

    def read_balance(self, account: Address) -> int:
        """Return an account's tokens, in base units."""
        return int(self.read(self.token, "balanceOf", account))


def describe_world(world: SwapWorld) -> SwapMarket:
    """Return the contracts of a world that the requests are about."""
    return SwapMarket(
        owner=world.owner,
        router=world.contracts[ROUTER],
        token=world.contracts[WORLD_SYMBOL],
        switch=world.contracts[SWITCH],
        wrapped=world.address(WRAPPED),
        token_decimals=int(world.read(WORLD_SYMBOL, "decimals")),
        native_symbol=world.native_symbol,
    )


def open_market(
    owner: LocalAccount, router: Address, token: Address, *, native_symbol: str
) -> SwapMarket:
    """Return a router and a token of a fork, with a switch that the owner deploys.

    Raises: ConfigError: an address has no code, is no router like Uniswap V2's, or no token that
            the router swaps. RemoteFault: the remote chain does not answer.
    """
    chain = owner.chain
    reader = ContractReader(chain)
    places = to_checksum_address(router), to_checksum_address(token)
    for option, place in zip(("--router", "--token"), places, strict=True):
        _require_code(chain, option, place)
    wrapped = reader.read_address(places[0], "WETH()")
    if not (wrapped and reader.read_address(places[0], "factory()")):
        raise ConfigError(
            f"--router {places[0]}: must be a router like Uniswap V2's, with factory() and WETH()"
        )
    facts = reader.read_token(places[1])
    if facts is None or not facts.symbol or facts.decimals is None:
        raise ConfigError(f"--token {places[1]}: must be a token with symbol() and decimals()")
    if wrapped == places[1]:
        raise ConfigError(
            f"--token {places[1]}: must not be the wrapped native token; pass another token"
        )
    paths = reader.read(
        places[0], "getAmountsOut(uint256,address[])", ["uint256[]"],
        NATIVE_GIVEN, [wrapped, places[1]],
    )  # fmt: skip
    if paths is None:
        raise ConfigError(
            f"--token {places[1]}: must have a pool with {wrapped} (the wrapped "
            f"{native_symbol}) at the router {places[0]}; pass another token"
        )
    artifact = load_artifact("AdminSwitch")
    switch = owner.deploy(artifact.encode_creation(owner.address))
    return SwapMarket(
        owner=owner,
        router=WorldContract(
            name=ROUTER, artifact=load_uniswap_artifact("UniswapV2Router02"), address=router
        ),
        token=WorldContract(name=facts.symbol, artifact=load_artifact("IERC20"), address=token),
        switch=WorldContract(name=SWITCH, artifact=artifact, address=switch),
        wrapped=Address(to_canonical_address(wrapped)),
        token_decimals=facts.decimals,
        native_symbol=native_symbol,
    )


def fund_from_pool(market: SwapMarket, account: Address) -> None:
    """Send native currency to an account, and tokens that the owner buys at the router.

    Raises: ConfigError: the pool sells too few tokens.
    """
    owner, unit = market.owner, market.token_unit
    for tokens in BOUGHT_TOKENS:
        cost = _find_cost(market, tokens * unit)
        if cost is not None and buy_tokens(market, account, tokens * unit, cost):
            owner.transact(account, b"", value_wei=ACCOUNT_NATIVE_WEI)
            return
    most = MOST_PAID_WEI // ONE_NATIVE
    raise ConfigError(
        f"--token {to_checksum_address(market.token.address)}: its pool must sell "
        f"{TOKENS_GIVEN} {market.token_symbol} for at most {most:,} {market.native_symbol}; pass "
        "another token"
    )


def _find_cost(market: SwapMarket, amount: int) -> int | None:
    """Return the wei that an amount costs; None if the pool does not sell that much."""
    try:
        cost = int(market.read(market.router, "getAmountsIn", amount, market.buying_path)[0])
    except RevertedError:
        return None
    return cost if cost <= MOST_PAID_WEI else None


def buy_tokens(market: SwapMarket, account: Address, amount: int, cost: int) -> bool:
    """Buy tokens; return whether the balance suffices."""
    data = market.router.artifact.encode_call(
        "swapETHForExactTokens", amount, market.buying_path, account, NO_DEADLINE
    )
    try:
        market.owner.transact(market.router.address, data, value_wei=cost)
    except RevertedError:
        return False
    return market.read_balance(account) >= TOKENS_GIVEN * market.token_unit


def _require_code(chain: Chain, option: str, address: str) -> None:
    if not chain.code(Address(to_canonical_address(address))):
        raise ConfigError(
            f"{option} {address}: has no code on chain {chain.config.chain_id} at block "
            f"{chain.head.block_number}; check the address and the chain"
        )
