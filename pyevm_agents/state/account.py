"""An account as the state's trie has it."""

from __future__ import annotations

from typing import NamedTuple

from eth.constants import BLANK_ROOT_HASH, EMPTY_SHA3

from pyevm_agents.state.trie_nodes import HASH_PREFIX, encode_list, encode_string, span


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
        at, end = span(encoded, 0)
        nonce_at, nonce_end = span(encoded, at)
        balance_at, balance_end = span(encoded, nonce_end)
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
    begin, end = span(encoded, 0)
    return int.from_bytes(encoded[begin:end], "big")
