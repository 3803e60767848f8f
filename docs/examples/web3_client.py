"""A web3.py client of a node: docs/clients.md."""

from web3 import HTTPProvider, Web3

w3 = Web3(HTTPProvider("http://127.0.0.1:8545"))
abi = [
    {
        "type": "function",
        "name": "instruct",
        "stateMutability": "nonpayable",
        "inputs": [{"name": "prompt", "type": "string"}],
        "outputs": [{"name": "answer", "type": "string"}],
    }
]
agent = w3.eth.contract("0xCf7Ed3AccA5a467e9e704C703E8D87F634fB0Fc9", abi=abi)

sent = agent.functions.instruct("Deposit 10 USDC").transact({"from": w3.eth.accounts[0]})
receipt = w3.eth.wait_for_transaction_receipt(sent)
trace = w3.manager.request_blocking("agent_traceTransaction", [sent])
print(receipt["status"], [step["action"] or step["answer"] for step in trace["steps"]])
