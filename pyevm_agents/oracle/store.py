"""Store of a worker on disk: requests and computed answers, beside the worker's transactions."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import TYPE_CHECKING

from precompiles.spec import WORD_BYTES
from pyevm_agents.client.transaction_store import TransactionStore
from pyevm_agents.oracle.messages import (
    AgentRequest,
    Answer,
    Commitment,
    ComputedAnswer,
    Evidence,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyevm_agents.workers.identity import StoreIdentity

FORMAT = "1"

SCHEMA = """
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
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRequest:
    """A request that the worker has seen, with the computed answer."""

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
        """The request's ID and the hash of its block, which differs after a reorganisation."""
        return self.request.commitment.request_id.to_bytes(WORD_BYTES), self.request.block_hash


class WorkerStore(TransactionStore):
    """The store of one worker. For one thread."""

    def __init__(self, path: Path, identity: StoreIdentity) -> None:
        """Open or create the file.

        Raises:
            StoreInUseError: another process has the file open.
            ConfigError: another worker's file, or not a store.
        """
        super().__init__(path, identity.list_values(FORMAT, "oracle", "worker"), SCHEMA)
        self._oracle = identity.contract

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
        """Forget the blocks above one; return the requests that are removed as well."""
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
        """Forget requests settled and mined before a block, and all earlier blocks but one."""
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
        """Add a request, or note that the request's block is on the chain again."""
        members = request.commitment
        self._connection.execute(
            "INSERT INTO requests (request_id, block_hash, block_number, block_timestamp, "
            "position, client, budget_id, arguments_hash, callback_gas_limit, fee, deadline, "
            "arguments) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
            "ON CONFLICT DO UPDATE SET is_removed = 0",
            (
                members.request_id.to_bytes(WORD_BYTES),
                request.block_hash,
                members.block_number,
                timestamp,
                position,
                members.client,
                members.budget_id.to_bytes(WORD_BYTES),
                members.arguments_hash,
                members.callback_gas_limit,
                members.fee.to_bytes(WORD_BYTES),
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
        """Note the block at which requests were seen not to wait any more; None: still waiting."""
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
    parts = [words[start : start + WORD_BYTES] for start in range(0, len(words), WORD_BYTES)]
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
