"""Assertions on the steps of agents: docs/testing.md."""

import re

from pyevm_agents.testing import answer, assert_agent, use

EXECUTOR = "0x0000000000000000000000000000000000000019"


def deploy_clerk(deploy, *tools, name="Clerk"):
    return deploy("SimpleAgent", EXECUTOR, "default", name, "Counts", "What", "Count.", tools, 4)


def test_assertions(agent_chain, deploy, model):
    inner = agent = deploy_clerk(deploy, deploy("CounterTool"), deploy("RevertingTool", 0))
    model.script(use("CounterTool", amount=5), use("CounterTool", amount=2), answer("It is 7."))
    receipt = agent_chain.ask(agent, "Add five, then two")  # sender=, gas=, value=

    (
        assert_agent(receipt)  # a receipt, a hash, or steps
        .then_used("CounterTool")  # the first step
        .with_args(amount=5)
        .then_used("CounterTool")  # the same agent's next step
        .with_args(amount=lambda amount: amount < 5)
        .observed(re.compile("is: 7"))  # the tool's answer
        .then_answered("It is 7.")
    )
    assert_agent(receipt).in_steps(3).did_not_use("RevertingTool").cost(less_than=6_000_000)
    assert_agent(receipt).of(inner).used("CounterTool")  # one agent alone, nested ones too
