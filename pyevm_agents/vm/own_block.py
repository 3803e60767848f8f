"""Blocks that this process makes: executed and sealed without the steps of an import.

py-evm knows one way to a block: the import, which checks a header that is known, copies header and
block at each step, and asks for rewards that no fork has had since the merge. Blocks made elsewhere
go that way; both give the same block.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth.abc import BlockAndMetaWitness

from pyevm_agents.state import compute_list_root
from pyevm_agents.vm.rlp_codec import encode_typed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eth.abc import ChainDatabaseAPI, ReceiptAPI, SignedTransactionAPI

    from pyevm_agents.vm.vm import AgentVM


def make_block(vm: AgentVM, transactions: Sequence[SignedTransactionAPI]) -> BlockAndMetaWitness:
    """Execute transactions as the block of a VM's header; return the block with its receipts.

    Raises: see `AgentVM.apply_all_transactions`. InvalidBlockError: a system call failed.
    """
    first_header = vm.get_header()
    vm.state.begin_block(first_header)
    header, receipts, _ = vm.apply_all_transactions(transactions, first_header)
    included = vm.get_included(transactions)
    block = vm.get_block_class().build(header, included, receipts)
    fields = store_lists(vm.chaindb, included, receipts) | vm.finish_block(block)
    witness = vm.state.persist()
    sealed = header.copy(**fields, state_root=vm.state.state_root)
    return BlockAndMetaWitness(block.copy(header=sealed), witness)


def store_lists(
    chaindb: ChainDatabaseAPI,
    transactions: Sequence[SignedTransactionAPI],
    receipts: Sequence[ReceiptAPI],
) -> dict[str, bytes]:
    """Store the tries of a block's transactions and receipts; return their header fields."""
    nodes: dict[bytes, bytes] = {}
    roots = {
        "transaction_root": compute_list_root([*map(encode_typed, transactions)], nodes),
        "receipt_root": compute_list_root([*map(encode_typed, receipts)], nodes),
    }
    for key, node in nodes.items():
        chaindb.db[key] = node
    return roots
