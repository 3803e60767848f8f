"""A lending pool on any chain: DAO, score book, agents, and borrowers with a history.

The contracts are those of `contracts/examples/loan/`. A vote of the DAO takes six days.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eth_keys.datatypes import PrivateKey
from eth_typing import Address
from eth_utils import keccak

from precompiles.spec import EXECUTOR_ADDRESS
from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.devnet.local_account import LocalAccount
from pyevm_agents.model_registry.profiles import ALIASES
from pyevm_agents.scenarios.loan.applications import CHECKS, Criteria
from pyevm_agents.scenarios.swap.world import WorldContracts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyevm_agents.chain import Chain
    from pyevm_agents.devnet.local_account import ExecutedTransaction

CURRENCY, COLLATERAL = "USDT", "ETH"
DECIMALS = {CURRENCY: 6, COLLATERAL: 18}
SUPPLY_TOKENS = 10**9
"""Whole tokens of each kind that the owner mints to itself."""

POOL_TOKENS = 100_000
"""Whole tokens of the currency that the owner lends to the pool."""

COLLATERAL_TOKENS = 100
"""Whole tokens of collateral that each applicant has."""

GAS_WEI = 10**18
"""What each applicant has for gas."""

DAY_SECONDS = 86_400

VOTES = 10**6 * 10**18
"""All votes."""
DELEGATED = VOTES * 6 // 10
"""Those of a member who delegates them to the voting agent; the owner has the others."""
MEMBER = "Mia"

VOTING_DELAY, VOTING_PERIOD, TIMELOCK = DAY_SECONDS, 3 * DAY_SECONDS, 2 * DAY_SECONDS
PROPOSAL_THRESHOLD, QUORUM_PERCENT = VOTES // 100, 10

SUCCEEDED = 4
"""`IGovernor.ProposalState`."""

EVERYTHING = 2**256 - 1
"""An allowance of all tokens."""
NO_ADDRESS = Address(bytes(20))

CHECK_CONTRACTS = (
    "RepaymentCheckTool", "DefaultCheckTool", "SavingsCheckTool", "AgeCheckTool", "DebtCheckTool",
)  # fmt: skip
"""In the order of `CHECKS`."""

MORE_CHECKS, FEWER_CHECKS = 1, 2
"""`ProposalText.Topic`."""

REASONS = {
    MORE_CHECKS: "more is known of applicants",
    FEWER_CHECKS: "less is known then",
}
MANDATES = {
    topic: f'Read the proposal. Vote {side} the proposal because "{REASONS[topic]}".'
    for topic, side in ((MORE_CHECKS, "for"), (FEWER_CHECKS, "against"))
}
"""What the voting agent's owner wants, by topic."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoanTerms:
    """`LoanPolicy.Terms`, in whole tokens."""

    score_limit: int = 60
    max_loan: int = 5_000
    rate_bps: int = 1_000
    collateral_bps: int = 15_000
    collateral_price: int = 2_000
    term_days: int = 30

    def encode(self) -> tuple[int, ...]:
        """Return the fields in the order of Solidity, amounts in base units."""
        unit = 10 ** DECIMALS[CURRENCY]
        return (
            self.score_limit, self.max_loan * unit, self.rate_bps, self.collateral_bps,
            self.collateral_price * unit, self.term_days * DAY_SECONDS,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Applicant:
    """An account that applies for loans."""

    name: str
    savings_tokens: int
    history: str
    """What the pool knows, in words."""


APPLICANTS = {
    each.name: each
    for each in (
        Applicant(name="Ada", savings_tokens=2_000, history="3 loans repaid"),
        Applicant(name="Bo", savings_tokens=500, history="1 loan repaid, 2 defaulted"),
        Applicant(name="Cleo", savings_tokens=1_500, history="none"),
        Applicant(name="Dan", savings_tokens=0, history="none"),
        Applicant(name="Eve", savings_tokens=100, history="1 loan repaid, 1 defaulted"),
        Applicant(name="Fay", savings_tokens=800, history="2 loans repaid late"),
        Applicant(name="Gus", savings_tokens=300, history="2 loans repaid, 4,000 USDT open"),
        Applicant(name="Hal", savings_tokens=0, history="2 loans repaid"),
    )
}

FIRST_LOAN_TOKENS = 500
LAST_DAY = 400
HISTORY: tuple[tuple[int, str, str, int], ...] = (
    *((0, "borrow", name, FIRST_LOAN_TOKENS) for name in ("Ada", "Bo", "Eve", "Fay", "Gus", "Hal")),
    *((20, "repay", name, 0) for name in ("Ada", "Bo", "Eve", "Gus", "Hal")),
    (31, "repay", "Fay", 0),
    *(
        (40, "borrow", name, FIRST_LOAN_TOKENS)
        for name in ("Ada", "Bo", "Eve", "Fay", "Gus", "Hal")
    ),
    *((60, "repay", name, 0) for name in ("Ada", "Gus", "Hal")),
    *((65, "borrow", name, FIRST_LOAN_TOKENS) for name in ("Ada", "Bo")),
    (71, "repay", "Fay", 0),
    (85, "repay", "Ada", 0),
    (395, "borrow", "Gus", 4_000),
)
"""Days, and what applicants did: borrow whole tokens, or repay the oldest open loan."""


def find_account(name: str, chain: Chain) -> LocalAccount:
    """Return an applicant's account; the same name has the same key on each chain."""
    return LocalAccount(chain, PrivateKey(keccak(text=f"applicant {name}")))


class LoanWorld(WorldContracts):
    """The contracts on a chain, deployed by the first lender.

    These are the tokens by symbol, `votes`, `timelock`, `governor`, `policy`, `pool`, `book`, the
    tools `reader`, `decider` and those of the checks by name, the agents `credit` and `agent`, and
    `proposal_text` with `voter`. The timelock owns policy, pool and book.
    """

    def __init__(self, owner: LocalAccount, criteria: Criteria) -> None:
        """Deploy everything.

        Input:
            owner: the first lender, with all votes.
            criteria: the policy's first ones.
        """
        super().__init__(owner)
        self.account = owner
        self.terms = LoanTerms()
        self._deploy_tokens()
        self._deploy_dao()
        self._deploy_pool(criteria)
        self._deploy_agents()
        self._deploy_voter()
        for name in APPLICANTS:
            self._open_account(name)

    @property
    def unit(self) -> Mapping[str, int]:
        """Base units of a whole token, by symbol."""
        return {symbol: 10**decimals for symbol, decimals in DECIMALS.items()}

    # -- what applicants and the DAO do -- #

    def request(self, name: str, tokens: int, text: str) -> ExecutedTransaction:
        """Apply for a loan with the least collateral."""
        amount = tokens * self.unit[CURRENCY]
        collateral = self.read("pool", "collateralFor", amount)
        return self.send_as(name, "pool", "requestLoan", amount, collateral, text)

    def send_as(
        self, applicant: str, name: str, function: str, *arguments: object
    ) -> ExecutedTransaction:
        """Call a contract as an applicant."""
        contract = self.contracts[name]
        account = find_account(applicant, self.account.chain)
        return account.send(contract.address, contract.artifact.encode_call(function, *arguments))

    def repay(self, name: str) -> None:
        """Repay an applicant's oldest open loan, with money of the owner for the interest.

        Raises: RevertedError: a revert.
        """
        address = find_account(name, self.account.chain).address
        loan = self.read("pool", "openLoansOf", address)[0]
        self.execute(CURRENCY, "transfer", address, self.read("pool", "debtOf", loan))
        self.send_as(name, "pool", "repay", loan).computation.raise_if_error()

    def set_savings(self, name: str) -> None:
        """Leave an applicant the savings of `APPLICANTS`."""
        address = find_account(name, self.account.chain).address
        wanted = APPLICANTS[name].savings_tokens * self.unit[CURRENCY]
        held = int(self.read(CURRENCY, "balanceOf", address))
        if held > wanted:
            sent = self.send_as(name, CURRENCY, "transfer", self.owner.address, held - wanted)
            sent.computation.raise_if_error()
        elif held < wanted:
            self.execute(CURRENCY, "transfer", address, wanted - held)

    def read_balance(self, name: str) -> int:
        """Return an applicant's currency in base units."""
        address = find_account(name, self.account.chain).address
        return int(self.read(CURRENCY, "balanceOf", address))

    def wait(self, seconds: int) -> None:
        """Mine an empty block that much later."""
        chain = self.account.chain
        chain.mine(timestamp_seconds=chain.head.timestamp + seconds)

    def build_proposal(self, criteria: Criteria, description: str) -> tuple[object, ...]:
        """Return the arguments of `propose` for new criteria."""
        policy = self.contracts["policy"]
        data = policy.artifact.encode_call("setCriteria", criteria.text, criteria.required_checks)
        return ([policy.address], [0], [data], description)

    def propose(self, proposal: tuple[object, ...]) -> None:
        """Propose as the owner, and wait until the vote is open."""
        self.execute("governor", "propose", *proposal)
        self.wait(VOTING_DELAY + 1)

    def find_proposal(self, proposal: tuple[object, ...]) -> int:
        """Return a proposal's ID."""
        return int(self.read("governor", "getProposalId", *_hash_description(proposal)))

    def close_vote(self, proposal: tuple[object, ...]) -> bool:
        """Wait for the end of the vote; return whether the proposal has succeeded."""
        self.wait(VOTING_PERIOD + 1)
        return int(self.read("governor", "state", self.find_proposal(proposal))) == SUCCEEDED

    def execute_proposal(self, proposal: tuple[object, ...]) -> None:
        """Queue a proposal, wait for the timelock, and execute it.

        Raises: RevertedError: a proposal without success.
        """
        decided = _hash_description(proposal)
        self.execute("governor", "queue", *decided)
        self.wait(TIMELOCK + 1)
        self.execute("governor", "execute", *decided)

    # -- deployment -- #

    def _deploy_tokens(self) -> None:
        for symbol, decimals in DECIMALS.items():
            arguments = (symbol, symbol, decimals, self.owner.address)
            self.deploy(symbol, load_artifact("OwnedToken"), *arguments)
            self.execute(symbol, "mint", self.owner.address, SUPPLY_TOKENS * self.unit[symbol])

    def _deploy_dao(self) -> None:
        owner = self.owner.address
        self.deploy("votes", load_artifact("LoanVotes"), owner, VOTES)
        self.deploy("timelock", load_artifact("LoanTimelock"), TIMELOCK, owner)
        settings = (VOTING_DELAY, VOTING_PERIOD, PROPOSAL_THRESHOLD, QUORUM_PERCENT)
        governor = load_artifact("LoanGovernor")
        places = [self.address(name) for name in ("votes", "timelock")]
        self.deploy("governor", governor, *places, settings)
        for role in ("PROPOSER_ROLE", "CANCELLER_ROLE"):
            granted = self.read("timelock", role)
            self.execute("timelock", "grantRole", granted, self.address("governor"))
        everybody = self.read("timelock", "EXECUTOR_ROLE")
        self.execute("timelock", "grantRole", everybody, NO_ADDRESS)
        admin = self.read("timelock", "DEFAULT_ADMIN_ROLE")
        self.execute("timelock", "renounceRole", admin, owner)

    def _deploy_pool(self, criteria: Criteria) -> None:
        owner = self.owner.address
        judged_by = (criteria.text, criteria.required_checks, self.terms.encode())
        self.deploy("policy", load_artifact("LoanPolicy"), self.address("timelock"), *judged_by)
        places = [self.address(name) for name in ("policy", CURRENCY, COLLATERAL)]
        pool = self.deploy("pool", load_artifact("LendingPool"), owner, *places)
        self.deploy("book", load_artifact("ScoreBook"), owner, pool)
        amount = POOL_TOKENS * self.unit[CURRENCY]
        self.execute(CURRENCY, "approve", pool, amount)
        self.execute("pool", "deposit", amount, owner)

    def _deploy_agents(self) -> None:
        pool, book = self.address("pool"), self.address("book")
        executor = (EXECUTOR_ADDRESS, ALIASES[1])
        self.deploy("reader", load_artifact("ReadCriteriaTool"), pool)
        for number, (name, contract) in enumerate(zip(CHECKS, CHECK_CONTRACTS, strict=True)):
            tool = self.deploy(name, load_artifact(contract), pool, book)
            self.execute("book", "setCheck", number, tool, name)
        checks = [self.address(name) for name in CHECKS]
        credit = load_artifact("CreditScoreAgent")
        self.deploy("credit", credit, *executor, book, self.address("reader"), checks)
        self.deploy("decider", load_artifact("DecideLoanTool"), pool)
        tools = [self.address(name) for name in ("reader", "credit", "decider")]
        agent = self.deploy("agent", load_artifact("LoanAgent"), *executor, pool, tools)
        decider = self.address("decider")
        self.execute("pool", "setAgent", agent, decider, decider, book)
        for name in ("pool", "book"):
            self.execute(name, "transferOwnership", self.address("timelock"))

    def _deploy_voter(self) -> None:
        owner = self.owner.address
        places = [self.address(name) for name in ("policy", "book")]
        text = self.deploy("proposal_text", load_artifact("ProposalText"), *places)
        voter = load_artifact("VotingAgent")
        governor = self.address("governor")
        self.deploy("voter", voter, owner, EXECUTOR_ADDRESS, ALIASES[1], governor, text)
        for topic, mandate in MANDATES.items():
            self.execute("voter", "setMandate", topic, mandate)
        member = find_account(MEMBER, self.account.chain).address
        self.owner.transact(member, b"", value_wei=GAS_WEI)
        self.execute("votes", "transfer", member, DELEGATED)
        self.execute("votes", "delegate", owner)
        sent = self.send_as(MEMBER, "votes", "delegate", self.address("voter"))
        sent.computation.raise_if_error()

    def _open_account(self, name: str) -> None:
        address = find_account(name, self.account.chain).address
        self.owner.transact(address, b"", value_wei=GAS_WEI)
        tokens = COLLATERAL_TOKENS * self.unit[COLLATERAL]
        self.execute(COLLATERAL, "transfer", address, tokens)
        for symbol in (CURRENCY, COLLATERAL):
            sent = self.send_as(name, symbol, "approve", self.address("pool"), EVERYTHING)
            sent.computation.raise_if_error()


def _hash_description(proposal: tuple[object, ...]) -> tuple[object, ...]:
    """Return the arguments of `queue` for those of `propose`."""
    return (*proposal[:3], keccak(text=str(proposal[3])))
