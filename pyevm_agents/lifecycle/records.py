"""Records of a run: the task, the plan, results of steps and phases, and receipts.

Agents return plans and results. Statements of agents are compared with the trace; nothing is taken
from statements alone. The ID of a receipt follows from the run and the place of the receipt, so the
dry run and the execution have the same IDs. A run whose agents hide a receipt fails phase verify.
"""

from __future__ import annotations

import re
from collections.abc import Mapping  # noqa: TC003 - read by the JSON codec
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from precompiles.outcome import is_done
from pyevm_agents.errors import ConfigError
from pyevm_agents.lifecycle.budget import (
    BudgetUse,
    ComputeBudget,
)
from pyevm_agents.lifecycle.manifest import AgentManifest  # noqa: TC001 - read by the JSON codec
from pyevm_agents.lifecycle.run_block import PreparedBlock, RunBlock  # noqa: TC001 - read by the JSON codec
from pyevm_agents.lifecycle.run_trace import RunTrace  # noqa: TC001 - read by the JSON codec
from pyevm_agents.lifecycle.statuses import RunStatus  # noqa: TC001 - read by the JSON codec
from pyevm_agents.lifecycle.trust import (
    TrustResult,  # noqa: TC001 - read by the JSON codec
    TrustThreshold,  # noqa: TC001 - read by the JSON codec
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
"""Task and run IDs: they are keys of files, URLs and contracts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A goal for an agent."""

    task_id: str
    goal: str
    agent_slug: str
    """The coordinator: the agent that plans."""

    operator_wallet: bytes
    """20 bytes: the account that confirms dry runs."""

    category: str = "general"
    budget: ComputeBudget = field(default_factory=ComputeBudget)
    trust_threshold: TrustThreshold | None = None
    """What it needs beside the orchestrator's own threshold; None for nothing more."""

    def __post_init__(self) -> None:
        """Check the ID.

        Raises: ConfigError: not an ID of a task.
        """
        require_id("task ID", self.task_id)


def require_id(what: str, text: str) -> None:
    """Accept the ID of a task or a run.

    Raises: ConfigError: other characters, or too long.
    """
    if not ID.fullmatch(text):
        raise ConfigError(
            f"{what} {text!r:.80}: must be 1 to 64 letters, digits, '-', '_' and '.', and begin "
            "with a letter or digit"
        )


MAX_DESCRIPTION_CHARACTERS = 4_000
"""A plan is stored, shown and hashed: its texts are bounded."""


class PlanError(ConfigError):
    """A plan that can't be executed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanStep:
    """One step of a plan."""

    step_id: str
    description: str
    agent_slug: str
    depends_on: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPlan:
    """The steps of a task."""

    steps: tuple[PlanStep, ...]

    @property
    def agent_slugs(self) -> tuple[str, ...]:
        """The agents of the steps, each once, in order."""
        return tuple(dict.fromkeys(step.agent_slug for step in self.steps))

    def select(self, step: PlanStep) -> TaskPlan:
        """Return the plan of one step alone, which the step's agent executes."""
        return replace(self, steps=(step,))


def order_steps(plan: TaskPlan) -> tuple[PlanStep, ...]:
    """Return the steps, each after the dependencies, otherwise in the plan's order.

    Raises: PlanError: no step, an ID that is invalid or used twice, an unknown dependency, a cycle,
            or a description that is too long.
    """
    _require_sound(plan)
    done: dict[str, PlanStep] = {}
    waiting = list(plan.steps)
    while waiting:
        ready = next((step for step in waiting if done.keys() >= {*step.depends_on}), None)
        if ready is None:
            names = ", ".join(step.step_id for step in waiting)
            raise PlanError(f"steps {names}: must not depend on each other in a circle")
        waiting.remove(ready)
        done[ready.step_id] = ready
    return tuple(done.values())


def _require_sound(plan: TaskPlan) -> None:
    if not plan.steps:
        raise PlanError("plan: must have at least one step")
    known: set[str] = set()
    for step in plan.steps:
        require_id("step ID", step.step_id)
        if step.step_id in known:
            raise PlanError(f"step {step.step_id}: must be the only one with this ID")
        known.add(step.step_id)
        if len(step.description) > MAX_DESCRIPTION_CHARACTERS:
            raise PlanError(
                f"step {step.step_id}: its description must have at most "
                f"{MAX_DESCRIPTION_CHARACTERS:,} characters"
            )
    for step in plan.steps:
        for other in step.depends_on:
            if other not in known:
                raise PlanError(f"step {step.step_id}: depends on {other!r:.80}, not a step")


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
        """Whether the agent answered that the step was not done."""
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
    """The summary of a run, for people."""

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
    """Return the answer of the first step that is not done, or None."""
    return next((step.result for step in steps if step.is_not_done), None)


class ReceiptType(StrEnum):
    """The purpose of a receipt."""

    DRY_RUN = "dry_run"
    VERIFICATION = "verification"
    TRANSACTION = "transaction"
    TOOL = "tool"
    API = "api"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReceipt:
    """A receipt."""

    receipt_id: str
    type: ReceiptType
    ref: str
    """What it is for: the hash of a transaction, the digest of a dry run, a tool's name."""

    summary: str


def build_receipt_id(run_id: str, kind: ReceiptType, number: int | None = None) -> str:
    """Return the ID of a receipt; a number for those of which a run has several, from 1 on."""
    name = f"{run_id}-{kind.value}"
    return name if number is None else f"{name}-{number}"


def describe_missing_receipts(expected: Iterable[str], stated: Iterable[str]) -> str | None:
    """Compare the receipts of a trace with those that agents state; None if equal."""
    needed, given = {*expected}, {*stated}
    if missing := sorted(needed - given):
        return f"{len(missing)} missing: {', '.join(missing)}"
    if invented := sorted(given - needed):
        return f"{len(invented)} of nothing that happened: {', '.join(invented)}"
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoverResult:
    """The coordinator, and the manifests of all installed agents when the run began.

    An agent that can't be read is in `rejected_agents`; the run goes on without that agent.
    """

    agent_slug: str
    version: str
    manifest_digests: Mapping[str, str]
    agent_id: int | None = None
    """The coordinator's in the identity registry; None without one."""

    rejected_agents: Mapping[str, str] = field(default_factory=dict)
    """Why an agent takes no part in the run, by slug."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedManifests:
    """The manifests of all readable agents when a run began, by slug: a run is held to them."""

    manifests: Mapping[str, AgentManifest]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustCheckResult:
    """The trust in each agent of a plan."""

    agents: tuple[TrustResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyCheckResult:
    """The policy check."""

    violations: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionRecord:
    """An execution."""

    result: ExecutionResult
    trace: RunTrace
    digest: bytes
    """Of the trace."""

    use: BudgetUse
    block: RunBlock | None
    """None for a run without a transaction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedExecution:
    """An execution whose block is about to be mined, with which a run continues after a kill."""

    block: PreparedBlock
    record: ExecutionRecord
    receipts: tuple[RunReceipt, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordResult:
    """The end of a run."""

    status: RunStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class NotDone:
    """Why a run is not done."""

    answer: str
    """Of the agent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseOutcome:
    """The output of a phase for the orchestrator."""

    result: object = None
    failure: str | None = None
    """Why the run stops here; None to go on."""

    not_done: str | None = None
    """The answer of an agent that did not do what was asked, if that is why."""

    receipts: tuple[RunReceipt, ...] = ()
    is_moved: bool = False
    """Whether the dry run must be repeated: the state moved after it."""
