"""The txpool: pending and queued transactions, per sender in the order of nonces.

A transaction is ready if the nonces up to its own have no gap; otherwise queued. Senders are
ordered by the tip of the next transaction, then by arrival; or by arrival alone.

A transaction leaves with its block, or with a `Departure`, which is kept: whoever has its hash can
learn why.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from enum import Enum
from heapq import heapify, heappop, heapreplace
from typing import TYPE_CHECKING

from lru import LRU

from pyevm_agents.node.journal import PoolTransaction
from pyevm_agents.vm import describe_low_nonce

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


KEPT_DEPARTURES = 2 * MAX_WAITING
"""Size of the LRU of transactions that left without a block: two full pools."""


class PoolError(ValueError):
    """The pool rejects a transaction; the message is geth's."""


class Leaving(Enum):
    """The ways out of the pool, other than a block."""

    FAULT = "the engine failed"
    INVALID = "no block can hold it any more"
    REPLACED = "another transaction has its nonce"
    REMOVED = "a client removed it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Departure:
    """Why a transaction left the pool without a block."""

    way: Leaving
    reason: str

    @property
    def is_failure(self) -> bool:
        """Whether no client asked for it, so that a client is told by an error.

        Clients find replacements by themselves, from a missing receipt.
        """
        return self.way in {Leaving.FAULT, Leaving.INVALID}


REMOVED = Departure(way=Leaving.REMOVED, reason="a client removed it from the txpool")
REVERTED = Departure(way=Leaving.REMOVED, reason="a revert to a snapshot removed it")
RESET = Departure(way=Leaving.REMOVED, reason="a reset of the chain removed it")


