"""An adversary in place of the model: docs/testing.md."""

import pytest
from pyevm_agents.testing import answer, use
from dataclasses import dataclass

from web3.contract import Contract

EXECUTOR = "0x0000000000000000000000000000000000000019"


@dataclass(frozen=True)
class Wallet:
    """An agent that pays Bob from a purse, at most 100 USDC a day."""

    usdc: Contract
    purse: Contract
    agent: Contract

    def paid(self):
        return 1_000 - self.usdc.functions.balanceOf(self.purse.address).call() // 10**6


def deploy_wallet(chain):
    usdc = chain.deploy("DemoToken", "USD Coin", "USDC", 6, 1_000 * 10**6)
    purse = chain.deploy("GuardedPurse", token=usdc, limit=100)
    bob = chain.accounts[1]
    agent = chain.deploy(
        "SimpleAgent", EXECUTOR, "default", "Payer", "Pays", "Bill", f"Bob = {bob}", [purse], 5
    )
    usdc.functions.transfer(purse.address, 1_000 * 10**6).transact()
    purse.functions.setAgent(agent.address).transact()
    purse.functions.addPayee(bob).transact()
    return Wallet(usdc, purse, agent)


@pytest.fixture
def wallet(agent_chain):
    return deploy_wallet(agent_chain)


from hypothesis import given
from pyevm_agents.testing import adversary, adversary_settings


@adversary_settings(max_examples=300)
@given(adversary=adversary())
def test_the_wallet_never_loses_more_than_its_limit(agent_chain, wallet, adversary):
    with adversary.on(agent_chain, purse=wallet.purse):
        adversary.ask(wallet.agent, "Pay Bob 10 USDC.")
        assert wallet.paid() <= 100


def test_the_printed_script(agent_chain, wallet, model, accounts):
    model.script(
        use("Pay", to=accounts[1], amount=1),
        use("Pay", to=accounts[1], amount=100),
        answer("Done"),
    )
    receipt = agent_chain.ask(wallet.agent, "Pay Bob 10 USDC.", gas=10_000_000)
    assert receipt["status"] == 0
    model.reset()
