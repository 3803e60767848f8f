"""A Merkle Patricia trie: changed in memory, and hashed once when the root is computed.

Source: the Ethereum Yellow Paper, appendix D.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth.constants import BLANK_ROOT_HASH
from eth_hash.auto import keccak

from precompiles.spec import HASH_BYTES
from pyevm_agents.state.account import StateCache, encode_integer
from pyevm_agents.state.trie_nodes import (
    HASH_PREFIX,
    NOTHING,
    Branch,
    Child,
    Extension,
    Leaf,
    TrieNode,
    decode_node,
    encode_node,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NO_CHILDREN = [NOTHING] * 16


class MissingNodeError(LookupError):
    """The database lacks a node of the trie."""

    def __init__(self, node_hash: bytes) -> None:
        super().__init__(f"node 0x{node_hash.hex()} of the state is missing in the database")
        self.node_hash = node_hash


class Trie:
    """A trie. Paths are hexadecimal text, and no path is a prefix of another."""

    def __init__(self, db: Mapping[bytes, bytes], root_hash: bytes, cache: StateCache) -> None:
        """Open the trie of a root hash."""
        self._db = db
        self._cache = cache
        self._root: Child = NOTHING if root_hash == BLANK_ROOT_HASH else HASH_PREFIX + root_hash

    def get(self, path: str) -> bytes | None:
        """Return the value at a path, or None.

        Raises: MissingNodeError: the database lacks a trie node.
        """
        child = self._root
        while child != NOTHING:
            node = self._resolve_node(child)
            if isinstance(node, Branch):
                child, path = node.children[int(path[0], 16)], path[1:]
            elif isinstance(node, Leaf):
                return node.value if node.path == path else None
            elif path.startswith(node.path):
                child, path = node.child, path[len(node.path) :]
            else:
                return None
        return None

    def set(self, path: str, value: bytes) -> None:
        """Set the value at a path.

        Raises: MissingNodeError: see `get`.
        """
        self._root = self._insert(self._root, path, value)

    def delete(self, path: str) -> None:
        """Delete the value at a path, if there is one.

        Raises: MissingNodeError: see `get`.
        """
        self._root = self._delete(self._root, path)

    def compute_root(self, written: dict[bytes, bytes]) -> bytes:
        """Compute the root hash; add new nodes to `written`."""
        if self._root == NOTHING:
            return BLANK_ROOT_HASH
        if not isinstance(self._root, bytes):
            # The root is hashed even if it is shorter than a hash.
            self._root = self._store_node(
                self._root, self._encode_subtree(self._root, written), written
            )
        return self._root[1:]

    def _resolve_node(self, child: Child) -> TrieNode:
        """Return the node of a child reference."""
        if not isinstance(child, bytes):
            return child
        if len(child) <= HASH_BYTES:  # Encoded within its parent.
            return decode_node(child)
        node_hash = child[1:]
        node = self._cache.nodes.get(node_hash)
        if node is None:
            try:
                encoded = self._db[node_hash]
            except KeyError as error:
                raise MissingNodeError(node_hash) from error
            node = self._cache.nodes[node_hash] = decode_node(encoded)
        return node

    # -- changes: nodes are replaced, as the cache may share them -- #

    def _insert(self, child: Child, path: str, value: bytes) -> Child:
        if child == NOTHING:
            return Leaf(path, value)
        node = self._resolve_node(child)
        if isinstance(node, Branch):
            nibble = int(path[0], 16)
            children = node.children.copy()
            children[nibble] = self._insert(children[nibble], path[1:], value)
            return Branch(children)
        if isinstance(node, Leaf):
            if node.path == path:
                return child if node.value == value else Leaf(path, value)
        elif path.startswith(node.path):
            return Extension(node.path, self._insert(node.child, path[len(node.path) :], value))
        return self._split(node, path, value)

    @staticmethod
    def _split(node: Leaf | Extension, path: str, value: bytes) -> Child:
        """Return a branch at the first difference of two paths, behind their common prefix."""
        shared = next(i for i, (a, b) in enumerate(zip(node.path, path, strict=False)) if a != b)
        children: list[Child] = [*NO_CHILDREN]
        rest = node.path[shared + 1 :]
        if isinstance(node, Leaf):
            old: Child = Leaf(rest, node.value)
        else:
            old = Extension(rest, node.child) if rest else node.child
        children[int(node.path[shared], 16)] = old
        children[int(path[shared], 16)] = Leaf(path[shared + 1 :], value)
        return Extension(path[:shared], Branch(children)) if shared else Branch(children)

    def _delete(self, child: Child, path: str) -> Child:
        if child == NOTHING:
            return child
        node = self._resolve_node(child)
        if isinstance(node, Leaf):
            return NOTHING if node.path == path else child
        if isinstance(node, Extension):
            if not path.startswith(node.path):
                return child
            below = self._delete(node.child, path[len(node.path) :])
            return child if below is node.child else self._prepend_path(node.path, below)
        nibble = int(path[0], 16)
        below = self._delete(node.children[nibble], path[1:])
        if below is node.children[nibble]:
            return child
        children = node.children.copy()
        children[nibble] = below
        return self._collapse_branch(children)

    def _collapse_branch(self, children: list[Child]) -> Child:
        """Return a branch of these children, or the only child without a branch."""
        left = [nibble for nibble, child in enumerate(children) if child != NOTHING]
        if len(left) > 1:
            return Branch(children)
        return self._prepend_path(f"{left[0]:x}", children[left[0]])

    def _prepend_path(self, path: str, child: Child) -> Child:
        """Return a child with a path in front, merged with the child's own path."""
        if child == NOTHING:
            return child
        node = self._resolve_node(child)
        if isinstance(node, Leaf):
            return Leaf(path + node.path, node.value)
        if isinstance(node, Extension):
            return Extension(path + node.path, node.child)
        return Extension(path, child)

    # -- hashing -- #

    def _encode_subtree(self, node: TrieNode, written: dict[bytes, bytes]) -> bytes:
        """Return a node's encoding; add the nodes below to `written`."""
        if isinstance(node, Branch):
            node.children = [
                child if isinstance(child, bytes) else self._encode_reference(child, written)
                for child in node.children
            ]
        elif isinstance(node, Extension) and not isinstance(node.child, bytes):
            node.child = self._encode_reference(node.child, written)
        return encode_node(node)

    def _encode_reference(self, node: TrieNode, written: dict[bytes, bytes]) -> bytes:
        encoded = self._encode_subtree(node, written)
        return encoded if len(encoded) < HASH_BYTES else self._store_node(node, encoded, written)

    def _store_node(self, node: TrieNode, encoded: bytes, written: dict[bytes, bytes]) -> bytes:
        node_hash: bytes = keccak(encoded)
        written[node_hash] = encoded
        self._cache.nodes[node_hash] = node
        return HASH_PREFIX + node_hash


def compute_list_root(contents: Sequence[bytes], written: dict[bytes, bytes]) -> bytes:
    """Compute the trie root of a list, keyed by the RLP of the index; add nodes to `written`."""
    trie = Trie({}, BLANK_ROOT_HASH, StateCache())
    for index, content in enumerate(contents):
        trie.set(encode_integer(index).hex(), content)
    return trie.compute_root(written)
