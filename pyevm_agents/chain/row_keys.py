"""Keys of the rows that a chain keeps beside py-evm's own."""

from __future__ import annotations

from eth_utils import keccak

CONFIG_KEY = b"agents:config"
"""Row of the configuration, as canonical JSON."""

HEAD_STATE_KEY = b"agents:head-state"
"""Row of the head's state root where somebody set accounts after it was mined."""


def trace_key(transaction_hash: bytes) -> bytes:
    """Return the key of a transaction's agent trace.

    Earlier versions kept JSON under `agents:note:`, which nothing reads now.
    """
    return b"agents:trace:" + transaction_hash


def before_key(block_hash: bytes) -> bytes:
    """Return the key of the state root that a block began with, where it is not its parent's.

    A block that was undone can be asked for still, so it is a key that going back leaves, as those
    are that have the length of a hash.
    """
    return keccak(b"agents:before:" + block_hash)


def said_key(block_hash: bytes) -> bytes:
    """Return the key of what models said in a block.

    Going back leaves it: see `before_key`.
    """
    return keccak(b"agents:said:" + block_hash)


def sender_key(transaction_hash: bytes) -> bytes:
    """Return the key of the sender of a transaction that has no signature of its own.

    Going back leaves it: see `before_key`.
    """
    return keccak(b"agents:sender:" + transaction_hash)
