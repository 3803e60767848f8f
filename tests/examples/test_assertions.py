"""Assertions on an agent's steps.

A failed assertion shows every step with its thought, its tokens and its gas, and marks the steps
that it is about.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

import pytest

from pyevm_agents.testing import AgentChain, Deploy, ModelStub, answer, assert_agent, use

if TYPE_CHECKING:
    from web3.contract import Contract

EXECUTOR = "0x0000000000000000000000000000000000000019"


class DeployClerk(Protocol):
    def __call__(self, name: str, *tools: Contract) -> Contract: ...


@pytest.fixture
def clerk(deploy: Deploy) -> DeployClerk:
    """Deploy an agent with tools, which may be agents."""

    def make(name: str, *tools: Contract) -> Contract:
        return deploy(
            "SimpleAgent",
            agentExecutorContract=EXECUTOR,
            modelId="default",
            name=name,
            description="Counts for you",
            inputDescription="What to count",
            basePrompt="You count what you are told to.",
            tools=list(tools),
            agentMaxIterations=4,
        )

    return make


def test_which_tools_it_used_and_with_what(
    agent_chain: AgentChain,
    deploy: Deploy,
    model: ModelStub,
    clerk: DeployClerk,
) -> None:
    agent = clerk("Clerk", deploy("CounterTool"), deploy("RevertingTool", 0))
    model.script(use("CounterTool", amount=5), use("CounterTool", amount=2), answer("It is 7."))

    receipt = agent_chain.ask(agent, "Add five, then two")

    (
        assert_agent(receipt)
        .then_used("CounterTool")
        .with_args(amount=5)
        .then_used("CounterTool")
        .with_args(amount=lambda amount: amount < 5)
        .observed(re.compile("is: 7"))
        .then_answered("It is 7.")
    )
    assert_agent(receipt).in_steps(3).did_not_use("RevertingTool").cost(less_than=6_000_000)


def test_an_agent_inside_of_another(
    agent_chain: AgentChain,
    deploy: Deploy,
    model: ModelStub,
    clerk: DeployClerk,
) -> None:
    inner = clerk("Counting Agent", deploy("CounterTool"))
    outer = clerk("Asking Agent", inner)
    model.script(
        use("Counting Agent", prompt="Add 7"),
        use("CounterTool", amount=7),
        answer("The counter is 7."),
        answer("Done."),
    )

    receipt = agent_chain.ask(outer, "Please count to seven")

    assert_agent(receipt).used("Counting Agent").observed("The counter is 7.").then_answered()
    assert_agent(receipt).of(inner).used("CounterTool").with_args(amount=7).in_steps(2)


def test_what_a_failure_shows(
    agent_chain: AgentChain,
    deploy: Deploy,
    model: ModelStub,
    clerk: DeployClerk,
) -> None:
    agent = clerk("Clerk", deploy("CounterTool"))
    model.script(use("CounterTool", amount=5), answer("Done."))
    receipt = agent_chain.ask(agent, "Add five")

    with pytest.raises(AssertionError) as failed:
        assert_agent(receipt).used("CounterTool").with_args(amount=6)

    what, but, *trace = str(failed.value).splitlines()
    assert what == "assert_agent(…).used('CounterTool').with_args(amount=6) does not hold:"
    assert but == "at step 1 amount is 5, not 6"
    assert ">   Observation  The counter is: 5" in trace
