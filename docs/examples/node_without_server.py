"""A node without a port: web3.py calls it in the process."""

from web3 import Web3

from pyevm_agents.local_node import NodeConfig, open_node
from pyevm_agents.rpc.web3_provider import AgentProvider

INSTRUCT = {"type": "function", "name": "instruct", "inputs": [{"name": "text", "type": "string"}]}
config = NodeConfig(fixture="wallet_agent", models=())  # the recording's generations

with open_node(config, serve=False) as node:
    w3 = Web3(AgentProvider(node.service))
    wallet = w3.eth.contract(Web3.to_checksum_address(node.agents[0]), abi=[INSTRUCT])
    request = wallet.functions.instruct("Deposit 10 USDC into the pool")
    sent = request.transact({"from": w3.eth.accounts[0], "gas": 10_000_000})
    assert w3.eth.get_transaction_receipt(sent)["status"] == 1
    steps = node.request("agent_traceTransaction", sent.to_0x_hex())["steps"]
    assert [step["action"] for step in steps] == ["DeployTool", None]