class TxPool:
    """Pending and queued transactions. Thread-safe."""

    def __init__(
        self,
        journal: Journal | None = None,
        *,
        order: str = ORDERS[0],
        on_leave: Callable[[SignedTransactionAPI, Departure], None] | None = None,
    ) -> None:
        """Start without transactions.

        Input:
            journal: has the same content as the pool; None to keep nothing for the next start.
            order: one of `ORDERS`.
            on_leave: called with each transaction that leaves without a block, and why.
        """
        self._on_leave = on_leave
        self._departures: LRU[bytes, Departure] = LRU(KEPT_DEPARTURES)
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
        if replaced is not None:
            self._note([replaced], _replaced_by(transaction))
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
        self._departures.pop(transaction.hash, None)
        self._data_bytes += len(transaction.data)
        self._arrivals = max(self._arrivals, waiting.arrival + 1)

    def find_departure(self, transaction_hash: bytes) -> Departure | None:
        """Return why a transaction left without a block; None if it did not, or long ago."""
        return self._departures.get(transaction_hash)

    def remove(
        self, transaction_hash: bytes, departure: Departure = REMOVED
    ) -> PoolTransaction | None:
        """Remove a transaction; return it, or None if not in the pool."""
        with self._lock:
            waiting = self._by_hash.get(transaction_hash)
            if waiting is not None:
                self._delete([waiting])
        if waiting is not None:
            self._note([waiting], departure)
        return waiting

    def _delete(self, entries: Sequence[PoolTransaction]) -> None:
        """Remove transactions from the journal, in one commit, and from the pool."""
        if self._journal is not None:
            self._journal.delete(entries)
        for entry in entries:
            self._forget(entry)

    def _note(self, entries: Iterable[PoolTransaction], departure: Departure) -> None:
        """Keep and announce why transactions left. The caller does not hold the lock."""
        for entry in entries:
            self._departures[entry.transaction.hash] = departure
            if self._on_leave is not None:
                self._on_leave(entry.transaction, departure)

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
            self._delete(removed)
        self._note(removed, REMOVED)
        return removed

    def on_mined(self, transactions: Sequence[SignedTransactionAPI]) -> None:
        """Remove the transactions of a new block, and those whose nonces the block uses.

        The block's commit has deleted the journal's rows of these nonces.
        """
        replaced = []
        with self._lock:
            for transaction in transactions:
                entry = self._by_sender.get(transaction.sender, {}).get(transaction.nonce)
                if entry is None:
                    continue
                self._forget(entry)
                if entry.transaction.hash != transaction.hash:
                    replaced.append((entry, transaction))
        for entry, transaction in replaced:
            self._note([entry], _replaced_by(transaction))

    def remove_stale(self, nonce_of: Callable[[Address], int]) -> None:
        """Remove the transactions whose nonces their senders have used or passed.

        Input: nonce_of: returns an account's nonce in the state.
        """
        stale = []
        for sender, own in self._copy_by_sender():
            nonce = nonce_of(sender)
            stale += [(it, nonce) for it in own.values() if it.transaction.nonce < nonce]
        if not stale:
            return
        with self._lock:
            stale = [it for it in stale if self.get(it[0].transaction.hash) is it[0]]
            self._delete([entry for entry, _ in stale])
        for entry, nonce in stale:
            reason = describe_low_nonce(entry.transaction.nonce, nonce)
            self._note([entry], Departure(way=Leaving.INVALID, reason=reason))

    def clear(self, departure: Departure = REMOVED) -> None:
        """Remove all transactions."""
        self.restore((), departure)

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
        lines: list[list[PoolTransaction]] = []
        for sender, own in self._copy_by_sender():
            nonce = nonce_of(sender)
            line = []
            while nonce in own and own[nonce].transaction.max_fee_per_gas >= base_fee_wei:
                line.append(own[nonce])
                nonce += 1
            if line:
                lines.append(line)
        # The next transaction of each sender, the first one on top. No two have one rank.
        heap = [(self._rank(line[0], base_fee_wei), at, 0) for at, line in enumerate(lines)]
        heapify(heap)
        while heap:
            _, at, position = heap[0]
            yield lines[at][position]
            following = position + 1
            if following < len(lines[at]):
                rank = self._rank(lines[at][following], base_fee_wei)
                heapreplace(heap, (rank, at, following))
            else:
                heappop(heap)

    def content(
        self, nonce_of: Callable[[Address], int]
    ) -> tuple[dict[Address, list[PoolTransaction]], dict[Address, list[PoolTransaction]]]:
        """Return the ready and the queued transactions, by sender, in the order of nonces."""
        ready: dict[Address, list[PoolTransaction]] = {}
        queued: dict[Address, list[PoolTransaction]] = {}
        for sender, own in self._copy_by_sender():
            start = end = nonce_of(sender)
            while end in own:
                end += 1
            for nonce, entry in sorted(own.items()):
                if nonce >= start:
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

    def restore(self, content: Iterable[PoolTransaction], departure: Departure = REVERTED) -> None:
        """Replace the content of the pool and of the journal.

        Input: departure: of the transactions that are no longer in the pool.
        """
        content = tuple(content)
        with self._lock:
            if self._journal is not None:
                self._journal.replace(content)
            before = self._by_hash
            self._by_sender, self._by_hash, self._data_bytes = {}, {}, 0
            for waiting in content:
                self._put(waiting)
            gone = [entry for key, entry in before.items() if key not in self._by_hash]
        self._note(gone, departure)


def _replaced_by(transaction: SignedTransactionAPI) -> Departure:
    return Departure(way=Leaving.REPLACED, reason=f"replaced by 0x{transaction.hash.hex()}")


def _can_replace(new: SignedTransactionAPI, old: SignedTransactionAPI) -> bool:
    def is_bumped(after: int, before: int) -> bool:
        return after * 100 >= before * (100 + PRICE_BUMP_PERCENT)

    return is_bumped(new.max_fee_per_gas, old.max_fee_per_gas) and is_bumped(
        new.max_priority_fee_per_gas, old.max_priority_fee_per_gas
    )
