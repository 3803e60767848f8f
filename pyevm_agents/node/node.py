"""A development node: a chain whose blocks follow from what is sent to it, and from the clock.

All that changes the chain happens one thing after another, and whatever executes in one thread;
what only reads may be done in any, and transactions are taken in any. So neither waits for an agent
that thinks.
"""

from __future__ import annotations

import os
import threading
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from eth_typing import Address
from eth_utils import ValidationError, keccak
from lru import LRU

from precompiles.react import GrammarViolationError
from pyevm_agents.errors import EngineFault
from pyevm_agents.node.block_settings import NextBlock
from pyevm_agents.node.clock import Clock, ClockSettings
from pyevm_agents.node.keys import Keys
from pyevm_agents.node.listeners import NodeListeners
from pyevm_agents.node.mining import MiningMode, Ticker
from pyevm_agents.node.pending_block import PendingBlock
from pyevm_agents.node.snapshots import History
from pyevm_agents.node.txpool import PoolError, TxPool
from pyevm_agents.node.validation import ValidationContext, require_admissible
from pyevm_agents.node.write_queue import BusyError, WriteQueue

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future

    from eth.abc import BlockHeaderAPI, SignedTransactionAPI, StateAPI

    from pyevm_agents.chain import BlockSettings, Chain, MinedBlock

T = TypeVar("T")

