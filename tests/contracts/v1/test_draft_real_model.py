"""Version 1 on the real model: the draft's wallet, and an agent with tools of both versions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from eth_utils import to_checksum_address

from pyevm_agents.testing import AgentChain
from tests.contracts.plain_evm import ZERO
from tests.contracts.plain_evm import text_input as text_input_v2
from tests.contracts.v1.draft import selector, text_input

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
    token = chain.deploy("DemoToken", "USD Coin", "USDC", 6, 50)
    balance = chain.deploy(
        "ContractToolV1",
        *("ViewBalance", "Shows the balance of an account", token.address),
        *(selector("balanceOf(address)"), "balanceOf(address account) returns (uint256)"),
    ).address
    counter = chain.deploy("CounterTool").address
    adapter, adapted = ("ToolV2AsV1", counter) if version == 1 else ("ToolV1AsV2", balance)
    wrapped = chain.deploy(adapter, adapted, ZERO).address
    tools = [balance, wrapped] if version == 1 else [wrapped, counter]
    prompt = f"You count and look up balances.\nALICE = {chain.accounts[0]}"
    texts = (MODEL, "Counting Agent", prompt, "what to do")
    agent = (
        chain.deploy("SimpleAgentV1", EXECUTOR, *texts, tools, 5)
        if version == 1
        else chain.deploy("SimpleAgent", EXECUTOR, *texts, prompt, tools, 5)
    )
    question = "Add 7 to the counter, then view the balance of ALICE"
    given = text_input(question) if version == 1 else text_input_v2(question)
    steps = chain.steps(agent.functions.run(given, ZERO).transact())
    assert [step.observation for step in steps] == ["The counter is: 7", "50", None]
