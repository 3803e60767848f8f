"""Store of a participant on disk: answers with nonces, verdicts, signed transactions.

An answer is kept before the commitment is signed, and is never replaced: after a kill the same one
is committed and revealed. The file can be read by the owner alone.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from precompiles.spec import WORD_BYTES
from pyevm_agents.client.transaction_store import TransactionStore
from pyevm_agents.council.messages import SaltedAnswer, Verdict

if TYPE_CHECKING:
    from pathlib import Path

    from pyevm_agents.workers.identity import StoreIdentity

FORMAT = "council 1"

SCHEMA = """
CREATE TABLE answers (
  request_id BLOB NOT NULL, question BLOB NOT NULL, answer BLOB NOT NULL, nonce BLOB NOT NULL,
  commitment BLOB NOT NULL UNIQUE, PRIMARY KEY (request_id, question)
);
CREATE TABLE verdicts (
  request_id BLOB NOT NULL, case_hash BLOB NOT NULL, answer BLOB NOT NULL, winners TEXT NOT NULL,
  reasoning BLOB NOT NULL, PRIMARY KEY (request_id, case_hash)
);
"""

REGISTRATIONS = "CREATE TABLE IF NOT EXISTS registrations (request_id BLOB PRIMARY KEY)"
"""Apart from `SCHEMA`: files of earlier versions do not have it."""

Key = tuple[bytes, bytes]


class CouncilStore(TransactionStore):
    """The store of one participant. For one thread."""

    def __init__(self, path: Path, identity: StoreIdentity) -> None:
        """Open or create the file.

        Raises:
            StoreInUseError: another process has the file open.
            ConfigError: the file has another owner, or is not a store.
        """
        super().__init__(path, identity.list_values(FORMAT, "council", "account"), SCHEMA)
        with self.commit():
            self._connection.execute(REGISTRATIONS)

    # -- answers -- #

    def add_answer(self, key: Key, salted: SaltedAnswer) -> SaltedAnswer:
        """Keep an answer; return the one that is kept: the first one stays.

        Input: key: of `RequestView`.
        """
        with self.commit():
            self._connection.execute(
                "INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, ?)",
                (*key, salted.answer, salted.nonce.to_bytes(WORD_BYTES), salted.commitment),
            )
        kept = self.get_answer(key)
        assert kept is not None  # noqa: S101 - just kept
        return kept

    def get_answer(self, key: Key) -> SaltedAnswer | None:
        """Return the answer to a request; None before the first."""
        return self._find("request_id = ? AND question = ?", *key)

    def find_commitment(self, request_id: bytes, commitment: bytes) -> SaltedAnswer | None:
        """Return the answer behind a commitment, to any question with this request ID."""
        return self._find("request_id = ? AND commitment = ?", request_id, commitment)

    def _find(self, condition: str, *values: bytes) -> SaltedAnswer | None:
        row = self._connection.execute(
            f"SELECT answer, nonce, commitment FROM answers WHERE {condition}",  # noqa: S608 - ours
            values,
        ).fetchone()
        if row is None:
            return None
        answer, nonce, commitment = row
        return SaltedAnswer(answer=answer, nonce=int.from_bytes(nonce), commitment=commitment)

    # -- verdicts -- #

    def add_verdict(self, request_id: bytes, case_hash: bytes, verdict: Verdict) -> None:
        """Keep a verdict. Input: the hash of the judged case."""
        with self.commit():
            self._connection.execute(
                "INSERT OR IGNORE INTO verdicts VALUES (?, ?, ?, ?, ?)",
                (
                    *(request_id, case_hash, verdict.answer),
                    json.dumps([each.hex() for each in verdict.winners]),
                    verdict.reasoning,
                ),
            )

    def get_verdict(self, request_id: bytes, case_hash: bytes) -> Verdict | None:
        """Return the verdict on a case; None before the first."""
        row = self._connection.execute(
            "SELECT answer, winners, reasoning FROM verdicts "
            "WHERE request_id = ? AND case_hash = ?",
            (request_id, case_hash),
        ).fetchone()
        if row is None:
            return None
        winners = tuple(bytes.fromhex(each) for each in json.loads(row[1]))
        return Verdict(answer=row[0], winners=winners, reasoning=row[2])

    def add_registration(self, request_id: bytes) -> None:
        """Keep that this account registers as a candidate: the bond is released after the end."""
        with self.commit():
            self._connection.execute(
                "INSERT OR IGNORE INTO registrations VALUES (?)", (request_id,)
            )

    def list_request_ids(self) -> list[int]:
        """Return the numbers of all requests in which this participant has a part."""
        rows = self._connection.execute(
            "SELECT request_id FROM answers UNION SELECT request_id FROM verdicts "
            "UNION SELECT request_id FROM registrations"
        )
        return sorted(int.from_bytes(number) for (number,) in rows)

    def prune(self, number: int) -> None:
        """Forget transactions mined before a block but the last. Answers and verdicts stay."""
        with self.commit():
            execute = self._connection.execute
            execute(
                "DELETE FROM slots WHERE mined_number < ? "
                "AND nonce < (SELECT max(nonce) FROM slots)",
                (number,),
            )
            execute("DELETE FROM attempts WHERE nonce NOT IN (SELECT nonce FROM slots)")
