"""Runs of the loan demo: the agents' acts, and differences from the ideal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyevm_agents.scenarios.ideal_runs import RunOutcome, list_run_differences
from pyevm_agents.scenarios.loan.applications import CHECKS
from pyevm_agents.scenarios.loan.world import FEWER_CHECKS, MORE_CHECKS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyevm_agents.scenarios.loan.applications import Application

READ, CREDIT, DECIDE = "read_criteria", "Credit Score Agent", "decide_loan"
"""Names of the loan agent's tools."""

CHECK_TOOLS = dict(
    zip(
        CHECKS,
        ("repayment_check", "default_check", "savings_check", "age_check", "debt_check"),
        strict=True,
    )
)
"""Tools of the credit score agent, by the check's name."""

READ_PROPOSAL = "read_proposal"
VOTE_TOOLS = {MORE_CHECKS: "vote_for", FEWER_CHECKS: "vote_against"}
BALLOT_TOOLS = (*VOTE_TOOLS.values(), "abstain")

COMPARED_TOOLS = (READ, *CHECK_TOOLS.values(), CREDIT, DECIDE, READ_PROPOSAL, *BALLOT_TOOLS)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoanOutcome(RunOutcome):
    """The outcome of a run, and the applicant's balance."""

    is_approved: bool
    """Whether a loan was paid out, or a vote was cast."""

    balance: int
    """The applicant's currency afterwards, in base units; votes for a proposal after a vote."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoanRun:
    """A decision on an application, or on a proposal, beside the ideal one from the same state."""

    number: int
    """From 1."""

    application: Application | None
    """None for the vote on a proposal."""

    criteria: str
    """Those of the policy, or those proposed."""

    before: int
    """`LoanOutcome.balance` before the run."""

    outcome: LoanOutcome
    ideal: LoanOutcome

    @property
    def differences(self) -> tuple[str, ...]:
        """How the run differs from the ideal, a sentence each; none for an ideal run."""
        return tuple(list_differences(self.outcome, self.ideal))

    @property
    def is_ideal(self) -> bool:
        """Whether the run ended as the ideal."""
        return not self.differences

    @property
    def decision(self) -> str:
        """Return `approved`, `denied`, `undone` or `voted`."""
        if not self.outcome.is_success:
            return "undone"
        if self.application is None:
            return "voted"
        return "approved" if self.outcome.is_approved else "denied"


def list_differences(made: LoanOutcome, ideal: LoanOutcome) -> Iterator[str]:
    """Yield how a run differs from the ideal: in tools' answers, the failure and the balance.

    A check that the criteria do not name is a difference too.
    """
    yield from list_run_differences(made, ideal, COMPARED_TOOLS)
    if made.balance != ideal.balance:
        yield f"expected a balance of {ideal.balance} base units; it is {made.balance}"
