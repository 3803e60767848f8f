"""Three agents that pay bills: a bookkeeper, which plans, and two deployed ones, read and pay.

read-Omar   clerk   Read the bill of Omar   → 75 to Omar
pay-Omar    payer   Pay {read-Omar}         → Paid 75 USDC to Omar
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from precompiles.outcome import is_done
from pyevm_agents.agents.run_calls import encode_run
from pyevm_agents.lifecycle.execution import RESULTS
from pyevm_agents.lifecycle.module import BaseAgentModule
from pyevm_agents.lifecycle.onchain_agent import OnchainAgent, OnchainRunError
from pyevm_agents.lifecycle.records import PlanStep, StepResult, TaskPlan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyevm_agents.lifecycle.context import AgentContext
    from pyevm_agents.lifecycle.manifest import AgentManifest
    from pyevm_agents.lifecycle.records import Task

EARLIER = re.compile(r"\{([^{}]*)\}")
"""The place of an earlier step's result in a description."""

READ_DESCRIPTION = "Read the bill of {}"
PAY_DESCRIPTION = "Pay {{{}}}"


class Bookkeeper(BaseAgentModule):
    """Plans two steps for each supplier that a goal names: read the bill, then pay the amount."""

    def __init__(
        self, manifest: AgentManifest, suppliers: Sequence[str], *, clerk: str, payer: str
    ) -> None:
        """Input: the manifest; the names of suppliers; the slugs of the agents of the steps."""
        super().__init__(manifest)
        self._suppliers = tuple(suppliers)
        self._clerk, self._payer = clerk, payer

    def can_handle(self, task: Task) -> bool:
        """Return whether the goal names a supplier."""
        return super().can_handle(task) and bool(self._list_named(task))

    def plan(self, task: Task, context: AgentContext) -> TaskPlan:
        """Return the steps for the suppliers of the goal."""
        steps: list[PlanStep] = []
        for supplier in self._list_named(task):
            read, pay = f"read-{supplier}", f"pay-{supplier}"
            steps += [
                PlanStep(
                    step_id=read,
                    description=READ_DESCRIPTION.format(supplier),
                    agent_slug=self._clerk,
                ),
                PlanStep(
                    step_id=pay,
                    description=PAY_DESCRIPTION.format(read),
                    agent_slug=self._payer,
                    depends_on=(read,),
                ),
            ]
        context.logger.info("%s plans %d steps", self.slug, len(steps))
        return TaskPlan(steps=tuple(steps))

    def _list_named(self, task: Task) -> list[str]:
        words = re.findall(r"\w+", task.goal)
        return [name for name in self._suppliers if name in words]


class ToolAnswerAgent(OnchainAgent):
    """A deployed agent whose answer is the result of the last tool.

    In a step's description, `{ID}` is the result of an earlier step.
    """

    def perform_step(self, task: Task, step: PlanStep, context: AgentContext) -> str:
        """Run the agent; return the last tool's answer.

        Raises: OnchainRunError: the run failed or used no tool, or the description names a step
                without a result.
        """
        asked = replace(step, description=fill_results(step.description, context))
        answer = super().perform_step(task, asked, context)
        made = context.session.find_write(self.address, encode_run(asked.description))
        if made is None or made.is_skipped or not is_done(answer):
            return answer
        if not made.tool_uses or made.tool_uses[-1].observation is None:
            raise OnchainRunError(f"run of {self.slug}: used no tool; it answers {answer!r:.200}")
        return made.tool_uses[-1].observation


def fill_results(description: str, context: AgentContext) -> str:
    """Return a description with the results of earlier steps in their places.

    Raises: OnchainRunError: a step has no result.
    """
    results = context.services.get(RESULTS)
    found = results if isinstance(results, dict) else {}

    def find(match: re.Match[str]) -> str:
        earlier = found.get(match[1])
        if not isinstance(earlier, StepResult) or not earlier.result:
            raise OnchainRunError(f"step {match[1]!r:.80}: has no result to go on with")
        return earlier.result

    return EARLIER.sub(find, description)
