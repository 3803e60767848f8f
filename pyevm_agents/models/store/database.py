"""Database file of the generation store: created, opened, and rejected if unsuitable."""

from __future__ import annotations

import errno
import os
import sqlite3
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyevm_agents.errors import ConfigError
from pyevm_agents.private_files import create_private_file

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA_VERSION = 2
"""Version 1 has no table of durations. Opening a store of version 1 creates the table."""

APPLICATION_ID = 0x70794147
"""`pyAG`, in the file's header: identifies our databases."""

BUSY_SECONDS = 5.0
"""Time to wait for another process's write, which takes milliseconds."""

JOURNAL_BYTES = 4 << 20
"""Size to which the write-ahead log shrinks after a checkpoint; SQLite does one every 1,000
pages."""

DURATIONS = "TABLE durations (generation INTEGER PRIMARY KEY, seconds REAL NOT NULL)"
"""Durations of inferences. No checksum includes them, and generations of version 1 have none."""

SCHEMA = f"""
CREATE TABLE profiles (
    id INTEGER PRIMARY KEY,
    digest BLOB NOT NULL,
    fingerprint TEXT NOT NULL,
    UNIQUE (digest, fingerprint)
);
CREATE TABLE grammars (
    id INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    source BLOB NOT NULL
);
CREATE TABLE generations (
    id INTEGER PRIMARY KEY,
    key BLOB NOT NULL UNIQUE,
    profile INTEGER NOT NULL,
    grammar INTEGER NOT NULL,
    written_us INTEGER NOT NULL,
    prompt BLOB NOT NULL,
    tokens BLOB NOT NULL,
    text BLOB NOT NULL,
    forced_tokens INTEGER NOT NULL,
    is_complete INTEGER NOT NULL,
    margin BLOB,
    checksum BLOB NOT NULL
);
CREATE INDEX generations_by_grammar ON generations (grammar);
CREATE INDEX generations_by_profile ON generations (profile, is_complete);
CREATE TABLE uses (
    generation INTEGER PRIMARY KEY,
    used_us INTEGER NOT NULL
);
CREATE INDEX uses_by_time ON uses (used_us);
CREATE {DURATIONS};
CREATE TABLE counters (
    name TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) WITHOUT ROWID;
"""
"""`uses` is a separate table, so that a last use is written without rewriting the generation."""


IDENTITY = """
SELECT
    (SELECT user_version FROM pragma_user_version),
    (SELECT application_id FROM pragma_application_id),
    (SELECT count(*) FROM sqlite_master)
"""
"""A single statement, because another process may create the tables concurrently."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreConnection:
    """A connection to a database with the store's tables."""

    connection: sqlite3.Connection
    trouble: OSError | sqlite3.Error | None
    """Why the database is read-only; None if it can be written."""


def open_memory() -> StoreConnection:
    """Open a store in memory, which is lost when the connection closes."""
    return StoreConnection(
        connection=_prepare_database(_connect(":memory:"), "memory"), trouble=None
    )


def open_file(path: Path) -> StoreConnection:
    """Open or create a store; read-only if the file can't be written.

    Raises:
        ConfigError: the file is not a store, or one of another version.
        OSError, sqlite3.Error: the file can't be created or opened.
    """
    _require_database(path)
    try:
        _create_file(path)
        return StoreConnection(connection=_open_database(path, "mode=rw"), trouble=None)
    except (OSError, sqlite3.OperationalError) as error:
        if not path.is_file() or _is_busy(error):
            raise
        return StoreConnection(connection=_open_read_only(path), trouble=error)


def _require_database(path: Path) -> None:
    """Reject a folder, and a file of one byte, which SQLite would treat as an empty database.

    SQLite rejects other files that are no databases. The file is not opened here: see
    `create_private_file`.

    Raises:
        ConfigError: a folder, or one byte.
    """
    if path.is_dir():
        raise ConfigError(f"not a generation store: {path} is a folder; pass a file")
    if path.is_file() and path.stat().st_size == 1:
        raise _build_unfit_error(path, "it has one byte")


