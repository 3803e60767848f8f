"""Plans: steps of agents, in the order of what they depend on."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pyevm_agents.errors import ConfigError
from pyevm_agents.lifecycle.task import require_id

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
        """Return the plan of one step alone, which is what its agent executes."""
        return replace(self, steps=(step,))


def order_steps(plan: TaskPlan) -> tuple[PlanStep, ...]:
    """Return the steps, each after those that it depends on, otherwise in the plan's order.

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
