"""The pool's journal: transactions in the chain's database, for the next start.

A row is written before the transaction is in the pool. The key is sender and nonce: a replacement
overwrites the row, and a block deletes the rows of its transactions in the block's commit
(`Chain.mine`). No row is thus missing after a kill. A row that is left over does no harm: a start
drops a transaction whose nonce is used.

    key    "agents:pool:", sender, nonce (8 bytes)
    value  keccak of the key and the rest; RLP of (arrival, 1 if impersonated, transaction)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import rlp
from eth_typing import Address
from eth_utils import keccak, to_checksum_address
from rlp.sedes import List, big_endian_int, binary

from precompiles.spec import HASH_BYTES
from pyevm_agents.chain.database import POOL_PREFIX, pool_key
from pyevm_agents.chain.transactions import impersonate, is_impersonated, set_known_sender

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eth.abc import SignedTransactionAPI, TransactionBuilderAPI

    from pyevm_agents.chain.database import Rows

SENDER_END = len(POOL_PREFIX) + 20
"""End of the sender in a row's key."""

ROW = List((big_endian_int, big_endian_int, binary))


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolTransaction:
    """A transaction in the pool."""

    transaction: SignedTransactionAPI
    sender: Address
    arrival: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalContent:
    """The transactions of a journal, and descriptions of damaged rows."""

    transactions: tuple[PoolTransaction, ...] = ()
    """In the order of their arrival."""

    damaged: tuple[str, ...] = ()


class Journal:
    """The pool's rows in a chain's database. Thread-safe.

    Every method raises EngineFault if the rows can't be written; nothing is changed then.
    """

    def __init__(self, rows: Rows) -> None:
        """Open the journal in a chain's database."""
        self._rows = rows

    def put(self, waiting: PoolTransaction) -> None:
        """Write the row of a transaction over that of the one with the same nonce."""
        self._rows.write(dict([encode_row(waiting)]))

    def delete(self, waiting: Iterable[PoolTransaction]) -> None:
        """Delete the rows of transactions in one commit."""
        keys = [pool_key(entry.sender, entry.transaction.nonce) for entry in waiting]
        if keys:
            self._rows.write(dict.fromkeys(keys))

    def replace(self, content: Iterable[PoolTransaction]) -> None:
        """Make the journal that of these transactions in one commit."""
        stored = dict(self._rows.list_rows(POOL_PREFIX))
        wanted = dict(map(encode_row, content))
        changes: dict[bytes, bytes | None] = {
            key: row for key, row in wanted.items() if stored.get(key) != row
        }
        changes |= dict.fromkeys(stored.keys() - wanted.keys())
        if changes:
            self._rows.write(changes)

    def read(self, builder: type[TransactionBuilderAPI]) -> JournalContent:
        """Return the journal's transactions, without damaged rows.

        Input: builder: decodes the chain's transactions.
        """
        transactions, damaged = [], []
        for key, row in self._rows.list_rows(POOL_PREFIX):
            if keccak(key + row[HASH_BYTES:]) == row[:HASH_BYTES]:
                transactions.append(_decode_row(key, row, builder))
            else:
                damaged.append(_describe_key(key))
        return JournalContent(
            transactions=tuple(sorted(transactions, key=lambda entry: entry.arrival)),
            damaged=tuple(damaged),
        )

    def sync(self) -> None:
        """Wait until the disk has all rows, which then survive a crash of the machine."""
        self._rows.sync()


def encode_row(waiting: PoolTransaction) -> tuple[bytes, bytes]:
    """Return the key and the value of a transaction's row."""
    transaction = waiting.transaction
    key = pool_key(waiting.sender, transaction.nonce)
    body = rlp.encode(
        (waiting.arrival, int(is_impersonated(transaction)), transaction.encode()), sedes=ROW
    )
    return key, keccak(key + body) + body


def _decode_row(key: bytes, row: bytes, builder: type[TransactionBuilderAPI]) -> PoolTransaction:
    """Return the transaction of a row. The row's hash vouches for form and sender."""
    arrival, impersonated, encoded = rlp.decode(row[HASH_BYTES:], sedes=ROW)
    sender = Address(key[len(POOL_PREFIX) : SENDER_END])
    with_sender = impersonate if impersonated else set_known_sender
    return PoolTransaction(
        transaction=with_sender(builder.decode(encoded), sender), sender=sender, arrival=arrival
    )


def _describe_key(key: bytes) -> str:
    sender, nonce = key[len(POOL_PREFIX) : SENDER_END], key[SENDER_END:]
    if not nonce:
        return f"row 0x{key.hex()}"
    return f"nonce {int.from_bytes(nonce, 'big')} of {to_checksum_address(sender)}"
