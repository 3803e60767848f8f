"""A cassette: generations of the real model, replayed without it.

    pytest --record tests/examples/test_cassette.py     # runs the model, for some seconds
    pytest tests/examples/test_cassette.py              # replays

Commit `cassettes/test_cassette/`. If a prompt changes, the test fails, shows the changed lines and
the command that records again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.testing import AgentChain, Deploy, assert_agent

if TYPE_CHECKING:
    from web3.contract import Contract

EXECUTOR = "0x0000000000000000000000000000000000000019"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wallet:
    """The ERC's wallet agent, whose account has 1,000 USDC."""

    agent: Contract
    account: str
    usdc: Contract


@pytest.fixture
def wallet(deploy: Deploy) -> Wallet:
    """Deploy a wallet and fund it."""
    usdc = deploy("DemoToken", "USD Coin", "USDC", 6, 10**12)
    agent = deploy(
        "WalletAgent",
        EXECUTOR,
        "default",
        deploy("LiquidityPool"),
        f"You manage a wallet.\nUSDC = {usdc.address}",
        deploy("TokenInfoTool"),
    )
    account = agent.functions.account().call()
    usdc.functions.transfer(account, 1_000 * 10**6).transact()
    return Wallet(agent=agent, account=account, usdc=usdc)


@pytest.mark.cassette
def test_the_model_deposits_what_it_is_told_to(agent_chain: AgentChain, wallet: Wallet) -> None:
    sent = wallet.agent.functions.instruct("Deposit 10 USDC into the pool").transact()

    assert_agent(sent).used("DeployTool").with_args(asset=wallet.usdc, amount=10).then_answered()
    assert wallet.usdc.functions.balanceOf(wallet.account).call() == 990 * 10**6
    assert agent_chain.w3.eth.block_number > 0
