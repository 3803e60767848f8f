"""Generation store: generations on disk, shared by all processes.

    store = Store(Path("generations.sqlite3"))
    model = CachingModel(model, digest=…, fingerprint=…, store=store)

A SQLite database in WAL mode, shared by threads, forks and processes. Failures (a full disk, a
damaged row, a process killed during a write) do not stop the chain: unreadable generations are
computed again, unwritable ones are not stored, and `trouble` describes the first failure.
"""

from __future__ import annotations

import sqlite3
import threading
import time
import weakref
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from pyevm_agents.cache_folder import get_generations_path
from pyevm_agents.errors import ConfigError
from pyevm_agents.models.closeable import Closeable
from pyevm_agents.models.fork_safety import register_for_forks
from pyevm_agents.models.store import database, rows
from pyevm_agents.models.store.database import is_damage
from pyevm_agents.models.store.rows import DamagedRowError, encode

if TYPE_CHECKING:
    from collections.abc import Callable

    from precompiles.language_model import Generation
    from pyevm_agents.models.store.rows import GenerationInputs

StoreEvent: TypeAlias = Literal["hits", "misses", "resumes", "damaged", "evicted", "contradicted"]
"""Counted events: a generation found; computed; resumed after a limit had cut it; a damaged row; an
evicted row; a row that differs from a second computation."""

MEMORY = ":memory:"
"""Path of a store in memory."""

DEFAULT_MAX_BYTES = 256 << 20
"""About 180,000 steps of a wallet agent, 1.5 KB each."""

MIN_MAX_BYTES = 256 << 10
"""Minimum of `max_bytes`; an empty store has 56 KiB."""

LARGEST_SHARE = 8
"""A generation larger than this fraction (1/n) of the limit is not stored: it would evict too many
others."""

FLUSH_EVENTS = 256
FLUSH_SECONDS = 30.0
"""Last uses and counters are written with the next generation, or after this many events or
seconds."""

RETRY_SECONDS = 30.0
"""Delay before the next write after a failed one: waiting for a lock each time would cost more than
the store saves."""


