"""The pending block: the transactions of the pool, each executed once, on arrival."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pyevm_agents.chain import BlockRecord, ModelNeededError
from pyevm_agents.chain.transactions import count_blobs
from pyevm_agents.vm import InvalidTransactionError

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
        """Return the ready transactions that a block with this header could hold, in order.

        Which of them have room shows when those before are executed: `AgentVM.has_room`.

        Input: without: hashes to leave out, with the later transactions of their senders.
        """
        return self._collect_for(header).select_candidates(without)

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
            blob_base_fee_wei=self._chain.fork.blob_base_fee(header),
            clock=self._clock.settings,
            ready=tuple(self._pool.iter_ready(self._chain.nonce, base_fee)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingTransactions:
    """The input of a pending block: header and ready transactions."""

    header: BlockHeaderAPI
    """Header of the block before its first transaction."""

    max_blobs: int
    blob_base_fee_wei: int = 0
    clock: ClockSettings
    """The clock settings that gave the header's timestamp."""

    ready: tuple[PoolTransaction, ...]
    """Ready transactions of the pool, in mining order."""

    def select_candidates(self, without: Collection[bytes] = ()) -> list[SignedTransactionAPI]:
        """Return the transactions that the block could hold as the first one, in order.

        Input: without: hashes to leave out, with the later transactions of their senders.
        """
        left_out: set[Address] = set()
        chosen = []
        for entry in self.ready:
            transaction = entry.transaction
            is_out = entry.sender in left_out or transaction.hash in without
            if is_out or not self._could_hold(transaction):
                left_out.add(entry.sender)
            else:
                chosen.append(transaction)
        return chosen

    def _could_hold(self, transaction: SignedTransactionAPI) -> bool:
        """Whether the block could hold a transaction as the first one, at its fees."""
        blobs = count_blobs(transaction)
        if blobs and transaction.max_fee_per_blob_gas < self.blob_base_fee_wei:
            return False
        return bool(transaction.gas <= self.header.gas_limit and blobs <= self.max_blobs)


@dataclass(slots=True, kw_only=True)
class _ExecutedPrefix:
    """A draft, and the candidates that it has judged: executed, or left out."""

    draft: DraftBlock
    context: object
    """The header's fields apart from the timestamp, and the clock settings."""

    judged: list[bytes] = field(default_factory=list)
    """Hashes of the judged candidates, in order."""

    included_transactions: list[SignedTransactionAPI] = field(default_factory=list)
    """Transactions in the draft."""

    left_out: set[Address] = field(default_factory=set)
    """Senders of candidates that are invalid after those in the draft, or have no room there."""

    stop_hash: bytes | None = None
    """Hash of the first transaction that needs inference; the draft ends before it."""

    sealed_chain: DraftChain | None = None
    """The chain with the sealed draft as its head, built on first use."""

    def can_continue(
        self, circumstances: object, timestamp: int, candidates: Sequence[SignedTransactionAPI]
    ) -> bool:
        """Whether the draft can be extended: these candidates begin with the judged ones.

        The timestamp may be up to a second before the draft's: another thread read the clock first.
        """
        age = timestamp - self.draft.first_header.timestamp
        if self.context != circumstances or not -1 <= age <= self._seconds:
            return False
        seen = self.judged if self.stop_hash is None else [*self.judged, self.stop_hash]
        return [transaction.hash for transaction in candidates[: len(seen)]] == seen

    @property
    def _seconds(self) -> int:
        """Seconds for which the draft stays current while only the clock advances."""
        return int(self.draft.header.gas_used) // GAS_PER_SECOND

    def extend(self, candidates: Sequence[SignedTransactionAPI]) -> None:
        """Judge the further candidates, up to the first that needs inference."""
        for transaction in candidates[len(self.judged) :]:
            if self.stop_hash is not None:
                return
            if transaction.sender in self.left_out or not self.draft.has_room(transaction):
                self.left_out.add(transaction.sender)
            else:
                try:
                    self.draft.add(transaction)
                except ModelNeededError:
                    self.stop_hash = transaction.hash
                    return
                except InvalidTransactionError:
                    self.left_out.add(transaction.sender)
                else:
                    self.included_transactions.append(transaction)
                    self.sealed_chain = None
            self.judged.append(transaction.hash)

    def list_unexecuted(
        self, candidates: Sequence[SignedTransactionAPI]
    ) -> list[SignedTransactionAPI]:
        """Return the transactions of the draft, and those after it that have room by themselves."""
        left_out = set(self.left_out)
        listed = [*self.included_transactions]
        for transaction in candidates[len(self.judged) :]:
            if transaction.sender in left_out or not self.draft.has_room(transaction):
                left_out.add(transaction.sender)
            else:
                listed.append(transaction)
        return listed


class PendingBlockBuilder:
    """Builds drafts of the next block incrementally. Thread-safe.

    Transactions that are invalid or have no room are left out, with the later ones of their
    senders. A draft ends before the first transaction that needs inference.
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
            listed = line.list_unexecuted(upcoming.select_candidates())
            header = line.draft.first_header
            block = self._chain.build_unexecuted_block(listed, header)
            root = bytes(header.state_root)
            return BlockRecord(block=block, receipts=(), root_before=root)

    def _extend_prefix(self, upcoming: PendingTransactions) -> _ExecutedPrefix:
        candidates = upcoming.select_candidates()
        circumstances = (upcoming.header.copy(timestamp=0).hash, upcoming.clock)
        line = self._prefix
        if line is None or not line.can_continue(
            circumstances, upcoming.header.timestamp, candidates
        ):
            line = self._prefix = None  # Frees its states before new ones are made.
            draft = self._chain.begin_draft(upcoming.header)
            line = _ExecutedPrefix(draft=draft, context=circumstances)
        line.extend(candidates)
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
