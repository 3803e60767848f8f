"""Index of the accounts that take part in each transaction, cached by block hash.

Indexing a block re-executes it, which takes milliseconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lru import LRU

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from eth_typing import Address

    from pyevm_agents.tracing import CallTree

MAX_INDEXED_BLOCKS = 5_000
"""Size of the cache. A transaction takes half a kilobyte."""

Parties = tuple[frozenset["Address"], ...]
"""The accounts of each transaction of a block."""


class AddressIndex:
    """LRU cache of accounts by block and transaction. Thread-safe."""

    def __init__(self) -> None:
        self._by_block: LRU[bytes, Parties] = LRU(MAX_INDEXED_BLOCKS)

    def get(self, block_hash: bytes) -> Parties | None:
        """Return the accounts of each transaction of a block; None if not cached."""
        return self._by_block.get(block_hash)

    def find(self, block_hash: bytes, execute: Callable[[], Iterable[CallTree]]) -> Parties:
        """Index a block; return the accounts of each transaction.

        Input: a function that re-executes the block and returns the call tree of each transaction.
        """
        parties = tuple(map(_collect_parties, execute()))
        self._by_block[block_hash] = parties
        return parties


def _collect_parties(tree: CallTree) -> frozenset[Address]:
    """Return the callers, callees, creators, created contracts and SELFDESTRUCT beneficiaries."""
    return frozenset(
        account
        for node, _ in tree.walk_nodes()
        for account in (node.frame.sender, node.frame.to)
        if account
    )