@dataclass(slots=True)
class _PendingWrites:
    """Uses and counts since the last write."""

    uses: dict[bytes, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    started_at: float = field(default_factory=time.monotonic)

    @property
    def is_due(self) -> bool:
        count = max(len(self.uses), sum(self.counts.values()))
        return count >= FLUSH_EVENTS or time.monotonic() > self.started_at + FLUSH_SECONDS


class Store(Closeable):
    """Generations by the hash of their inputs; the least recently used are evicted.

    Failures never fail a transaction: after construction, only `clear` raises. Thread-safe.
    """

    def __init__(
        self,
        path: Path | str = MEMORY,
        *,
        max_bytes: int = DEFAULT_MAX_BYTES,
        report: Callable[[str], None] | None = None,
    ) -> None:
        """Open or create a store.

        Input:
            path: the database file; `:memory:` for a store in memory.
            max_bytes: maximum size of the file. The write-ahead log beside the file has about 4
                MiB.
            report: callback, called once with the first failure.

        Raises:
            ConfigError: `max_bytes` is too small, or the file is not a store.
        """
        if max_bytes < MIN_MAX_BYTES:
            raise ConfigError(
                f"invalid max_bytes {max_bytes:,}: must be at least "
                f"{MIN_MAX_BYTES:,} for a generation store"
            )
        self.path = None if str(path) == MEMORY else Path(path).expanduser().absolute()
        self.max_bytes = max_bytes
        self.trouble: str | None = None
        """Description of the first failure; None if there was none."""

        self.session: dict[str, int] = {}
        """Counts by `StoreEvent` since this object was created."""

        self.lock = threading.RLock()
        """Held during database operations."""

        self.connection: sqlite3.Connection | None = None
        """The database; None if it could not be opened, or is closed."""

        self._report = report
        self._finalizer: weakref.finalize[..., Store] | None = None
        self._is_writable = False
        self._retry_at = 0.0
        self._pending_writes = _PendingWrites()
        self._open()
        register_for_forks(self)

    # -- reading and writing -- #

    def get(self, key: bytes) -> Generation | None:
        """Return the generation under a key, complete or cut; None if absent.

        A damaged row is treated as missing, and deleted.
        """
        with self.lock:
            if self.connection is None:
                return None
            try:
                return rows.find(self.connection, key)
            except DamagedRowError:
                self._add_count("damaged")
                self._write(lambda connection: rows.remove(connection, key))
            except sqlite3.Error as error:
                self._report_trouble("can't be read", error)
            return None

    def get_seconds(self, key: bytes) -> float | None:
        """Return the duration of the inference of a generation; None if unknown."""
        with self.lock:
            if self.connection is None:
                return None
            try:
                return rows.find_seconds(self.connection, key)
            except sqlite3.Error as error:
                self._report_trouble("can't be read", error)
            return None

    def put(
        self, question: GenerationInputs, generation: Generation, *, seconds: float | None = None
    ) -> None:
        """Store a generation, unless a longer or complete one is stored.

        Input:
            seconds: duration of its inference; None if unknown.
        """
        key = question.compute_key()
        try:
            fields = encode(key, question.prompt_tokens, generation)
        except ValueError as error:
            self._report_trouble("can't hold a generation", error)
            return
        size_bytes = sum(len(part) for part in fields if isinstance(part, bytes))
        if size_bytes > self.max_bytes // LARGEST_SHARE:
            return

        def insert(connection: sqlite3.Connection) -> None:
            if not self._is_superseded(connection, key, generation):
                rows.insert(connection, key, question, fields, seconds=seconds)

        self._write(insert)

    def record_use(self, key: bytes) -> None:
        """Record a hit: the generation becomes the last to be evicted."""
        with self.lock:
            self._pending_writes.uses[key] = rows.now_us()
            self.count("hits")

    def count(self, event: StoreEvent) -> None:
        """Count an event. Counts are written in batches."""
        with self.lock:
            self._add_count(event)
            if self._pending_writes.is_due:
                self.flush()

    def flush(self) -> None:
        """Write pending uses and counts."""
        with self.lock:
            if self._pending_writes.uses or self._pending_writes.counts:
                self._write(lambda _: None)

    def clear(self) -> int:
        """Delete all generations and counts; return the number of deleted generations.

        Raises:
            ConfigError: the file can't be written.
        """
        removed = 0

        def clear_rows(connection: sqlite3.Connection) -> None:
            nonlocal removed
            removed = rows.remove_all(connection)

        with self.lock:
            self._pending_writes = _PendingWrites()
            self._retry_at = 0.0
            if not self._write(clear_rows):
                raise ConfigError(self.trouble or f"store {self.path} is closed; open it again")
            if self.connection is not None:
                with suppress(sqlite3.Error):  # If another process reads, it shrinks later.
                    self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return removed

    # -- opening and closing -- #

    def close(self) -> None:
        """Write pending uses and counts, and close the file. Later lookups find nothing."""
        with self.lock:
            self.flush()
            self.connection = None
            if self._finalizer is not None:
                self._finalizer()

    def after_fork(self) -> None:
        """Reopen the file in a forked child process, which must not use the parent's connection.

        The parent's connection is not closed, since closing here would release the parent's locks.
        """
        self._pending_writes = _PendingWrites()
        if self.path is None or self.connection is None:
            return
        _parent_connections.append(self.connection)
        self.connection = None
        if self._finalizer is not None:
            self._finalizer.detach()
        try:
            self._open()
        except ConfigError as error:  # The file was replaced meanwhile.
            self._report_trouble("can't be opened in a forked process", error)

    def _open(self) -> None:
        try:
            opened = database.open_memory() if self.path is None else database.open_file(self.path)
        except (OSError, sqlite3.Error) as error:
            self._report_trouble("can't be opened", error)
            return
        self.connection = opened.connection
        self._is_writable = opened.trouble is None
        self._finalizer = weakref.finalize(self, database.close, opened.connection)
        if opened.trouble is not None:
            self._report_trouble("can only be read", opened.trouble)

    # -- internals -- #

    def _write(self, work: Callable[[sqlite3.Connection], None]) -> bool:
        """Execute `work` and pending writes in a transaction; return whether committed."""
        with self.lock:
            connection = self.connection
            if connection is None or not self._is_writable or time.monotonic() < self._retry_at:
                return False
            try:
                connection.execute("BEGIN IMMEDIATE")
                work(connection)
                self._enforce_bound(connection)
                rows.save_uses(connection, self._pending_writes.uses)
                rows.save_counts(connection, self._pending_writes.counts)
                connection.execute("COMMIT")
            except BaseException as error:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                if not isinstance(error, sqlite3.Error):
                    raise
                self._retry_at = time.monotonic() + RETRY_SECONDS
                self._report_trouble("can't be written", error)
                return False
            self._pending_writes = _PendingWrites()
            return True

    def _enforce_bound(self, connection: sqlite3.Connection) -> None:
        excess = rows.count_excess_pages(connection, self.max_bytes)
        if excess > 0:
            rows.save_uses(connection, self._pending_writes.uses)
            self._add_count("evicted", rows.shrink(connection, excess))

    def _is_superseded(
        self, connection: sqlite3.Connection, key: bytes, generation: Generation
    ) -> bool:
        """Return whether another process has stored at least as much meanwhile."""
        try:
            known = rows.find(connection, key)
        except DamagedRowError:
            return False
        if known is None:
            return False
        both = min(len(known.tokens), len(generation.tokens))
        if known.tokens[:both] != generation.tokens[:both]:
            self._add_count("contradicted")
            self._report_trouble(
                "is inconsistent",
                f"the generation under {key.hex()} differs from a new computation; run "
                "`pyevm-agents store verify`",
            )
            return True
        is_longer = len(generation.tokens) > len(known.tokens)
        return known.is_complete or not (generation.is_complete or is_longer)

    def _add_count(self, event: StoreEvent, count: int = 1) -> None:
        for counts in (self.session, self._pending_writes.counts):
            counts[event] = counts.get(event, 0) + count

    def _report_trouble(self, what: str, reason: object) -> None:
        """Record and report the first failure."""
        if self.trouble is not None:
            return
        self.trouble = f"generation store {self.path or MEMORY} {what}: {reason}"
        if is_damage(reason):
            self.trouble += ". The file is damaged: delete it, and a new one is created"
        if self._report is not None:
            self._report(self.trouble)


_parent_connections: list[sqlite3.Connection] = []
"""Connections of a parent process, referenced so that they are never closed."""


def open_run_store(path: Path | str | None, *, report: Callable[[str], None]) -> Store:
    """Open the store of a run.

    Input:
        path: the file; `MEMORY` for a store in memory; None for the user's own file.
        report: callback for the first failure.

    Raises:
        ConfigError: the file's folder is missing, or the file is not a store.
    """
    if path is None:
        return Store(get_generations_path() or MEMORY, report=report)
    folder = Path(path).absolute().parent
    if str(path) != MEMORY and not folder.is_dir():
        raise ConfigError(f"folder {folder} does not exist; create it first")
    return Store(path, report=report)
