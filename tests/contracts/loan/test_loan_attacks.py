"""Attackers of a pool and its DAO never end with more than their shares earned in time.

The agent does whatever they say. A borrower repays, a buyer takes the collateral of defaulted loans
for what it is worth, and a lender waits. The attackers lend, borrow, default, give, vote and
govern, with the pool's and the DAO's tokens lent for a transaction, and order the blocks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from eth_keys.datatypes import PrivateKey
from eth_utils import keccak, to_canonical_address

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
from tests.contracts.loan.ballots import QUEUED, SUCCEEDED
from tests.contracts.loan.loan_world import (
    AGAINST,
    COLLATERAL,
    DAY,
    ETH,
    FOR,
    GRACE,
    LENDERS_FUNDS,
    LOAN,
    SALE,
    SHARE,
    SUPPLY,
    TIMING,
    USDC,
    Proposal,
    Terms,
    proposal_of,
)
from tests.contracts.loan.pool_bench import APPLICATION, BORROWER, LENDER, PoolBench
from tests.contracts.plain_evm import Account, RevertedError, plain_evm

if TYPE_CHECKING:
    import random
    from collections import Counter
    from collections.abc import Callable

    from tests.samples import Sample

pytestmark = pytest.mark.slow

BUYER = Account(PrivateKey(b"\x6f" * 32))
STEPS = 10
PRICE = Terms().collateral_price
MAX = 2**256 - 1
OWN_USDC, OWN_ETH = 30_000 * USDC, 30 * ETH
"""What each account of the gang begins with."""

OWN_VOTES = SUPPLY // 20
"""Half of the quorum."""

MARKET_VOTES = SUPPLY // 2
"""Votes that can be borrowed for a transaction: five times the quorum."""

LOT = 10**7 * USDC
REPAID_AFTER = 20 * DAY
OFTEN = 0.3
SHORT = DAY // 4
"""Seconds in which a sale's price falls by three eighths of the debt."""

LONG = 5 * DAY
DUST = 1_000
"""Base units of the currency, a thousandth of a dollar, that roundings of a sequence may move."""


class Parties:
    """A pool under a DAO, and everybody around it."""

    def __init__(self, flaw: Flaw | None = None) -> None:
        self.bench = bench = PoolBench(with_flaw(plain_evm(), flaw))
        self.gang = Gang(bench.evm)
        bench.build_dao()
        for name in ("policy", "pool", "book"):
            bench[name]("transferOwnership", bench.address("timelock"))
        for account in (BUYER, *THIEVES):
            bench.evm.vm.state.set_balance(to_canonical_address(account.address), 10**24)
            self._fund(account)
        for token, amount in (("USDC", OWN_USDC), ("ETH", OWN_ETH)):
            bench[token]("mint", self.gang.contract.address, amount)
            approval = Call(bench[token], "approve", (bench.address("pool"), MAX))
            self.gang.act(approval).run()
        for name, amount in (("USDC", LOT), ("ETH", 10**5 * ETH)):
            bench[name]("mint", self.gang.lender.address, amount)
        bench["votes"]("transfer", THIEVES[0].address, OWN_VOTES)
        bench["votes"]("transfer", self.gang.lender.address, MARKET_VOTES)
        bench["votes"]("delegate", THIEVES[0].address, sender=THIEVES[0])
        bench.wait(DAY)
        self.start = Checkpoint(bench.evm)

    def _fund(self, account: Account) -> None:
        bench = self.bench
        for token, amount in (("USDC", OWN_USDC), ("ETH", OWN_ETH)):
            bench[token]("mint", account.address, amount)
            bench[token]("approve", bench.address("pool"), MAX, sender=account)


@cache
def deployed() -> Parties:
    return Parties()


