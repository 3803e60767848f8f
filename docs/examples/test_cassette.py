"""A cassette in place of the model: docs/testing.md.

The cassette is that of tests/examples/test_cassette.py: the same chain and the same question.
"""

from dataclasses import dataclass

from web3.contract import Contract

import pytest
from pyevm_agents.testing import assert_agent

EXECUTOR = "0x0000000000000000000000000000000000000019"


@dataclass(frozen=True)
class Wallet:
    agent: Contract
    usdc: Contract


@pytest.fixture
def wallet(deploy):
    usdc = deploy("DemoToken", "USD Coin", "USDC", 6, 10**12)
    agent = deploy(
        "WalletAgent",
        EXECUTOR,
        "default",
        deploy("LiquidityPool"),
        f"You manage a wallet.\nUSDC = {usdc.address}",
        deploy("TokenInfoTool"),
    )
    usdc.functions.transfer(agent.functions.account().call(), 1_000 * 10**6).transact()
    return Wallet(agent, usdc)


@pytest.mark.cassette
def test_the_model_deposits(agent_chain, wallet):
    sent = wallet.agent.functions.instruct("Deposit 10 USDC into the pool").transact()
    assert_agent(sent).used("DeployTool").with_args(asset=wallet.usdc, amount=10).then_answered()
