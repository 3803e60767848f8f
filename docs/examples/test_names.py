"""Names of addresses in a script: docs/testing.md."""

from pyevm_agents.testing import answer, assert_agent, use


def test_bob_is_paid(agent_chain, deploy, model, accounts):
    usdc = deploy("DemoToken", "USD Coin", "USDC", 6, 10**9)
    purse = deploy("GuardedPurse", token=usdc, limit=100)
    agent = deploy(
        "SimpleAgent",
        agentExecutorContract="0x0000000000000000000000000000000000000019",
        modelId="default",
        name="Payer",
        description="Pays bills",
        inputDescription="What to pay",
        basePrompt=f"You pay bills.\n\nBob = {accounts[1]}",
        tools=[purse],
        agentMaxIterations=3,
    )
    usdc.functions.transfer(purse.address, 10**9).transact()
    purse.functions.setAgent(agent.address).transact()
    purse.functions.addPayee(accounts[1]).transact()
    model.script(use("Pay", to="Bob", amount=1), answer("Paid Bob."))

    receipt = agent_chain.ask(agent, "Pay Bob 1 USDC")

    assert_agent(receipt).used("Pay").with_args(to=accounts[1], amount=1)
    assert_agent(receipt).answered(f"Paid {accounts[1]}.")  # not "Paid Bob."
