"""Rows of the generation store: key, fields and checksum of a generation, and queries.

All queries run inside the caller's transaction.
"""

from __future__ import annotations

import hashlib
import json
import struct
import time
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from precompiles.language_model import Confidence, Generation, Margin

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping, Sequence


RowFields: TypeAlias = "tuple[bytes, bytes, bytes, int, int, bytes | None, bytes]"
"""Prompt, tokens, text, forced tokens, whether it is complete, margin, checksum."""

TOKEN_BYTES = 4
CHECKSUM_BYTES = 16
MAX_UNPACKED_BYTES = 1 << 24
"""Limit of 4 million tokens, or 16 MiB of grammar: more than any model's context. Larger fields are
damaged."""

COMPRESSION_LEVEL = 3
"""29 µs for a wallet agent's 739 tokens; zlib's default takes 53 µs to save 7 % more."""

EVICTED_SHARE = 32
"""Fraction (1/n) of the generations evicted together, so that not every write has to evict."""

FIELDS = "prompt, tokens, text, forced_tokens, is_complete, margin, checksum"
SELECT = f"SELECT {FIELDS} FROM generations WHERE key = ?"  # noqa: S608 - a constant
SELECT_SECONDS = """
SELECT seconds FROM durations
WHERE generation = (SELECT id FROM generations WHERE key = ?)
"""
INSERT = (
    f"INSERT INTO generations (key, profile, grammar, written_us, {FIELDS}) "  # noqa: S608 - a constant
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


class DamagedRowError(ValueError):
    """A row that differs from the written one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationInputs:
    """Everything that determines a generation. Excludes the token limit.

    Source: docs/architecture.md#generations-are-pure
    """

    digest: bytes
    """Digest of the model, 32 bytes, see `ProfileFacts`."""

    fingerprint: str
    """The engine's profile, see `ProfileFacts`."""

    prompt_tokens: tuple[int, ...]
    grammar: str
    """The grammar, followed by the scoring in the short format; see `scored_grammar.py`."""

    def compute_key(self) -> bytes:
        """Return the key of the generation, 32 bytes."""
        parts = (self.fingerprint.encode(), pack_tokens(self.prompt_tokens), self.grammar.encode())
        digests = (hashlib.sha256(part).digest() for part in parts)
        return hashlib.sha256(hashlib.sha256(self.digest).digest() + b"".join(digests)).digest()


def encode(key: bytes, prompt_tokens: Sequence[int], generation: Generation) -> RowFields:
    """Encode a generation as the fields of a row.

    Raises:
        ValueError: a token is not a 32-bit number.
    """
    margin, confidence = generation.margin, generation.confidence
    closest = (
        None
        if margin is None
        else [float(margin.gap), margin.token_index, margin.chosen, margin.other]
    )
    scores = None if confidence is None else [generation.tail_tokens, confidence.surprisal]
    fields = (
        compress(pack_tokens(prompt_tokens)),
        compress(pack_tokens(generation.tokens)),
        generation.text.encode("utf-8", "surrogatepass"),
        generation.forced_tokens,
        int(generation.is_complete),
        _encode_scores(closest, scores),
    )
    return (*fields, _compute_checksum(key, *fields))


def decode(key: bytes, fields: Sequence[object]) -> Generation:
    """Decode the fields of a row to a generation.

    Raises:
        DamagedRowError: the row differs from the written one.
    """
    match fields:
        case [
            bytes(prompt),
            bytes(tokens),
            bytes(text),
            int(forced_tokens),
            int(is_complete),
            (bytes() | None) as margin,
            bytes(checksum),
        ]:
            parts = (prompt, tokens, text, forced_tokens, is_complete, margin)
        case _:
            raise DamagedRowError("a field has the wrong type")
    if _compute_checksum(key, *parts) != checksum:
        raise DamagedRowError("the checksum does not match")
    closest, scores, tail_tokens = _decode_scores(margin)
    return Generation(
        text=text.decode("utf-8", "surrogatepass"),
        tokens=unpack_tokens(decompress(tokens)),
        forced_tokens=forced_tokens,
        is_complete=bool(is_complete),
        margin=closest,
        confidence=scores,
        tail_tokens=tail_tokens,
    )


def _encode_scores(margin: list[object] | None, confidence: list[int] | None) -> bytes | None:
    """Encode the margin alone as a list; with a confidence, both as a list of two."""
    if confidence is not None:
        return json.dumps([margin, confidence]).encode()
    return None if margin is None else json.dumps(margin).encode()


def pack_tokens(tokens: Sequence[int]) -> bytes:
    """Pack tokens as 32-bit little-endian numbers.

    Raises:
        ValueError: a token is not a 32-bit number.
    """
    try:
        return struct.pack(f"<{len(tokens)}I", *tokens)
    except struct.error as error:
        raise ValueError(
            f"invalid token: must be an integer from 0 to 2**32 - 1: {error}"
        ) from error


def unpack_tokens(packed: bytes) -> tuple[int, ...]:
    """Unpack tokens packed by `pack_tokens`.

    Raises:
        DamagedRowError: the length is not a multiple of a token's.
    """
    if len(packed) % TOKEN_BYTES:
        raise DamagedRowError(f"{len(packed)} bytes: must be a multiple of {TOKEN_BYTES}")
    return struct.unpack(f"<{len(packed) // TOKEN_BYTES}I", packed)


def compress(data: bytes) -> bytes:
    """Compress data in zlib's format."""
    return zlib.compress(data, COMPRESSION_LEVEL)


def decompress(data: bytes) -> bytes:
    """Decompress data of `compress`.

    Raises:
        DamagedRowError: not in zlib's format, truncated, followed by other data, or too large.
    """
    unpacker = zlib.decompressobj()
    try:
        unpacked = unpacker.decompress(data, MAX_UNPACKED_BYTES)
    except zlib.error as error:
        raise DamagedRowError(str(error)) from error
    if not unpacker.eof or unpacker.unused_data:
        raise DamagedRowError("the compressed data is truncated, too large, or followed by more")
    return unpacked


def _decode_scores(packed: bytes | None) -> tuple[Margin | None, Confidence | None, int]:
    """Decode the result of `_encode_scores`."""
    match None if packed is None else json.loads(packed):
        case [margin, [int(tail_tokens), *scores]]:
            return _decode_margin(margin), _decode_confidence(scores), tail_tokens
        case margin:
            return _decode_margin(margin), None, 0


def _decode_margin(form: object) -> Margin | None:
    match form:
        case None:
            return None
        case [float(gap), int(token_index), str(chosen), str(other)]:
            return Margin(gap=gap, token_index=token_index, chosen=chosen, other=other)
    raise DamagedRowError(f"not a margin: {form!r}")


def _decode_confidence(form: list[object]) -> Confidence:
    match form:
        case [int(surprisal)]:
            return Confidence(surprisal=surprisal)
    raise DamagedRowError(f"not a confidence: {form!r}")


def _compute_checksum(*parts: bytes | int | None) -> bytes:
    """Hash fields, each with kind and length: distinct sequences never collide."""
    hashed = hashlib.blake2b(digest_size=CHECKSUM_BYTES)
    for part in parts:
        if isinstance(part, int):
            hashed.update(b"i" + part.to_bytes(9, "little", signed=True))
        elif part is None:
            hashed.update(b"n")
        else:
            hashed.update(b"b" + len(part).to_bytes(8, "little"))
            hashed.update(part)
    return hashed.digest()


def now_us() -> int:
    """Return the current time in microseconds, for the order of last uses."""
    return time.time_ns() // 1000


def find(connection: sqlite3.Connection, key: bytes) -> Generation | None:
    """Return the generation under a key, or None.

    Raises:
        DamagedRowError: the row differs from the written one.
    """
    row = connection.execute(SELECT, (key,)).fetchone()
    return None if row is None else decode(key, row)


def find_seconds(connection: sqlite3.Connection, key: bytes) -> float | None:
    """Return the duration of the inference of the generation under a key; None if unknown."""
    match connection.execute(SELECT_SECONDS, (key,)).fetchone():
        case [float(seconds)]:
            return seconds
        case _:
            return None


def insert(
    connection: sqlite3.Connection,
    key: bytes,
    question: GenerationInputs,
    fields: RowFields,
    *,
    seconds: float | None = None,
) -> None:
    """Insert a row, replacing the one under the same key.

    Input:
        seconds: duration of the inference; None if unknown.
    """
    remove(connection, key)
    now = now_us()
    ids = (_ensure_profile(connection, question), _ensure_grammar(connection, question.grammar))
    cursor = connection.execute(INSERT, (key, *ids, now, *fields))
    connection.execute("INSERT INTO uses VALUES (?, ?)", (cursor.lastrowid, now))
    if seconds is not None:
        connection.execute(
            "INSERT OR REPLACE INTO durations VALUES (?, ?)", (cursor.lastrowid, seconds)
        )


def remove(connection: sqlite3.Connection, key: bytes) -> None:
    """Delete the row under a key, if there is one."""
    rows = connection.execute("SELECT id FROM generations WHERE key = ?", (key,)).fetchall()
    _remove_rows(connection, rows)


def save_uses(connection: sqlite3.Connection, uses: Mapping[bytes, int]) -> None:
    """Update the last uses of generations."""
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


def count_excess_pages(connection: sqlite3.Connection, max_bytes: int) -> int:
    """Return by how many pages the file will exceed its limit after this transaction."""
    return read_pragma(connection, "page_count") - max_bytes // read_pragma(connection, "page_size")


def shrink(connection: sqlite3.Connection, pages: int) -> int:
    """Shrink the file by `pages` pages; return the number of evicted generations.

    Free pages are released first, then the least recently used generations are evicted.
    """
    evicted = 0
    while read_pragma(connection, "freelist_count") < pages:
        (count,) = connection.execute("SELECT count(*) FROM uses").fetchone()
        oldest = connection.execute(
            "SELECT generation FROM uses ORDER BY used_us, generation LIMIT ?",
            (max(1, count // EVICTED_SHARE),),
        ).fetchall()
        if not oldest:
            break
        _remove_rows(connection, oldest)
        connection.execute("DELETE FROM grammars WHERE id NOT IN (SELECT grammar FROM generations)")
        connection.execute("DELETE FROM profiles WHERE id NOT IN (SELECT profile FROM generations)")
        evicted += len(oldest)
    _release_pages(connection, pages)
    return evicted


def remove_all(connection: sqlite3.Connection) -> int:
    """Delete everything; return the number of deleted generations."""
    (count,) = connection.execute("SELECT count(*) FROM generations").fetchone()
    for table in ("generations", "uses", "durations", "grammars", "profiles", "counters"):
        connection.execute(f"DELETE FROM {table}")  # noqa: S608 - a constant
    _release_pages(connection, read_pragma(connection, "freelist_count"))
    return int(count)


def read_pragma(connection: sqlite3.Connection, name: str) -> int:
    """Return an integer pragma of the database."""
    (value,) = connection.execute(f"PRAGMA {name}").fetchone()
    return int(value)


def _release_pages(connection: sqlite3.Connection, pages: int) -> None:
    """Release free pages one by one, because sqlite3 runs only the pragma's first step."""
    for _ in range(pages):
        connection.execute("PRAGMA incremental_vacuum(1)")


def _remove_rows(connection: sqlite3.Connection, ids: list[tuple[int]]) -> None:
    connection.executemany("DELETE FROM generations WHERE id = ?", ids)
    connection.executemany("DELETE FROM uses WHERE generation = ?", ids)
    connection.executemany("DELETE FROM durations WHERE generation = ?", ids)


def _ensure_profile(connection: sqlite3.Connection, question: GenerationInputs) -> int:
    profile = (question.digest, question.fingerprint)
    connection.execute(
        "INSERT OR IGNORE INTO profiles (digest, fingerprint) VALUES (?, ?)", profile
    )
    (profile_id,) = connection.execute(
        "SELECT id FROM profiles WHERE digest = ? AND fingerprint = ?", profile
    ).fetchone()
    return int(profile_id)


def _ensure_grammar(connection: sqlite3.Connection, grammar: str) -> int:
    text = grammar.encode()
    digest = hashlib.sha256(text).digest()
    row = connection.execute("SELECT id FROM grammars WHERE digest = ?", (digest,)).fetchone()
    if row is not None:
        return int(row[0])
    cursor = connection.execute(
        "INSERT INTO grammars (digest, source) VALUES (?, ?)", (digest, compress(text))
    )
    return int(cursor.lastrowid or 0)
