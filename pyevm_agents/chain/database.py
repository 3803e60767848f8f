"""A chain's database: rows and keys, in memory or in a file, with snapshots.

A block's writes are buffered and written at once: a half-written block never exists. Keys of 32
bytes are hashes of the content, never changed, and kept by a revert. All other keys (the head,
transaction lookups) are few. Old values of these are stored as long as a snapshot needs them:
taking a snapshot is free, a revert takes time in proportion to the changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from eth.db.backends.base import BaseDB
from eth_utils import keccak

from precompiles.spec import HASH_BYTES
from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


CONFIG_KEY = b"agents:config"
"""Row of the chain config, as canonical JSON."""

HEAD_STATE_KEY = b"agents:head-state"
"""Row of the head's state root if accounts were set after it was mined. The header of a fork block
never has the root of a local state, so its root is always here while it is the head."""

FORK_STATE_KEY = b"agents:fork-state"
"""Row of the state root that a fork starts from."""


def trace_key(transaction_hash: bytes) -> bytes:
    """Return the key of a transaction's agent trace.

    Earlier versions wrote JSON under `agents:note:`, which is not read.
    """
    return b"agents:trace:" + transaction_hash


def patched_root_key(block_hash: bytes) -> bytes:
    """Return the key of the state root before a block, if other than the parent's.

    The key has the length of a hash, and survives a revert: a removed block can still be queried.
    """
    return keccak(b"agents:before:" + block_hash)


def generations_key(block_hash: bytes) -> bytes:
    """Return the key of a block's generations. Kept by a revert: see `patched_root_key`."""
    return keccak(b"agents:said:" + block_hash)


def sender_key(transaction_hash: bytes) -> bytes:
    """Return the key of an impersonated transaction's sender.

    Kept by a revert: see `patched_root_key`.
    """
    return keccak(b"agents:sender:" + transaction_hash)


POOL_PREFIX = b"agents:pool:"
"""Prefix of the rows of the pool's journal. A revert restores those that blocks deleted since."""


def pool_key(sender: bytes, nonce: int) -> bytes:
    """Return the key of the journal's row for a sender's nonce."""
    return POOL_PREFIX + sender + nonce.to_bytes(8, "big")


class Rows(Protocol):
    """A key-value store that may be read while another thread writes."""

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a key; None if missing."""

    def list_rows(self, prefix: bytes) -> Sequence[tuple[bytes, bytes]]:
        """Return the rows whose keys have a prefix, in the order of their keys."""

    def write(self, changes: Mapping[bytes, bytes | None]) -> None:
        """Set values atomically; None deletes a key."""

    def sync(self) -> None:
        """Wait until all written values would survive a crash of the machine."""

    def close(self) -> None:
        """Close the store. Idempotent."""


class MemoryRows:
    """A key-value store in memory."""

    def __init__(self) -> None:
        self._rows: dict[bytes, bytes] = {}

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a key; None if missing."""
        return self._rows.get(key)

    def list_rows(self, prefix: bytes) -> Sequence[tuple[bytes, bytes]]:
        """Return the rows whose keys have a prefix, in the order of their keys."""
        return sorted(row for row in self._rows.items() if row[0].startswith(prefix))

    def write(self, changes: Mapping[bytes, bytes | None]) -> None:
        """Set values; None deletes a key."""
        for key, value in changes.items():
            if value is None:
                self._rows.pop(key, None)
            else:
                self._rows[key] = value

    def copy(self) -> MemoryRows:
        """Return an independent copy."""
        rows = MemoryRows()
        rows._rows = self._rows.copy()
        return rows

    def sync(self) -> None:
        """Do nothing: memory survives no crash."""

    def close(self) -> None:
        """Do nothing: memory needs no closing."""


class Database(BaseDB):
    """A py-evm database over `Rows`, with a write buffer and snapshots."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._buffer: dict[bytes, bytes | None] = {}
        self._before: dict[int, dict[bytes, bytes | None]] = {}
        """For each snapshot, the old values of the rows that changed until the next one."""

        self._taken = 0

    # -- rows -- #

    def __getitem__(self, key: bytes) -> bytes:
        """Return the value of a key, buffered or written.

        Raises: KeyError: the key is missing.
        """
        try:
            value = self._buffer[key]
        except KeyError:
            value = self._rows.get(key)
        if value is None:
            raise KeyError(key)
        return value

    def __setitem__(self, key: bytes, value: bytes) -> None:
        """Buffer a value."""
        self._buffer[key] = value

    def __delitem__(self, key: bytes) -> None:
        """Buffer a deletion.

        Raises: KeyError: the key is missing.
        """
        if key not in self:
            raise KeyError(key)
        self._buffer[key] = None

    def _exists(self, key: bytes) -> bool:
        value = self._buffer.get(key)
        return value is not None or (key not in self._buffer and self._rows.get(key) is not None)

    def commit(self) -> None:
        """Write the buffer atomically.

        Raises: EngineFault: the rows can't be written. The buffer is unchanged.
        """
        if self._before:
            before = self._before[next(reversed(self._before))]
            for key in self._buffer:
                if len(key) != HASH_BYTES and key not in before:
                    before[key] = self._rows.get(key)
        self._rows.write(self._buffer)
        self._buffer = {}

    def discard(self) -> None:
        """Drop the buffer."""
        self._buffer = {}

    def close(self) -> None:
        """Drop the buffer and close the rows."""
        self.discard()
        self._rows.close()

    def create_scratch(self) -> Database:
        """Return a database on the same rows with a separate buffer, which must not be committed.

        Thread-safe: the buffer of this database is not visible there.
        """
        return Database(self._rows)

    # -- snapshots -- #

    @property
    def snapshots(self) -> tuple[int, ...]:
        """The numbers of the snapshots."""
        return tuple(self._before)

    def snapshot(self) -> int:
        """Take a snapshot; return the number. Numbers are never reused."""
        number = self._taken
        self._taken += 1
        self._before[number] = {}
        return number

    def forget_snapshot(self, number: int) -> None:
        """Delete a snapshot; earlier and later ones stay."""
        earlier = [key for key in self._before if key < number]
        before = self._before.pop(number, {})
        if earlier:
            self._before[earlier[-1]] = before | self._before[earlier[-1]]

    def revert(self, number: int) -> None:
        """Revert to a snapshot, and delete this and all later ones.

        Raises: ConfigError: unknown snapshot. EngineFault: the rows can't be written.
        """
        if number not in self._before:
            choices = ", ".join(map(str, self._before)) or "none"
            raise ConfigError(
                f"unknown snapshot {number} (existing: {choices}); a revert deletes its snapshot "
                "and all later ones"
            )
        changes: dict[bytes, bytes | None] = {}
        for later in reversed([key for key in self._before if key >= number]):
            changes |= self._before[later]
        self.discard()
        self._rows.write(changes)
        self._before = {key: rows for key, rows in self._before.items() if key < number}
