"""The interface of an agent in a run, and a base class with defaults.

Source: the agent standard of OpenFi, `OpenFiAgentModule`, in Python's names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from pyevm_agents.lifecycle.records import (
    DryRunResult,
    ExecutionResult,
    PlanStep,
    RunSummary,
    StepResult,
    StepStatus,
    TaskPlan,
    VerificationCheck,
    VerificationResult,
    describe_failures,
)
from pyevm_agents.lifecycle.untrusted_agents import (
    AGENTS_FAILURES,
    describe_exception,
    is_agents_failure,
)

if TYPE_CHECKING:
    from pyevm_agents.lifecycle.context import AgentContext
    from pyevm_agents.lifecycle.manifest import AgentManifest
    from pyevm_agents.lifecycle.records import Task

IDENTITY_MODE = "erc8004-required"
"""The only identity mode of the standard."""


class AgentModule(Protocol):
    """An agent. `dry_run` is optional; without it, `execute` runs on the draft."""

    @property
    def slug(self) -> str:
        """Unique kebab-case name."""
        ...

    @property
    def display_name(self) -> str:
        """Name for people."""
        ...

    @property
    def version(self) -> str:
        """Semantic version."""
        ...

    @property
    def manifest(self) -> AgentManifest:
        """The manifest; it must not change during a run."""
        ...

    @property
    def identity_mode(self) -> str:
        """Always `IDENTITY_MODE`."""
        ...

    def can_handle(self, task: Task) -> bool:
        """Return whether the agent can do a task."""
        ...

    def plan(self, task: Task, context: AgentContext) -> TaskPlan:
        """Return the steps of a task."""
        ...

    def execute(self, task: Task, plan: TaskPlan, context: AgentContext) -> ExecutionResult:
        """Execute a plan. The executor gives one step at a time."""
        ...

    def verify(
        self, task: Task, execution_result: ExecutionResult, context: AgentContext
    ) -> VerificationResult:
        """Check an execution."""
        ...

    def summarize(
        self,
        task: Task,
        execution_result: ExecutionResult,
        verification_result: VerificationResult,
        context: AgentContext,
    ) -> RunSummary:
        """Describe a run for people."""
        ...


@runtime_checkable
class HasDryRun(Protocol):
    """An agent with a separate dry run."""

    def dry_run(self, task: Task, plan: TaskPlan, context: AgentContext) -> DryRunResult:
        """Simulate a plan."""
        ...


class BaseAgentModule:
    """An agent whose subclass implements `perform_step`: the work of a step, by `context.session`.

    A dry run performs the same steps as an execution: only the session knows which of the two is
    performed.
    """

    identity_mode = IDENTITY_MODE

    def __init__(self, manifest: AgentManifest) -> None:
        self.manifest = manifest

    @property
    def slug(self) -> str:
        """Unique kebab-case name."""
        return self.manifest.slug

    @property
    def display_name(self) -> str:
        """Name for people."""
        return self.manifest.name

    @property
    def version(self) -> str:
        """Semantic version."""
        return self.manifest.version

    def can_handle(self, task: Task) -> bool:
        """Return whether the task's category is one of the manifest's."""
        return task.category in self.manifest.task_categories

    def plan(self, task: Task, context: AgentContext) -> TaskPlan:  # noqa: ARG002 - for subclasses
        """Return a plan of one step: the goal."""
        step = PlanStep(step_id="step-1", description=task.goal, agent_slug=self.slug)
        return TaskPlan(steps=(step,))

    def perform_step(self, task: Task, step: PlanStep, context: AgentContext) -> str:
        """Do a step; return the result. An exception makes the step a failed one."""
        raise NotImplementedError

    def dry_run(self, task: Task, plan: TaskPlan, context: AgentContext) -> DryRunResult:
        """Perform the steps on the dry run's session."""
        return DryRunResult(steps=self._perform_steps(task, plan, context))

    def execute(self, task: Task, plan: TaskPlan, context: AgentContext) -> ExecutionResult:
        """Perform the steps."""
        before = len(context.session.receipt_ids)
        steps = self._perform_steps(task, plan, context)
        error = describe_failures(steps)
        return ExecutionResult(
            is_success=error is None,
            steps=steps,
            receipt_ids=context.session.receipt_ids[before:],
            error=error,
        )

    def verify(
        self,
        task: Task,  # noqa: ARG002 - for subclasses
        execution_result: ExecutionResult,
        context: AgentContext,  # noqa: ARG002 - for subclasses
    ) -> VerificationResult:
        """Check that every step completed."""
        error = describe_failures(execution_result.steps)
        check = VerificationCheck(name="steps", is_passed=error is None, details=error)
        return VerificationResult(
            is_passed=check.is_passed, checks=(check,), score=float(check.is_passed)
        )

    def summarize(
        self,
        task: Task,
        execution_result: ExecutionResult,
        verification_result: VerificationResult,
        context: AgentContext,  # noqa: ARG002 - for subclasses
    ) -> RunSummary:
        """List the results of the steps."""
        actions = tuple(
            f"{step.step_id}: {step.result or step.error or step.status.value}"
            for step in execution_result.steps
        )
        failed = [check.name for check in verification_result.checks if not check.is_passed]
        return RunSummary(
            text=f"{task.goal}: {'; '.join(actions)}",
            key_actions=actions,
            receipt_ids=execution_result.receipt_ids,
            warnings=tuple(f"check {name} failed" for name in failed),
        )

    def _perform_steps(
        self, task: Task, plan: TaskPlan, context: AgentContext
    ) -> tuple[StepResult, ...]:
        results = []
        for step in plan.steps:
            try:
                text = self.perform_step(task, step, context)
            except AGENTS_FAILURES as error:
                if not is_agents_failure(error):
                    raise
                status, reason = StepStatus.FAILED, describe_exception(error)
                results.append(StepResult(step_id=step.step_id, status=status, error=reason))
            else:
                status = StepStatus.COMPLETED
                results.append(StepResult(step_id=step.step_id, status=status, result=text))
        return tuple(results)
