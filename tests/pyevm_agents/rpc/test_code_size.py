"""The size limit of a contract's code: in blocks, calls, estimates, simulations and traces."""

from __future__ import annotations

import pytest

from pyevm_agents.config import ChainConfig
from pyevm_agents.rpc.errors import RpcError
from tests.pyevm_agents.rpc.local_node import FIRST, LocalNode, local_node

LIMIT = 30_000
GAS = 25_000_000


def creation_of(size: int) -> dict[str, object]:
    """Return a transaction that creates a contract of `size` zero bytes."""
    return {"from": FIRST, "data": f"0x62{size:06x}5ff3", "gas": hex(GAS)}


def read_code_size(node: LocalNode, sent: str) -> int:
    receipt = node.ask("eth_getTransactionReceipt", sent)
    if receipt["status"] == "0x0":
        return 0
    code = node.ask("eth_getCode", receipt["contractAddress"], "latest")
    return len(bytes.fromhex(code[2:]))


@pytest.mark.parametrize("limit", [24_576, LIMIT])
def test_a_contract_has_at_most_the_limit(limit: int) -> None:
    most, more = creation_of(limit), creation_of(limit + 1)
    with local_node(ChainConfig(code_size_bytes=limit)) as node:
        assert read_code_size(node, node.ask("eth_sendTransaction", most)) == limit
        too_large = node.ask("eth_sendTransaction", more)
        assert read_code_size(node, too_large) == 0
        trace = node.ask("debug_traceTransaction", too_large, {"tracer": "callTracer"})
        assert trace["error"] == "max code size exceeded"
        assert len(node.ask("eth_call", most, "latest")) == 2 + 2 * limit
        assert node.number("eth_estimateGas", most) < GAS
        for method in ("eth_call", "eth_estimateGas"):
            with pytest.raises(RpcError):
                node.ask(method, more, "latest")


@pytest.mark.parametrize("limit", [24_576, LIMIT])
def test_initcode_has_at_most_twice_the_limit(limit: int) -> None:
    def build(size: int) -> dict[str, object]:
        return {"from": FIRST, "data": "0x" + "00" * size, "gas": hex(GAS)}

    most, more = build(2 * limit), build(2 * limit + 1)
    message = f"max initcode size exceeded: code size {2 * limit + 1},? limit {2 * limit}"
    with local_node(ChainConfig(code_size_bytes=limit)) as node:
        sent = node.ask("eth_sendTransaction", most)
        assert node.ask("eth_getTransactionReceipt", sent)["status"] == "0x1"
        for method in ("eth_sendTransaction", "eth_call", "eth_estimateGas", "debug_traceCall"):
            with pytest.raises(RpcError, match=message):
                node.ask(method, more, *(["latest"] if method != "eth_sendTransaction" else []))
        with pytest.raises(RpcError, match=message):
            node.ask("eth_simulateV1", {"blockStateCalls": [{"calls": [more]}]}, "latest")
        simulated = node.ask("eth_simulateV1", {"blockStateCalls": [{"calls": [most]}]}, "latest")
        assert simulated[0]["calls"][0]["status"] == "0x1"
