"""A node of a program's own, whose agent deposits."""

from web3 import HTTPProvider, Web3
from pyevm_agents.local_node import NodeConfig, open_node

abi = [{"type": "function", "name": "instruct", "inputs": [{"name": "text", "type": "string"}]}]
with open_node(NodeConfig(port=0, fixture="wallet_agent")) as node:
    w3 = Web3(HTTPProvider(node.urls.http))
    wallet = w3.eth.contract(Web3.to_checksum_address(node.agents[0]), abi=abi)
    request = wallet.functions.instruct("Deposit 10 USDC into the pool")
    sent = request.transact({"from": w3.eth.accounts[0], "gas": 10_000_000})
    print(node.request("agent_traceTransaction", sent.to_0x_hex())["steps"][-1]["answer"])
