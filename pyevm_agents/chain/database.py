"""A chain's database: its rows and their keys, in memory or in a file, with a way back.

What a block writes is buffered and becomes one write, so a half-written block never exists. Rows
are of two kinds. Keys of 32 bytes name a content by its hash: once written they are true for ever,
and going back leaves them. All other keys (which block is the head, where a transaction is) are
few, and their old values are kept as long as a snapshot may want them back: taking a snapshot
costs nothing, going back costs what has changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from eth.db.backends.base import BaseDB
from eth_utils import keccak

from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping


HASH_BYTES = 32
"""Length of the keys that are hashes of what they name."""


class Rows(Protocol):
    """Rows by key, safe to read while another thread writes."""

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a key; None where it has none."""

    def write(self, changes: Mapping[bytes, bytes | None]) -> None:
        """Set values, or remove those that are None: all of them, or none."""

    def close(self) -> None:
        """Let go of what was opened; again does nothing."""


class MemoryRows:
    """Rows in memory, gone with the process."""

    def __init__(self) -> None:
        """Begin empty."""
        self._rows: dict[bytes, bytes] = {}

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a key; None where it has none."""
        return self._rows.get(key)

    def write(self, changes: Mapping[bytes, bytes | None]) -> None:
        """Set values, or remove those that are None."""
        for key, value in changes.items():
            if value is None:
                self._rows.pop(key, None)
            else:
                self._rows[key] = value

    def copy(self) -> MemoryRows:
        """Return the same rows once more: what is written to one is not in the other."""
        rows = MemoryRows()
        rows._rows = self._rows.copy()
        return rows

    def close(self) -> None:
        """Do nothing: there is nothing to let go of."""


class Database(BaseDB):
    """What py-evm takes for a database: rows with a buffer in front and snapshots behind."""

    def __init__(self, rows: Rows) -> None:
        """Begin with what the rows hold."""
        self._rows = rows
        self._buffer: dict[bytes, bytes | None] = {}
        self._before: dict[int, dict[bytes, bytes | None]] = {}
        """For each snapshot, what was changed until the next one, as it was then."""

        self._taken = 0

    # -- rows -- #

    def __getitem__(self, key: bytes) -> bytes:
        """Return the value of a key, written or buffered.

        Raises:
            KeyError: it has none.
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
        """Buffer a removal.

        Raises:
            KeyError: there is nothing to remove.
        """
        if key not in self:
            raise KeyError(key)
        self._buffer[key] = None

    def _exists(self, key: bytes) -> bool:
        value = self._buffer.get(key)
        return value is not None or (key not in self._buffer and self._rows.get(key) is not None)

    def commit(self) -> None:
        """Write the buffer, all of it or nothing.

        Raises:
            EngineFault: the rows can't be written. The buffer is as before.
        """
        if self._before:
            before = self._before[next(reversed(self._before))]
            for key in self._buffer:
                if len(key) != HASH_BYTES and key not in before:
                    before[key] = self._rows.get(key)
        self._rows.write(self._buffer)
        self._buffer = {}

    def discard(self) -> None:
        """Forget the buffer."""
        self._buffer = {}

    def close(self) -> None:
        """Forget the buffer and close the rows."""
        self.discard()
        self._rows.close()

    def create_scratch(self) -> Database:
        """Return the same rows with a buffer of its own, which nobody is to commit.

        What is being written to this one is not seen there: any thread may have one.
        """
        return Database(self._rows)

    # -- going back -- #

    @property
    def snapshots(self) -> tuple[int, ...]:
        """The snapshots that can be gone back to."""
        return tuple(self._before)

    def snapshot(self) -> int:
        """Remember how things stand; return a number that is never given again."""
        number = self._taken
        self._taken += 1
        self._before[number] = {}
        return number

    def forget_snapshot(self, number: int) -> None:
        """Keep a snapshot no longer; those before and after it stay."""
        earlier = [key for key in self._before if key < number]
        before = self._before.pop(number, {})
        if earlier:
            self._before[earlier[-1]] = before | self._before[earlier[-1]]

    def revert(self, number: int) -> None:
        """Go back to a snapshot; it and all later ones are used up.

        Raises:
            ConfigError: there is no such snapshot. EngineFault: the rows can't be written.
        """
        if number not in self._before:
            choices = ", ".join(map(str, self._before)) or "none"
            raise ConfigError(
                f"snapshot {number} is not one of those kept ({choices}): each can be gone back to "
                "once, and goes with an earlier one"
            )
        changes: dict[bytes, bytes | None] = {}
        for later in reversed([key for key in self._before if key >= number]):
            changes |= self._before[later]
        self.discard()
        self._rows.write(changes)
        self._before = {key: rows for key, rows in self._before.items() if key < number}


CONFIG_KEY = b"agents:config"
"""Row of the configuration, as canonical JSON."""

HEAD_STATE_KEY = b"agents:head-state"
"""Row of the head's state root where somebody set accounts after it was mined."""


def trace_key(transaction_hash: bytes) -> bytes:
    """Return the key of a transaction's agent trace.

    Earlier versions kept JSON under `agents:note:`, which nothing reads now.
    """
    return b"agents:trace:" + transaction_hash


def patched_root_key(block_hash: bytes) -> bytes:
    """Return the key of the state root that a block began with, where it is not its parent's.

    A block that was undone can be asked for still, so it is a key that going back leaves, as those
    are that have the length of a hash.
    """
    return keccak(b"agents:before:" + block_hash)


def generations_key(block_hash: bytes) -> bytes:
    """Return the key of what models said in a block.

    Going back leaves it: see `patched_root_key`.
    """
    return keccak(b"agents:said:" + block_hash)


def sender_key(transaction_hash: bytes) -> bytes:
    """Return the key of the sender of a transaction that has no signature of its own.

    Going back leaves it: see `patched_root_key`.
    """
    return keccak(b"agents:sender:" + transaction_hash)
