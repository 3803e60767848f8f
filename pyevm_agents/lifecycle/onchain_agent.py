"""A deployed agent of the ERC as an agent of the lifecycle.

As the coordinator of a task, the agent makes the plan: the agent is run on a draft, and each tool
that the model uses there becomes a step, then the answer. An agent that is not done there has no
plan, and nothing is executed. The first step to be executed runs the agent in one transaction, and
each step is the agent's act in that place. An act that differs from the plan is a failed step. In
another agent's plan, the agent answers the step's description; if not done, the step fails.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth_abi import decode
from eth_abi.exceptions import DecodingError

from precompiles.outcome import is_done
from pyevm_agents.abi.not_done import describe_not_done, find_not_done
from pyevm_agents.agents.run_calls import encode_run
from pyevm_agents.errors import AgentsError, NotDoneError
from pyevm_agents.lifecycle.module import BaseAgentModule
from pyevm_agents.lifecycle.records import MAX_DESCRIPTION_CHARACTERS, PlanStep, TaskPlan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyevm_agents.lifecycle.context import AgentContext
    from pyevm_agents.lifecycle.manifest import AgentManifest
    from pyevm_agents.lifecycle.records import Task
    from pyevm_agents.lifecycle.run_trace import ChainToolUse
    from pyevm_agents.lifecycle.session import WriteOutcome

ANSWER_STEP = "answer"
"""The last step of its plan."""

ANSWER = "Answer from what the tools returned"


class OnchainRunError(AgentsError):
    """The agent's run failed, or differed from the plan."""


class OnchainAgent(BaseAgentModule):
    """An `IERCAgent` at an address."""

    def __init__(
        self,
        manifest: AgentManifest,
        address: bytes,
        *,
        runner: bytes | None = None,
    ) -> None:
        """Describe a deployed agent.

        Input:
            manifest: the agent's.
            address: of its contract.
            runner: caller of the agent while it plans, such as the treasury; None for the run's
                own account.
        """
        super().__init__(manifest)
        self.address = address
        self._runner = runner

    def plan(self, task: Task, context: AgentContext) -> TaskPlan:
        """Return the agent's own steps, from a rehearsal on the run's draft.

        Raises: NotDoneError: the agent does not do the task there. OnchainRunError: the run failed
                there.
        """
        trace = context.rehearse(self.address, encode_run(task.goal), self._runner)
        answer = read_answer(trace.output, is_success=trace.is_success)
        if answer is None:
            raise OnchainRunError(f"plan of {self.slug}: {trace.failure}")
        if not is_done(answer):
            told = describe_not_done(answer).rstrip(".")
            raise NotDoneError(f"plan of {self.slug}: {told}; change the goal", answer)
        context.logger.info("%s plans %d tool uses", self.slug, len(trace.tool_uses))
        return self._build_plan(trace.tool_uses)

    def _build_plan(self, uses: Sequence[ChainToolUse]) -> TaskPlan:
        steps: list[PlanStep] = []
        described = [(name_step(place), describe_use(use)) for place, use in enumerate(uses)]
        for step_id, description in [*described, (ANSWER_STEP, ANSWER)]:
            before = (steps[-1].step_id,) if steps else ()
            steps.append(
                PlanStep(
                    step_id=step_id,
                    description=description,
                    agent_slug=self.slug,
                    depends_on=before,
                )
            )
        return TaskPlan(steps=tuple(steps))

    def perform_step(self, task: Task, step: PlanStep, context: AgentContext) -> str:
        """Run the agent unless an earlier step did; return the agent's act in place of the step.

        Output: of an agent that is not done, the answer: no step completes with that.
        Raises: OnchainRunError: the run failed, or differs from the plan.
        """
        is_own = task.agent_slug == self.slug
        outcome = self._run_once(task.goal if is_own else step.description, context)
        if outcome.is_skipped:
            return "done by an earlier run of the task"
        answer = read_answer(outcome.output, is_success=outcome.is_success)
        if answer is None:
            raise OnchainRunError(f"run of {self.slug}: {outcome.failure}")
        if not is_done(answer) or not is_own or step.step_id == ANSWER_STEP:
            return answer
        return self._read_use(step, outcome.tool_uses)

    def _run_once(self, question: str, context: AgentContext) -> WriteOutcome:
        data = encode_run(question)
        made = context.session.find_write(self.address, data)
        return context.session.write(self.address, data) if made is None else made

    def _read_use(self, step: PlanStep, uses: Sequence[ChainToolUse]) -> str:
        for place, use in enumerate(uses):
            if name_step(place) == step.step_id and describe_use(use) == step.description:
                return use.observation or ""
        raise OnchainRunError(f"run of {self.slug}: did not use {step.description!r:.80}")


def read_answer(output: bytes, *, is_success: bool) -> str | None:
    """Return the answer of an agent's run, also of one that the agent undid as not done.

    Input:  the output of `run`, or the revert data.
    Output: None if the run failed for another reason.
    Raises: OnchainRunError: the output is no run's.
    """
    return decode_answer(output) if is_success else find_not_done(output)


def decode_answer(output: bytes) -> str:
    """Return the answer in the output of an agent's `run`.

    Raises: OnchainRunError: no output of a run.
    """
    try:
        _, answer = decode(["int256", "string"], output)
    except (DecodingError, UnicodeDecodeError, OverflowError) as error:
        raise OnchainRunError(
            f"output of {len(output)} bytes: not that of an agent's run"
        ) from error
    return str(answer)


def name_step(place: int) -> str:
    """Return the ID of the step at a place of an agent's run, from 0 on."""
    return f"step-{place + 1}"


def describe_use(use: ChainToolUse) -> str:
    """Return the description of a step that uses a tool."""
    return f"{use.name} {use.arguments}"[:MAX_DESCRIPTION_CHARACTERS]
