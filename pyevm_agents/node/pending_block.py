"""The pending block: the transactions of the pool, executed as they come."""

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
    from pyevm_agents.node.txpool import PoolTransaction, TxPool


class PendingBlock:
    """The block that would be made now. Any thread may ask for it, and no model is asked."""

    def __init__(self, chain: Chain, pool: TxPool, clock: Clock, next_block: NextBlock) -> None:
        """Make it of what waits in a pool."""
        self._chain = chain
        self._pool = pool
        self._clock = clock
        self._next_block = next_block
        self._builder = PendingBlockBuilder(chain)

    def build_block(self) -> BlockRecord:
        """Return it; see `PendingBlockBuilder.build_block`."""
        return self._builder.build_block(self._collect())

    def build_chain(self) -> DraftChain:
        """Return the chain as it would be, were that its latest block."""
        return self._builder.build_chain(self._collect())

    def get_simulator(self) -> tuple[ChainSimulator, BlockHeaderAPI]:
        """Return what tries things behind that block, and its header but for its roots."""
        return self._builder.get_simulator(self._collect())

    def get_simulator_before_nonce(
        self, sender: Address, nonce: int
    ) -> tuple[ChainSimulator, BlockHeaderAPI]:
        """Return the same without an account's transactions of a nonce, and of those behind it."""
        upcoming = self._collect()
        ready = tuple(
            entry
            for entry in upcoming.ready
            if entry.sender != sender or entry.transaction.nonce < nonce
        )
        return PendingBlockBuilder(self._chain).get_simulator(replace(upcoming, ready=ready))

    def select_transactions(self, header: BlockHeaderAPI) -> list[SignedTransactionAPI]:
        """Return what waits and fits into a block that begins so, in order."""
        return self._collect_for(header).select_fitting()

    def forget(self) -> None:
        """Let go of what was tried: the latest block is another."""
        self._builder.forget()

    def _collect(self) -> PendingTransactions:
        while True:
            head, clock = self._chain.head, self._clock.settings
            upcoming = self._collect_for(self._next_block.build_header(head))
            # Else a block may have taken what waited in between, or the time was set.
            if self._chain.head is head and self._clock.settings is clock:
                return upcoming

    def _collect_for(self, header: BlockHeaderAPI) -> PendingTransactions:
        base_fee = int(header.base_fee_per_gas or 0)
        return PendingTransactions(
            header=header,
            max_blobs=self._chain.fork.max_blobs,
            clock=self._clock.settings,
            ready=tuple(self._pool.iter_ready(self._chain.nonce, base_fee)),
        )


GAS_OF_A_SECOND = 2_000_000
"""A draft that used so much gas stands for a second, where nothing but the time moves on. It takes
some tenth of that to execute, so no more than a tenth of the time goes into following it; the time
of a block that is full is late by 15 seconds at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingTransactions:
    """What the next block would be made of."""

    header: BlockHeaderAPI
    """The header that it begins with."""

    max_blobs: int
    clock: ClockSettings
    """How the time was set that it has."""

    ready: tuple[PoolTransaction, ...]
    """What waits and has its turn, in order."""

    def select_fitting(self, without: Collection[bytes] = ()) -> list[SignedTransactionAPI]:
        """Return the transactions that fit into the block, in order.

        Input: the hashes of those that are left out, with what follows on from them.
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
    """Transactions in the order in which a block would hold them, as far as they were tried."""

    draft: DraftBlock
    context: object
    """What the block is told to be, but for its time."""

    ready: Sequence[bytes]
    """What was ready when it was last looked at."""

    included_transactions: list[SignedTransactionAPI] = field(default_factory=list)
    """Those that the block holds."""

    invalid: set[bytes] = field(default_factory=set)
    """Those that it can't hold behind the others."""

    stop_hash: bytes | None = None
    """The one for which a model would have to be asked."""

    sealed_chain: DraftChain | None = None
    """The block that holds them, and the chain behind it, once somebody has asked for it."""

    def can_continue(self, circumstances: object, timestamp: int, ready: Sequence[bytes]) -> bool:
        """Whether a block of what is ready can go on from what was tried.

        A later one serves whoever looked at the clock before, a second at most.
        """
        age = timestamp - self.draft.first_header.timestamp
        if self.context != circumstances or not -1 <= age <= self._seconds:
            return False
        # Behind others that came before them since, it might hold what it could not.
        count = max(
            (i + 1 for i, tx_hash in enumerate(self.ready) if tx_hash in self.invalid), default=0
        )
        return ready[:count] == self.ready[:count]

    @property
    def _seconds(self) -> int:
        """How long it stands, where nothing but the time moves on."""
        return int(self.draft.header.gas_used) // GAS_OF_A_SECOND

    def is_prefix_of(self, transactions: Sequence[SignedTransactionAPI]) -> bool:
        """Whether these begin with what was tried."""
        tried: list[bytes] = [transaction.hash for transaction in self.included_transactions]
        if self.stop_hash is not None:
            tried.append(self.stop_hash)
        return [transaction.hash for transaction in transactions[: len(tried)]] == tried

    def extend(self, transactions: Sequence[SignedTransactionAPI]) -> bool:
        """Try those that were not tried yet; return whether the block holds them.

        It ends before one for which a model would have to be asked.
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
    """Drafts of the next block, in any thread. What was tried for one is not tried for the next.

    Transactions that a block can't hold are left out, with what follows on from them. A draft ends
    before the first for which a model would have to be asked.
    """

    def __init__(self, chain: Chain) -> None:
        """Make blocks behind a chain's latest."""
        self._chain = chain
        self._lock = threading.Lock()  # Who asks for what is being tried waits for it.
        self._prefix: _ExecutedPrefix | None = None

    def forget(self) -> None:
        """Let go of the last draft: a block was made."""
        self._prefix = None

    def get_simulator(self, upcoming: PendingTransactions) -> tuple[ChainSimulator, BlockHeaderAPI]:
        """Return what tries things behind a draft, and its header."""
        with self._lock:
            draft = self._extend_prefix(upcoming).draft
            return draft.simulator, draft.header

    def build_chain(self, upcoming: PendingTransactions) -> DraftChain:
        """Return the chain as it would be, were a draft its latest block."""
        with self._lock:
            return self._seal(self._extend_prefix(upcoming))

    def build_block(self, upcoming: PendingTransactions) -> BlockRecord:
        """Return the build_block of what waits.

        Where a model would have to be asked, it only lists the transactions: nothing is used, and
        there are no receipts.
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
                line = self._prefix = None  # Its states are let go of before others are made.
                draft = self._chain.begin_draft(upcoming.header)
                line = _ExecutedPrefix(draft=draft, context=circumstances, ready=ready)
                transactions = upcoming.select_fitting()
            if line.extend(transactions):
                line.ready = ready
                # Where a block was made meanwhile, nobody asks for it again.
                is_next = self._chain.head.hash == upcoming.header.parent_hash
                self._prefix = line if is_next else None
                return line

    def _seal(self, line: _ExecutedPrefix) -> DraftChain:
        if line.sealed_chain is None:
            line.sealed_chain = self._chain.draft_block(
                line.included_transactions, line.draft.first_header
            )
        return line.sealed_chain
