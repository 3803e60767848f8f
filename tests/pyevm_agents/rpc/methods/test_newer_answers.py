"""Answers that execution-apis has since 2026: gas before refunds, capabilities, traces."""

from __future__ import annotations

import pytest

from pyevm_agents.rpc.errors import RpcError
from tests.pyevm_agents.rpc.local_node import FIRST, STRANGER, local_node

# It clears slot 0, for a refund of 4,800 gas.
CLEARS = {STRANGER: {"code": "0x5f5f5500", "state": {"0x" + "00" * 32: "0x" + "01".rjust(64, "0")}}}


def simulate(data: str) -> dict[str, str]:
    call = {"from": FIRST, "to": STRANGER, "input": data}
    blocks = [{"calls": [call], "stateOverrides": CLEARS}]
    with local_node() as node:
        (block,) = node.ask("eth_simulateV1", {"blockStateCalls": blocks}, "latest")
    (result,) = block["calls"]
    return dict(result)


def test_a_simulated_call_has_its_gas_before_refunds() -> None:
    plain = simulate("0x")
    used = 21_000 + 2 * 2 + 2_100 + 2_900
    assert int(plain["maxUsedGas"], 16) == used
    assert int(plain["gasUsed"], 16) == used - 4_800


def test_the_floor_of_calldata_counts() -> None:
    with_data = simulate("0x" + "ff" * 1_000)
    floor = 21_000 + 40 * 1_000
    assert int(with_data["gasUsed"], 16) == floor
    assert int(with_data["maxUsedGas"], 16) == floor


def test_the_node_serves_all_of_its_history() -> None:
    with local_node() as node:
        node.send()
        told = node.ask("eth_capabilities")
        latest = node.block("latest")
        assert told.pop("head") == {"number": "0x1", "hash": latest["hash"]}
        assert set(told) == {"state", "tx", "logs", "receipts", "blocks", "stateproofs"}
        assert all(kind == {"disabled": False, "oldestBlock": "0x0"} for kind in told.values())


def test_genesis_is_not_traceable() -> None:
    with local_node() as node:
        with pytest.raises(RpcError, match="genesis is not traceable") as told:
            node.ask("debug_traceBlockByNumber", "0x0")
        assert told.value.code == -32000
        assert node.ask("eth_getBlockByNumber", "0x0", True)["transactions"] == []  # noqa: FBT003 - JSON-RPC has places


def test_a_transaction_has_its_blocks_time() -> None:
    with local_node() as node:
        sent = node.send()
        block = node.block("latest")
        assert node.ask("eth_getTransactionByHash", sent)["blockTimestamp"] == block["timestamp"]
        node.mine_by_hand()
        assert node.ask("eth_getTransactionByHash", node.send())["blockTimestamp"] is None
