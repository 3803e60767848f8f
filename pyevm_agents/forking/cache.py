"""Answers of remote chains on disk: SQLite files that several processes may share.

A file belongs to one fork block, whose state never changes. `remotes.sqlite3` has the chain ID and
the hash of blocks by the hash of a URL, for a fork to start without the remote.
"""

from __future__ import annotations

import sqlite3
import threading
import time
import zlib
from collections import OrderedDict
from contextlib import closing
from typing import TYPE_CHECKING

from pyevm_agents.errors import RemoteFault
from pyevm_agents.private_files import create_private_file

if TYPE_CHECKING:
    from pathlib import Path

APPLICATION_ID = 0x70794146
"""`pyAF`, in the file's header."""

FORMAT_VERSION = 1
MEMORY_BYTES = 64 * 2**20
"""Size of the values in memory: some 200,000 slots, or 2,500 large contracts."""

ENTRY_BYTES = 250
"""Memory of a value besides its own bytes, in CPython."""

BUSY_SECONDS = 30.0
"""Time to wait for another process's write, which takes milliseconds."""

BUSY_PAUSE_SECONDS = 0.01
"""Pause between two tries to open a file that another process opens or closes."""

JOURNAL_BYTES = 4 * 2**20
"""Size to which the write-ahead log shrinks after a checkpoint."""

IDENTITY = (APPLICATION_ID, FORMAT_VERSION)
SCHEMA = """
CREATE TABLE IF NOT EXISTS answers (
    key BLOB PRIMARY KEY,
    value BLOB NOT NULL,
    checksum INTEGER NOT NULL
) WITHOUT ROWID
"""


class RecentValues:
    """The values used last, within a number of bytes."""

    def __init__(self, limit_bytes: int = MEMORY_BYTES) -> None:
        """Start empty."""
        self._limit_bytes = limit_bytes
        self._values: OrderedDict[bytes, bytes] = OrderedDict()
        self.size_bytes = 0
        """Memory of all values, with `ENTRY_BYTES` for each."""

    def get(self, key: bytes) -> bytes | None:
        """Return a value; None if absent."""
        value = self._values.get(key)
        if value is not None:
            self._values.move_to_end(key)
        return value

    def put(self, key: bytes, value: bytes) -> None:
        """Add a value; remove those that were not used for longest."""
        self.remove(key)
        self._values[key] = value
        self.size_bytes += _measure(value)
        while self.size_bytes > self._limit_bytes:
            self.size_bytes -= _measure(self._values.popitem(last=False)[1])

    def remove(self, key: bytes) -> None:
        """Remove a value, if present."""
        value = self._values.pop(key, None)
        if value is not None:
            self.size_bytes -= _measure(value)


class AnswerCache:
    """Values by key, in a file or in a temporary one. Thread-safe. A value is never replaced."""

    def __init__(self, path: Path | None) -> None:
        """Open or create a file, readable by the owner alone.

        Input:  the file; None for one that ends with the process, and leaves memory when growing.
        Raises: RemoteFault: the file is damaged, of another version, or can't be written.
        """
        self._path = path
        self._lock = threading.RLock()
        self._recent = RecentValues()
        try:
            if path is not None:
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                create_private_file(path)
            self._connection = sqlite3.connect(
                "" if path is None else path,
                timeout=BUSY_SECONDS,
                isolation_level=None,
                check_same_thread=False,
            )
            try:
                self._prepare_when_free()
            except BaseException:
                self._connection.close()
                raise
        except (OSError, sqlite3.Error) as error:
            raise self._build_fault(error) from error

    def get(self, key: bytes) -> bytes | None:
        """Return a value, or None.

        Raises: RemoteFault: the file is damaged.
        """
        with self._lock:
            value = self._recent.get(key)
            if value is None and (value := self._read(key)) is not None:
                self._recent.put(key, value)
        return value

    def put(self, key: bytes, value: bytes) -> bytes:
        """Store a value, unless another thread or process was first; return the stored one.

        Raises: RemoteFault: the file can't be written.
        """
        query = "INSERT INTO answers VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
        try:
            with self._lock:
                self._connection.execute(query, (key, value, _compute_checksum(key, value)))
                kept = self.get(key)
        except sqlite3.Error as error:
            raise self._build_fault(error) from error
        return value if kept is None else kept

    def delete(self, key: bytes) -> None:
        """Delete a value, if there is one.

        Raises: RemoteFault: the file can't be written.
        """
        try:
            with self._lock:
                self._recent.remove(key)
                self._connection.execute("DELETE FROM answers WHERE key = ?", (key,))
        except sqlite3.Error as error:
            raise self._build_fault(error) from error

    def list_suffixes(self, prefix: bytes) -> list[bytes]:
        """Return the ends of all keys with a prefix, in ascending order.

        Raises: RemoteFault: the file is damaged.
        """
        query = "SELECT key FROM answers WHERE key >= ? AND key < ? ORDER BY key"
        after = prefix + b"\xff" * 33
        try:
            with self._lock:
                rows = self._connection.execute(query, (prefix, after)).fetchall()
        except sqlite3.Error as error:
            raise self._build_fault(error) from error
        return [bytes(key)[len(prefix) :] for (key,) in rows]

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def _read(self, key: bytes) -> bytes | None:
        query = "SELECT value, checksum FROM answers WHERE key = ?"
        try:
            with closing(self._connection.execute(query, (key,))) as rows:
                row = rows.fetchone()
        except sqlite3.Error as error:
            raise self._build_fault(error) from error
        if row is None:
            return None
        value, checksum = row
        if _compute_checksum(key, value) != checksum:
            raise self._build_fault("a checksum is wrong")
        return bytes(value)

    def _prepare_when_free(self) -> None:
        """Prepare the file; wait while another process opens or closes it.

        SQLite does not wait for that: switching to a write-ahead log fails at once.
        """
        end = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                return self._prepare()
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                    raise
                if self._connection.in_transaction:
                    self._connection.rollback()
                time.sleep(BUSY_PAUSE_SECONDS)

    def _prepare(self) -> None:
        connection = self._connection
        connection.execute("BEGIN")  # Else another process could write one of them in between.
        found = tuple(
            connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("application_id", "user_version")
        )
        connection.execute("COMMIT")
        if found not in {IDENTITY, (0, 0)}:
            raise sqlite3.DatabaseError("it is no cache of a fork, or one of another version")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA journal_size_limit = {JOURNAL_BYTES}")
        if found != IDENTITY:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(SCHEMA)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {FORMAT_VERSION}")
            connection.execute("COMMIT")

    def _build_fault(self, problem: Exception | str) -> RemoteFault:
        place = "in a temporary file" if self._path is None else str(self._path)
        if isinstance(problem, OSError):
            problem = problem.strerror or str(problem)
        return RemoteFault(
            f"cache of the fork {place} can't be used: {problem}; delete it, free disk space, or "
            "omit it with --no-fork-cache"
        )


def _measure(value: bytes) -> int:
    return len(value) + ENTRY_BYTES


def _compute_checksum(key: bytes, value: bytes) -> int:
    return zlib.crc32(value, zlib.crc32(key))
