"""The pending block: the transactions of the pool, each executed once, on arrival."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from eth_utils import ValidationError

from pyevm_agents.chain import BlockRecord, ModelNeededError
from pyevm_agents.chain.transactions import count_blobs

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from eth.abc import BlockHeaderAPI, SignedTransactionAPI
    from eth_typing import Address

    from pyevm_agents.chain import Chain, ChainSimulator, DraftBlock, DraftChain
    from pyevm_agents.node.block_settings import NextBlock
    from pyevm_agents.node.clock import Clock, ClockSettings
    from pyevm_agents.node.journal import PoolTransaction
    from pyevm_agents.node.txpool import TxPool


GAS_PER_SECOND = 2_000_000
"""Gas of a draft that keeps it current for a second in which only the clock advances. Executing it
takes a tenth of a second, so at most a tenth of the time goes into new drafts; the timestamp of a
full pending block is at most 15 seconds late."""


class PendingBlock:
    """The block that would be mined now. Thread-safe; never runs inference."""

    def __init__(self, chain: Chain, pool: TxPool, clock: Clock, next_block: NextBlock) -> None:
        self._chain = chain
        self._pool = pool
        self._clock = clock
        self._next_block = next_block
        self._builder = PendingBlockBuilder(chain)

    def build_block(self) -> BlockRecord:
        """Return the pending block; see `PendingBlockBuilder.build_block`."""
        return self._builder.build_block(self._collect())

    def build_chain(self) -> DraftChain:
        """Return the chain with the pending block as the head."""
        return self._builder.build_chain(self._collect())

    def get_simulator(self) -> tuple[ChainSimulator, BlockHeaderAPI]:
        """Return a simulator on the pending state, and the block's header without roots."""
        return self._builder.get_simulator(self._collect())

    def get_simulator_before_nonce(
        self, sender: Address, nonce: int
    ) -> tuple[ChainSimulator, BlockHeaderAPI]:
        """Return a simulator without a sender's pending transactions from a nonce on."""
        upcoming = self._collect()
        ready = tuple(
            entry
            for entry in upcoming.ready
            if entry.sender != sender or entry.transaction.nonce < nonce
        )
        return PendingBlockBuilder(self._chain).get_simulator(replace(upcoming, ready=ready))

    def select_transactions(
        self, header: BlockHeaderAPI, without: Collection[bytes] = ()
    ) -> list[SignedTransactionAPI]:
        """Return the ready transactions that fit into a block with this header, in order.

        Input: without: hashes to leave out, with the later transactions of their senders.
        """
        return self._collect_for(header).select_fitting(without)

    def forget(self) -> None:
        """Drop the executed draft: the head has changed."""
        self._builder.forget()

    def _collect(self) -> PendingTransactions:
        while True:
            head, clock = self._chain.head, self._clock.settings
            upcoming = self._collect_for(self._next_block.build_header(head))
            # A block made in between takes transactions of the pool.
            if self._chain.head is head and self._clock.settings is clock:
                return upcoming

    def _collect_for(self, header: BlockHeaderAPI) -> PendingTransactions:
        base_fee = int(header.base_fee_per_gas or 0)
        return PendingTransactions(
            header=header,
            max_blobs=self._chain.fork.blobs.maximum,
            clock=self._clock.settings,
            ready=tuple(self._pool.iter_ready(self._chain.nonce, base_fee)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingTransactions:
    """The input of a pending block: header and ready transactions."""

    header: BlockHeaderAPI
    """Header of the block before its first transaction."""

    max_blobs: int
    clock: ClockSettings
    """The clock settings that gave the header's timestamp."""

    ready: tuple[PoolTransaction, ...]
    """Ready transactions of the pool, in mining order."""

    def select_fitting(self, without: Collection[bytes] = ()) -> list[SignedTransactionAPI]:
        """Return the transactions that fit into the block, in order.

        Input: without: hashes to leave out, with the later transactions of their senders.
        """
        gas_room, blob_room = self.header.gas_limit, self.max_blobs
        left_out: set[Address] = set()
        chosen = []
        for entry in self.ready:
            transaction = entry.transaction
            gas, blobs = transaction.gas, count_blobs(transaction)
            is_out = entry.sender in left_out or transaction.hash in without
            if is_out or gas > gas_room or blobs > blob_room:
                left_out.add(entry.sender)
                continue
            gas_room, blob_room = gas_room - gas, blob_room - blobs
            chosen.append(transaction)
        return chosen


@dataclass(slots=True, kw_only=True)
class _ExecutedPrefix:
    """The executed transactions of a draft."""

    draft: DraftBlock
    context: object
    """The header's fields apart from the timestamp, and the clock settings."""

    ready: Sequence[bytes]
    """Hashes of the ready transactions at the last extension."""

    included_transactions: list[SignedTransactionAPI] = field(default_factory=list)
    """Transactions in the draft."""

    invalid: set[bytes] = field(default_factory=set)
    """Hashes of transactions that are invalid after those in the draft."""

    stop_hash: bytes | None = None
    """Hash of the first transaction that needs inference; the draft ends before it."""

    sealed_chain: DraftChain | None = None
    """The chain with the sealed draft as its head, built on first use."""

    def can_continue(self, circumstances: object, timestamp: int, ready: Sequence[bytes]) -> bool:
        """Whether the draft can be extended with these ready transactions.

        The timestamp may be up to a second before the draft's: another thread read the clock first.
        """
        age = timestamp - self.draft.first_header.timestamp
        if self.context != circumstances or not -1 <= age <= self._seconds:
            return False
        # An invalid transaction may be valid if others were inserted before it.
        count = max(
            (i + 1 for i, tx_hash in enumerate(self.ready) if tx_hash in self.invalid), default=0
        )
        return ready[:count] == self.ready[:count]

    @property
    def _seconds(self) -> int:
        """Seconds for which the draft stays current while only the clock advances."""
        return int(self.draft.header.gas_used) // GAS_PER_SECOND

    def is_prefix_of(self, transactions: Sequence[SignedTransactionAPI]) -> bool:
        """Whether the transactions start with those of the draft."""
        executed: list[bytes] = [transaction.hash for transaction in self.included_transactions]
        if self.stop_hash is not None:
            executed.append(self.stop_hash)
        return [transaction.hash for transaction in transactions[: len(executed)]] == executed

    def extend(self, transactions: Sequence[SignedTransactionAPI]) -> bool:
        """Execute the transactions that are not in the draft yet; return False at an invalid one.

        Stops before a transaction that needs inference.
        """
        for transaction in transactions[len(self.included_transactions) :]:
            if self.stop_hash is not None:
                break
            try:
                self.draft.add(transaction)
            except ModelNeededError:
                self.stop_hash = transaction.hash
            except ValidationError:
                self.invalid.add(transaction.hash)
                return False
            else:
                self.included_transactions.append(transaction)
                self.sealed_chain = None
        return True


class PendingBlockBuilder:
    """Builds drafts of the next block incrementally. Thread-safe.

    Invalid transactions are left out, with the later ones of their senders. A draft ends before the
    first transaction that needs inference.
    """

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self._lock = threading.Lock()
        self._prefix: _ExecutedPrefix | None = None

    def forget(self) -> None:
        """Drop the last draft."""
        self._prefix = None

    def get_simulator(self, upcoming: PendingTransactions) -> tuple[ChainSimulator, BlockHeaderAPI]:
        """Return a simulator on the state after a draft, and the draft's header."""
        with self._lock:
            draft = self._extend_prefix(upcoming).draft
            return draft.simulator, draft.header

    def build_chain(self, upcoming: PendingTransactions) -> DraftChain:
        """Return the chain with a draft as the head."""
        with self._lock:
            return self._seal(self._extend_prefix(upcoming))

    def build_block(self, upcoming: PendingTransactions) -> BlockRecord:
        """Return a block of the pending transactions.

        If one transaction needs inference, the block lists the transactions without execution: gas
        used is 0 and there are no receipts.
        """
        with self._lock:
            line = self._extend_prefix(upcoming)
            if line.stop_hash is None:
                return self._seal(line).draft
            listed = upcoming.select_fitting(line.invalid)
            block = self._chain.build_unexecuted_block(listed, line.draft.first_header)
            return BlockRecord(block=block, receipts=())

    def _extend_prefix(self, upcoming: PendingTransactions) -> _ExecutedPrefix:
        ready = [entry.transaction.hash for entry in upcoming.ready]
        circumstances = (upcoming.header.copy(timestamp=0).hash, upcoming.clock)
        line = self._prefix
        if line is None or not line.can_continue(circumstances, upcoming.header.timestamp, ready):
            line = None
        while True:
            transactions = upcoming.select_fitting(() if line is None else line.invalid)
            if line is None or not line.is_prefix_of(transactions):
                line = self._prefix = None  # Frees its states before new ones are made.
                draft = self._chain.begin_draft(upcoming.header)
                line = _ExecutedPrefix(draft=draft, context=circumstances, ready=ready)
                transactions = upcoming.select_fitting()
            if line.extend(transactions):
                line.ready = ready
                # After a new block the draft is never used again.
                is_next = self._chain.head.hash == upcoming.header.parent_hash
                self._prefix = line if is_next else None
                return line

    def _seal(self, line: _ExecutedPrefix) -> DraftChain:
        if line.sealed_chain is None:
            line.sealed_chain = self._chain.draft_block(
                line.included_transactions, line.draft.first_header
            )
        return line.sealed_chain
