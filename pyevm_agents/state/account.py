"""An account as the state's trie has it, and the cache of a chain's state by hashes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from eth.constants import BLANK_ROOT_HASH, EMPTY_SHA3
from eth_hash.auto import keccak
from lru import LRU

from pyevm_agents.state.trie_nodes import HASH_PREFIX, encode_list, encode_string, locate_content

if TYPE_CHECKING:
    from pyevm_agents.state.trie_nodes import TrieNode


class Account(NamedTuple):
    """An account; as it is made, one that has nothing."""

    nonce: int = 0
    balance: int = 0
    storage_root: bytes = BLANK_ROOT_HASH
    code_hash: bytes = EMPTY_SHA3

    def encode(self) -> bytes:
        """Return it as RLP."""
        return encode_list(
            encode_integer(self.nonce)
            + encode_integer(self.balance)
            + HASH_PREFIX
            + self.storage_root
            + HASH_PREFIX
            + self.code_hash
        )

    @classmethod
    def decode(cls, encoded: bytes) -> Account:
        """Return the account that RLP holds."""
        at, end = locate_content(encoded, 0)
        nonce_at, nonce_end = locate_content(encoded, at)
        balance_at, balance_end = locate_content(encoded, nonce_end)
        return cls(
            int.from_bytes(encoded[nonce_at:nonce_end], "big"),
            int.from_bytes(encoded[balance_at:balance_end], "big"),
            encoded[balance_end + 1 : balance_end + 33],
            encoded[end - 32 : end],
        )


def encode_integer(value: int) -> bytes:
    """Return the RLP of a number."""
    return encode_string(value.to_bytes((value.bit_length() + 7) // 8, "big"))


def decode_integer(encoded: bytes) -> int:
    """Return the number that RLP holds."""
    begin, end = locate_content(encoded, 0)
    return int.from_bytes(encoded[begin:end], "big")


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
        self.nodes: LRU[bytes, TrieNode] = LRU(NODES)
        """By the node's hash. Nobody may change one."""

        self.codes: LRU[bytes, bytes] = LRU(CODES)
        """By the code's hash."""

        self._paths: LRU[bytes, str] = LRU(PATHS)

    def get_path(self, key: bytes) -> str:
        """Return where a key is in a trie of hashed keys."""
        path = self._paths.get(key)
        if path is None:
            path = self._paths[key] = keccak(key).hex()
        return path
