"""Version 1 on the real model: the draft's wallet, and an agent with tools of both versions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from eth_utils import to_checksum_address

from pyevm_agents.testing import AgentChain
from tests.contracts.plain_evm import ZERO
from tests.contracts.plain_evm import text_input as text_input_v2
from tests.contracts.v1.draft import text_input

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow

EXECUTOR = "0x" + "00" * 19 + "19"
MODEL = "llama_model_3"
UNIT = 10**6


@pytest.fixture(scope="module")
def chain() -> Iterator[AgentChain]:
    with AgentChain() as chain:
        chain.model.use_model(chain.genesis.weights())
        yield chain


def test_the_wallet_of_the_draft_deposits_and_withdraws(chain: AgentChain) -> None:
    token = chain.deploy("DemoToken", "USD Coin", "USDC", 6, 1_000 * UNIT)
    pool = chain.deploy("LiquidityPool")
    names = f"USDC = {to_checksum_address(token.address)}"
    agent = chain.deploy("WalletAgentV1", EXECUTOR, MODEL, pool.address, names)
    account = agent.functions.account().call()
    token.functions.transfer(account, 100 * UNIT).transact()
    for instruction, left in (("Deploy 10 USDC", 90), ("Withdraw 4 USDC", 94)):
        agent.functions.instruct(instruction).transact()
        assert token.functions.balanceOf(account).call() == left * UNIT


@pytest.mark.parametrize("version", [1, 2])
def test_an_agent_uses_tools_of_both_versions(chain: AgentChain, version: int) -> None:
    """One transaction: a tool of the agent's version and an adapted one of the other."""
    tools = [chain.deploy("CounterToolV1").address, chain.deploy("CounterTool").address]
    adapter = ("ToolV2AsV1", tools[1]) if version == 1 else ("ToolV1AsV2", tools[0])
    adapted = chain.deploy(adapter[0], adapter[1], ZERO).address
    used = [tools[0], adapted] if version == 1 else [adapted, tools[1]]
    prompt = "You count. Use the tools to add numbers to the counters."
    texts = (MODEL, "Counting Agent", prompt, "what to count")
    agent = (
        chain.deploy("SimpleAgentV1", EXECUTOR, *texts, used, 5)
        if version == 1
        else chain.deploy("SimpleAgent", EXECUTOR, *texts, prompt, used, 5)
    )
    question = "Add 7 with CounterToolV1 and add 5 with CounterTool"
    given = text_input(question) if version == 1 else text_input_v2(question)
    steps = chain.steps(agent.functions.run(given, ZERO).transact())
    assert [step.observation for step in steps[:2]] == ["The counter is: 7", "The counter is: 5"]
