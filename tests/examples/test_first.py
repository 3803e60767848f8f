"""A minimal test of an agent, with a scripted model and two contracts of this package.

The fixtures are those of this package's pytest plugin. `deploy` finds other contracts by name in
Foundry's `out/` and Hardhat's `artifacts/`.
"""

from __future__ import annotations

from pyevm_agents.testing import AgentChain, Deploy, ModelStub, answer, use

EXECUTOR = "0x0000000000000000000000000000000000000019"


def test_an_agent_uses_its_tool(agent_chain: AgentChain, deploy: Deploy, model: ModelStub) -> None:
    counter = deploy("CounterTool")
    agent = deploy(
        "SimpleAgent",
        agentExecutorContract=EXECUTOR,
        modelId="default",
        name="Clerk",
        description="Counts for you",
        inputDescription="What to count",
        basePrompt="You count what you are told to.",
        tools=[counter],
        agentMaxIterations=3,
    )
    model.script(use("CounterTool", amount=5), answer("It is 5 now."))

    agent_chain.ask(agent, "Add five to the counter")

    assert counter.functions.number().call() == 5
