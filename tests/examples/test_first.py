"""The shortest useful test of an agent: it is scripted, so it takes milliseconds.

`agent_chain`, `deploy`, `model` and `w3` come with `pip install pyevm-agents[test]`. The contracts
are this package's own; yours are found by name in Foundry's `out/` or Hardhat's `artifacts/`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyevm_agents.testing import AgentChain, ModelStub, answer, use

if TYPE_CHECKING:
    from collections.abc import Callable

EXECUTOR = "0x0000000000000000000000000000000000000019"


def test_an_agent_uses_its_tool(
    agent_chain: AgentChain, deploy: Callable[..., Any], model: ModelStub
) -> None:
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
