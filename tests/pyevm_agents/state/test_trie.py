"""Tries have the roots of the library's tries after any puts and deletions."""

from __future__ import annotations

from typing import Any

import pytest
from eth.constants import BLANK_ROOT_HASH
from eth.db.atomic import AtomicDB
from eth.db.trie import make_trie_root_and_nodes
from hypothesis import given, settings
from hypothesis import strategies as st
from trie.hexary import HexaryTrie

from pyevm_agents.state import StateCache, compute_list_root
from pyevm_agents.state.trie import MissingNodeError, Trie

keys = st.binary(min_size=3, max_size=3).map(lambda key: bytes(byte & 0x31 for byte in key))
"""Few bits, so that paths share much."""

contents = st.dictionaries(keys, st.binary(max_size=40), max_size=12)
"""What is set; an empty value removes."""


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(rounds=st.lists(contents, min_size=1, max_size=4), is_remembered=st.booleans())
def test_roots_are_the_librarys(*, rounds: list[dict[bytes, bytes]], is_remembered: bool) -> None:
    db, cache = AtomicDB(), StateCache()
    theirs = HexaryTrie({})
    root: bytes = BLANK_ROOT_HASH
    for changes in rounds:
        trie = Trie(db, root, cache if is_remembered else StateCache())
        for key, value in changes.items():
            if value:
                trie.set(key.hex(), value)
                theirs[key] = value
            else:
                trie.delete(key.hex())
                theirs[key] = b""
            assert trie.get(key.hex()) == (value or None)
        written: dict[bytes, bytes] = {}
        root = trie.compute_root(written)
        assert root == theirs.root_hash
        assert trie.compute_root({}) == root
        for node_hash, node in written.items():
            db[node_hash] = node
    fresh = Trie(db, root, StateCache())
    for key in {key for changes in rounds for key in changes}:
        assert fresh.get(key.hex()) == (theirs[key] or None)
    # The library reads what was written.
    read = HexaryTrie(db, root)
    assert all(read[key] == theirs[key] for changes in rounds for key in changes)


def test_only_what_changed_is_written() -> None:
    db, cache = AtomicDB(), StateCache()
    trie = Trie(db, BLANK_ROOT_HASH, cache)
    for number in range(256):
        trie.set(f"{number:02x}" * 4, b"x" * 40)
    written: dict[bytes, bytes] = {}
    root = trie.compute_root(written)
    for node_hash, node in written.items():
        db[node_hash] = node
    again: dict[bytes, bytes] = {}
    trie = Trie(db, root, cache)
    trie.set("00000000", b"y" * 40)
    trie.compute_root(again)
    assert len(again) == 3  # The root, the branch below, and the leaf.


def test_a_node_that_is_missing_is_named() -> None:
    with pytest.raises(MissingNodeError, match="0x0101"):
        Trie(AtomicDB(), b"\x01" * 32, StateCache()).get("00")


class Item:
    """Entries that py-evm puts into a list's trie."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def encode(self) -> bytes:
        return self.content


@settings(deadline=None)
@given(
    st.lists(st.binary(min_size=1, max_size=50), max_size=6)
    | st.integers(126, 140).map(lambda count: [b"x" * 40] * count)
)
def test_a_lists_root_is_py_evms(contents: list[bytes]) -> None:
    written: dict[bytes, bytes] = {}
    items: Any = [Item(content) for content in contents]
    root, nodes = make_trie_root_and_nodes(items)
    assert compute_list_root(contents, written) == root
    assert written == nodes
