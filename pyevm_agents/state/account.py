"""Accounts as encoded in the state trie, and a chain's state cache."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from eth.constants import BLANK_ROOT_HASH, EMPTY_SHA3
from eth_hash.auto import keccak
from lru import LRU

from pyevm_agents.state.trie_nodes import HASH_PREFIX, encode_list, encode_string, locate_content

if TYPE_CHECKING:
    from pyevm_agents.state.trie_nodes import TrieNode


NODES = 8_192
"""Size of the LRU of decoded trie nodes; a branch takes some 1.5 KB."""

CODES = 256
"""Size of the LRU of contract code, of at most 24 KB each."""

PATHS = 16_384
"""Size of the LRU of hashes of addresses and slots."""

HIDES_REMOTE = b"\x01"
"""The fifth item of an account that hides the remote slots, as RLP."""


class Account(NamedTuple):
    """An account; the defaults are those of an empty one."""

    nonce: int = 0
    balance: int = 0
    storage_root: bytes = BLANK_ROOT_HASH
    code_hash: bytes = EMPTY_SHA3
    hides_remote: bool = False
    """On a fork: whether it was created or cleared here, so that no remote slot is visible."""

    def encode(self) -> bytes:
        """Return the account as RLP, with a fifth item if hiding the remote slots."""
        return encode_list(
            encode_integer(self.nonce)
            + encode_integer(self.balance)
            + HASH_PREFIX
            + self.storage_root
            + HASH_PREFIX
            + self.code_hash
            + (HIDES_REMOTE if self.hides_remote else b"")
        )

    @classmethod
    def decode(cls, encoded: bytes) -> Account:
        """Decode an account from RLP."""
        at, end = locate_content(encoded, 0)
        nonce_at, nonce_end = locate_content(encoded, at)
        balance_at, balance_end = locate_content(encoded, nonce_end)
        hashes_end = balance_end + 66
        return cls(
            int.from_bytes(encoded[nonce_at:nonce_end], "big"),
            int.from_bytes(encoded[balance_at:balance_end], "big"),
            encoded[balance_end + 1 : balance_end + 33],
            encoded[balance_end + 34 : hashes_end],
            hashes_end < end,
        )


def encode_integer(value: int) -> bytes:
    """Return the RLP of an integer."""
    return encode_string(value.to_bytes((value.bit_length() + 7) // 8, "big"))


def decode_integer(encoded: bytes) -> int:
    """Decode an integer from RLP."""
    begin, end = locate_content(encoded, 0)
    return int.from_bytes(encoded[begin:end], "big")


class StateCache:
    """A chain's state cache. Thread-safe: entries are replaced, never changed."""

    def __init__(self) -> None:
        self.nodes: LRU[bytes, TrieNode] = LRU(NODES)
        """Decoded trie nodes by hash. They must not be changed."""

        self.codes: LRU[bytes, bytes] = LRU(CODES)
        """Contract code by hash."""

        self._paths: LRU[bytes, str] = LRU(PATHS)

    def get_path(self, key: bytes) -> str:
        """Return a key's path in a trie of hashed keys: keccak as hexadecimal text."""
        path = self._paths.get(key)
        if path is None:
            path = self._paths[key] = keccak(key).hex()
        return path
