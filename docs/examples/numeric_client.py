"""A web3.py client that evaluates a numeric model: docs/models.md."""

from web3 import Web3

ABI = [
    {
        "type": "function",
        "name": "runModel",
        "stateMutability": "view",
        "inputs": [{"name": "modelId", "type": "string"}, {"name": "input", "type": "int256[]"}],
        "outputs": [{"name": "output", "type": "int256[]"}],
    }
]
w3 = Web3(Web3.HTTPProvider("http://127.0.0.1:8545"))
models = w3.eth.contract("0x000000000000000000000000000000000000001a", abi=ABI)
returns = [1_000 * (-1) ** day for day in range(20)]  # 0.1 % up, 0.1 % down, …
print(models.functions.runModel("risk", returns).call())  # [981]: a volatility of 0.0981 %
