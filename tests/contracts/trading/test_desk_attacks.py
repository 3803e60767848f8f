"""Attackers of a desk never take more from it than its slippage of its turnover.

They run its trader, so the desk trades when they like and toward any shares. They move the pools
before a trade and back after it, with tokens lent for the transaction or with their own around a
trade in the block, and mine blocks anew.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

import pytest

from tests.contracts.attack_sequences import (
    THIEVES,
    Blocks,
    Call,
    Checkpoint,
    Flaw,
    Gang,
    Transaction,
    is_caught,
    play_sequences,
    with_flaw,
)
from tests.contracts.plain_evm import OWNER, Account, Contract, plain_evm
from tests.contracts.trading.trading_world import (
    BTC_PRICE,
    ETH_PRICE,
    HOUR,
    POOLS,
    SUPPLY,
    UNITS,
    USDT,
    Limits,
    PlainDeployer,
    TradingWorld,
)

if TYPE_CHECKING:
    import random
    from collections import Counter
    from collections.abc import Callable

    from tests.samples import Sample

pytestmark = pytest.mark.slow

STEPS = 8
BPS = 10_000
LIMITS = Limits()
MAX = 2**256 - 1
WHOLE_PRICES = {"USDT": 1, "DAI": 1, "ETH": ETH_PRICE, "BTC": BTC_PRICE}
OWN_TOKENS = {"USDT": 10**6, "DAI": 10**6, "ETH": 1_000, "BTC": 10}
"""Whole tokens that each account of the gang begins with."""

MOST_SHARES = (5_000, 3_000)
ALL = 0.2
DUST = 100
"""Base units of cash that roundings of a trade may move."""


class Parties:
    """A market at the feed's prices, a desk whose trader is the gang's contract, and lenders."""

    def __init__(self, flaw: Flaw | None = None) -> None:
        evm = with_flaw(plain_evm(), flaw)
        self.world = world = TradingWorld(PlainDeployer(evm))
        world.build_market()
        world.build_desk()
        self.gang = gang = Gang(evm)
        world["desk"]("setAgent", gang.contract.address, gang.contract.address)
        router = world.address("router")
        for symbol, unit in UNITS.items():
            token, amount = world[symbol], OWN_TOKENS[symbol] * unit
            for address in gang.addresses:
                token("transfer", address, amount)
            gang.act(Call(token, "approve", (router, MAX))).run()
            for one in THIEVES:
                token("approve", router, MAX, sender=one)
            token("transfer", gang.lender.address, SUPPLY // 2 * unit)
        self.start = Checkpoint(evm)


@cache
def deployed() -> Parties:
    return Parties()


@dataclass
class Attack:
    """One sequence."""

    parties: Parties
    chance: random.Random

    def __post_init__(self) -> None:
        self.parties.start.restore()
        self.world, self.gang = self.parties.world, self.parties.gang
        self.desk: Contract = self.world["desk"]
        self.evm = self.desk.evm
        self.turnover: dict[int, int] = {}
        self.blocks = Blocks(self.evm, self.chance, before_time=self.before_time)
        self.desk_before = self.desk_value()
        self.gang_before = self.wealth()

    # ---- What somebody has, in base units of cash at the feed's prices

    def held(self, symbol: str, address: str) -> int:
        return int(self.world[symbol].read("balanceOf", address))

    def desk_value(self) -> int:
        total, _ = self.desk.read("values")
        return int(total)

    def wealth(self) -> int:
        return sum(
            self.held(symbol, one) * WHOLE_PRICES[symbol] * USDT // UNITS[symbol]
            for symbol in UNITS
            for one in self.gang.addresses
        )

    def before_time(self) -> Callable[[], None]:
        """Note the turnover of the period."""
        period = self.evm.now // LIMITS.period
        turnover = int(self.desk.read("turnoverOf", period))
        assert turnover <= LIMITS.max_turnover
        self.turnover[period] = turnover
        return lambda: None

    # ---- What the attackers do

    def rebalance(self) -> Call:
        """Let the desk trade toward shares: often none, or the most."""
        shares = [
            self.chance.choice([0, most, self.chance.randint(0, most)]) for most in MOST_SHARES
        ]
        return Call(self.desk, "rebalance", (shares,))

    def path(self) -> list[str]:
        """Return the symbols of a way through pools, there or back."""
        first, _, second, _ = self.chance.choice(POOLS)
        path = [first, second]
        if self.chance.random() < 0.25:
            ways = [
                one for one in POOLS if second in (one[0], one[2]) and first not in (one[0], one[2])
            ]
            if ways:
                way = self.chance.choice(ways)
                path.append(way[0] if way[2] == second else way[2])
        return path if self.chance.random() < 0.5 else path[::-1]

    def swap(self, path: list[str], amount: int, to: str) -> tuple[object, ...]:
        """Return the router's arguments of a swap."""
        return amount, 0, [self.world.address(one) for one in path], to, MAX

    def amount(self, symbol: str) -> int:
        """Return an amount that moves a pool's price: by the desk's slippage, or by far more."""
        worth = self.chance.choice([1_000, 20_000, 60_000, 10**6, 10**8]) * self.chance.uniform(
            0.5, 2
        )
        return int(worth / WHOLE_PRICES[symbol] * UNITS[symbol])

    def flash(self) -> list[Transaction]:
        """Borrow, move pools, let the desk trade, and move the pools back, in one transaction."""
        symbol, me = self.chance.choice(list(UNITS)), self.gang.contract.address
        router, swap = self.world["router"], "swapExactTokensForTokens"
        others = [b if a == symbol else a for a, _, b, _ in POOLS if symbol in (a, b)]
        there: list[Call] = []
        back: list[Call] = []
        borrowed = 0
        for other in self.chance.sample(others, self.chance.randint(1, len(others))):
            amount = self.amount(symbol)
            got = self.quote([symbol, other], amount)
            there.append(Call(router, swap, self.swap([symbol, other], amount, me)))
            back.append(Call(router, swap, self.swap([other, symbol], got, me)))
            borrowed += amount
        if self.chance.random() < ALL:
            last = back.pop()
            back.append(replace(last, all_of=self.world[other]))
        trades = [self.rebalance() for _ in range(self.chance.randint(1, 2))]
        return [self.gang.borrow(self.world[symbol], borrowed, *there, *trades, *back[::-1])]

    def quote(self, path: list[str], amount: int) -> int:
        addresses = [self.world.address(one) for one in path]
        return int(self.world["router"].read("getAmountsOut", amount, addresses)[-1])

    def sandwich(self) -> list[Transaction]:
        """Do so with one's own tokens, around trades of the block."""
        path, who = self.path(), self.chance.choice(THIEVES)
        amount = min(self.amount(path[0]), self.held(path[0], who.address))
        got = self.quote(path, amount) if amount else 0
        return [
            self.swap_of(who, path, amount),
            self.gang.act(self.rebalance()),
            self.swap_of(who, path[::-1], got),
        ]

    def swap_of(self, sender: Account, path: list[str], amount: int) -> Transaction:
        return Transaction(
            sender=sender,
            contract=self.world["router"],
            function="swapExactTokensForTokens",
            arguments=self.swap(path, amount, sender.address),
        )

    def meddle(self) -> list[Transaction]:
        """Call what the owner may, trade as others, and give tokens away."""
        who, desk = self.chance.choice(THIEVES), self.desk
        usdt = self.world["USDT"]
        calls: list[tuple[Contract, str, tuple[object, ...]]] = [
            (desk, "rebalance", ([0, 0],)),
            (desk, "withdraw", (usdt.address, who.address, USDT)),
            (desk, "setAgent", (who.address, who.address)),
            (desk, "setLimits", (LIMITS.as_abi(),)),
            (self.world["feed"], "push", ([1, 1],)),
            (usdt, "transferFrom", (desk.address, who.address, USDT)),
            (usdt, "transfer", (self.world.address("router"), USDT)),
        ]
        contract, function, arguments = self.chance.choice(calls)
        return [Transaction(sender=who, contract=contract, function=function, arguments=arguments)]

    # ---- The sequence

    def play(self) -> Counter[str]:
        attacks = (self.flash, self.flash, self.flash, self.sandwich, self.sandwich, self.meddle)
        for _ in range(STEPS):
            self.blocks.mine(self.chance.choice(attacks)())
            kind = self.chance.random()
            if kind < 0.2:
                self.blocks.reorganize()
            elif kind < 0.5:
                self.blocks.settle(self.chance.choice([60, HOUR]))
                self.push()
        self.end()
        return self.blocks.outcomes

    def push(self) -> None:
        """Let the publisher confirm the prices."""
        self.world.push(ETH_PRICE, BTC_PRICE)

    def end(self) -> None:
        self.before_time()
        allowed = sum(self.turnover.values()) * LIMITS.max_slippage_bps // BPS
        allowed += DUST * len(self.turnover)
        assert self.desk_value() >= self.desk_before - allowed
        assert self.wealth() <= self.gang_before + allowed
        assert self.desk.read("owner") == OWNER.address
        assert not self.blocks.outcomes["rebalance"], "somebody else than the trader traded"
        for symbol in UNITS:
            token, router = self.world[symbol], self.world.address("router")
            assert token.read("allowance", self.desk.address, router) == 0
        self.blocks.outcomes["trades' worth in whole USDT"] += sum(self.turnover.values()) // USDT
        self.blocks.outcomes["taken by attackers in whole USDT"] += (
            max(0, self.wealth() - self.gang_before) // USDT
        )


@pytest.mark.sample(count=8, seed=32)
def test_attackers_take_no_more_than_the_slippage(sample: Sample) -> None:
    play_sequences(sample, lambda chance: Attack(deployed(), chance).play())
    assert sample.figures["trades' worth in whole USDT"] > 0


DESK = "examples/trading/TradingDesk.sol"
FLAWS = {
    "sale": (
        ("revert SlippageTooHigh(asset, false, quote, least);", "{}"),
        ("revert SlippageTooHigh(asset, false, received, least);", "{}"),
    ),
    "purchase": (
        ("revert SlippageTooHigh(asset, true, quote, most);", "{}"),
        ("revert SlippageTooHigh(asset, true, paid, most);", "{}"),
    ),
    "turnover": (("turnoverOf[block.timestamp / limits.period] += value;", ""),),
    "trader": (("if (msg.sender != trader) revert NotTrader(msg.sender);", ""),),
}


@pytest.mark.parametrize("name", FLAWS)
def test_a_flaw_is_found(name: str) -> None:
    parties = Parties(Flaw(DESK, FLAWS[name]))
    assert is_caught(lambda chance: Attack(parties, chance).play(), 60)
