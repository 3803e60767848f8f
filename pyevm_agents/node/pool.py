"""Transactions that wait to be mined: per sender in the order of their nonces.

Ready are those whose nonces follow on from the account's without a gap; the others are queued
until it is closed. The order between senders is that of the fees that they offer, then of arrival.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from eth.abc import SignedTransactionAPI
    from eth_typing import Address

MAX_WAITING = 10_000
"""Transactions that may wait at once; one takes some 2 KB and more with its data."""

PRICE_BUMP_PERCENT = 10
"""By how much both fees must rise for a transaction to take another's place. Source: geth."""


class PoolError(ValueError):
    """A transaction can't wait here; the message is in geth's words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A transaction in the pool."""

    transaction: SignedTransactionAPI
    sender: Address
    arrival: int


@dataclass(frozen=True, slots=True)
class _Content:
    """What waits, as it is at one moment: copied on change, so a snapshot costs nothing."""

    by_sender: dict[Address, dict[int, Waiting]]
    by_hash: dict[bytes, Waiting]


class Pool:
    """The transactions that wait."""

    def __init__(self) -> None:
        """Begin empty."""
        self._by_sender: dict[Address, dict[int, Waiting]] = {}
        self._by_hash: dict[bytes, Waiting] = {}
        self._arrivals = 0

    def __len__(self) -> int:
        """Return how many wait."""
        return len(self._by_hash)

    def __contains__(self, transaction_hash: bytes) -> bool:
        """Whether a transaction waits."""
        return transaction_hash in self._by_hash

    def get(self, transaction_hash: bytes) -> Waiting | None:
        """Return a transaction that waits; None where it does not."""
        return self._by_hash.get(transaction_hash)

    def add(self, transaction: SignedTransactionAPI) -> Waiting | None:
        """Let a transaction wait; return the one whose place it took, if it did.

        Raises: PoolError: it waits already, offers too little to replace another, or too many do.
        """
        sender, transaction_hash = transaction.sender, transaction.hash
        if transaction_hash in self._by_hash:
            raise PoolError("already known")
        own = self._by_sender.get(sender, {})
        replaced = own.get(transaction.nonce)
        if replaced is not None and not _outbids(transaction, replaced.transaction):
            raise PoolError("replacement transaction underpriced")
        if replaced is None and len(self) >= MAX_WAITING:
            raise PoolError(f"txpool is full: {MAX_WAITING} transactions wait; mine some")
        if replaced is not None:
            self.remove(replaced.transaction.hash)
        waiting = Waiting(transaction=transaction, sender=sender, arrival=self._arrivals)
        self._arrivals += 1
        self._by_sender.setdefault(sender, {})[transaction.nonce] = waiting
        self._by_hash[transaction_hash] = waiting
        return replaced

    def remove(self, transaction_hash: bytes) -> Waiting | None:
        """Let a transaction wait no longer; return it if it did."""
        waiting = self._by_hash.pop(transaction_hash, None)
        if waiting is not None:
            own = self._by_sender[waiting.sender]
            del own[waiting.transaction.nonce]
            if not own:
                del self._by_sender[waiting.sender]
        return waiting

    def of(self, sender: Address) -> list[Waiting]:
        """Return an account's transactions that wait."""
        return [*self._by_sender.get(sender, {}).values()]

    def remove_of(self, sender: Address) -> list[Waiting]:
        """Let none of an account's transactions wait; return them."""
        return [one for one in self.of(sender) if self.remove(one.transaction.hash)]

    def clear(self) -> None:
        """Let none wait."""
        self._by_sender, self._by_hash = {}, {}

    def next_nonce(self, sender: Address, nonce: int) -> int:
        """Return the nonce that follows an account's and those of its ready transactions."""
        own = self._by_sender.get(sender, {})
        while nonce in own:
            nonce += 1
        return nonce

    def ready(self, nonce_of: Callable[[Address], int], base_fee_wei: int) -> Iterator[Waiting]:
        """Yield what can be mined now, in the order in which it should be."""
        lines: list[tuple[list[Waiting], int]] = []
        for sender, own in self._by_sender.items():
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
    ) -> tuple[dict[Address, list[Waiting]], dict[Address, list[Waiting]]]:
        """Return what is ready and what is queued, by sender, in the order of nonces."""
        ready: dict[Address, list[Waiting]] = {}
        queued: dict[Address, list[Waiting]] = {}
        for sender, own in [*self._by_sender.items()]:
            end = self.next_nonce(sender, nonce_of(sender))
            for nonce, one in sorted(own.copy().items()):  # Another thread may change it.
                (ready if nonce < end else queued).setdefault(sender, []).append(one)
        return ready, queued

    def snapshot(self) -> _Content:
        """Return what waits, for `restore`."""
        return _Content({s: dict(own) for s, own in self._by_sender.items()}, dict(self._by_hash))

    def restore(self, content: _Content) -> None:
        """Let wait what waited then."""
        self._by_sender = {s: dict(own) for s, own in content.by_sender.items()}
        self._by_hash = dict(content.by_hash)


def _rank(waiting: Waiting, base_fee_wei: int) -> tuple[int, int]:
    """Return a sort key: the tip that the miner gets, highest first, then the arrival."""
    transaction = waiting.transaction
    tip = min(transaction.max_priority_fee_per_gas, transaction.max_fee_per_gas - base_fee_wei)
    return -tip, waiting.arrival


def _outbids(new: SignedTransactionAPI, old: SignedTransactionAPI) -> bool:
    def rises(after: int, before: int) -> bool:
        return after * 100 >= before * (100 + PRICE_BUMP_PERCENT)

    return rises(new.max_fee_per_gas, old.max_fee_per_gas) and rises(
        new.max_priority_fee_per_gas, old.max_priority_fee_per_gas
    )