@dataclass
class Attack:
    """One sequence."""

    parties: Parties
    chance: random.Random
    proposals: list[Proposal] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.parties.start.restore()
        self.bench, self.gang = self.parties.bench, self.parties.gang
        self.pool, self.evm = self.bench.pool, self.bench.evm
        notes = {"earned": {"gang": 0, "lender": 0}, "given": 0}
        self.blocks = Blocks(self.evm, self.chance, notes, before_time=self.before_time)
        self.wealth_before = self.wealth()
        self.honest_before = self.held(BORROWER.address)

    # ---- What somebody has, in base units of the currency

    def view(self, name: str, function: str, *arguments: object) -> Any:  # noqa: ANN401 - Solidity's
        return self.blocks.read(self.bench[name], function, *arguments)

    def held(self, *addresses: str) -> int:
        """Return tokens of accounts, at the policy's price."""
        currency = sum(self.view("USDC", "balanceOf", one) for one in addresses)
        collateral = sum(self.view("ETH", "balanceOf", one) for one in addresses)
        return int(currency + collateral * PRICE // ETH)

    def lent(self, *addresses: str) -> int:
        """Return what accounts' shares are worth."""
        shares = sum(self.view("pool", "balanceOf", one) for one in addresses)
        return int(self.view("pool", "convertToAssets", shares))

    def wealth(self) -> int:
        return self.held(*self.gang.addresses) + self.lent(*self.gang.addresses)

    def before_time(self) -> Callable[[], None]:
        """Note what shares earn while time passes: by their part of all shares."""
        assets = self.view("pool", "totalAssets")
        shares = {
            "gang": sum(self.view("pool", "balanceOf", one) for one in self.gang.addresses),
            "lender": self.view("pool", "balanceOf", LENDER.address),
        }
        supply = self.view("pool", "totalSupply") + SHARE

        def after() -> None:
            interest = self.view("pool", "totalAssets") - assets
            for name, part in shares.items():
                self.blocks.notes["earned"][name] += interest * part // supply

        return after

    def check_gifts(self) -> None:
        """What the pool holds and owes nobody was given: it never becomes less."""
        surplus = sum(
            self.view("pool", "surplusOf", one) for one in (BORROWER.address, *self.gang.addresses)
        )
        held = self.view("USDC", "balanceOf", self.pool.address)
        given = held - self.view("pool", "idle") - surplus
        assert given >= self.blocks.notes["given"]
        self.blocks.notes["given"] = given
        pledged = sum(loan[5] for _, loan in self.all_loans())
        assert self.view("ETH", "balanceOf", self.pool.address) >= pledged

    # ---- The honest

    def open_loans(self, *borrowers: str) -> list[tuple[int, tuple[int, ...]]]:
        ids = [i for one in borrowers for i in self.view("pool", "openLoansOf", one)]
        return [(one, self.view("pool", "loanOf", one)) for one in ids]

    def all_loans(self) -> list[tuple[int, tuple[int, ...]]]:
        return self.open_loans(BORROWER.address, *self.gang.addresses)

    def be_honest(self) -> None:
        """Let the borrower repay, and the buyer buy what is worth its price."""
        self.check_gifts()
        for number, loan in self.open_loans(BORROWER.address):
            if self.bench.now >= loan[1] + REPAID_AFTER:
                self.sign(BORROWER, "repay", number)
        for number, loan in self.all_loans():
            worth = loan[5] * PRICE // ETH
            is_sold = self.bench.now > loan[2] + GRACE
            if is_sold and self.view("pool", "priceOf", number) <= worth:
                self.sign(BUYER, "liquidate", number, worth)

    def sign(self, sender: Account, function: str, *arguments: object) -> None:
        self.blocks.sign(
            Transaction(
                sender=sender, contract=self.pool, function=function, arguments=tuple(arguments)
            )
        )

    def wait(self, seconds: int) -> None:
        """Let time pass in steps in which the honest miss nothing."""
        until = self.bench.now + seconds
        while self.bench.now < until:
            ends = [loan[2] + GRACE + 1 - self.bench.now for _, loan in self.all_loans()]
            sale = [SHORT if one <= 0 else one for one in ends]
            self.blocks.settle(min([until - self.bench.now, LONG, *sale]))
            self.be_honest()
            while self.blocks.pool:
                self.blocks.mine(self.sandwich() if self.chance.random() < OFTEN else ())

    # ---- The attackers

    def amount(self, most: int) -> int:
        """Return an amount: often all, or close to a limit."""
        return self.chance.choice([0, 1, most // 3, most, self.chance.randint(0, most)])

    def call(self) -> Call:
        """Return any call that their contract may make."""
        pool, me = self.pool, self.gang.contract.address
        usdc, loans = self.bench["USDC"], self.all_loans()
        loan = self.chance.choice(loans)[0] if loans else 1
        shares = self.chance.choice([0, 1, SHARE, LOT * SHARE])
        return self.chance.choice(
            [
                Call(pool, "deposit", (self.amount(LOT), me)),
                Call(pool, "mint", (shares, me)),
                Call(pool, "withdraw", (self.amount(LENDERS_FUNDS), me, me)),
                Call(pool, "redeem", (shares, me, me)),
                Call(pool, "requestLoan", (*self.loan_terms(), APPLICATION)),
                Call(pool, "repay", (loan,)),
                Call(pool, "liquidate", (loan, self.chance.choice([0, MAX]))),
                Call(pool, "takeSurplus"),
                Call(pool, "approve"),  # an application, not a spender
                Call(usdc, "transfer", (pool.address, self.amount(LOAN))),
                Call(self.bench["ETH"], "transfer", (pool.address, self.amount(COLLATERAL))),
                Call(usdc, "transferFrom", (LENDER.address, me, LOAN)),
            ]
        )

    def loan_terms(self) -> tuple[int, int]:
        """Return amount and collateral; the collateral is often the least, or less."""
        most = Terms().max_loan
        amount = self.chance.choice([LOAN, most, most + 1, self.amount(most)])
        least = -(-amount * ETH * 15_000 // (PRICE * 10_000))
        return amount, max(0, least - self.chance.choice([0, 0, 0, 1, least]))

    def flash(self) -> list[Transaction]:
        """Make any calls with a loan, or the deposit of one around some of them."""
        token = self.bench[self.chance.choice(["USDC", "USDC", "ETH"])]
        amount = self.amount(LOT if token is self.bench["USDC"] else 10**5 * ETH)
        calls = [self.call() for _ in range(self.chance.randint(1, 4))]
        if self.chance.random() < 0.5:
            me = self.gang.contract.address
            deposit = Call(self.pool, "deposit", (amount, me))
            redeem = Call(self.pool, "redeem", (0, me, me), all_of=self.pool)
            calls = [deposit, *calls, redeem]
        return [self.gang.borrow(token, amount, *calls)]

    def lend_or_borrow(self) -> list[Transaction]:
        """Do what anybody may, with one's own money."""
        who, pool = self.chance.choice(THIEVES), self.pool
        loans = self.all_loans()
        loan = self.chance.choice(loans)[0] if loans else 1
        shares = self.view("pool", "balanceOf", who.address)
        calls: list[tuple[str, tuple[object, ...]]] = [
            ("deposit", (self.amount(OWN_USDC), who.address)),
            ("redeem", (self.amount(shares), who.address, who.address)),
            ("requestLoan", (*self.loan_terms(), APPLICATION)),
            ("requestLoan", (*self.loan_terms(), APPLICATION)),
            ("repay", (loan,)),
            ("liquidate", (loan, MAX)),
            ("takeSurplus", ()),
        ]
        function, arguments = self.chance.choice(calls)
        return [Transaction(sender=who, contract=pool, function=function, arguments=arguments)]

    def sandwich(self) -> list[Transaction]:
        """Lend before what others do in a block, and take it back after."""
        who = self.chance.choice(THIEVES)
        shares = self.view("pool", "previewDeposit", OWN_USDC) * self.chance.randint(90, 100) // 100
        return [
            self.of_pool(who, "deposit", OWN_USDC, who.address),
            self.of_pool(who, "redeem", shares, who.address, who.address),
        ]

    def of_pool(self, sender: Account, function: str, *arguments: object) -> Transaction:
        return Transaction(
            sender=sender, contract=self.pool, function=function, arguments=tuple(arguments)
        )

    def rewrite_the_agent(self) -> list[Transaction]:
        """Let the agent decide as they like, or do something else."""
        bench, chance = self.bench, self.chance
        steps = chance.choice(
            [
                bench.ideal(),
                bench.ideal(),
                bench.ideal(59),
                [bench.approval()],
                [bench.denial()],
                [*bench.ideal(), bench.denial(), bench.approval()],
                [*bench.ideal(), self._step("repay", 1)],
                [*bench.ideal(), self._step("takeSurplus")],
            ]
        )
        arguments = (list(steps), "Done.")
        agent = bench["agent"]
        who = chance.choice(THIEVES)
        return [Transaction(sender=who, contract=agent, function="script", arguments=arguments)]

    def _step(self, function: str, *arguments: object) -> tuple[str, bytes]:
        return self.pool.address, self.pool.artifact.encode_call(function, *arguments)

    def ask_for_a_loan(self) -> list[Transaction]:
        """Let the honest borrower borrow."""
        if len(self.open_loans(BORROWER.address)) < 3:
            self.sign(BORROWER, "requestLoan", LOAN, COLLATERAL, APPLICATION)
        return []

    # ---- Votes

    def propose(self) -> list[Transaction]:
        """Propose terms without collateral, or an agent and an owner of the gang's."""
        policy, pool = self.bench.contracts["policy"], self.bench.contracts["pool"]
        me, terms = self.gang.contract.address, Terms(max_loan=LENDERS_FUNDS, collateral_bps=0)
        text = f"Proposal {len(self.proposals)}"
        proposal = self.chance.choice(
            [
                proposal_of(policy, "LoanPolicy", "setTerms", terms.as_abi(), description=text),
                proposal_of(pool, "LendingPool", "setAgent", me, me, me, me, description=text),
                proposal_of(pool, "LendingPool", "transferOwnership", me, description=text),
            ]
        )
        self.proposals.append(proposal)
        governor = self.bench["governor"]
        arguments = proposal.arguments
        if self.chance.random() < 0.5:
            return [self.with_votes(Call(governor, "propose", arguments))]
        return [self.of_governor("propose", *arguments)]

    def vote(self) -> list[Transaction]:
        """Vote by one's own tokens and by borrowed ones, or go on with what was decided."""
        if not self.proposals:
            return self.propose()
        proposal, governor = self.chance.choice(self.proposals), self.bench["governor"]
        description = keccak(text=proposal.description)
        number = self.view("governor", "hashProposal", *proposal.calls, description)
        try:
            state = self.view("governor", "state", number)
        except RevertedError:
            return self.propose()  # it was not taken, or was taken back
        if state in {SUCCEEDED, QUEUED} or self.chance.random() < OFTEN:
            function = "execute" if state == QUEUED else "queue"
            return [self.of_governor(function, *proposal.calls, description)]
        support = self.chance.choice([FOR, FOR, FOR, AGAINST])
        return [
            self.of_governor("castVote", number, support),
            self.with_votes(Call(governor, "castVote", (number, support))),
        ]

    def with_votes(self, call: Call) -> Transaction:
        """Make a call while the market's votes are delegated to the gang's contract."""
        votes = self.bench["votes"]
        delegation = Call(votes, "delegate", (self.gang.contract.address,))
        return self.gang.borrow(votes, MARKET_VOTES, delegation, call)

    def of_governor(self, function: str, *arguments: object) -> Transaction:
        return Transaction(
            sender=THIEVES[0],
            contract=self.bench["governor"],
            function=function,
            arguments=tuple(arguments),
        )

    # ---- The sequence

    def play(self) -> Counter[str]:
        attacks = [
            *(self.flash, self.flash, self.flash, self.lend_or_borrow, self.lend_or_borrow),
            *(self.sandwich, self.rewrite_the_agent, self.ask_for_a_loan, self.vote, self.vote),
        ]
        self.bench.script(*self.bench.ideal())
        for _ in range(STEPS):
            self.be_honest()
            chosen = self.chance.choices(attacks, k=self.chance.randint(1, 2))
            self.blocks.mine([one for attack in chosen for one in attack()])
            kind = self.chance.random()
            if kind < 0.2:
                self.blocks.reorganize()
            elif kind < 0.5:
                self.wait(
                    self.chance.choice(
                        [TIMING.delay, TIMING.period, TIMING.timelock, REPAID_AFTER, 33 * DAY]
                    )
                )
        self.end()
        return self.blocks.outcomes

    def end(self) -> None:
        """Let all loans end, and compare what everybody has."""
        while self.all_loans() or self.blocks.pool:
            self.wait(30 * DAY + GRACE + SALE // 2)
        for one in (*THIEVES, *THIEVES):
            self.blocks.attempt(self.of_pool(one, "takeSurplus"))
        self.blocks.attempt(self.gang.act(*[Call(self.pool, "takeSurplus")] * 2))
        self.check_gifts()
        earned = self.blocks.notes["earned"]
        assert self.wealth() <= self.wealth_before + earned["gang"] + DUST
        assert self.lent(LENDER.address) >= LENDERS_FUNDS + earned["lender"] - DUST
        paid = self.interest_of_borrower()
        assert self.held(BORROWER.address) >= self.honest_before - paid - DUST
        assert self.view("policy", "maxLoan") == Terms().max_loan
        assert self.view("pool", "agent") == self.bench.address("agent")
        for name in ("policy", "pool", "book"):
            assert self.view(name, "owner") == self.bench.address("timelock")

    def interest_of_borrower(self) -> int:
        """Return the interest that the borrower paid."""
        record = self.view("pool", "recordOf", BORROWER.address)
        return int(record[5] - record[4])


@pytest.mark.sample(count=8, seed=32)
def test_attackers_earn_no_more_than_their_shares(sample: Sample) -> None:
    play_sequences(sample, lambda chance: Attack(deployed(), chance).play())


POOL, VOTES = "examples/loan/LendingPool.sol", "examples/loan/LoanVotes.sol"
FLAWS = {
    "collateral": (POOL, "revert CollateralTooLow(opened.collateral, needed);", "{}"),
    "interest": (POOL, "amount = debtOf(id);", "amount = loan.principal;"),
    "accrual": (POOL, " + (rateSum * block.timestamp - startSum) / (BPS * YEAR);", ";"),
    "grace": (POOL, "until = loan.dueAt + GRACE;", "until = loan.startedAt;"),
    "surplus": (POOL, "surplusOf[msg.sender] = 0;", ""),
    "snapshot": (
        VOTES,
        "    function _update(",
        """
    function getPastVotes(address account, uint256) public view override returns (uint256) {
        return getVotes(account);
    }

    function _update(""",
    ),
}


@pytest.mark.parametrize("name", FLAWS)
def test_a_flaw_is_found(name: str) -> None:
    source, before, after = FLAWS[name]
    parties = Parties(Flaw(source, ((before, after),)))
    assert is_caught(lambda chance: Attack(parties, chance).play(), 60)