def _create_file(path: Path) -> None:
    """Create the file and parent folders, readable by the user only: prompts may be private."""
    missing = [folder for folder in path.parents if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(mode=0o700, exist_ok=True)
    create_private_file(path)
    if not os.access(path, os.W_OK):  # SQLite would fail only at the first write.
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))


def _open_read_only(path: Path) -> sqlite3.Connection:
    """Open a file in a read-only folder.

    A write-ahead log needs a neighbouring shared-memory file. Without one that exists or can be
    created, no process writes, and the database file is the whole store.
    """
    try:
        return _open_database(path, "mode=ro")
    except sqlite3.OperationalError:
        log = path.with_name(path.name + "-wal")
        if log.exists() and log.stat().st_size:
            raise
        return _open_database(path, "mode=ro&immutable=1")


def _open_database(path: Path, options: str) -> sqlite3.Connection:
    connection = _connect(f"{path.absolute().as_uri()}?{options}")
    try:
        return _prepare_database(connection, str(path), is_writable=options == "mode=rw")
    except sqlite3.DatabaseError as error:
        connection.close()
        if not is_damage(error):
            raise
        raise _build_unfit_error(path, error) from error
    except BaseException:
        connection.close()
        raise


def _build_unfit_error(path: Path, reason: object) -> ConfigError:
    return ConfigError(
        f"not a generation store, or a damaged one: {path} ({reason}); pass another file, or "
        "delete this one if it is not needed otherwise"
    )


def _connect(name: str) -> sqlite3.Connection:
    return sqlite3.connect(
        name,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,  # The store has a lock.
        uri=True,
    )


def _prepare_database(
    connection: sqlite3.Connection, name: str, *, is_writable: bool = True
) -> sqlite3.Connection:
    """Create the tables and settings if necessary; return the connection.

    Raises:
        ConfigError: the database is another program's, or of another version.
    """
    version = _read_version(connection, name)
    if not is_writable:
        if not version:
            raise sqlite3.OperationalError("the file is empty and can't be written")
        if version < SCHEMA_VERSION:  # An empty table in memory, for this connection.
            connection.execute(f"CREATE TEMP {DURATIONS}")
        return connection
    if not version:
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    _enter_wal_mode(connection)
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(f"PRAGMA journal_size_limit = {JOURNAL_BYTES}")
    connection.execute("BEGIN IMMEDIATE")
    version = _read_version(connection, name)  # Another process may have created the tables.
    if version < SCHEMA_VERSION:
        for statement in [f"CREATE {DURATIONS}"] if version else SCHEMA.split(";\n"):
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    connection.execute("COMMIT")
    return connection


def _read_version(connection: sqlite3.Connection, name: str) -> int:
    """Return the version of a store; 0 for an empty database.

    Raises:
        ConfigError: the database is another program's, or of another version.
    """
    version, application, tables = connection.execute(IDENTITY).fetchone()
    if (version, application, tables) == (0, 0, 0):
        return 0
    if application != APPLICATION_ID:
        raise ConfigError(
            f"{name} is a database of another program (application id {application}); pass "
            "another file for the generation store"
        )
    if not 0 < version <= SCHEMA_VERSION:
        raise ConfigError(
            f"generation store {name} has version {version}: must be at most {SCHEMA_VERSION}; "
            "install a matching pyevm-agents, or pass another file"
        )
    return int(version)


def _enter_wal_mode(connection: sqlite3.Connection) -> None:
    """Set WAL mode; SQLite itself does not wait while another process does."""
    end = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
        except sqlite3.OperationalError as error:
            if not _is_busy(error) or time.monotonic() > end:
                raise
            time.sleep(0.01)
        else:
            return


def _is_busy(error: Exception) -> bool:
    return isinstance(error, sqlite3.Error) and error.sqlite_errorcode & 0xFF in {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
    }


def is_damage(error: object) -> bool:
    """Return whether SQLite reports that a file is damaged, or not a database."""
    return isinstance(error, sqlite3.Error) and getattr(error, "sqlite_errorcode", 0) & 0xFF in {
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_CORRUPT,
    }


def close(connection: sqlite3.Connection) -> None:
    """Close a connection, ignoring errors, which were reported before."""
    with suppress(sqlite3.Error):
        connection.close()
