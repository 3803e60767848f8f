"""`debug_getRaw*`: blocks, headers, receipts and transactions as the bytes that are hashed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import rlp

from pyevm_agents.rpc import serializers
from pyevm_agents.rpc.method_table import Table
from pyevm_agents.rpc.methods.eth_state import record_of
from pyevm_agents.rpc.params import BlockId, block

if TYPE_CHECKING:
    from pyevm_agents.rpc.context import Rpc

METHODS = Table()


@METHODS.method("debug_getRawBlock", block)
def get_raw_block(rpc: Rpc, number: BlockId) -> str:
    """Return a block's RLP."""
    return serializers.data(rlp.encode(record_of(rpc, number).block))


@METHODS.method("debug_getRawHeader", block)
def get_raw_header(rpc: Rpc, number: BlockId) -> str:
    """Return a header's RLP."""
    return serializers.data(rlp.encode(record_of(rpc, number).block.header))


@METHODS.method("debug_getRawReceipts", block)
def get_raw_receipts(rpc: Rpc, number: BlockId) -> list[str]:
    """Return a block's receipts, each as the bytes that the receipt trie holds."""
    return [serializers.data(receipt.encode()) for receipt in record_of(rpc, number).receipts]
