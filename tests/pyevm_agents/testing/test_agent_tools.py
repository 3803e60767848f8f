"""The tools of a transaction's agents, for `did_not_use`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pyevm_agents.errors import ConfigError
from pyevm_agents.models import answer, use
from pyevm_agents.testing import assert_agent, faults
from pyevm_agents.testing.agent_tools import list_agent_tools, list_offered_tools
from tests.pyevm_agents.testing.agents import EXECUTOR

if TYPE_CHECKING:
    from collections.abc import Callable

    from web3.contract import Contract

    from pyevm_agents.testing.chain import AgentChain

ANSWERED = answer("Done")


@pytest.fixture
def make(agent_chain: AgentChain) -> Callable[..., Contract]:
    def deploy(name: str, *tools: Any, prompt: str = "You count.") -> Contract:  # noqa: ANN401
        return agent_chain.deploy(
            "SimpleAgent",
            agentExecutorContract=EXECUTOR,
            modelId="default",
            name=name,
            description="Counts for you",
            inputDescription="What to count",
            basePrompt=prompt,
            tools=list(tools),
            agentMaxIterations=3,
        )

    return deploy


def test_a_name_that_no_agent_has_is_refused(
    agent_chain: AgentChain, make: Callable[..., Contract]
) -> None:
    prompt = "You count.\n- Chrage: is no tool\n\nUse the following format:\n- Refund: neither"
    agent = make("Clerk", agent_chain.deploy("CounterTool"), prompt=prompt)
    agent_chain.model.script(ANSWERED)
    said = assert_agent(agent_chain.ask(agent, "Add one"))
    said.did_not_use("CounterTool").answered("Done")
    with pytest.raises(
        ConfigError,
        match=r"^did_not_use\('ConterTool'\): no agent of the transaction has a tool 'ConterTool'. "
        r"Did you mean 'CounterTool'\? The agents' tools are: CounterTool$",
    ):
        said.did_not_use("CounterTool", "ConterTool")
    for name in ("Chrage", "Refund", "Counter"):
        with pytest.raises(ConfigError, match=f"has a tool '{name}'"):
            said.did_not_use(name)


def test_tools_of_nested_agents_that_were_not_called_are_known(
    agent_chain: AgentChain, make: Callable[..., Contract]
) -> None:
    counter = agent_chain.deploy("CounterTool")
    outer = make("Boss", make("Helper", counter))
    agent_chain.model.script(ANSWERED)
    receipt = agent_chain.ask(outer, "Add one")
    assert_agent(receipt).did_not_use("Helper", "CounterTool").of(outer).did_not_use("CounterTool")
    with pytest.raises(ConfigError, match=r"tools are: Helper, CounterTool$"):
        assert_agent(receipt).did_not_use("EchoTool")
    # Of steps alone, only the prompts are known; with their chain, its contracts are, too.
    steps = agent_chain.steps(receipt)
    assert list_offered_tools(steps) == ("Helper",)
    assert_agent(steps, agent_chain).did_not_use("CounterTool")
    with pytest.raises(ConfigError, match=r"tools are: Helper$"):
        assert_agent(steps).did_not_use("CounterTool")


def test_a_tool_that_changed_its_name_is_known_by_both(
    agent_chain: AgentChain, make: Callable[..., Contract]
) -> None:
    counter = agent_chain.deploy("CounterTool")
    agent = make("Clerk", counter)
    faults.tool(agent_chain, counter, faults.changes(name="Adder"))
    agent_chain.model.script(use("CounterTool", amount=1), ANSWERED)
    said = assert_agent(agent_chain.ask(agent, "Add one")).of("SimpleAgent")
    said.did_not_use("Adder")
    with pytest.raises(AssertionError, match="CounterTool was used"):
        said.did_not_use("CounterTool")


def test_a_run_without_a_prompt_is_exempt(
    agent_chain: AgentChain, make: Callable[..., Contract]
) -> None:
    agent = make("Clerk", agent_chain.deploy("CounterTool"))
    agent_chain.model.script(use("CounterTool", amount=1))
    receipt = agent_chain.ask(agent, "Add one", gas=200_000)
    assert receipt["status"] == 0
    assert_agent(receipt).did_not_use("Chrage").failed()


def test_contracts_that_are_no_agents_have_no_tools(
    agent_chain: AgentChain, make: Callable[..., Contract]
) -> None:
    token = agent_chain.deploy("DemoToken", "Gold", "GLD", 2, 100)
    agent = make("Clerk", token, agent_chain.deploy("CounterTool"))
    addresses = [bytes.fromhex(one.address[2:]) for one in (token, agent)]
    assert "CounterTool" in list_agent_tools(agent_chain.chain, addresses)  # type: ignore[arg-type]


def test_an_agent_is_named_as_it_was_deployed(
    agent_chain: AgentChain, make: Callable[..., Contract]
) -> None:
    counter = agent_chain.deploy("CounterTool")
    helper = make("Helper", counter)
    boss = make("Boss", helper)
    agent_chain.model.script(use("Helper", prompt="Add"), ANSWERED, ANSWERED)
    said = assert_agent(agent_chain.ask(boss, "Add one"))
    with pytest.raises(ConfigError, match="2 agents with steps were deployed as 'SimpleAgent': 0x"):
        said.of("SimpleAgent")
    with pytest.raises(ConfigError, match=r"deployed contracts: CounterTool, SimpleAgent$"):
        said.of("Biller")
    with pytest.raises(AssertionError, match=r"of\('CounterTool'\) .*\n.*: SimpleAgent 0x"):
        said.of("CounterTool")
    said.of(helper).in_steps(1)


def test_an_answer_with_a_name_of_the_base_prompt_says_why_it_differs(
    agent_chain: AgentChain, make: Callable[..., Contract]
) -> None:
    bob = agent_chain.accounts[1]
    agent = make("Clerk", agent_chain.deploy("CounterTool"), prompt=f"You count.\nBob = {bob}")
    agent_chain.model.script(answer("Charged Bob."))
    said = assert_agent(agent_chain.ask(agent, "Charge Bob"))
    said.answered(f"Charged {bob}.")
    with pytest.raises(
        AssertionError, match=r"model generated 'Charged Bob\.': names that the base prompt gives"
    ):
        said.answered("Charged Bob.")
