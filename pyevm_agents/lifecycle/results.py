"""What the phases of a run give: of dry run, execution, verification and summary.

Agents return these. What they state is compared with the trace; nothing is taken from them alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from precompiles.outcome import is_done

if TYPE_CHECKING:
    from collections.abc import Sequence


class StepStatus(StrEnum):
    """The status of a step."""

    COMPLETED = "completed"
    FAILED = "failed"
    SKIPPED = "skipped"
    """A step that it depends on failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult:
    """The outcome of a step."""

    step_id: str
    status: StepStatus
    result: str | None = None
    """What the agent answered; also of a step that failed since the answer is not done."""

    error: str | None = None

    @property
    def is_not_done(self) -> bool:
        """Whether the agent answered that it did not do the step."""
        return self.result is not None and not is_done(self.result)


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRunResult:
    """The outcome of a dry run. Source of the fields: the agent standard of OpenFi."""

    steps: tuple[StepResult, ...]
    warnings: tuple[str, ...] = ()
    policy_violations: tuple[str, ...] = ()
    """Execution does not follow if there are any."""

    estimated_gas: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionResult:
    """The outcome of an execution."""

    is_success: bool
    steps: tuple[StepResult, ...]
    receipt_ids: tuple[str, ...] = ()
    error: str | None = None
    started_at: float = 0.0
    """Unix seconds; set by the orchestrator."""

    ended_at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationCheck:
    """A named check."""

    name: str
    is_passed: bool
    details: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationResult:
    """The outcome of a verification."""

    is_passed: bool
    checks: tuple[VerificationCheck, ...]
    score: float
    """From 0 to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """What happened, for people."""

    text: str
    key_actions: tuple[str, ...] = ()
    receipt_ids: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def describe_failures(steps: tuple[StepResult, ...]) -> str | None:
    """Return the errors of failed steps as one text; None if none failed."""
    failed = [step for step in steps if step.status is StepStatus.FAILED]
    if not failed:
        return None
    return "; ".join(f"step {step.step_id}: {step.error or 'no reason given'}" for step in failed)


def find_not_done_step(steps: Sequence[StepResult]) -> str | None:
    """Return the answer of the first step that is not done; None if there is none."""
    return next((step.result for step in steps if step.is_not_done), None)


def describe_exception(error: BaseException, *, is_named: bool = False) -> str:
    """Return the text of an exception, or its type's name; an agent's may have no text.

    Input: the exception; whether its type's name comes before the text.
    """
    name = type(error).__name__
    try:
        text = str(error)
    except (Exception, SystemExit):  # noqa: BLE001 - of an agent's own type
        return name
    if not text:
        return name
    return f"{name}: {text}" if is_named else text
