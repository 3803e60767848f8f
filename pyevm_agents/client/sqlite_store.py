"""A SQLite file of this package: opened, checked, and written with full synchronisation.

Writes from which `commit` has returned outlive a kill and a loss of power.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, ClassVar, Self

from pyevm_agents.errors import AgentsError, ConfigError
from pyevm_agents.private_files import OWNER_ONLY, create_private_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

BUSY_SECONDS = 30.0
"""How long a write waits for another process. Writes take milliseconds."""

PASSING_CODES = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR}
"""Result codes of a locked file or a full disk, at which another file is no remedy."""


class StoreInUseError(AgentsError):
    """Another process has the store open."""


class StoreWriteError(AgentsError):
    """The file can't be written now, such as on a full disk."""


class SqliteStore:
    """A store in one file, readable by the owner alone. For one thread."""

    table = "identity"
    """Table of what the store belongs to: the last column has values, those before have names."""

    notes: ClassVar[Mapping[tuple[str, ...], str]] = {}
    """What may be behind another value, by names in `table`; each ends before the advice."""

    advice = "pass another file"
    """Next step of a user whose file can't be opened."""

    def __init__(
        self,
        path: Path,
        schema: str,
        identity: Mapping[tuple[str, ...], str],
        *,
        is_shared: bool = False,
    ) -> None:
        """Open or create the file.

        Input:
            path: the file.
            schema: SQL of the tables, `table` among them.
            identity: rows of `table`, values by names.
            is_shared: whether several processes may have the file open. Otherwise a lock file
                beside the store admits one process.

        Raises:
            StoreInUseError: another process has the file open.
            StoreWriteError: the file is locked, or the disk is full.
            ConfigError: the file belongs to something else, or is not a store.
        """
        self.path = path
        with ExitStack() as stack:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                if not is_shared:
                    stack.callback(os.close, self._take_lock())
                create_private_file(path)
                self._connection = sqlite3.connect(
                    path, isolation_level=None, timeout=BUSY_SECONDS, check_same_thread=False
                )
                stack.callback(self._connection.close)
                self._prepare(schema, identity)
            except (sqlite3.Error, OSError) as error:
                if getattr(error, "sqlite_errorcode", 0) & 0xFF in PASSING_CODES:
                    raise self._build_write_error(error) from error
                reason = error.strerror if isinstance(error, OSError) else error
                raise ConfigError(f"store {path}: {reason}; {self.advice}") from error
            self._resources = stack.pop_all()

    def __enter__(self) -> Self:
        """Return the store."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self.close()

    def close(self) -> None:
        """Close the file and release the lock."""
        self._resources.close()

    @contextmanager
    def commit(self) -> Iterator[None]:
        """Write the statements of the context as a whole, or none.

        Raises: StoreWriteError: the file can't be written.
        """
        try:
            with self._begin():
                yield
        except sqlite3.Error as error:
            raise self._build_write_error(error) from error

    @contextmanager
    def _begin(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:  # A full disk ends it.
                self._connection.execute("ROLLBACK")
            raise

    def _build_write_error(self, error: Exception) -> StoreWriteError:
        return StoreWriteError(f"store {self.path}: can't be written: {error}; free some space")

    def _take_lock(self) -> int:
        """Lock the file beside the store; return the descriptor."""
        lock = self.path.with_name(self.path.name + ".lock")
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, OWNER_ONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(descriptor)
            raise StoreInUseError(
                f"store {self.path}: another process has it open; stop that one, or {self.advice}"
            ) from error
        return descriptor

    def _prepare(self, schema: str, identity: Mapping[tuple[str, ...], str]) -> None:
        execute, table = self._connection.execute, self.table
        execute("PRAGMA journal_mode = WAL")
        execute("PRAGMA synchronous = FULL")
        with self._begin():
            tables = {name for (name,) in execute("SELECT name FROM sqlite_master")}
            if not tables:
                for statement in schema.split(";")[:-1]:
                    execute(statement)
                for names, value in identity.items():
                    row = (*names, value)
                    execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)  # noqa: S608 - ours
            elif table not in tables:
                raise ConfigError(f"store {self.path}: not a store of this kind; {self.advice}")
            found = {tuple(names): value for *names, value in execute(f"SELECT * FROM {table}")}  # noqa: S608 - ours
        for names, value in identity.items():
            if found.get(names) != value:
                raise ConfigError(
                    f"store {self.path}: is for {' '.join(names) or table} {found.get(names)}, "
                    f"not {value}; {self.notes.get(names, '')}{self.advice}"
                )
