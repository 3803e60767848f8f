"""The txpool: pending and queued transactions, per sender in the order of nonces.

A transaction is ready if the nonces up to its own have no gap; otherwise queued. Senders are
ordered by the tip of the next transaction, then by arrival; or by arrival alone.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from pyevm_agents.node.journal import PoolTransaction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from eth.abc import SignedTransactionAPI
    from eth_typing import Address

    from pyevm_agents.node.journal import Journal

ORDERS = ("fees", "fifo")
"""Orders of senders: by the tip of their next transaction, then by arrival; by arrival alone.
The names are anvil's."""

MAX_WAITING = 10_000
"""Upper bound of transactions in the pool; one takes some 2 KB in addition to its data."""

MAX_DATA_BYTES = 128 * 2**20
"""Upper bound of the data of all transactions in the pool."""

PRICE_BUMP_PERCENT = 10
"""Percent by which both fees must rise for a transaction to replace another. Source: geth."""


class PoolError(ValueError):
    """The pool rejects a transaction; the message is geth's."""


class TxPool:
    """Pending and queued transactions. Thread-safe."""

    def __init__(self, journal: Journal | None = None, *, order: str = ORDERS[0]) -> None:
        """Start without transactions.

        Input:
            journal: has the same content as the pool; None to keep nothing for the next start.
            order: one of `ORDERS`.
        """
        self._ranks_by_tip = order == ORDERS[0]
        self._journal = journal
        self._by_sender: dict[Address, dict[int, PoolTransaction]] = {}
        self._by_hash: dict[bytes, PoolTransaction] = {}
        self._arrivals = 0
        self._data_bytes = 0
        self._lock = threading.RLock()

    def __len__(self) -> int:
        """Return the number of transactions in the pool."""
        return len(self._by_hash)

    def __contains__(self, transaction_hash: bytes) -> bool:
        """Whether a transaction is in the pool."""
        return transaction_hash in self._by_hash

    def get(self, transaction_hash: bytes) -> PoolTransaction | None:
        """Return a transaction of the pool, or None."""
        return self._by_hash.get(transaction_hash)

    def add(self, transaction: SignedTransactionAPI) -> PoolTransaction | None:
        """Add a transaction; return the replaced one, if any.

        Raises: PoolError: the transaction is known, the fees are too low for a replacement, or the
                pool is full.
                EngineFault: the journal can't be written.
        """
        sender, transaction_hash = transaction.sender, transaction.hash
        with self._lock:
            if transaction_hash in self._by_hash:
                raise PoolError("already known")
            replaced = self._by_sender.get(sender, {}).get(transaction.nonce)
            if replaced is not None and not _can_replace(transaction, replaced.transaction):
                raise PoolError("replacement transaction underpriced")
            self._require_room(transaction, replaced)
            entry = PoolTransaction(transaction=transaction, sender=sender, arrival=self._arrivals)
            if self._journal is not None:
                self._journal.put(entry)
            if replaced is not None:
                self._forget(replaced)
            self._put(entry)
            return replaced

    def _require_room(
        self, transaction: SignedTransactionAPI, replaced: PoolTransaction | None
    ) -> None:
        if replaced is None and len(self) >= MAX_WAITING:
            raise PoolError(f"txpool is full: {MAX_WAITING} transactions; mine some")
        before = 0 if replaced is None else len(replaced.transaction.data)
        if self._data_bytes - before + len(transaction.data) > MAX_DATA_BYTES:
            raise PoolError(
                f"txpool is full: its transactions have {self._data_bytes:,} bytes of data, of at "
                f"most {MAX_DATA_BYTES:,}; mine some"
            )

    def _put(self, waiting: PoolTransaction) -> None:
        transaction = waiting.transaction
        self._by_sender.setdefault(waiting.sender, {})[transaction.nonce] = waiting
        self._by_hash[transaction.hash] = waiting
        self._data_bytes += len(transaction.data)
        self._arrivals = max(self._arrivals, waiting.arrival + 1)

    def remove(self, transaction_hash: bytes) -> PoolTransaction | None:
        """Remove a transaction; return it, or None if not in the pool."""
        with self._lock:
            waiting = self._by_hash.get(transaction_hash)
            if waiting is not None:
                self._remove([waiting])
            return waiting

    def _remove(self, entries: Sequence[PoolTransaction]) -> None:
        """Remove transactions from the journal, in one commit, and from the pool."""
        if self._journal is not None:
            self._journal.delete(entries)
        for entry in entries:
            self._forget(entry)

    def _forget(self, waiting: PoolTransaction) -> None:
        del self._by_hash[waiting.transaction.hash]
        self._data_bytes -= len(waiting.transaction.data)
        own = self._by_sender[waiting.sender]
        del own[waiting.transaction.nonce]
        if not own:
            del self._by_sender[waiting.sender]

    def list_by_sender(self, sender: Address) -> list[PoolTransaction]:
        """Return an account's transactions in the pool."""
        with self._lock:
            return [*self._by_sender.get(sender, {}).values()]

    def remove_by_sender(self, sender: Address) -> list[PoolTransaction]:
        """Remove and return an account's transactions."""
        with self._lock:
            removed = self.list_by_sender(sender)
            self._remove(removed)
            return removed

    def on_mined(self, transactions: Sequence[SignedTransactionAPI]) -> None:
        """Remove the transactions of a new block's senders up to the nonces of the block.

        The block's commit has deleted the journal's rows of the block's own nonces.
        """
        with self._lock:
            for transaction in transactions:
                own = self.list_by_sender(transaction.sender)
                self._remove([it for it in own if it.transaction.nonce < transaction.nonce])
                for entry in own:
                    if entry.transaction.nonce == transaction.nonce:
                        self._forget(entry)

    def clear(self) -> None:
        """Remove all transactions."""
        self.restore(())

    def next_nonce(self, sender: Address, nonce: int) -> int:
        """Return the next nonce of an account after the ready transactions.

        Input: nonce: the account's nonce in the state.
        """
        with self._lock:
            own = self._by_sender.get(sender, {})
            while nonce in own:
                nonce += 1
            return nonce

    def iter_ready(
        self, nonce_of: Callable[[Address], int], base_fee_wei: int
    ) -> Iterator[PoolTransaction]:
        """Yield the transactions that can be mined now, in mining order.

        Input:
            nonce_of: returns an account's nonce in the state.
            base_fee_wei: of the next block; transactions below that fee are left out.
        """
        lines: list[tuple[list[PoolTransaction], int]] = []
        for sender, own in self._copy_by_sender():
            nonce = nonce_of(sender)
            line = []
            while nonce in own and own[nonce].transaction.max_fee_per_gas >= base_fee_wei:
                line.append(own[nonce])
                nonce += 1
            if line:
                lines.append((line, 0))
        while lines:
            best = min(
                range(len(lines)), key=lambda i: self._rank(lines[i][0][lines[i][1]], base_fee_wei)
            )
            line, position = lines[best]
            yield line[position]
            if position + 1 < len(line):
                lines[best] = (line, position + 1)
            else:
                del lines[best]

    def content(
        self, nonce_of: Callable[[Address], int]
    ) -> tuple[dict[Address, list[PoolTransaction]], dict[Address, list[PoolTransaction]]]:
        """Return the ready and the queued transactions, by sender, in the order of nonces."""
        ready: dict[Address, list[PoolTransaction]] = {}
        queued: dict[Address, list[PoolTransaction]] = {}
        for sender, own in self._copy_by_sender():
            end = nonce_of(sender)
            while end in own:
                end += 1
            for nonce, entry in sorted(own.items()):
                (ready if nonce < end else queued).setdefault(sender, []).append(entry)
        return ready, queued

    def _rank(self, waiting: PoolTransaction, base_fee_wei: int) -> tuple[int, int]:
        """Return a sort key: the miner's tip, highest first, then the arrival."""
        if not self._ranks_by_tip:
            return 0, waiting.arrival
        transaction = waiting.transaction
        tip = min(transaction.max_priority_fee_per_gas, transaction.max_fee_per_gas - base_fee_wei)
        return -tip, waiting.arrival

    def _copy_by_sender(self) -> list[tuple[Address, dict[int, PoolTransaction]]]:
        """Return a consistent copy of the pool by sender."""
        with self._lock:
            return [(sender, own.copy()) for sender, own in self._by_sender.items()]

    def checkpoint(self) -> Callable[[], None]:
        """Return a function that restores the pool's current content."""
        with self._lock:
            content = tuple(self._by_hash.values())
        return lambda: self.restore(content)

    def restore(self, content: Iterable[PoolTransaction]) -> None:
        """Replace the content of the pool and of the journal."""
        content = tuple(content)
        with self._lock:
            if self._journal is not None:
                self._journal.replace(content)
            self._by_sender, self._by_hash, self._data_bytes = {}, {}, 0
            for waiting in content:
                self._put(waiting)


def _can_replace(new: SignedTransactionAPI, old: SignedTransactionAPI) -> bool:
    def is_bumped(after: int, before: int) -> bool:
        return after * 100 >= before * (100 + PRICE_BUMP_PERCENT)

    return is_bumped(new.max_fee_per_gas, old.max_fee_per_gas) and is_bumped(
        new.max_priority_fee_per_gas, old.max_priority_fee_per_gas
    )
