"""The cache of a state is bounded and correct."""

from __future__ import annotations

from eth_hash.auto import keccak

from pyevm_agents.state.account import NODES, StateCache
from pyevm_agents.state.trie_nodes import Leaf


def test_paths_are_hashes() -> None:
    cache = StateCache()
    assert cache.get_path(b"key") == keccak(b"key").hex()
    assert cache.get_path(b"key") is cache.get_path(b"key")


def test_what_was_not_asked_for_longest_goes() -> None:
    cache = StateCache()
    for number in range(NODES + 1):
        cache.nodes[number.to_bytes(4, "big")] = Leaf("", b"")
    assert len(cache.nodes) == NODES
    assert (0).to_bytes(4, "big") not in cache.nodes
