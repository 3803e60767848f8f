"""`eth_feeHistory` of blocks without transactions and without gas."""

from __future__ import annotations

from tests.pyevm_agents.rpc.local_node import local_node


def test_blocks_without_gas_are_not_full() -> None:
    with local_node() as node:
        node.ask("evm_setBlockGasLimit", "0x0")
        node.ask("anvil_mine", "0x2")
        told = node.ask("eth_feeHistory", "0x2", "latest", [50])
    assert told["gasUsedRatio"] == [0.0, 0.0]
    assert told["reward"] == [["0x0"], ["0x0"]]
