"""A plain node of a program's own, asked over HTTP."""

from web3 import HTTPProvider, Web3

from pyevm_agents.local_node import NodeConfig, open_node

with open_node(NodeConfig(port=0, chain_id=5, models=())) as node:
    w3 = Web3(HTTPProvider(node.urls.http))
    print(w3.eth.chain_id, node.chain.head.block_number)  # 5 0
