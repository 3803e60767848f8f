"""An agent for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyevm_agents.testing.chain import AgentChain

EXECUTOR = "0x0000000000000000000000000000000000000019"


def clerk(chain: AgentChain, *tools: Any, steps: int = 5) -> Any:  # noqa: ANN401 - web3 Contracts
    """Deploy an agent with tools; return it."""
    return chain.deploy(
        "SimpleAgent",
        agentExecutorContract=EXECUTOR,
        modelId="default",
        name="Clerk",
        description="Counts for you",
        inputDescription="What to count",
        basePrompt="You count what you are told to.",
        tools=list(tools),
        agentMaxIterations=steps,
    )
