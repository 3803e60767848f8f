"""The executor: walks a plan in the order of dependencies, one step of one agent at a time.

Dry run and execution walk alike. Steps and time are counted here, between the steps, where no agent
can avoid the count. A child run acts within the parent's session, and spends the parent's budget.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyevm_agents.abi.not_done import describe_not_done
from pyevm_agents.errors import ConfigError
from pyevm_agents.lifecycle.budget import RunStoppedError
from pyevm_agents.lifecycle.context import REHEARSE, SESSION, AgentContext
from pyevm_agents.lifecycle.module import HasDryRun
from pyevm_agents.lifecycle.policy import list_violations, select_budget
from pyevm_agents.lifecycle.records import (
    DryRunResult,
    ExecutionResult,
    StepResult,
    StepStatus,
    TaskPlan,
    describe_failures,
    order_steps,
)
from pyevm_agents.lifecycle.session import AgentSession, DivergenceError
from pyevm_agents.lifecycle.untrusted_agents import (
    AGENTS_FAILURES,
    AgentFailedError,
    ask_agent,
    describe_exception,
    is_agents_failure,
    read_answer,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyevm_agents.lifecycle.budget import BudgetMeter, ComputeBudget
    from pyevm_agents.lifecycle.manifest import AgentManifest
    from pyevm_agents.lifecycle.module import AgentModule
    from pyevm_agents.lifecycle.records import PlanStep, Task
    from pyevm_agents.lifecycle.session import RunSession

RESULTS = "results"
"""The service with the results of the steps so far, by step ID."""

CHILDREN = "children"
"""The service that starts child runs."""


class AgentLieError(RunStoppedError):
    """An agent stated something that the agent's own trace or plan contradicts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildRun:
    """A run that a step of another run started."""

    run_id: str
    parent_run_id: str
    agent_slug: str
    goal: str
    plan: TaskPlan
    steps: tuple[StepResult, ...]

    @property
    def prefix(self) -> str:
        """The beginning of the step IDs of writes: the number in the run.

        There is no run ID inside, so that a treasury makes no write again in a retry of the task.
        """
        return f"child-{self.run_id.rpartition('.')[2]}/"

    @property
    def error(self) -> str | None:
        """The reason of a failure; None on success."""
        return describe_failures(self.steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class WalkResult:
    """Statements of the agents about a walk."""

    steps: tuple[StepResult, ...]
    warnings: tuple[str, ...]
    violations: tuple[str, ...]
    receipt_ids: tuple[str, ...]
    children: tuple[ChildRun, ...]

    @property
    def error(self) -> str | None:
        """The reason of a failure; None on success."""
        return describe_failures(self.steps)


def get_child_starter(context: AgentContext) -> PlanWalker:
    """Return the service that starts child runs.

    Raises: ConfigError: the phase has no such service.
    """
    found = context.services.get(CHILDREN)
    if not isinstance(found, PlanWalker):
        raise ConfigError("services: have no child runs; only dry run and execution have them")
    return found


def fail_not_done(result: StepResult) -> StepResult:
    """Return a step's result, as a failed one if the agent answers that the step was not done.

    So no agent completes a declined step, and steps that depend on that one are skipped.
    """
    if result.status is not StepStatus.COMPLETED or not result.is_not_done:
        return result
    error = describe_not_done(result.result or "")
    return replace(result, status=StepStatus.FAILED, error=error)


@dataclass(frozen=True, slots=True, kw_only=True)
class WalkRules:
    """Rules for the agents of a walk, and for child runs."""

    limits: ComputeBudget
    """Of the host."""

    get_manifest: Callable[[str], AgentManifest]
    """Returns the manifest of an agent by its slug."""

    check_trust: Callable[[str, Task], tuple[str, ...]]
    """Returns why an agent of a child run, by its slug, is rejected."""


class PlanWalker:
    """Walks the plan of a run, and of the child runs, on one session."""

    def __init__(
        self,
        modules: Mapping[str, AgentModule],
        session: RunSession,
        *,
        is_dry_run: bool,
        rules: WalkRules,
    ) -> None:
        """Begin.

        Input:
            modules: the installed agents, by slug.
            session: everything that the agents do.
            is_dry_run: whether agents' own `dry_run` is called.
            rules: for agents and child runs.
        """
        self._modules = modules
        self._session = session
        self._is_dry_run = is_dry_run
        self._rules = rules
        self._warnings: list[str] = []
        self._violations: list[str] = []
        self._receipt_ids: list[str] = []
        self._children: list[ChildRun] = []

    def walk(self, task: Task, plan: TaskPlan, context: AgentContext) -> WalkResult:
        """Execute a plan.

        Raises: RunStoppedError: a limit, the operator, a lie, or a difference from the dry run.
        """
        steps = self._walk_steps(task, plan, context, prefix="")
        try:
            self._session.require_complete()
        except DivergenceError as error:
            reason = describe_failures(steps)
            if reason is None:
                raise
            raise DivergenceError(f"{reason}: {error}") from error
        return WalkResult(
            steps=steps,
            warnings=tuple(self._warnings),
            violations=tuple(self._violations),
            receipt_ids=self._list_receipts(),
            children=tuple(self._children),
        )

    def _list_receipts(self) -> tuple[str, ...]:
        """Return the receipts that the agents state, each once: a parent states its children's."""
        stated = dict.fromkeys(self._receipt_ids)
        known = [each for each in self._session.receipt_ids if each in stated]
        return tuple(dict.fromkeys([*known, *stated]))

    def run_child(self, task: Task, context: AgentContext) -> ChildRun:
        """Run a task of another agent within this step, on this run's budget.

        Raises: RunStoppedError: see `RunSession.write`.
        """
        session, slug = self._session, task.agent_slug
        module = self._modules.get(slug)
        if module is None:
            raise ConfigError(f"agent {slug}: not installed")
        run_id = f"{context.run_id}.{len(self._children) + 1}"
        budget = select_budget(task, self._rules.get_manifest(slug))
        if not ask_agent(slug, bool, lambda: module.can_handle(task)):
            raise ConfigError(f"agent {slug}: can't handle task {task.task_id}")
        child_context = replace(
            context,
            run_id=run_id,
            task_id=task.task_id,
            parent_run_id=context.run_id,
            compute_budget=budget.narrow(context.compute_budget),
        )
        planning = child_context.add_services(**{REHEARSE: session.rehearse})
        plan = ask_agent(slug, TaskPlan, lambda: module.plan(task, planning))
        refused = list_violations(task, plan, self._modules, self._rules.limits)
        for each in dict.fromkeys((slug, *plan.agent_slugs)):
            if each in self._modules:
                refused += self._rules.check_trust(each, task)
        if refused:
            raise ConfigError(f"child run {run_id}: {'; '.join(refused)}")
        at = len(self._children)
        unfinished = ChildRun(
            run_id=run_id,
            parent_run_id=context.run_id,
            agent_slug=slug,
            goal=task.goal,
            plan=plan,
            steps=(),
        )
        self._children.append(unfinished)  # Its own children come after it.
        meter = session.swap_meter(session.meter.create_child(budget))
        step_id = session.swap_step(None)
        try:
            steps = self._walk_steps(task, plan, child_context, prefix=unfinished.prefix)
        finally:
            session.swap_meter(meter)
            session.swap_step(step_id)
        self._children[at] = replace(unfinished, steps=steps)
        return self._children[at]

    def _walk_steps(
        self, task: Task, plan: TaskPlan, context: AgentContext, *, prefix: str
    ) -> tuple[StepResult, ...]:
        results: dict[str, StepResult] = {}
        meters: dict[str, BudgetMeter] = {}
        for step in order_steps(plan):
            failed = [
                each for each in step.depends_on if results[each].status is not StepStatus.COMPLETED
            ]
            if failed:
                error = f"depends on {', '.join(failed)}"
                status = StepStatus.SKIPPED
                results[step.step_id] = StepResult(step_id=step.step_id, status=status, error=error)
                continue
            services = {
                SESSION: AgentSession(self._session),
                RESULTS: dict(results),
                CHILDREN: self,
            }
            given = context.add_services(**services)
            with self._spend_as(meters, task, step.agent_slug):
                self._session.begin_step(prefix + step.step_id)
                results[step.step_id] = self._perform(task, plan, step, given)
                self._session.end_step()
        return tuple(results[step.step_id] for step in plan.steps)

    @contextmanager
    def _spend_as(self, meters: dict[str, BudgetMeter], task: Task, slug: str) -> Iterator[None]:
        """Spend from an agent's meter, within the run's: an agent's manifest has limits too."""
        if slug not in meters:
            budget = select_budget(task, self._rules.get_manifest(slug))
            meters[slug] = self._session.meter.create_child(budget)
        meters[slug].resume()
        before = self._session.swap_meter(meters[slug])
        try:
            yield
        finally:
            self._session.swap_meter(before)
            meters[slug].pause()

    def _perform(
        self, task: Task, plan: TaskPlan, step: PlanStep, context: AgentContext
    ) -> StepResult:
        """Let an agent do one step; return the result, or an exception as a failed one."""
        try:
            stated = self._ask_agent(step.agent_slug, task, plan.select(step), context)
        except AgentFailedError as error:
            reason = str(error)
            stated = (StepResult(step_id=step.step_id, status=StepStatus.FAILED, error=reason),)
        except AGENTS_FAILURES as error:
            if not is_agents_failure(error):
                raise
            reason = describe_exception(error, is_named=True)
            stated = (StepResult(step_id=step.step_id, status=StepStatus.FAILED, error=reason),)
        if self._session.fault is not None:  # The agent caught a fault of the host.
            raise self._session.fault
        if self._session.stop is not None:  # The agent caught what stopped the run.
            raise self._session.stop
        if [result.step_id for result in stated] != [step.step_id]:
            names = ", ".join(result.step_id for result in stated) or "none"
            raise AgentLieError(
                f"agent {step.agent_slug}: returned results of steps {names}; must be "
                f"{step.step_id}, the step of its plan"
            )
        return fail_not_done(stated[0])

    def _ask_agent(
        self, slug: str, task: Task, plan: TaskPlan, context: AgentContext
    ) -> tuple[StepResult, ...]:
        module = self._modules[slug]
        if self._is_dry_run and isinstance(module, HasDryRun):
            returned: object = module.dry_run(task, plan, context)
            simulated = read_answer(slug, DryRunResult, returned)
            self._warnings += simulated.warnings
            self._violations += simulated.policy_violations
            return simulated.steps
        result = read_answer(slug, ExecutionResult, module.execute(task, plan, context))
        self._receipt_ids += result.receipt_ids
        if not result.is_success and describe_failures(result.steps) is None:
            error = result.error or "the agent returned a failed result"
            return tuple(
                replace(step, status=StepStatus.FAILED, error=error) for step in result.steps
            )
        return result.steps
