"""A development node: a chain with a txpool, a clock, keys and snapshots.

Changes of the chain are queued and executed one after another in one thread. Reads, and the
admission of transactions, may happen in any thread: neither waits for a running inference.
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
from pyevm_agents.chain import Chain
from pyevm_agents.errors import ConfigError, EngineFault
from pyevm_agents.forking import RemoteFork
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

    from pyevm_agents.chain import BlockSettings, MinedBlock

    OpenFork = Callable[[str | None, int | None], RemoteFork]

T = TypeVar("T")

KEPT_FAULTS = 1_000
"""Size of the LRU of transactions that ended in a fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmittedTransaction:
    """A transaction that the pool accepted."""

    transaction: SignedTransactionAPI
    mined: Future[MinedBlock | None]
    """Its block; None while it stays in the pool. Raises EngineFault if the host failed."""

    def wait(self, timeout_seconds: float) -> None:
        """Wait until the transaction is mined or left in the pool, or until the timeout.

        Raises: EngineFault: the host failed while mining.
        """
        try:
            self.mined.result(timeout_seconds)
        except FutureTimeoutError:
            if self.mined.done():
                raise


class Node:
    """A chain with accounts, a txpool, a clock and snapshots."""

    def __init__(
        self,
        chain: Chain,
        *,
        now: Callable[[], float],
        keys: Keys | None = None,
        mining: MiningMode | None = None,
        open_fork: OpenFork | None = None,
    ) -> None:
        """Start from the chain's current head.

        Input:
            now: returns the wall-clock time in Unix seconds.
            keys: the accounts to sign for; none by default.
            mining: when to make blocks; by default one for each transaction.
            open_fork: opens a block of a live chain for `fork_again`, given a URL and a number; by
                default the node can't fork again.
        """
        self.keys = keys or Keys()
        self.pool = TxPool()
        self.clock = Clock(now)
        self._set_chain(chain)
        self._open_fork = open_fork
        self._own_fork: RemoteFork | None = None
        """The fork that `fork_again` opened; that of the first chain belongs to its owner."""

        self.listeners = NodeListeners()
        self.is_logging = True
        """Whether the server logs requests and transactions. Source: anvil_setLoggingEnabled."""

        self.instance_id = os.urandom(32)
        """32 random bytes; new for each node and after each `reset`."""

        self.send_lock = threading.RLock()
        """Held from the choice of a nonce until its transaction is in the pool."""

        self._mining = mining or MiningMode()
        self._faults: LRU[bytes, str] = LRU(KEPT_FAULTS)
        self._ticker = Ticker(self._tick)
        self._write_queue = WriteQueue()
        self._ticker.set(self._mining.interval_seconds)

    def _set_chain(self, chain: Chain) -> None:
        self.chain = chain
        self.clock.settings = ClockSettings()
        if chain.fork_block is not None:
            self.clock.continue_from(chain.head.timestamp)
        self.next_block = NextBlock(chain, self.clock)
        self.pending = PendingBlock(chain, self.pool, self.clock, self.next_block)
        self.history = History(
            chain,
            (self.pool.checkpoint, self.clock.checkpoint, self.next_block.checkpoint),
            self._on_reorg,
        )

    @property
    def fork(self) -> RemoteFork | None:
        """The fork block that the chain continues; None if there is no remote node to ask."""
        fork_block = self.chain.fork_block
        return fork_block if isinstance(fork_block, RemoteFork) else None

    def _tick(self) -> None:
        self.submit_change(self.mine).result()

    def close(self) -> None:
        """Stop mining, wait for a block in progress, and close the chain."""
        self._ticker.stop()
        self._write_queue.close()
        self.chain.close()
        if self._own_fork is not None:
            self._own_fork.close()

    # -- the write queue -- #

    def submit_change(self, work: Callable[[], T]) -> Future[T]:
        """Queue a change of the chain; return its future."""
        return self._write_queue.submit(work)

    def run_now(self, work: Callable[[], T]) -> T:
        """Run a short change that executes no code, in the calling thread.

        Raises: BusyError: the write queue is not idle; nothing was changed.
        """
        return self._write_queue.run_now(work)

    def run_exclusive(self, work: Callable[[], T]) -> T:
        """Run a short change: immediately if the write queue is idle, otherwise queued."""
        try:
            return self.run_now(work)
        except BusyError:
            return self.submit_change(work).result()

    # -- transactions -- #

    @property
    def mining(self) -> MiningMode:
        """The mining mode."""
        return self._mining

    def set_mining(self, mining: MiningMode) -> None:
        """Set the mining mode."""
        self._mining = mining
        self._ticker.set(mining.interval_seconds)

    def admit(self, transaction: SignedTransactionAPI) -> None:
        """Validate a transaction and add it to the pool. Thread-safe.

        Raises: PoolError: the transaction is invalid; the message is geth's.
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
        """Reject a transaction whose nonce was mined during its validation."""
        nonce = self.chain.nonce(transaction.sender)
        if transaction.nonce < nonce and not self.chain.find_transaction(transaction.hash):
            self.pool.remove(transaction.hash)
            raise PoolError(f"nonce too low: next nonce {nonce}, tx nonce {transaction.nonce}")

    def send(self, make: Callable[[], SignedTransactionAPI]) -> SubmittedTransaction:
        """Add a transaction to the pool, and queue its block if automine is on. Thread-safe.

        Input:  make: builds the transaction. It runs under `send_lock`, so it may read the
                sender's next nonce.
        Raises: PoolError: the transaction is invalid.
        """
        transaction = self._admit_made(make)
        mined = self.submit_change(lambda: self.mine_if_ready(transaction))
        return SubmittedTransaction(transaction=transaction, mined=mined)

    def submit(self, transaction: SignedTransactionAPI) -> MinedBlock | None:
        """Admit a transaction, and mine it in this thread if automine is on; return its block.

        Only the write queue's thread may call this. Other threads call `send`.

        Raises: PoolError: the transaction is invalid. EngineFault: the host failed while mining;
                the transaction is removed from the pool.
        """
        return self.mine_if_ready(self._admit_made(lambda: transaction))

    def _admit_made(self, make: Callable[[], SignedTransactionAPI]) -> SignedTransactionAPI:
        """Build and admit a transaction under `send_lock`, so that no two share a nonce."""
        with self.send_lock:
            transaction = make()
            self.admit(transaction)
        return transaction

    def mine_if_ready(self, transaction: SignedTransactionAPI) -> MinedBlock | None:
        """Mine a transaction of the pool if automine is on and its nonce is the next one."""
        if not self._mining.is_automatic or transaction.hash not in self.pool:
            return None
        is_ready = transaction.nonce == self.chain.nonce(transaction.sender)
        return self.mine() if is_ready else None

    def next_nonce(self, sender: bytes) -> int:
        """Return the nonce of an account's next transaction, after those in the pool."""
        account = Address(sender)
        while True:
            head = self.chain.head
            nonce = self.pool.next_nonce(account, self.chain.nonce(account))
            if self.chain.head is head:  # A block made in between takes transactions of the pool.
                return nonce

    # -- blocks -- #

    def mine(self, timestamp_seconds: int | None = None) -> MinedBlock:
        """Mine a block of the pool's ready transactions.

        Raises: EngineFault: the host failed; the block's transactions are removed from the pool.
        """
        return self._on_mined(self._mine_fitting(self.next_block.build_settings(timestamp_seconds)))

    def mine_transactions(
        self, transactions: Sequence[SignedTransactionAPI], settings: BlockSettings
    ) -> MinedBlock:
        """Mine a block of exactly these transactions.

        Raises: ValidationError: a transaction is invalid. EngineFault: the host failed.
        """
        with self.chain.agent_events.run("block"):
            mined = self.chain.mine(transactions, settings=settings)
        return self._on_mined(mined)

    def _on_mined(self, mined: MinedBlock) -> MinedBlock:
        """Update pool and clock after a new block, and notify the listeners."""
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
        """Return the fault that a recent transaction ended in; None if it did not.

        Such a transaction is neither in the pool nor in a block. It may be sent again.
        """
        return self._faults.get(transaction_hash)

    def _drop_first_invalid(
        self, transactions: list[SignedTransactionAPI], settings: BlockSettings
    ) -> None:
        """Remove the first transaction from the pool that is invalid after those before it."""
        ended: list[bytes] = []
        try:
            self.chain.draft_block(
                transactions,
                self.chain.build_next_header(settings),
                watch=lambda transaction, *_: ended.append(transaction.hash),
            )
        except ValidationError:
            self.pool.remove(transactions[len(ended)].hash)

    # -- reorganizations -- #

    def reorganize(self, blocks: Sequence[Sequence[SignedTransactionAPI]]) -> None:
        """Replace the latest blocks by as many new ones.

        Input:  blocks: the transactions of each new block, the earliest block first.
        Raises: ConfigError: the chain is shorter. ValidationError: a transaction is invalid in its
                block. EngineFault: the host failed. The chain is unchanged in every case.
        """
        self.history.require_height(len(blocks))
        gone = [self.chain.header(self.chain.head.block_number - i) for i in range(len(blocks))]
        number = self.history.snapshot()
        try:
            self.history.rollback(len(blocks))
            for transactions, header in zip(blocks, reversed(gone), strict=True):
                # Without another randao, an empty block of the same second has the same hash.
                randao = keccak(header.hash)
                self.mine_transactions(
                    transactions, replace(self.next_block.build_settings(), prev_randao=randao)
                )
        except BaseException:
            self.history.revert(number)
            raise
        self.history.forget(number)

    def reset(self) -> None:
        """Go back to genesis or the fork block; clear pool, impersonations and snapshots."""
        with self.history.track_reorg():
            self.chain.rollback(self.chain.first_number)
            self.pool.clear()
            self.clock.settings = ClockSettings()
            if self.chain.fork_block is not None:
                self.clock.continue_from(self.chain.head.timestamp)
            self.next_block.reset()
            self.keys.impersonated, self.keys.impersonates_all = frozenset(), False
            self.history.forget_all()
            self.instance_id = os.urandom(32)

    def fork_again(self, url: str | None, block_number: int | None) -> None:
        """Continue another block in memory, with the same models, keys and listeners.

        Input:
            url: of a node; None for the one that the chain is a fork of.
            block_number: of the block; None for the latest.

        Raises: ConfigError: the node can't fork again, or has no URL. RemoteFault: the remote node
                does not answer. The chain is unchanged in both cases.
        """
        if self._open_fork is None:
            raise ConfigError("this node can't fork again: open a new one with the other fork")
        fork = self._open_fork(url, block_number)
        try:
            chain = self._build_fork_chain(fork)
        except BaseException:
            fork.close()
            raise
        self.pool.clear()
        self._set_chain(chain)
        self.keys.impersonated, self.keys.impersonates_all = frozenset(), False
        self.instance_id = os.urandom(32)
        if self._own_fork is not None:
            self._own_fork.close()
        self._own_fork = fork

    def _build_fork_chain(self, fork: RemoteFork) -> Chain:
        """Return a chain in memory that continues a fork block with this chain's models.

        A chain ID that differs from the former fork's was set by the user, and is kept.
        """
        former, origin = self.chain, fork.origin
        config, accounts = former.config, former.genesis_accounts
        is_own_id = config.origin is not None and config.chain_id != config.origin.chain_id
        return Chain(
            replace(
                config,
                origin=origin,
                chain_id=config.chain_id if is_own_id else origin.chain_id,
                block_gas_limit=max(config.block_gas_limit, fork.header.gas_limit),
                genesis_timestamp_seconds=fork.header.timestamp,
            ),
            former.models,
            accounts={each: accounts[each] for each in self.keys.addresses if each in accounts},
            fork=fork,
            former=former,
        )

    def _on_reorg(self, headers: list[BlockHeaderAPI]) -> None:
        self.pending.forget()
        self.listeners.on_reorg(headers)

    # -- state overrides -- #

    def patch_state(self, change: Callable[[StateAPI], None]) -> None:
        """Change accounts in the state of the latest block."""
        self.chain.patch_state(change)
