"""A treasury whose tokens an agent spends that nobody else may run: docs/lifecycle.md."""

from pathlib import Path

from web3 import HTTPProvider, Web3
from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.local_node import NodeConfig, open_node

EXECUTOR = "0x0000000000000000000000000000000000000019"
OMAR = "0x00000000000000000000000000000000000004a6"
UNIT = 10**6
RUN = "0x" + load_artifact("OwnedAgent").encode_call("run", ([], b""), bytes(20))[:4].hex()
PROMPT = "You pay bills. Use pay_bill to pay an amount to a supplier."


def send(call):
    """Send a transaction of the owner; return its receipt."""
    return w3.eth.wait_for_transaction_receipt(call.transact({"from": owner}))


def deploy(name, *arguments):
    """Deploy a bundled contract; return it."""
    artifact = load_artifact(name)
    made = w3.eth.contract(abi=artifact.abi, bytecode=artifact.bytecode).constructor(*arguments)
    return w3.eth.contract(send(made)["contractAddress"], abi=artifact.abi)


with open_node(NodeConfig(port=0, state_dir=Path("runs/chain"), registries="testnet")) as node:
    w3 = Web3(HTTPProvider(node.urls.http))
    owner = w3.eth.accounts[0]
    # The treasury's owner, who is the operator as well, and its tokens.
    token = deploy("DemoToken", "Dollar", "USDC", 6, 1_000_000 * UNIT)
    treasury = deploy("RunTreasury", owner, [])
    send(token.functions.transfer(treasury.address, 2_000 * UNIT))
    # A book of bills that pulls tokens, by the treasury's approval. Only its tool pays.
    book = deploy("BillBook", owner, token.address, treasury.address)
    send(book.functions.add("Omar", Web3.to_checksum_address(OMAR), 75 * UNIT))
    tool = deploy("PayBillTool", book.address)
    # The agent's owner is the treasury: nobody else may run it.
    texts = ["payer", "Pays bills", "what to do", PROMPT]
    agent = deploy("OwnedAgent", treasury.address, EXECUTOR, "default", *texts, [tool.address], 3)
    send(book.functions.setAgent(agent.address, tool.address))
    # A task may spend 500 USDC, all of it by this agent; every write is confirmed.
    send(treasury.functions.setOperator(owner, True))
    send(treasury.functions.setLimits(10, 5, True))
    send(treasury.functions.setAsset(token.address, 500 * UNIT, 0))
    send(treasury.functions.setSelector(agent.address, RUN, True))
    send(treasury.functions.setTargetCap(agent.address, token.address, 500 * UNIT))
    send(treasury.functions.approve(token.address, book.address, 500 * UNIT))
    print("--agent", f"payer={agent.address}", "--treasury", treasury.address)
