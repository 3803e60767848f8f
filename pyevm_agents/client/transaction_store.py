"""Signed transactions and nonces on disk; stores of workers and councils add their own tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from pyevm_agents.client.sqlite_store import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SCHEMA = """
CREATE TABLE identity (name TEXT PRIMARY KEY, value TEXT NOT NULL);
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
    """A nonce, and the purpose."""

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


class TransactionStore(SqliteStore):
    """A store with the transactions of one key. For one thread."""

    notes: ClassVar = {
        ("genesis block",): "a development chain that was started again has another genesis; "
    }
    advice = "pass another file with --store"

    def __init__(self, path: Path, identity: Mapping[str, str], schema: str) -> None:
        """Open or create the file.

        Input:
            path: the file.
            identity: the owner of the store, under names for people.
            schema: SQL of the tables beside those of transactions.

        Raises:
            StoreInUseError: another process has the file open.
            StoreWriteError: the file is locked, or the disk is full.
            ConfigError: the file has another owner, or is not a store.
        """
        rows: dict[tuple[str, ...], str] = {(name,): value for name, value in identity.items()}
        super().__init__(path, SCHEMA + schema, rows)

    # -- transactions -- #

    def add_attempt(self, slot: Slot, attempt: Attempt) -> None:
        """Keep a signed transaction, and the nonce's purpose from now on."""
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
        """Forget a nonce that another program's transaction has used."""
        with self.commit():
            self._connection.execute("DELETE FROM slots WHERE nonce = ?", (nonce,))
            self._connection.execute("DELETE FROM attempts WHERE nonce = ?", (nonce,))