KEPT_FAULTS = 1_000
"""Transactions of which it is kept why the host failed on them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmittedTransaction:
    """A transaction that was taken."""

    transaction: SignedTransactionAPI
    mined: Future[MinedBlock | None]
    """Its block, None where it waits for one. An EngineFault: the host failed while mining."""

    def wait(self, timeout_seconds: float) -> None:
        """Wait until it is mined or left to wait for a block, or until the timeout.

        Raises: EngineFault: the host failed while mining.
        """
        try:
            self.mined.result(timeout_seconds)
        except FutureTimeoutError:
            if self.mined.done():
                raise


class Node:
    """A chain with accounts, waiting transactions, a clock and snapshots."""

    def __init__(
        self,
        chain: Chain,
        *,
        now: Callable[[], float],
        keys: Keys | None = None,
        mining: MiningMode | None = None,
    ) -> None:
        """Begin with a chain as it stands.

        Input: what tells the world's time, in seconds since 1970; who signs; when blocks are made.
        """
        self.chain = chain
        self.keys = keys or Keys()
        self.pool = TxPool()
        self.clock = Clock(now)
        self.next_block = NextBlock(chain, self.clock)
        self.pending = PendingBlock(chain, self.pool, self.clock, self.next_block)
        self.history = History(
            chain,
            (self.pool.checkpoint, self.clock.checkpoint, self.next_block.checkpoint),
            self._on_reorg,
        )
        self.listeners = NodeListeners()
        self.is_logging = True
        """Whether a log of requests and transactions is wanted; who writes one asks."""

        self.instance_id = os.urandom(32)
        """Another one for each node, and after each `reset`."""

        self.send_lock = threading.RLock()
        """Held from the choice of a nonce until its transaction waits."""

        self._mining = mining or MiningMode()
        self._faults: LRU[bytes, str] = LRU(KEPT_FAULTS)
        self._ticker = Ticker(self._tick)
        self._write_queue = WriteQueue()
        self._ticker.set(self._mining.interval_seconds)

    def _tick(self) -> None:
        self.submit_change(self.mine).result()

    def close(self) -> None:
        """Stop making blocks, wait for the one that is being made, and close the chain."""
        self._ticker.stop()
        self._write_queue.close()
        self.chain.close()

    # -- the one thread that changes -- #

    def submit_change(self, work: Callable[[], T]) -> Future[T]:
        """Do something that changes the chain, after whatever was asked before."""
        return self._write_queue.submit(work)

    def run_now(self, work: Callable[[], T]) -> T:
        """Do something in this thread that changes the node, executes nothing and takes no time.

        Raises: BusyError: something else is under way, or was asked before; nothing was done.
        """
        return self._write_queue.run_now(work)

    def run_exclusive(self, work: Callable[[], T]) -> T:
        """Do such a thing after whatever was asked before, at once where that is nothing."""
        try:
            return self.run_now(work)
        except BusyError:
            return self.submit_change(work).result()

    # -- transactions -- #

    @property
    def mining(self) -> MiningMode:
        """When blocks are made."""
        return self._mining

    def set_mining(self, mining: MiningMode) -> None:
        """Make blocks at other times from now on."""
        self._mining = mining
        self._ticker.set(mining.interval_seconds)

    def admit(self, transaction: SignedTransactionAPI) -> None:
        """Let a transaction wait for a block; in any thread.

        Raises: PoolError: no block will take it; the message is geth's.
        """
        head = self.chain.head
        header = self.next_block.build_header()
        terms = ValidationContext(
            chain_id=self.chain.config.chain_id,
            gas_limit=header.gas_limit,
            base_fee_wei=int(header.base_fee_per_gas or 0),
            fork=self.chain.fork,
            blob_base_fee_wei=self.chain.fork.blob_base_fee(header),
            requires_base_fee=self._mining.is_automatic,
        )
        require_admissible(transaction, self.chain.state(), terms)
        self.pool.add(transaction)
        self._faults.pop(transaction.hash, None)
        if self.chain.head is not head:
            self._require_current_nonce(transaction)
        self.listeners.on_pending(transaction)

    def _require_current_nonce(self, transaction: SignedTransactionAPI) -> None:
        """Refuse a transaction whose nonce a block took while it was looked at."""
        nonce = self.chain.nonce(transaction.sender)
        if transaction.nonce < nonce and not self.chain.find_transaction(transaction.hash):
            self.pool.remove(transaction.hash)
            raise PoolError(f"nonce too low: next nonce {nonce}, tx nonce {transaction.nonce}")

    def send(self, make: Callable[[], SignedTransactionAPI]) -> SubmittedTransaction:
        """Let a transaction wait, and have it mined where that is automatic; in any thread.

        Input:  what makes it. No other is sent meanwhile: it may ask for its sender's next nonce.
        Raises: PoolError: no block will take it.
        """
        transaction = self._admit_made(make)
        mined = self.submit_change(lambda: self.mine_if_ready(transaction))
        return SubmittedTransaction(transaction=transaction, mined=mined)

    def submit(self, transaction: SignedTransactionAPI) -> MinedBlock | None:
        """Admit a transaction, and mine it in this thread if mining is automatic; return its block.

        Only the thread that changes the chain may call this; `send` is for all others.

        Raises: PoolError: no block will take it. EngineFault: the host failed while mining; the
                transaction waits no more.
        """
        return self.mine_if_ready(self._admit_made(lambda: transaction))

    def _admit_made(self, make: Callable[[], SignedTransactionAPI]) -> SignedTransactionAPI:
        """Make and admit a transaction, under the lock that keeps nonces apart."""
        with self.send_lock:
            transaction = make()
            self.admit(transaction)
        return transaction

    def mine_if_ready(self, transaction: SignedTransactionAPI) -> MinedBlock | None:
        """Mine a transaction that waits, where that is automatic and it has its turn."""
        if not self._mining.is_automatic or transaction.hash not in self.pool:
            return None
        is_ready = transaction.nonce == self.chain.nonce(transaction.sender)
        return self.mine() if is_ready else None

    def next_nonce(self, sender: bytes) -> int:
        """Return the nonce of an account's next transaction, those that wait counted in."""
        account = Address(sender)
        while True:
            head = self.chain.head
            nonce = self.pool.next_nonce(account, self.chain.nonce(account))
            if self.chain.head is head:  # Else a block may have taken what waited in between.
                return nonce

    # -- blocks -- #

    def mine(self, timestamp_seconds: int | None = None) -> MinedBlock:
        """Make a block of what is ready.

        Raises: EngineFault: the host failed; the transactions that it failed on wait no more.
        """
        return self._on_mined(self._mine_fitting(self.next_block.build_settings(timestamp_seconds)))

    def mine_transactions(
        self, transactions: Sequence[SignedTransactionAPI], settings: BlockSettings
    ) -> MinedBlock:
        """Make a block of these transactions, whatever waits.

        Raises: ValidationError: a transaction that no block may hold. EngineFault: the host failed.
        """
        with self.chain.agent_events.run("block"):
            mined = self.chain.mine(transactions, settings=settings)
        return self._on_mined(mined)

    def _on_mined(self, mined: MinedBlock) -> MinedBlock:
        """Take note of a new block, and tell of it."""
        for transaction in mined.block.transactions:
            self.pool.remove(transaction.hash)
            self.pool.remove_below(transaction.sender, transaction.nonce)
        self.clock.on_mined(mined.block.header.timestamp)
        self.next_block.on_mined()
        self.pending.forget()
        self.listeners.on_mined(mined)
        return mined

    def _mine_fitting(self, settings: BlockSettings) -> MinedBlock:
        while True:
            transactions = self.pending.select_transactions(self.chain.build_next_header(settings))
            try:
                with self.chain.agent_events.run("block"):
                    return self.chain.mine(transactions, settings=settings)
            except ValidationError:
                self._drop_first_invalid(transactions, settings)
            except BaseException as error:
                for transaction in transactions:
                    self.pool.remove(transaction.hash)
                    if isinstance(error, (EngineFault, GrammarViolationError)):
                        self._faults[transaction.hash] = str(error)
                raise

    def find_fault(self, transaction_hash: bytes) -> str | None:
        """Return why the host failed on a transaction of late; None where it did not.

        Such a transaction waits no more, and is in no block: it may be sent again.
        """
        return self._faults.get(transaction_hash)

    def _drop_first_invalid(
        self, transactions: list[SignedTransactionAPI], settings: BlockSettings
    ) -> None:
        """Let the first transaction wait no more that a block can't hold behind those before it."""
        ended: list[bytes] = []
        try:
            self.chain.draft_block(
                transactions,
                self.chain.build_next_header(settings),
                watch=lambda transaction, *_: ended.append(transaction.hash),
            )
        except ValidationError:
            self.pool.remove(transactions[len(ended)].hash)

    # -- going back -- #

    def reorganize(self, blocks: Sequence[Sequence[SignedTransactionAPI]]) -> None:
        """Put other blocks in the place of as many of the latest ones.

        Input:  the transactions of each.
        Raises: ConfigError: the chain is not that long. ValidationError: a transaction that no
                block may hold there. EngineFault: the host failed. The chain is as before in the
                last two cases.
        """
        gone = [self.chain.header(self.chain.head.block_number - i) for i in range(len(blocks))]
        number = self.history.snapshot()
        try:
            self.history.rollback(len(blocks))
            for transactions, header in zip(blocks, reversed(gone), strict=True):
                # An empty block of the same second would be the one that it replaces.
                randao = keccak(header.hash)
                self.mine_transactions(
                    transactions, replace(self.next_block.build_settings(), prev_randao=randao)
                )
        except BaseException:
            self.history.revert(number)
            raise
        self.history.forget(number)

    def reset(self) -> None:
        """Go back to genesis: nothing waits, nobody is impersonated, no snapshot is left."""
        with self.history.track_reorg():
            self.chain.rollback(0)
            self.pool.clear()
            self.clock.settings = ClockSettings()
            self.next_block.reset()
            self.keys.impersonated, self.keys.impersonates_all = frozenset(), False
            self.history.forget_all()
            self.instance_id = os.urandom(32)

    def _on_reorg(self, headers: list[BlockHeaderAPI]) -> None:
        self.pending.forget()
        self.listeners.on_reorg(headers)

    # -- setting what no transaction could -- #

    def patch_state(self, change: Callable[[StateAPI], None]) -> None:
        """Change accounts as they are at the latest block."""
        self.chain.patch_state(change)
