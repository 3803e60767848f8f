"""What is remembered of a chain's state, in memory: contents by their hashes, true for ever."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth_hash.auto import keccak
from lru import LRU

if TYPE_CHECKING:
    from pyevm_agents.state.trie_nodes import Node

NODES = 8_192
"""Nodes of tries that are kept decoded; a branch takes some 1.5 KB."""

CODES = 256
"""Contracts whose code is kept; one takes 24 KB at most."""

PATHS = 16_384
"""Addresses and slots whose hashes are kept."""


class StateCache:
    """What one chain remembers. Safe in any thread: entries are replaced, never changed."""

    def __init__(self) -> None:
        """Begin empty."""
        self.nodes: LRU[bytes, Node] = LRU(NODES)
        """By the node's hash. Nobody may change one."""

        self.codes: LRU[bytes, bytes] = LRU(CODES)
        """By the code's hash."""

        self._paths: LRU[bytes, str] = LRU(PATHS)

    def path(self, key: bytes) -> str:
        """Return where a key is in a trie of hashed keys."""
        path = self._paths.get(key)
        if path is None:
            path = self._paths[key] = keccak(key).hex()
        return path
