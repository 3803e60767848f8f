"""An agent of version 1: docs/versions.md."""

from pyevm_agents.testing import answer, assert_agent, use

EXECUTOR = "0x0000000000000000000000000000000000000019"


def test_a_version_1_agent_counts(agent_chain):
    counter = agent_chain.deploy("CounterToolV1")
    clerk = agent_chain.deploy(
        "SimpleAgentV1",
        agentExecutorContract=EXECUTOR,
        modelId="default",
        name="Clerk",
        description="You count what you are told to.",
        inputDescription="What to count",
        tools=[counter],
        agentMaxIterations=5,
    )
    agent_chain.model.script(use("CounterToolV1", amount=5), answer("It is 5."))
    receipt = agent_chain.ask(clerk, "Add five")
    assert_agent(receipt).used("CounterToolV1").observed("The counter is: 5").answered("It is 5.")
