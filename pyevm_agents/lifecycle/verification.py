"""Verification: the lifecycle's own checks beside the agent's, and the response of a validator.

An agent's checks can make a run fail, and never make it pass. The lifecycle executes the run's
block again, and compares receipts, budget, manifest and the agents' statements with the trace.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from pyevm_agents.lifecycle.budget import describe_overspending
from pyevm_agents.lifecycle.records import (
    ReceiptType,
    VerificationCheck,
    VerificationResult,
    describe_failures,
    describe_missing_receipts,
)
from pyevm_agents.lifecycle.trust import MAX_RESPONSE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyevm_agents.lifecycle.budget import ComputeBudget
    from pyevm_agents.lifecycle.dry_run import DryRunRecord
    from pyevm_agents.lifecycle.local_chain import LocalChainPort
    from pyevm_agents.lifecycle.records import ExecutionRecord, RunReceipt

LIFECYCLE_PREFIX = "lifecycle:"
"""Of the names of our checks: an agent can't state one of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedRun:
    """The run to verify."""

    dry_run: DryRunRecord
    execution: ExecutionRecord
    receipts: Sequence[RunReceipt]
    budget: ComputeBudget
    changed_manifests: str | None
    """Which manifests were changed during the run; None if none was."""


class RunValidator(Protocol):
    """Publishes whether a run could be executed again."""

    def respond(self, agent_id: int, run_id: str, response: int, evidence: bytes) -> str:
        """Post a response about an agent's run, from 0 to 100; return a reference to the response.

        Posting the same response again does nothing.
        """
        ...


def list_checks(run: VerifiedRun, port: LocalChainPort) -> tuple[VerificationCheck, ...]:
    """Return the lifecycle's own checks of a run."""
    result, trace = run.execution.result, run.execution.trace
    stored = [each.receipt_id for each in run.receipts if each.type is not ReceiptType.DRY_RUN]
    problems = {
        "dry-run-digest": None
        if run.dry_run.digests.trace == run.execution.digest == trace.compute_digest()
        else "the execution's digest is not that of the dry run",
        "steps": describe_failures(result.steps),
        "receipts": describe_missing_receipts(stored, result.receipt_ids),
        "dry-run-receipt": None
        if any(each.type is ReceiptType.DRY_RUN for each in run.receipts)
        else "there is no receipt of the dry run",
        "budget": describe_overspending(run.budget, run.execution.use),
        "manifests": run.changed_manifests,
        "reexecution": None if run.execution.block is None else port.reexecute(run.execution.block),
    }
    return tuple(
        VerificationCheck(name=LIFECYCLE_PREFIX + name, is_passed=problem is None, details=problem)
        for name, problem in problems.items()
    )


def judge(stated: VerificationResult, own: Sequence[VerificationCheck]) -> VerificationResult:
    """Return the verification of a run from the agent's and the lifecycle's checks.

    The score is the lower one of the agent's and the share of checks that passed.
    """
    honest = VerificationCheck(
        name=LIFECYCLE_PREFIX + "verification",
        is_passed=(problem := _describe_dishonesty(stated)) is None,
        details=problem,
    )
    foreign = [each for each in stated.checks if not each.name.startswith(LIFECYCLE_PREFIX)]
    checks = (*foreign, *own, honest)
    share = sum(each.is_passed for each in checks) / len(checks)
    return VerificationResult(
        is_passed=stated.is_passed and all(each.is_passed for each in checks),
        checks=checks,
        score=min(share, max(0.0, min(1.0, stated.score))),
    )


def compute_response(verification: VerificationResult) -> int:
    """Return the response to post: 100 if the run passed, otherwise 0."""
    return MAX_RESPONSE if verification.is_passed else 0


def _describe_dishonesty(stated: VerificationResult) -> str | None:
    if not 0.0 <= stated.score <= 1.0:
        return f"the agent's score {stated.score}: must be from 0 to 1"
    if not stated.checks:
        return "the agent made no check"
    taken = [each.name for each in stated.checks if each.name.startswith(LIFECYCLE_PREFIX)]
    if taken:
        return f"the agent states {taken[0]}, a check that is not its own"
    failed = [each.name for each in stated.checks if not each.is_passed]
    if stated.is_passed and failed:
        return f"the agent passed the run, though its check {failed[0]} failed"
    return None
