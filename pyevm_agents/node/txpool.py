"""Transactions that wait to be mined: per sender in the order of their nonces.

Ready are those whose nonces follow on from the account's without a gap; the others are queued
until it is closed. The order between senders is that of the fees that they offer, then of arrival.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from eth.abc import SignedTransactionAPI
    from eth_typing import Address

MAX_WAITING = 10_000
"""Transactions that may wait at once; one takes some 2 KB beside its data."""

MAX_DATA_BYTES = 128 * 2**20
"""Data of all transactions that wait."""

PRICE_BUMP_PERCENT = 10
"""By how much both fees must rise for a transaction to take another's place. Source: geth."""


class PoolError(ValueError):
    """A transaction can't wait here; the message is in geth's words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolTransaction:
    """A transaction in the pool."""

    transaction: SignedTransactionAPI
    sender: Address
    arrival: int


class TxPool:
    """The transactions that wait. All of it may be used in any thread."""

    def __init__(self) -> None:
        """Begin empty."""
        self._by_sender: dict[Address, dict[int, PoolTransaction]] = {}
        self._by_hash: dict[bytes, PoolTransaction] = {}
        self._arrivals = 0
        self._data_bytes = 0
        self._lock = threading.RLock()

    def __len__(self) -> int:
        """Return how many wait."""
        return len(self._by_hash)

    def __contains__(self, transaction_hash: bytes) -> bool:
        """Whether a transaction waits."""
        return transaction_hash in self._by_hash

    def get(self, transaction_hash: bytes) -> PoolTransaction | None:
        """Return a transaction that waits; None where it does not."""
        return self._by_hash.get(transaction_hash)

    def add(self, transaction: SignedTransactionAPI) -> PoolTransaction | None:
        """Let a transaction wait; return the one whose place it took, if it did.

        Raises: PoolError: it waits already, offers too little to replace another, or too many do.
        """
        sender, transaction_hash = transaction.sender, transaction.hash
        with self._lock:
            if transaction_hash in self._by_hash:
                raise PoolError("already known")
            replaced = self._by_sender.get(sender, {}).get(transaction.nonce)
            if replaced is not None and not _can_replace(transaction, replaced.transaction):
                raise PoolError("replacement transaction underpriced")
            self._require_room(transaction, replaced)
            if replaced is not None:
                self.remove(replaced.transaction.hash)
            self._put(
                PoolTransaction(transaction=transaction, sender=sender, arrival=self._arrivals)
            )
            self._arrivals += 1
            return replaced

    def _require_room(
        self, transaction: SignedTransactionAPI, replaced: PoolTransaction | None
    ) -> None:
        if replaced is None and len(self) >= MAX_WAITING:
            raise PoolError(f"txpool is full: {MAX_WAITING} transactions wait; mine some")
        before = 0 if replaced is None else len(replaced.transaction.data)
        if self._data_bytes - before + len(transaction.data) > MAX_DATA_BYTES:
            raise PoolError(
                f"txpool is full: the transactions that wait have {self._data_bytes:,} bytes of "
                f"data, of at most {MAX_DATA_BYTES:,}; mine some"
            )

    def _put(self, waiting: PoolTransaction) -> None:
        transaction = waiting.transaction
        self._by_sender.setdefault(waiting.sender, {})[transaction.nonce] = waiting
        self._by_hash[transaction.hash] = waiting
        self._data_bytes += len(transaction.data)

    def remove(self, transaction_hash: bytes) -> PoolTransaction | None:
        """Let a transaction wait no longer; return it if it did."""
        with self._lock:
            waiting = self._by_hash.pop(transaction_hash, None)
            if waiting is not None:
                self._data_bytes -= len(waiting.transaction.data)
                own = self._by_sender[waiting.sender]
                del own[waiting.transaction.nonce]
                if not own:
                    del self._by_sender[waiting.sender]
            return waiting

    def list_by_sender(self, sender: Address) -> list[PoolTransaction]:
        """Return an account's transactions that wait."""
        with self._lock:
            return [*self._by_sender.get(sender, {}).values()]

    def remove_by_sender(self, sender: Address) -> list[PoolTransaction]:
        """Let none of an account's transactions wait; return them."""
        with self._lock:
            return [
                entry
                for entry in self.list_by_sender(sender)
                if self.remove(entry.transaction.hash)
            ]

    def remove_below(self, sender: Address, nonce: int) -> None:
        """Let none of an account's transactions wait that has a nonce below one."""
        for entry in self.list_by_sender(sender):
            if entry.transaction.nonce < nonce:
                self.remove(entry.transaction.hash)

    def clear(self) -> None:
        """Let none wait."""
        self._restore(())

    def next_nonce(self, sender: Address, nonce: int) -> int:
        """Return the nonce that follows an account's and those of its ready transactions."""
        with self._lock:
            own = self._by_sender.get(sender, {})
            while nonce in own:
                nonce += 1
            return nonce

    def iter_ready(
        self, nonce_of: Callable[[Address], int], base_fee_wei: int
    ) -> Iterator[PoolTransaction]:
        """Yield what can be mined now, in the order in which it should be."""
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
                range(len(lines)), key=lambda i: _rank(lines[i][0][lines[i][1]], base_fee_wei)
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
        """Return what is ready and what is queued, by sender, in the order of nonces."""
        ready: dict[Address, list[PoolTransaction]] = {}
        queued: dict[Address, list[PoolTransaction]] = {}
        for sender, own in self._copy_by_sender():
            end = nonce_of(sender)
            while end in own:
                end += 1
            for nonce, entry in sorted(own.items()):
                (ready if nonce < end else queued).setdefault(sender, []).append(entry)
        return ready, queued

    def _copy_by_sender(self) -> list[tuple[Address, dict[int, PoolTransaction]]]:
        """Return what waits, by sender, as it is at one moment."""
        with self._lock:
            return [(sender, own.copy()) for sender, own in self._by_sender.items()]

    def checkpoint(self) -> Callable[[], None]:
        """Return what lets wait what waits now, and nothing else."""
        with self._lock:
            content = tuple(self._by_hash.values())
        return lambda: self._restore(content)

    def _restore(self, content: tuple[PoolTransaction, ...]) -> None:
        with self._lock:
            self._by_sender, self._by_hash, self._data_bytes = {}, {}, 0
            for waiting in content:
                self._put(waiting)


def _rank(waiting: PoolTransaction, base_fee_wei: int) -> tuple[int, int]:
    """Return a sort key: the tip that the miner gets, highest first, then the arrival."""
    transaction = waiting.transaction
    tip = min(transaction.max_priority_fee_per_gas, transaction.max_fee_per_gas - base_fee_wei)
    return -tip, waiting.arrival


def _can_replace(new: SignedTransactionAPI, old: SignedTransactionAPI) -> bool:
    def is_bumped(after: int, before: int) -> bool:
        return after * 100 >= before * (100 + PRICE_BUMP_PERCENT)

    return is_bumped(new.max_fee_per_gas, old.max_fee_per_gas) and is_bumped(
        new.max_priority_fee_per_gas, old.max_priority_fee_per_gas
    )
