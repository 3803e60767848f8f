"""A lending pool with its policy, score book and DAO, on a plain EVM or on an agent chain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyevm_agents.abi.bundled import load_artifact
from tests.contracts.named_contracts import NamedContracts
from tests.contracts.plain_evm import ZERO

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.contracts.named_contracts import DeployedContract


EXECUTOR = "0x0000000000000000000000000000000000000019"

USDC, ETH = 10**6, 10**18
"""Base units of a whole token: the currency's and the collateral's."""

DAY = 86_400
YEAR = 365 * DAY
BPS = 10_000
GRACE, SALE = 3 * DAY, 2 * DAY
SHARE = 10**6
"""Shares of a base unit of the currency, at first."""

REPAYMENTS, DEFAULTS, SAVINGS = 0, 1, 2
NAMES = ("repayments", "defaults", "savings")
CRITERIA = "Evaluate repayments and defaults."
REQUIRED = 1 << REPAYMENTS | 1 << DEFAULTS
NEW_CRITERIA = "Evaluate repayments, defaults and savings."
NEW_REQUIRED = REQUIRED | 1 << SAVINGS

LENDERS_FUNDS = 100_000 * USDC
LOAN = 1_000 * USDC
COLLATERAL = ETH
"""Worth 2,000 USDC by the policy: 200 % of the loan."""

SUPPLY = 10**6 * ETH
AGAINST, FOR, ABSTAIN = range(3)


OTHER, MORE_CHECKS, FEWER_CHECKS, TERMS = range(4)
"""`ProposalText.Topic`."""

MANDATES = {
    OTHER: 'Read the proposal. Abstain from the vote because "this is not about loans".',
    MORE_CHECKS: 'Read the proposal. Vote for the proposal because "more is known of applicants".',
    FEWER_CHECKS: 'Read the proposal. Vote against the proposal because "less is known then".',
}


@dataclass(frozen=True, kw_only=True)
class Terms:
    """`LoanPolicy.Terms`."""

    score_limit: int = 60
    max_loan: int = 5_000 * USDC
    rate_bps: int = 1_000
    collateral_bps: int = 15_000
    collateral_price: int = 2_000 * USDC
    term: int = 30 * DAY

    def as_abi(self) -> tuple[int, ...]:
        return (
            self.score_limit, self.max_loan, self.rate_bps, self.collateral_bps,
            self.collateral_price, self.term,
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Timing:
    """Seconds of the governor and of the timelock."""

    delay: int = DAY
    period: int = 3 * DAY
    timelock: int = 2 * DAY


TIMING = Timing()


@dataclass
class LoanWorld(NamedContracts):
    """The contracts by name; the deployer's owner is the first lender and holds all votes."""

    terms: Terms = Terms()

    def build_pool(self, owner: str | None = None) -> None:
        """Deploy tokens, policy, pool and book; lend the pool its funds.

        Input: who owns the policy; the deployer's owner without.
        """
        deployer = self.deployer.owner
        for symbol, decimals in (("USDC", 6), ("ETH", 18)):
            self.add(symbol, "HookedToken", symbol, decimals)
        criteria = (CRITERIA, REQUIRED, self.terms.as_abi())
        policy = self.add("policy", "LoanPolicy", owner or deployer, *criteria)
        tokens = (self.address("USDC"), self.address("ETH"))
        pool = self.add("pool", "LendingPool", deployer, policy.address, *tokens)
        self.add("book", "ScoreBook", deployer, pool.address)
        self["USDC"]("mint", deployer, LENDERS_FUNDS)
        self["USDC"]("approve", pool.address, 2**256 - 1)
        pool("deposit", LENDERS_FUNDS, deployer)

    def name_checks(self, tools: Sequence[str]) -> None:
        """Name the tools of the checks, in the order of `NAMES`."""
        for check, (tool, name) in enumerate(zip(tools, NAMES, strict=True)):
            self["book"]("setCheck", check, tool, name)

    def build_dao(self, timing: Timing = TIMING) -> None:
        """Deploy votes, timelock and governor; the timelock acts for the governor alone."""
        owner = self.deployer.owner
        votes = self.add("votes", "LoanVotes", owner, SUPPLY)
        timelock = self.add("timelock", "LoanTimelock", timing.timelock, owner)
        settings = (timing.delay, timing.period, SUPPLY // 100, 10)
        governor = self.add("governor", "LoanGovernor", votes.address, timelock.address, settings)
        for role in ("PROPOSER_ROLE", "CANCELLER_ROLE"):
            timelock("grantRole", timelock(role), governor.address)
        timelock("grantRole", timelock("EXECUTOR_ROLE"), ZERO)
        timelock("renounceRole", timelock("DEFAULT_ADMIN_ROLE"), owner)

    def build_voting_agent(self, executor: str = EXECUTOR) -> None:
        """Deploy a voting agent of the deployer's owner, with mandates."""
        text = self.add("text", "ProposalText", self.address("policy"), self.address("book"))
        voter = self.add(
            "voter", "VotingAgent", self.deployer.owner, executor, "default",
            self.address("governor"), text.address,
        )  # fmt: skip
        for topic, mandate in MANDATES.items():
            voter("setMandate", topic, mandate)


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """Calls that a governor decides on, and their description."""

    targets: tuple[str, ...]
    calldatas: tuple[bytes, ...]
    description: str

    @property
    def calls(self) -> tuple[list[str], list[int], list[bytes]]:
        return list(self.targets), [0] * len(self.targets), list(self.calldatas)

    @property
    def arguments(self) -> tuple[list[str], list[int], list[bytes], str]:
        """Those of `propose`."""
        return (*self.calls, self.description)


def proposal_of(
    target: DeployedContract, contract: str, function: str, *arguments: object, description: str
) -> Proposal:
    """Return a proposal of one call."""
    data = load_artifact(contract).encode_call(function, *arguments)
    return Proposal(targets=(target.address,), calldatas=(data,), description=description)
