"""Scripts in place of the model: docs/testing.md."""

from pyevm_agents.testing import answer, use

EXECUTOR = "0x0000000000000000000000000000000000000019"


def test_scripts(agent_chain, deploy, model):
    token = deploy("DemoToken", "USD Coin", "USDC", 6, 10**12)
    wallet = deploy(
        "WalletAgent",
        EXECUTOR,
        "default",
        deploy("LiquidityPool"),
        f"You manage a wallet.\nUSDC = {token.address}",
        deploy("TokenInfoTool"),
    )
    token.functions.transfer(wallet.functions.account().call(), 10**9).transact()

    deposit = use("DeployTool", asset=token, amount=10), answer("done")

    model.script(*deposit)  # steps, in order
    agent_chain.ask(wallet, "Deposit 10 USDC")

    model.when(r"^Deposit", *deposit)  # for questions that match
    agent_chain.ask(wallet, "Deposit 10 USDC again")

    model.respond(lambda request: answer("All is deposited."))  # a function
    agent_chain.ask(wallet, "Is all deposited?")

    model.use_model(agent_chain.genesis.weights())  # any language model, such as the real one
    model.unchecked(" I am\nbroken")  # text outside of the grammar
    model.reset()
