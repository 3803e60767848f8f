"""A pool on a plain EVM whose agent does as a test says, with a clock that a test moves."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from pyevm_agents.abi.bundled import load_artifact
from tests.contracts.loan.loan_world import (
    COLLATERAL,
    DEFAULTS,
    LOAN,
    NAMES,
    REPAYMENTS,
    USDC,
    LoanWorld,
)
from tests.contracts.plain_evm import OWNER, STRANGER, Account, Contract, Evm, plain_evm
from tests.contracts.trading.trading_world import PlainDeployer

if TYPE_CHECKING:
    from collections.abc import Iterator

BORROWER, LENDER = STRANGER, OWNER
APPLICATION = "I repay what I borrow."

Call: TypeAlias = tuple[str, bytes]


class PoolBench(LoanWorld):
    """A pool whose agent, tools and approver are one scripted contract."""

    def __init__(self, evm: Evm | None = None) -> None:
        self.evm: Evm = evm or plain_evm()
        super().__init__(PlainDeployer(self.evm))
        self.build_pool()
        agent = self.add("agent", "ScriptedLoanAgent").address
        self.name_checks([agent] * len(NAMES))
        self["pool"]("setAgent", agent, agent, agent, self.address("book"))
        self["ETH"]("mint", BORROWER.address, 100 * COLLATERAL)
        self["USDC"]("mint", BORROWER.address, 10_000 * USDC)
        for token in ("ETH", "USDC"):
            self[token]("approve", self.address("pool"), 2**256 - 1, sender=BORROWER)

    @property
    def pool(self) -> Contract:
        return self._plain("pool")

    @property
    def book(self) -> Contract:
        return self._plain("book")

    @property
    def now(self) -> int:
        return int(self.evm.vm.state.timestamp)

    def wait(self, seconds: int) -> None:
        """Move the clock of all later transactions."""
        context: Any = self.evm.vm.state.execution_context
        context._timestamp += seconds  # noqa: SLF001 - the header of one VM

    @contextmanager
    def rolled_back(self) -> Iterator[PoolBench]:
        """Undo everything at the end, time included."""
        snapshot, before = self.evm.vm.state.snapshot(), self.now
        try:
            yield self
        finally:
            self.evm.vm.state.revert(snapshot)
            self.wait(before - self.now)

    def script(self, *calls: Call, answer: str = "Done.") -> None:
        """Let the agent make these calls in its runs."""
        self["agent"]("script", list(calls), answer)

    def note(self, check: int, points: int) -> Call:
        return self._call("book", "ScoreBook", "notePoints", check, points)

    def approval(self) -> Call:
        return self._call("pool", "LendingPool", "approve")

    def denial(self) -> Call:
        return self._call("pool", "LendingPool", "deny")

    def ideal(self, points: int = 100) -> list[Call]:
        """Return the calls of an approval: both required checks first."""
        return [self.note(REPAYMENTS, points), self.note(DEFAULTS, points), self.approval()]

    def request(
        self, amount: int = LOAN, collateral: int = COLLATERAL, *, sender: Account = BORROWER
    ) -> tuple[bool, str]:
        approved, answer = self.pool("requestLoan", amount, collateral, APPLICATION, sender=sender)
        return approved, answer

    def lend(self, amount: int = LOAN, collateral: int = COLLATERAL) -> int:
        """Lend to the borrower; return the loan's number."""
        self.script(*self.ideal())
        assert self.request(amount, collateral) == (True, "Done.")
        return int(self.pool("applicationCount"))

    def held(self, account: str) -> tuple[int, int]:
        """Return an account's currency and collateral."""
        return tuple(self[token]("balanceOf", account) for token in ("USDC", "ETH"))

    def record(self, borrower: str = BORROWER.address) -> dict[str, int]:
        return dict(zip(RECORD_FIELDS, self.pool("recordOf", borrower), strict=True))

    def _plain(self, name: str) -> Contract:
        contract = self.contracts[name]
        assert isinstance(contract, Contract)
        return contract

    def _call(self, name: str, contract: str, function: str, *arguments: object) -> Call:
        return self.address(name), load_artifact(contract).encode_call(function, *arguments)


RECORD_FIELDS = (
    "loans", "repaid", "late", "defaulted", "borrowed", "repaid_amount", "first_loan_at", "open",
    "debt", "denied",
)  # fmt: skip
