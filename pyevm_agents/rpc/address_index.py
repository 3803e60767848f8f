"""Who takes part in the transactions of a block; remembered, as blocks never change.

To know it a block is executed again, which takes milliseconds: a search through thousands of them
must not hold up whoever else asks something, so it ends early and says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lru import LRU

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from eth_typing import Address

    from pyevm_agents.tracing import CallTree

MAX_INDEXED_BLOCKS = 5_000
"""How many blocks are remembered. A transaction takes half a kilobyte."""

Parties = tuple[frozenset["Address"], ...]
"""The accounts of each transaction of a block."""


class AddressIndex:
    """Accounts by block and transaction; in any thread."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._by_block: LRU[bytes, Parties] = LRU(MAX_INDEXED_BLOCKS)

    def get(self, block_hash: bytes) -> Parties | None:
        """Return who takes part in a block's transactions; None where nobody asked before."""
        return self._by_block.get(block_hash)

    def find(self, block_hash: bytes, execute: Callable[[], Iterable[CallTree]]) -> Parties:
        """Return who takes part in a block's transactions, and remember it.

        Input: what executes the block again, and returns the calls of each transaction.
        """
        parties = tuple(map(_collect_parties, execute()))
        self._by_block[block_hash] = parties
        return parties


def _collect_parties(tree: CallTree) -> frozenset[Address]:
    """Return who calls or is called, creates or is created, inherits or leaves something."""
    return frozenset(
        account
        for node, _ in tree.walk_nodes()
        for account in (node.frame.sender, node.frame.to)
        if account
    )
