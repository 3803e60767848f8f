"""Proposals of a DAO with real votes and timelock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eth_utils import keccak

from tests.contracts.loan.loan_world import FOR, TIMING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.contracts.loan.loan_world import Proposal

PENDING, ACTIVE, CANCELED, DEFEATED, SUCCEEDED, QUEUED, EXPIRED, EXECUTED = range(8)
"""`IGovernor.ProposalState`."""


@dataclass(frozen=True)
class Ballot:
    """A proposal on its way through a governor.

    Input:
        governor: `governor("function", …)` sends a transaction, or reads.
        wait: lets seconds pass before the next transaction.
    """

    governor: Any
    wait: Callable[[int], None]
    proposal: Proposal

    @property
    def number(self) -> int:
        description = keccak(text=self.proposal.description)
        return int(self.governor("hashProposal", *self.proposal.calls, description))

    @property
    def state(self) -> int:
        return int(self.governor("state", self.number))

    def propose(self) -> None:
        self.governor("propose", *self.proposal.arguments)

    def open(self) -> None:
        """Propose, and wait until voting has begun."""
        self.propose()
        self.wait(TIMING.delay + 1)

    def close(self) -> None:
        """Wait until voting is over."""
        self.wait(TIMING.period)

    def queue(self) -> None:
        self.governor("queue", *self.proposal.calls, keccak(text=self.proposal.description))

    def execute(self) -> None:
        self.governor("execute", *self.proposal.calls, keccak(text=self.proposal.description))

    def pass_all(self, support: int = FOR) -> None:
        """Propose, vote, queue and execute."""
        self.open()
        self.governor("castVote", self.number, support)
        self.close()
        self.queue()
        self.wait(TIMING.timelock)
        self.execute()
