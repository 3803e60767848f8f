"""What a worker keeps on disk: requests, computed answers, signed transactions and nonces.

A SQLite file, written with full synchronisation: what `commit` has returned from outlives a kill
and a loss of power. A lock file beside it admits one process.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from pyevm_agents.errors import AgentsError, ConfigError
from pyevm_agents.oracle.messages import (
    AgentRequest,
    Answer,
    Commitment,
    ComputedAnswer,
    Evidence,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

FORMAT = "1"

SCHEMA = """
CREATE TABLE identity (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE blocks (number INTEGER PRIMARY KEY, hash BLOB NOT NULL);
CREATE TABLE requests (
  request_id BLOB NOT NULL, block_hash BLOB NOT NULL, block_number INTEGER NOT NULL,
  block_timestamp INTEGER NOT NULL, position INTEGER NOT NULL, client BLOB NOT NULL,
  budget_id BLOB NOT NULL, arguments_hash BLOB NOT NULL, callback_gas_limit INTEGER NOT NULL,
  fee BLOB NOT NULL, deadline INTEGER NOT NULL, arguments BLOB NOT NULL,
  is_removed INTEGER NOT NULL DEFAULT 0, settled_at INTEGER,
  refused INTEGER, output BLOB, evidence BLOB,
  PRIMARY KEY (request_id, block_hash)
);
CREATE TABLE slots (
  nonce INTEGER PRIMARY KEY, kind TEXT NOT NULL, request_id BLOB, block_hash BLOB,
  mined_hash BLOB, mined_number INTEGER, mined_block BLOB, succeeded INTEGER
);
CREATE TABLE attempts (
  hash BLOB PRIMARY KEY, nonce INTEGER NOT NULL, raw BLOB NOT NULL, fee TEXT NOT NULL,
  tip TEXT NOT NULL, signed_at INTEGER NOT NULL
);
CREATE INDEX attempts_of_nonce ON attempts (nonce);
"""

WORD = 32


class StoreInUseError(AgentsError):
    """Another process has the store open."""


class StoreWriteError(AgentsError):
    """The file can't be written now, such as on a full disk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreIdentity:
    """What a store belongs to; it is never used for something else."""

    chain_id: int
    genesis_hash: bytes
    oracle: bytes
    worker: bytes

    def list_values(self) -> dict[str, str]:
        """Return the values under their names."""
        return {
            "format": FORMAT,
            "chain": str(self.chain_id),
            "genesis block": "0x" + self.genesis_hash.hex(),
            "oracle": "0x" + self.oracle.hex(),
            "worker": "0x" + self.worker.hex(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRequest:
    """A request that the worker has seen, with the answer that it has computed."""

    request: AgentRequest
    timestamp: int
    """Of the request's block, in seconds since 1970."""

    is_removed: bool
    """Whether a reorganisation removed its block."""

    settled_at: int | None
    """The head's number when the oracle was first seen not to wait any more."""

    computed: ComputedAnswer | None

    @property
    def key(self) -> tuple[bytes, bytes]:
        """The request's ID and the hash of its block: after a reorganisation it is another one."""
        return self.request.commitment.request_id.to_bytes(WORD), self.request.block_hash


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A signed transaction."""

    hash: bytes
    nonce: int
    raw: bytes
    fee: int
    """`maxFeePerGas`, or the gas price, in wei."""

    tip: int
    signed_at: int
    """The head's number when it was signed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """A nonce, and what it is used for."""

    nonce: int
    kind: str
    """An `Action`'s value, such as `answer`; or `filler`: a transfer of nothing to oneself."""

    key: tuple[bytes, bytes] | None
    """Of the request; None for a filler."""

    mined_hash: bytes | None = None
    mined_number: int | None = None
    mined_block: bytes | None = None
    succeeded: bool | None = None

    @property
    def is_mined(self) -> bool:
        """Whether a transaction with this nonce is in a block."""
        return self.mined_hash is not None


class WorkerStore:
    """The store of one worker. For one thread."""

    def __init__(self, path: Path, identity: StoreIdentity) -> None:
        """Open or create the file.

        Raises:
            StoreInUseError: another process has it open.
            ConfigError: it is another worker's, or not a store.
        """
        self.path = path
        self._lock = _take_lock(path)
        try:
            self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            self._prepare(identity)
        except sqlite3.Error as error:
            os.close(self._lock)
            raise ConfigError(f"store {path}: {error}; pass another file with --store") from error
        except ConfigError:
            self._connection.close()
            os.close(self._lock)
            raise

    def __enter__(self) -> Self:
        """Return the store."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Close the file and release the lock."""
        self._connection.close()
        os.close(self._lock)

    @contextmanager
    def commit(self) -> Iterator[None]:
        """Write what the context does as a whole, or nothing of it.

        Raises: StoreWriteError: it can't be written.
        """
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:  # A full disk ends it.
                    self._connection.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            raise StoreWriteError(
                f"store {self.path}: can't be written: {error}; free some space"
            ) from error

    # -- blocks -- #

    def get_scanned(self) -> int | None:
        """Return the last block that was searched for requests; None for a new store."""
        row = self._connection.execute("SELECT max(number) FROM blocks").fetchone()
        return None if row[0] is None else int(row[0])

    def list_blocks(self) -> list[tuple[int, bytes]]:
        """Return numbers and hashes of known blocks, the latest first."""
        return [*self._connection.execute("SELECT number, hash FROM blocks ORDER BY number DESC")]

    def add_block(self, number: int, block_hash: bytes) -> None:
        """Note a block of the chain."""
        self._connection.execute(
            "INSERT OR REPLACE INTO blocks VALUES (?, ?)", (number, block_hash)
        )

    def rewind(self, number: int) -> list[StoredRequest]:
        """Forget the blocks above one; return the requests that are removed with them."""
        removed = [
            each
            for each in self.list_requests()
            if each.request.commitment.block_number > number and not each.is_removed
        ]
        with self.commit():
            execute = self._connection.execute
            execute("DELETE FROM blocks WHERE number > ?", (number,))
            execute("UPDATE requests SET is_removed = 1 WHERE block_number > ?", (number,))
            execute("UPDATE requests SET settled_at = NULL WHERE settled_at > ?", (number,))
        return removed

    def prune(self, number: int) -> None:
        """Forget what is settled and mined before a block, and all blocks before it but one."""
        with self.commit():
            execute = self._connection.execute
            execute(
                "DELETE FROM slots WHERE mined_number < ? AND "
                "nonce < (SELECT max(nonce) FROM slots) AND NOT EXISTS (SELECT 1 FROM requests "
                "WHERE slots.request_id = requests.request_id AND settled_at IS NULL "
                "AND NOT is_removed)",
                (number,),
            )
            execute("DELETE FROM attempts WHERE nonce NOT IN (SELECT nonce FROM slots)")
            execute(
                "DELETE FROM requests WHERE (settled_at < ? OR (is_removed AND block_number < ?)) "
                "AND NOT EXISTS (SELECT 1 FROM slots WHERE slots.request_id = requests.request_id "
                "AND slots.block_hash = requests.block_hash)",
                (number, number),
            )
            execute(
                "DELETE FROM blocks WHERE number < "
                "(SELECT max(number) FROM blocks WHERE number < ?)",
                (number,),
            )

    # -- requests -- #

    def add_request(self, request: AgentRequest, *, timestamp: int, position: int) -> None:
        """Add a request, or note that its block is on the chain again."""
        members = request.commitment
        self._connection.execute(
            "INSERT INTO requests (request_id, block_hash, block_number, block_timestamp, "
            "position, client, budget_id, arguments_hash, callback_gas_limit, fee, deadline, "
            "arguments) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
            "ON CONFLICT DO UPDATE SET is_removed = 0",
            (
                members.request_id.to_bytes(WORD),
                request.block_hash,
                members.block_number,
                timestamp,
                position,
                members.client,
                members.budget_id.to_bytes(WORD),
                members.arguments_hash,
                members.callback_gas_limit,
                members.fee.to_bytes(WORD),
                members.deadline,
                request.arguments,
            ),
        )

    def list_requests(self) -> list[StoredRequest]:
        """Return all requests, in the chain's order."""
        oracle = self._oracle
        cursor = self._connection.cursor()
        cursor.row_factory = sqlite3.Row
        rows = cursor.execute("SELECT * FROM requests ORDER BY block_number, position")
        return [_read_request(oracle, row) for row in rows]

    def set_settled(self, keys: Sequence[tuple[bytes, bytes]], number: int | None) -> None:
        """Note the block at which requests were seen not to wait any more; None: they wait."""
        with self.commit():
            self._connection.executemany(
                "UPDATE requests SET settled_at = ? WHERE request_id = ? AND block_hash = ?",
                [(number, *key) for key in keys],
            )

    def set_answer(self, key: tuple[bytes, bytes], computed: ComputedAnswer) -> None:
        """Keep a computed answer."""
        evidence = computed.evidence
        members = (
            evidence.block_hash,
            evidence.model_digest,
            evidence.profile_fingerprint,
            evidence.prompt_hash,
            evidence.output_hash,
        )
        with self.commit():
            self._connection.execute(
                "UPDATE requests SET refused = ?, output = ?, evidence = ? "
                "WHERE request_id = ? AND block_hash = ?",
                (computed.answer.refused, computed.answer.output, b"".join(members), *key),
            )

    # -- transactions -- #

    def add_attempt(self, slot: Slot, attempt: Attempt) -> None:
        """Keep a signed transaction, and what its nonce is used for from now on."""
        request_id, block_hash = (None, None) if slot.key is None else slot.key
        with self.commit():
            self._connection.execute(
                "INSERT INTO slots (nonce, kind, request_id, block_hash) VALUES (?, ?, ?, ?) "
                "ON CONFLICT DO UPDATE SET kind = excluded.kind, "
                "request_id = excluded.request_id, block_hash = excluded.block_hash",
                (slot.nonce, slot.kind, request_id, block_hash),
            )
            self._connection.execute(
                "INSERT OR REPLACE INTO attempts VALUES (?, ?, ?, ?, ?, ?)",
                (
                    attempt.hash,
                    attempt.nonce,
                    attempt.raw,
                    str(attempt.fee),
                    str(attempt.tip),
                    attempt.signed_at,
                ),
            )

    def list_slots(self) -> list[Slot]:
        """Return all nonces in use, in order."""
        rows = self._connection.execute(
            "SELECT nonce, kind, request_id, block_hash, mined_hash, mined_number, mined_block, "
            "succeeded FROM slots ORDER BY nonce"
        )
        return [
            Slot(
                nonce=nonce,
                kind=kind,
                key=None if request_id is None else (request_id, block_hash),
                mined_hash=mined_hash,
                mined_number=mined_number,
                mined_block=mined_block,
                succeeded=None if succeeded is None else bool(succeeded),
            )
            for nonce, kind, request_id, block_hash, mined_hash, mined_number, mined_block,
            succeeded in rows
        ]  # fmt: skip

    def list_attempts(self, nonce: int) -> list[Attempt]:
        """Return all transactions that were signed with a nonce, the first first."""
        rows = self._connection.execute(
            "SELECT hash, nonce, raw, fee, tip, signed_at FROM attempts WHERE nonce = ? "
            "ORDER BY rowid",
            (nonce,),
        )
        return [
            Attempt(hash=each, nonce=used, raw=raw, fee=int(fee), tip=int(tip), signed_at=signed_at)
            for each, used, raw, fee, tip, signed_at in rows
        ]

    def set_mined(self, slot: Slot) -> None:
        """Note in which block a nonce's transaction is; in none if `mined_hash` is None."""
        with self.commit():
            self._connection.execute(
                "UPDATE slots SET mined_hash = ?, mined_number = ?, mined_block = ?, "
                "succeeded = ? WHERE nonce = ?",
                (
                    slot.mined_hash,
                    slot.mined_number,
                    slot.mined_block,
                    slot.succeeded,
                    slot.nonce,
                ),
            )

    def drop_slot(self, nonce: int) -> None:
        """Forget a nonce that somebody else's transaction has used."""
        with self.commit():
            self._connection.execute("DELETE FROM slots WHERE nonce = ?", (nonce,))
            self._connection.execute("DELETE FROM attempts WHERE nonce = ?", (nonce,))

    # -- the file -- #

    def _prepare(self, identity: StoreIdentity) -> None:
        execute = self._connection.execute
        execute("PRAGMA journal_mode = WAL")
        execute("PRAGMA synchronous = FULL")
        values = identity.list_values()
        tables = {name for (name,) in execute("SELECT name FROM sqlite_master")}
        if not tables:
            self._connection.executescript(f"BEGIN IMMEDIATE; {SCHEMA}")
            self._connection.executemany("INSERT INTO identity VALUES (?, ?)", [*values.items()])
            execute("COMMIT")
        elif "identity" not in tables:
            raise ConfigError(f"store {self.path}: not a worker's store; pass another file")
        found = dict(execute("SELECT name, value FROM identity"))
        for name, value in values.items():
            if found.get(name) != value:
                raise ConfigError(
                    f"store {self.path}: is for {name} {found.get(name)}, not {value}; pass "
                    "another file with --store"
                )
        self._oracle = identity.oracle


def _take_lock(path: Path) -> int:
    """Lock the file beside a store; return its descriptor."""
    lock = path.with_name(path.name + ".lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise ConfigError(f"store {path}: {error.strerror}; pass another file") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        with suppress(OSError):
            os.close(descriptor)
        raise StoreInUseError(
            f"store {path}: another worker has it open; stop that one, or pass another file with "
            "--store"
        ) from error
    return descriptor


def _read_request(oracle: bytes, row: sqlite3.Row) -> StoredRequest:
    commitment = Commitment(
        request_id=int.from_bytes(row["request_id"]),
        client=row["client"],
        budget_id=int.from_bytes(row["budget_id"]),
        arguments_hash=row["arguments_hash"],
        callback_gas_limit=row["callback_gas_limit"],
        fee=int.from_bytes(row["fee"]),
        block_number=row["block_number"],
        deadline=row["deadline"],
    )
    return StoredRequest(
        request=AgentRequest(
            oracle=oracle,
            commitment=commitment,
            arguments=row["arguments"],
            block_hash=row["block_hash"],
        ),
        timestamp=row["block_timestamp"],
        is_removed=bool(row["is_removed"]),
        settled_at=row["settled_at"],
        computed=None if row["evidence"] is None else _read_answer(row),
    )


def _read_answer(row: sqlite3.Row) -> ComputedAnswer:
    words: bytes = row["evidence"]
    parts = [words[start : start + WORD] for start in range(0, len(words), WORD)]
    block_hash, model_digest, profile_fingerprint, prompt_hash, output_hash = parts
    return ComputedAnswer(
        answer=Answer(refused=bool(row["refused"]), output=row["output"]),
        evidence=Evidence(
            block_hash=block_hash,
            model_digest=model_digest,
            profile_fingerprint=profile_fingerprint,
            prompt_hash=prompt_hash,
            output_hash=output_hash,
        ),
    )
