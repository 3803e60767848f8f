"""A store of generations: what a model once said, on disk, for every process that asks again.

    store = Store(Path("generations.sqlite3"))
    model = CachingModel(model, digest=…, fingerprint=…, store=store)

A SQLite database in WAL mode, shared by threads, forks and processes. Whatever becomes of it (a
full disk, a damaged row, a process killed while it wrote), the chain goes on: what can't be read
is computed, what can't be written is not kept, and `trouble` says so.
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
"""What is counted: a generation that was known; one computed; one continued where a limit had cut
it; a row not as it was written; one that made room; one that a second computation contradicts."""

MEMORY = ":memory:"
"""The path of a store that ends with its process."""

DEFAULT_MAX_BYTES = 256 << 20
"""Some 180,000 steps of a wallet agent, 1.5 KB each."""

MIN_MAX_BYTES = 256 << 10
"""An empty store has 52 KiB."""

LARGEST_SHARE = 8
"""A generation of more than one in so many parts of the bound is not kept: it would drive out too
many others."""

FLUSH_EVENTS = 256
FLUSH_SECONDS = 30.0
"""Last uses and counters are written with the next generation, or after so many, or so long."""

RETRY_SECONDS = 30.0
"""After a write failed, the next is tried so much later: waiting for a lock each time would cost
more than the store saves."""


@dataclass(slots=True)
class _PendingWrites:
    """What was used and counted since the last write."""

    uses: dict[bytes, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    started_at: float = field(default_factory=time.monotonic)

    @property
    def is_due(self) -> bool:
        count = max(len(self.uses), sum(self.counts.values()))
        return count >= FLUSH_EVENTS or time.monotonic() > self.started_at + FLUSH_SECONDS


class Store(Closeable):
    """Generations by the hash of what they are a function of; the least recently used goes.

    No transaction fails because of it: after construction only `clear` raises.
    """

    def __init__(
        self,
        path: Path | str = MEMORY,
        *,
        max_bytes: int = DEFAULT_MAX_BYTES,
        report: Callable[[str], None] | None = None,
    ) -> None:
        """Open a store, or make one.

        Input:
            path: its file; `:memory:` for one that ends with the process.
            max_bytes: what the file may grow to. The write-ahead log beside it has some 4 MiB.
            report: is told of the first trouble, once.

        Raises:
            ConfigError: there is no room, or the path is that of something else than a store.
        """
        if max_bytes < MIN_MAX_BYTES:
            raise ConfigError(
                f"max_bytes is {max_bytes:,}; a store of generations takes at least "
                f"{MIN_MAX_BYTES:,}"
            )
        self.path = None if str(path) == MEMORY else Path(path).expanduser().absolute()
        self.max_bytes = max_bytes
        self.trouble: str | None = None
        """What went wrong first, for people."""

        self.session: dict[str, int] = {}
        """What was counted since this object was made, by `StoreEvent`."""

        self.lock = threading.RLock()
        """Held while the database works."""

        self.connection: sqlite3.Connection | None = None
        """The database; None where it could not be opened, or is closed."""

        self._report = report
        self._finalizer: weakref.finalize[..., Store] | None = None
        self._is_writable = False
        self._retry_at = 0.0
        self._pending_writes = _PendingWrites()
        self._open()
        register_for_forks(self)

    # -- asking and telling -- #

    def get(self, key: bytes) -> Generation | None:
        """Return the generation under a key, whole or as far as it is known.

        A row that is not as it was written counts as none, and is removed.
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

    def put(self, question: GenerationInputs, generation: Generation) -> None:
        """Keep a generation, unless a longer or complete one is known."""
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
                rows.insert(connection, key, question, fields)

        self._write(insert)

    def record_use(self, key: bytes) -> None:
        """Note a hit: the generation under this key is now the last to go."""
        with self.lock:
            self._pending_writes.uses[key] = rows.now_us()
            self.count("hits")

    def count(self, event: StoreEvent) -> None:
        """Count what happened. It is written in batches."""
        with self.lock:
            self._add_count(event)
            if self._pending_writes.is_due:
                self.flush()

    def flush(self) -> None:
        """Write what was used and counted."""
        with self.lock:
            if self._pending_writes.uses or self._pending_writes.counts:
                self._write(lambda _: None)

    def clear(self) -> int:
        """Remove every generation and every count; return how many generations there were.

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
                raise ConfigError(self.trouble or f"The store {self.path} is closed; open it again")
            if self.connection is not None:
                with suppress(sqlite3.Error):  # Where another process reads, it shrinks later.
                    self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return removed

    # -- opening and closing -- #

    def close(self) -> None:
        """Write what is unwritten and close the file. Whoever asks afterwards finds nothing."""
        with self.lock:
            self.flush()
            self.connection = None
            if self._finalizer is not None:
                self._finalizer()

    def after_fork(self) -> None:
        """Open the file again, in a child process: a connection is its opener's alone.

        The parent's is left as it is, since closing it here would lift the parent's locks.
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
        except ConfigError as error:  # Another file lies there by now.
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

    # -- inside -- #

    def _write(self, work: Callable[[sqlite3.Connection], None]) -> bool:
        """Do work in a transaction, with what is unwritten; return whether it was written."""
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
        """Return whether another process has stored as much meanwhile."""
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
                "can't be trusted",
                f"under {key.hex()} it holds another text than was computed now; run "
                "`pyevm-agents store verify`",
            )
            return True
        is_longer = len(generation.tokens) > len(known.tokens)
        return known.is_complete or not (generation.is_complete or is_longer)

    def _add_count(self, event: StoreEvent, count: int = 1) -> None:
        for counts in (self.session, self._pending_writes.counts):
            counts[event] = counts.get(event, 0) + count

    def _report_trouble(self, what: str, reason: object) -> None:
        """Remember the first trouble, and tell it."""
        if self.trouble is not None:
            return
        self.trouble = f"The store of generations {self.path or MEMORY} {what}: {reason}"
        if is_damage(reason):
            self.trouble += ". The file is damaged: delete it, a new one is made"
        if self._report is not None:
            self._report(self.trouble)


_parent_connections: list[sqlite3.Connection] = []
"""Connections of a parent process: kept, so that nothing closes them."""
