"""What the store of generations does to its tables. Each function is part of a transaction."""

from __future__ import annotations

import hashlib
import time
from typing import TYPE_CHECKING

from pyevm_agents.models.store.rows import compress, decode

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping

    from precompiles.language_model import Generation
    from pyevm_agents.models.store.rows import Fields, Question

EVICTED_SHARE = 32
"""Of the generations, one in so many goes at once, so that not every write has to make room."""

FIELDS = "prompt, tokens, text, forced_tokens, is_complete, margin, checksum"
SELECT = f"SELECT {FIELDS} FROM generations WHERE key = ?"  # noqa: S608 - a constant
INSERT = (
    f"INSERT INTO generations (key, profile, grammar, written_us, {FIELDS}) "  # noqa: S608 - a constant
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


def now_us() -> int:
    """Return the time in microseconds, for the order of last uses."""
    return time.time_ns() // 1000


def find(connection: sqlite3.Connection, key: bytes) -> Generation | None:
    """Return the generation under a key.

    Raises:
        DamagedRowError: the row is not as it was written.
    """
    row = connection.execute(SELECT, (key,)).fetchone()
    return None if row is None else decode(key, row)


def insert(connection: sqlite3.Connection, key: bytes, question: Question, fields: Fields) -> None:
    """Put a row in place of the one under its key."""
    remove(connection, key)
    now = now_us()
    ids = (_profile_id(connection, question), _grammar_id(connection, question.grammar))
    cursor = connection.execute(INSERT, (key, *ids, now, *fields))
    connection.execute("INSERT INTO uses VALUES (?, ?)", (cursor.lastrowid, now))


def remove(connection: sqlite3.Connection, key: bytes) -> None:
    """Remove the row under a key, where there is one."""
    found = connection.execute("SELECT id FROM generations WHERE key = ?", (key,)).fetchall()
    _remove(connection, found)


def save_uses(connection: sqlite3.Connection, uses: Mapping[bytes, int]) -> None:
    """Write when generations were used last."""
    connection.executemany(
        "UPDATE uses SET used_us = max(used_us, ?) "
        "WHERE generation = (SELECT id FROM generations WHERE key = ?)",
        ((used_us, key) for key, used_us in uses.items()),
    )


def save_counts(connection: sqlite3.Connection, counts: Mapping[str, int]) -> None:
    """Add to the counters."""
    connection.executemany(
        "INSERT INTO counters VALUES (?, ?) "
        "ON CONFLICT (name) DO UPDATE SET value = value + excluded.value",
        counts.items(),
    )


def excess_pages(connection: sqlite3.Connection, max_bytes: int) -> int:
    """Return by how many pages the file is too large, as it will be after this transaction."""
    return pragma(connection, "page_count") - max_bytes // pragma(connection, "page_size")


def shrink(connection: sqlite3.Connection, pages: int) -> int:
    """Make the file smaller by so many pages; return how many generations had to go for it.

    Free pages go first, then the least recently used generations.
    """
    evicted = 0
    while pragma(connection, "freelist_count") < pages:
        (count,) = connection.execute("SELECT count(*) FROM uses").fetchone()
        oldest = connection.execute(
            "SELECT generation FROM uses ORDER BY used_us, generation LIMIT ?",
            (max(1, count // EVICTED_SHARE),),
        ).fetchall()
        if not oldest:
            break
        _remove(connection, oldest)
        connection.execute("DELETE FROM grammars WHERE id NOT IN (SELECT grammar FROM generations)")
        connection.execute("DELETE FROM profiles WHERE id NOT IN (SELECT profile FROM generations)")
        evicted += len(oldest)
    _give_back(connection, pages)
    return evicted


def empty(connection: sqlite3.Connection) -> int:
    """Remove everything; return how many generations there were."""
    (count,) = connection.execute("SELECT count(*) FROM generations").fetchone()
    for table in ("generations", "uses", "grammars", "profiles", "counters"):
        connection.execute(f"DELETE FROM {table}")  # noqa: S608 - a constant
    _give_back(connection, pragma(connection, "freelist_count"))
    return int(count)


def pragma(connection: sqlite3.Connection, name: str) -> int:
    """Return a number that SQLite knows of the file."""
    (value,) = connection.execute(f"PRAGMA {name}").fetchone()
    return int(value)


def _give_back(connection: sqlite3.Connection, pages: int) -> None:
    """Cut free pages off the file, one by one: Python runs the pragma for the first one alone."""
    for _ in range(pages):
        connection.execute("PRAGMA incremental_vacuum(1)")


def _remove(connection: sqlite3.Connection, ids: list[tuple[int]]) -> None:
    connection.executemany("DELETE FROM generations WHERE id = ?", ids)
    connection.executemany("DELETE FROM uses WHERE generation = ?", ids)


def _profile_id(connection: sqlite3.Connection, question: Question) -> int:
    profile = (question.digest, question.fingerprint)
    connection.execute(
        "INSERT OR IGNORE INTO profiles (digest, fingerprint) VALUES (?, ?)", profile
    )
    (found,) = connection.execute(
        "SELECT id FROM profiles WHERE digest = ? AND fingerprint = ?", profile
    ).fetchone()
    return int(found)


def _grammar_id(connection: sqlite3.Connection, grammar: str) -> int:
    text = grammar.encode()
    digest = hashlib.sha256(text).digest()
    found = connection.execute("SELECT id FROM grammars WHERE digest = ?", (digest,)).fetchone()
    if found is not None:
        return int(found[0])
    cursor = connection.execute(
        "INSERT INTO grammars (digest, source) VALUES (?, ?)", (digest, compress(text))
    )
    return int(cursor.lastrowid or 0)
