"""Logs of a chain of this process, as a client of a node reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.client.logs import MinedLog

if TYPE_CHECKING:
    from eth.abc import BlockAPI, ReceiptAPI


def list_logs(block: BlockAPI, index: int, receipt: ReceiptAPI) -> list[MinedLog]:
    """Return the logs of a block's transaction, in order.

    Input: the block; the place of the transaction there, from 0; the transaction's receipt.
    """
    return [
        MinedLog(
            address=bytes(log.address),
            topics=tuple(topic.to_bytes(32) for topic in log.topics),
            data=bytes(log.data),
            block_number=block.number,
            block_hash=bytes(block.hash),
            transaction_hash=bytes(block.transactions[index].hash),
        )
        for log in receipt.logs
    ]
