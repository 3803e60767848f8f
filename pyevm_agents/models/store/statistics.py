"""Statistics of a generation store, and the generations with inputs."""

from __future__ import annotations

import random
import sqlite3
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyevm_agents.errors import ConfigError
from pyevm_agents.models.store import rows
from pyevm_agents.models.store.rows import (
    DamagedRowError,
    GenerationInputs,
    decode,
    decompress,
    unpack_tokens,
)

if TYPE_CHECKING:
    from precompiles.language_model import Generation
    from pyevm_agents.models.store.store import Store

PROFILES = """
SELECT digest, fingerprint, sum(is_complete = 1), sum(is_complete = 0)
FROM generations JOIN profiles ON profiles.id = generations.profile
GROUP BY profiles.id ORDER BY count(*) DESC
"""

KEYS = """
SELECT key FROM generations JOIN profiles ON profiles.id = generations.profile
WHERE digest = ? AND fingerprint = ? ORDER BY key
"""

ENTRY = f"""
SELECT profiles.digest, fingerprint, source, {rows.FIELDS}
FROM generations
LEFT JOIN profiles ON profiles.id = generations.profile
LEFT JOIN grammars ON grammars.id = generations.grammar
WHERE key = ?
"""  # noqa: S608 - constants


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileCount:
    """Number of generations of one model under one profile."""

    digest: bytes
    fingerprint: str
    complete: int
    incomplete: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreStatistics:
    """Statistics of a store."""

    file_bytes: int
    """Size of the database file after a checkpoint, without the write-ahead log."""

    free_bytes: int
    """Free space in the file, which the next generations use first."""

    profiles: tuple[ProfileCount, ...]
    counts: dict[str, int]
    """Counts by `store.StoreEvent`, of all processes so far."""

    oldest_us: int | None
    newest_us: int | None
    """Times at which the oldest and newest generations were written, in Unix microseconds."""

    @property
    def complete(self) -> int:
        """Number of complete generations."""
        return sum(profile.complete for profile in self.profiles)

    @property
    def incomplete(self) -> int:
        """Number of generations cut by a limit."""
        return sum(profile.incomplete for profile in self.profiles)

    @property
    def hit_rate(self) -> float | None:
        """Share of requests that the store answered; None without requests."""
        hits = self.counts.get("hits", 0)
        lookups = hits + self.counts.get("misses", 0) + self.counts.get("resumes", 0)
        return hits / lookups if lookups else None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredGeneration:
    """A generation with inputs."""

    key: bytes
    question: GenerationInputs
    generation: Generation


def compute_statistics(store: Store) -> StoreStatistics:
    """Compute the statistics of a store.

    Raises:
        ConfigError: the store can't be read.
    """
    store.flush()
    connection = _require_connection(store)
    with store.lock:
        try:
            page_bytes = rows.read_pragma(connection, "page_size")
            oldest, newest = connection.execute(
                "SELECT min(written_us), max(written_us) FROM generations"
            ).fetchone()
            return StoreStatistics(
                file_bytes=rows.read_pragma(connection, "page_count") * page_bytes,
                free_bytes=rows.read_pragma(connection, "freelist_count") * page_bytes,
                profiles=tuple(
                    ProfileCount(
                        digest=row[0], fingerprint=row[1], complete=row[2], incomplete=row[3]
                    )
                    for row in connection.execute(PROFILES)
                ),
                counts=dict(connection.execute("SELECT name, value FROM counters")),
                oldest_us=oldest,
                newest_us=newest,
            )
        except sqlite3.Error as error:
            raise _build_read_error(store, error) from error


def sample_keys(
    store: Store, digest: bytes, fingerprint: str, *, count: int | None, seed: int
) -> list[bytes]:
    """Return the keys of a sample of a model's generations under a profile.

    Input:
        count: size of the sample; None for all.
        seed: seed of the sample.

    Raises:
        ConfigError: the store can't be read.
    """
    connection = _require_connection(store)
    with store.lock:
        try:
            keys = [key for (key,) in connection.execute(KEYS, (digest, fingerprint))]
        except sqlite3.Error as error:
            raise _build_read_error(store, error) from error
    if count is None or count >= len(keys):
        return keys
    return random.Random(seed).sample(keys, count)  # noqa: S311 - a sample, not a secret


def read_generation(store: Store, key: bytes) -> StoredGeneration | None:
    """Return the generation under a key with inputs; None if no longer there.

    Raises:
        DamagedRowError: the row differs from the written one, or the inputs do not match the key.
        ConfigError: the store can't be read.
    """
    connection = _require_connection(store)
    with store.lock:
        try:
            row = connection.execute(ENTRY, (key,)).fetchone()
        except sqlite3.Error as error:
            raise _build_read_error(store, error) from error
    if row is None:
        return None
    match row:
        case [bytes(digest), str(fingerprint), bytes(grammar), *fields]:
            generation = decode(key, fields)
            question = GenerationInputs(
                digest=digest,
                fingerprint=fingerprint,
                prompt_tokens=unpack_tokens(decompress(fields[0])),
                grammar=decompress(grammar).decode(),
            )
        case _:
            raise DamagedRowError("its model, profile or grammar is missing")
    if question.compute_key() != key:
        raise DamagedRowError("its model, profile, prompt or grammar does not match its key")
    return StoredGeneration(key=key, question=question, generation=generation)


def _require_connection(store: Store) -> sqlite3.Connection:
    if store.connection is None:
        raise ConfigError(store.trouble or "the generation store is closed; open it again")
    return store.connection


def _build_read_error(store: Store, error: sqlite3.Error) -> ConfigError:
    return ConfigError(
        f"generation store {store.path} can't be read: {error}; delete the file, and the "
        "two next to it whose names end in -wal and -shm"
    )
