"""A development node: a chain with a txpool, a clock, keys and snapshots.

Changes of the chain are queued and executed one after another in one thread. Reads, and the
admission of transactions, may happen in any thread: neither waits for a running inference. In a
node that rehearses, inference happens in another thread, and changes do not wait for inference
either.
"""

from __future__ import annotations

import os
import threading
from concurrent.futures import Future, wait
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from eth_typing import Address
from eth_utils import keccak

from pyevm_agents.chain import Chain, MinedBlock
from pyevm_agents.chain.fork_setup import choose_hardfork
from pyevm_agents.errors import ConfigError, EngineFault
from pyevm_agents.forking import RemoteFork
from pyevm_agents.node.block_settings import NextBlock
from pyevm_agents.node.clock import Clock
from pyevm_agents.node.journal import JournalContent
from pyevm_agents.node.keys import Keys
from pyevm_agents.node.listeners import NodeListeners
from pyevm_agents.node.miner import Miner, find_culprit
from pyevm_agents.node.mining import MiningMode, Ticker
from pyevm_agents.node.pending_block import PendingBlock
from pyevm_agents.node.snapshots import History
from pyevm_agents.node.txpool import ORDERS, RESET, Departure, Leaving, PoolError, TxPool
from pyevm_agents.node.validation import ValidationContext, require_admissible
from pyevm_agents.node.write_queue import BusyError, WriteQueue
from pyevm_agents.vm import describe_low_nonce

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from eth.abc import BlockHeaderAPI, SignedTransactionAPI, StateAPI

    from pyevm_agents.chain import BlockSettings
    from pyevm_agents.node.journal import Journal
    from pyevm_agents.node.miner import KnownBlock

    OpenFork = Callable[[str | None, int | None], RemoteFork]

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmittedTransaction:
    """A transaction that the pool accepted."""

    transaction: SignedTransactionAPI
    mined: Future[MinedBlock | None]
    """Its block; None while it stays in the pool. Raises PoolError if it became invalid there, and
    EngineFault if the host failed."""

    def wait(self, timeout_seconds: float) -> None:
        """Wait until the transaction is mined or left in the pool, or until the timeout.

        Raises: PoolError: it became invalid in the pool. EngineFault: the host failed while mining.
        """
        try:
            self.mined.result(timeout_seconds)
        except FutureTimeoutError:
            if self.mined.done():
                raise


class Node:
    """A chain with accounts, a txpool, a clock and snapshots."""

    def __init__(  # noqa: PLR0913 - keyword arguments
        self,
        chain: Chain,
        *,
        now: Callable[[], float],
        keys: Keys | None = None,
        mining: MiningMode | None = None,
        order: str = ORDERS[0],
        journal: Journal | None = None,
        open_fork: OpenFork | None = None,
        rehearses: bool = False,
        since_seconds: float | None = None,
    ) -> None:
        """Start from the chain's current head, with the transactions of the journal.

        Input:
            now: returns the wall-clock time in Unix seconds.
            keys: the accounts to sign for; empty by default.
            mining: when to make blocks; by default one for each transaction.
            order: of a block's transactions, one of `txpool.ORDERS`.
            journal: the pool's journal in the chain's database; None to forget the pool at the end.
            open_fork: opens a block of a live chain for `fork_again`, given a URL and a number; by
                default the node can't fork again.
            rehearses: whether inference happens ahead of a block, without delay for other clients;
                otherwise each transaction is executed once, in the block.
            since_seconds: the wall-clock time from which the chain's time goes on from the head; by
                default now.

        Raises: EngineFault: the journal can't be written.
        """
        self.keys = keys or Keys()
        self.listeners = NodeListeners()
        self._journal = journal
        self.pool = TxPool(journal, order=order, on_leave=self._on_leave)
        self.clock = Clock(now, lambda: self.chain.head.timestamp)
        self._rehearses = rehearses
        self._set_chain(chain)
        self.clock.restart(since_seconds)
        self.restored = JournalContent() if journal is None else self._restore_pool(journal)
        """The transactions that came back from the journal, and its damaged rows."""

        self._open_fork = open_fork
        self._own_fork: RemoteFork | None = None
        """The fork that `fork_again` opened; that of the first chain belongs to its owner."""

        self.is_logging = True
        """Whether the server logs requests and transactions. Source: anvil_setLoggingEnabled."""

        self.instance_id = os.urandom(32)
        """32 random bytes; new for each node and after each `reset`."""

        self.send_lock = threading.RLock()
        """Held from the choice of a nonce until its transaction is in the pool."""

        self._mining = mining or MiningMode()
        self._results: dict[bytes, Future[MinedBlock | None]] = {}
        """Futures of the transactions that have a turn, by hash."""

        self._ticker = Ticker(self._tick)
        self._write_queue = WriteQueue()
        self._ticker.set(self._mining.interval_seconds)

    def _restore_pool(self, journal: Journal) -> JournalContent:
        """Put the journal's transactions into the pool, without those whose nonces are used."""
        found = journal.read(self.chain.transaction_builder)
        waiting = tuple(
            entry
            for entry in found.transactions
            if entry.transaction.nonce >= self.chain.nonce(entry.sender)
        )
        self.pool.restore(waiting)
        return replace(found, transactions=waiting)

    def resume(self) -> None:
        """Mine the ready transactions of the journal if automine is on, without waiting."""
        for entry in self.restored.transactions:
            self.queue_turn(entry.transaction)

    def _set_chain(self, chain: Chain) -> None:
        self.chain = chain
        self.next_block = NextBlock(chain, self.clock)
        self.pending = PendingBlock(chain, self.pool, self.clock, self.next_block)
        self._miner = Miner(
            chain,
            self.pool,
            self.pending,
            self.next_block,
            self._on_rehearsed if self._rehearses else None,
        )
        self.history = History(
            chain,
            (self.pool.checkpoint, self.clock.checkpoint, self.next_block.checkpoint),
            self._on_reorg,
        )

    @property
    def fork(self) -> RemoteFork | None:
        """The fork block that the chain continues; None without a remote node."""
        fork_block = self.chain.fork_block
        return fork_block if isinstance(fork_block, RemoteFork) else None

    def _tick(self) -> None:
        self.submit_change(self._mine_tick).result()

    def _mine_tick(self) -> KnownBlock:
        """Mine the next block of interval mining, an empty one at most once in a second.

        A block is a second after its parent, so faster empty blocks would outrun the clock.
        """
        is_slow = self._mining.interval_seconds >= 1
        return self._mine_known(None, may_be_empty=is_slow or self.clock.has_left_head())

    def wait_idle(self, timeout_seconds: float | None = None) -> bool:
        """Wait until no transaction is executed or has a turn; return False after the timeout."""
        while True:
            futures: list[Future[Any]] = [
                *self._results.values(),
                *self._miner.rehearsals.get_running().values(),
                self.submit_change(lambda: None),
            ]
            if wait(futures, timeout_seconds).not_done:
                return False
            if not self._results:
                return True

    def begin_stop(self) -> None:
        """Leave transactions that end in a fault in the pool, for the next start."""
        self._miner.drops_faulted = False

    def close(self) -> None:
        """Stop mining, wait for the transactions that are executed, and close the chain."""
        self.begin_stop()
        self._ticker.stop()
        self._miner.rehearsals.close()
        self._write_queue.close()
        self.chain.close()
        if self._own_fork is not None:
            self._own_fork.close()

    # -- the write queue -- #

    def submit_change(self, work: Callable[[], T]) -> Future[T]:
        """Queue a change of the chain; return the future."""
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

    @property
    def max_transaction_gas(self) -> int:
        """The highest gas limit of a transaction in the next block: the block's, or the fork's."""
        return self.chain.fork.cap_gas(int(self.next_block.build_header().gas_limit))

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
            initcode_bytes=2 * self.chain.config.code_size_bytes,
            blob_base_fee_wei=self.chain.fork.blob_base_fee(header),
            requires_base_fee=self._mining.is_automatic,
        )
        require_admissible(transaction, self.chain.state(), terms)
        self.pool.add(transaction)
        if self.chain.head is not head:
            self._require_current_nonce(transaction)
        self.listeners.on_pending(transaction)

    def _require_current_nonce(self, transaction: SignedTransactionAPI) -> None:
        """Reject a transaction whose nonce was mined during validation."""
        nonce = self.chain.nonce(transaction.sender)
        if transaction.nonce < nonce and not self.chain.find_transaction(transaction.hash):
            reason = describe_low_nonce(transaction.nonce, nonce)
            self.pool.remove(transaction.hash, Departure(way=Leaving.INVALID, reason=reason))
            raise PoolError(reason)

    def send(self, make: Callable[[], SignedTransactionAPI]) -> SubmittedTransaction:
        """Add a transaction to the pool, and queue a block if automine is on. Thread-safe.

        Input:  make: builds the transaction. Runs under `send_lock`, so may read the sender's next
            nonce.
        Raises: PoolError: the transaction is invalid.
        """
        transaction = self._admit_made(make)
        return SubmittedTransaction(transaction=transaction, mined=self.queue_turn(transaction))

    def send_if_short(
        self, make: Callable[[], SignedTransactionAPI]
    ) -> SignedTransactionAPI | None:
        """Mine a short transaction in this thread if the pool is empty and the write queue idle.

        Thread-safe, and for the event loop: it neither waits nor infers. See `Chain.mine_if_short`.

        Output: the transaction; None if it is to be sent by `send`: nothing has changed then.
        Raises: what `make` raises.
        """
        if not self.send_lock.acquire(blocking=False):
            return None
        try:
            return self.run_now(lambda: self._mine_if_short(make))
        except BusyError:
            return None
        finally:
            self.send_lock.release()

    def _mine_if_short(
        self, make: Callable[[], SignedTransactionAPI]
    ) -> SignedTransactionAPI | None:
        is_fork = self.chain.fork_block is not None  # `make` may read a nonce there.
        if is_fork or len(self.pool) or not self._mining.is_automatic:
            return None
        transaction = make()
        if self.pool.find_departure(transaction.hash) is not None:
            return None  # The pool forgets the departure when it takes the transaction again.
        try:
            mined = self.chain.mine_if_short(transaction, self.next_block.build_settings())
        except EngineFault:
            return None  # The pool then knows why the transaction left.
        if mined is None:
            return None
        self.listeners.on_pending(transaction)
        self._on_mined(mined)
        return transaction

    # -- turns -- #

    def queue_turn(self, transaction: SignedTransactionAPI) -> Future[MinedBlock | None]:
        """Queue a block of a transaction of the pool; return the block's future.

        In a node that rehearses, a transaction that needs inference is rehearsed first, and has
        another turn afterwards.
        """
        result = self._results.setdefault(transaction.hash, Future())
        self.submit_change(lambda: self._take_turn(transaction))
        return result

    def _take_turn(self, transaction: SignedTransactionAPI) -> None:
        is_waiting = self._mining.is_automatic and transaction.hash in self.pool
        if not is_waiting or transaction.nonce != self.chain.nonce(transaction.sender):
            self._settle(transaction.hash, None, self._find_failure(transaction.hash))
            return
        try:
            known = self._mine_known(transaction)
        except BaseException as error:  # noqa: BLE001 - raised in the waiting thread
            if self._blame_another(transaction, error):
                self._take_next_turn(transaction)
            else:
                self._on_fault(transaction, error)
            return
        if transaction.hash not in known.rehearsed:
            failure = self._find_failure(transaction.hash)
            self._settle(transaction.hash, known.mined, failure)
        if known.mined is not None and len(self.pool):
            self._queue_next_turn(known.rehearsed)

    def _queue_next_turn(self, rehearsed: Collection[bytes]) -> None:
        """Queue a block of transactions that became ready, or did not fit into the last one."""
        header = self.next_block.build_header()
        for transaction in self.pending.select_transactions(header, rehearsed)[:1]:
            self.queue_turn(transaction)

    def queue_ready(self) -> list[Future[MinedBlock | None]]:
        """Queue a turn of each ready transaction of the pool; return the blocks' futures.

        Each has its own, since one that faults has no successor. Only the write queue's thread may
        call this.
        """
        ready = self.pending.select_transactions(self.next_block.build_header())
        return [self.queue_turn(transaction) for transaction in ready]

    def _offer_ready(self) -> None:
        """Queue the choice of the ready transactions, if automine is on."""
        if self._mining.is_automatic and len(self.pool):
            self.submit_change(self.queue_ready)

    def _remove_stale(self) -> None:
        if len(self.pool):
            self.pool.remove_stale(self.chain.state().get_nonce)

    def _mine_known(
        self, turn: SignedTransactionAPI | None, *, may_be_empty: bool = False
    ) -> KnownBlock:
        known = self._miner.mine_known(turn, may_be_empty=may_be_empty)
        if known.mined is not None:
            self._on_mined(known.mined)
        return known

    def _on_rehearsed(self, transaction: SignedTransactionAPI, fault: BaseException | None) -> None:
        """Give a transaction the next turn, in the thread of the rehearsals."""
        if fault is None:
            self._take_next_turn(transaction)
        else:
            self._on_fault(transaction, fault)

    def _take_next_turn(self, transaction: SignedTransactionAPI) -> None:
        """Queue another turn of a transaction that has had one."""
        try:
            self.queue_turn(transaction)
        except RuntimeError:  # The node is closed.
            self._settle(transaction.hash, None)

    def _blame_another(self, transaction: SignedTransactionAPI, fault: BaseException) -> bool:
        """Give a block's fault to the transaction that was executed, if it is not this one.

        Output: whether it is another one, which has left the pool.
        """
        culprit = find_culprit(fault)
        if culprit is None or culprit.hash == transaction.hash or culprit.hash in self.pool:
            return False
        self._settle(culprit.hash, None, fault)
        return True

    def _on_fault(self, transaction: SignedTransactionAPI, fault: BaseException) -> None:
        try:
            self._miner.drop(transaction, fault)
        finally:
            self._settle(transaction.hash, None, fault)

    def _find_failure(self, transaction_hash: bytes) -> Exception | None:
        """Return the error for a transaction's sender if it left the pool and no client asked."""
        departure = self.find_departure(transaction_hash)
        if departure is None or not departure.is_failure:
            return None
        error_class = EngineFault if departure.way is Leaving.FAULT else PoolError
        return error_class(departure.reason)

    def _on_leave(self, transaction: SignedTransactionAPI, departure: Departure) -> None:
        self.listeners.on_dropped(transaction, departure)

    def _settle(
        self, transaction_hash: bytes, mined: MinedBlock | None, fault: BaseException | None = None
    ) -> None:
        """Set the result of a transaction's turns, if any."""
        result = self._results.pop(transaction_hash, None)
        if result is None:
            return
        if fault is None:
            result.set_result(mined)
        else:
            result.set_exception(fault)

    def sync_pool(self, transaction_hash: bytes) -> None:
        """Wait until the disk has the journal if a transaction is in the pool.

        Called before a client is given the hash of a transaction that no block has yet.

        Raises: EngineFault: the disk failed.
        """
        if self._journal is not None and transaction_hash in self.pool:
            self._journal.sync()

    def submit(self, transaction: SignedTransactionAPI) -> MinedBlock | None:
        """Admit a transaction, and mine it in this thread if automine is on; return the block.

        Only the write queue's thread may call this. Other threads call `send`.

        Raises: PoolError: the transaction is invalid, before or after those before it in the block.
                EngineFault: the host failed while mining. The transaction is not in the pool then.
        """
        return self.mine_if_ready(self._admit_made(lambda: transaction))

    def _admit_made(self, make: Callable[[], SignedTransactionAPI]) -> SignedTransactionAPI:
        """Build and admit a transaction under `send_lock`: no two share a nonce."""
        with self.send_lock:
            transaction = make()
            self.admit(transaction)
        return transaction

    def mine_if_ready(self, transaction: SignedTransactionAPI) -> MinedBlock | None:
        """Mine a transaction of the pool if automine is on and the nonce is the next one.

        Raises: see `submit`.
        """
        if not self._mining.is_automatic or transaction.hash not in self.pool:
            return None
        if transaction.nonce != self.chain.nonce(transaction.sender):
            return None
        mined = None
        while mined is None and transaction.hash in self.pool:
            try:
                mined = self.mine()
            except BaseException as error:
                if not self._blame_another(transaction, error):
                    self._miner.drop(transaction, error)
                    raise
        if (failure := self._find_failure(transaction.hash)) is not None:
            raise failure
        return mined

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
        """Mine a block of the pool's ready transactions, with inference in this thread.

        Input:  timestamp_seconds: of the block; by default the clock's.
        Raises: ConfigError: the timestamp is not after the head's. EngineFault: the host failed;
                the transaction of the failure leaves the pool.
        """
        with self.clock.fix_next(timestamp_seconds):
            return self._on_mined(self._miner.mine())

    def mine_transactions(
        self, transactions: Sequence[SignedTransactionAPI], settings: BlockSettings
    ) -> MinedBlock:
        """Mine a block of exactly these transactions.

        Input:  settings: overrides of header fields; without a timestamp, the clock's.
        Raises: ConfigError: the timestamp is not after the head's. InvalidTransactionError: of
                any. EngineFault: the host failed.
        """
        with self.clock.fix_next(settings.timestamp_seconds):
            timestamp = self.clock.compute_next_timestamp(self.chain.head.timestamp)
            with self.chain.agent_events.run("block"):
                mined = self.chain.mine(
                    transactions, settings=replace(settings, timestamp_seconds=timestamp)
                )
            return self._on_mined(mined)

    def mine_signed(self, sign: Callable[[], Sequence[SignedTransactionAPI]]) -> MinedBlock:
        """Mine a block of exactly the transactions that a function signs.

        Nothing changes the chain in between. Any thread but the write queue's may call it.

        Raises: what the function raises, and see `mine_transactions`.
        """
        return self.submit_change(
            lambda: self.mine_transactions(sign(), self.next_block.overrides)
        ).result()

    def _on_mined(self, mined: MinedBlock) -> MinedBlock:
        """Update pool and clock after a new block, and notify the listeners."""
        self.pool.on_mined(mined.block.transactions)
        self._remove_stale()
        self.clock.on_mined()
        self.next_block.on_mined()
        self.pending.forget()
        self.listeners.on_mined(mined)
        for transaction in mined.block.transactions:
            self._settle(transaction.hash, mined)
        return mined

    def mine_rehearsed(self, timestamp_seconds: int | None = None) -> MinedBlock:
        """Mine a block of the pool's ready transactions; inference happens first.

        Others' transactions are mined meanwhile. Any thread but the write queue's may call this.

        Raises: see `mine`.
        """
        while True:
            outcome = self.submit_change(lambda: self._mine_or_rehearse(timestamp_seconds)).result()
            if isinstance(outcome, MinedBlock):
                return outcome
            outcome.result()

    def _mine_or_rehearse(self, timestamp_seconds: int | None) -> MinedBlock | Future[None]:
        with self.clock.fix_next(timestamp_seconds):
            outcome = self._miner.mine_or_rehearse()
            return self._on_mined(outcome) if isinstance(outcome, MinedBlock) else outcome

    def find_departure(self, transaction_hash: bytes) -> Departure | None:
        """Return why a transaction is no longer in the pool and was not mined, if so."""
        return None if transaction_hash in self.pool else self.pool.find_departure(transaction_hash)

    # -- reorganizations -- #

    def reorganize(self, blocks: Sequence[Sequence[SignedTransactionAPI]]) -> None:
        """Replace the latest blocks by as many new ones of the same timestamps.

        Input:  blocks: the transactions of each new block, the earliest block first.
        Raises: ConfigError: the chain is shorter. InvalidTransactionError: of any, in the
            block. EngineFault: the host failed. The chain is unchanged in every case.
        """
        self.history.require_height(len(blocks))
        gone = [self.chain.header(self.chain.head.block_number - i) for i in range(len(blocks))]
        number, clock = self.history.snapshot(), self.clock.settings
        try:
            self.rollback(len(blocks))
            for transactions, header in zip(blocks, reversed(gone), strict=True):
                settings = replace(
                    self.next_block.overrides,
                    timestamp_seconds=header.timestamp,
                    # Without another randao, an empty block of the same second has the same hash.
                    prev_randao=keccak(header.hash),
                )
                self.mine_transactions(transactions, settings)
        except BaseException:
            self.history.revert(number)
            raise
        self.history.forget(number)
        self.clock.settings = clock  # The head's time is what it was.

    def rollback(self, depth: int) -> None:
        """Remove the latest blocks; time goes on from the new head.

        Input:  depth: the number of blocks.
        Raises: ConfigError: the chain is shorter.
        """
        self.history.require_height(depth)
        with self.history.track_reorg():
            self.chain.rollback(self.chain.head.block_number - depth)
            self.clock.continue_from_head()

    def reset(self) -> None:
        """Go back to genesis or the fork block; clear pool, impersonations and snapshots."""
        with self.history.track_reorg():
            self.chain.rollback(self.chain.first_number)
            self.pool.clear(RESET)
            self.clock.restart()
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
        self.pool.clear(RESET)
        former = self._miner
        self._set_chain(chain)
        self.clock.restart()
        former.rehearsals.close()
        self.keys.impersonated, self.keys.impersonates_all = frozenset(), False
        self.instance_id = os.urandom(32)
        if self._own_fork is not None:
            self._own_fork.close()
        self._own_fork = fork

    def _build_fork_chain(self, fork: RemoteFork) -> Chain:
        """Return a chain in memory that continues a fork block with this chain's models.

        A chain ID or a hard fork that differs from the former fork's was set by the user, and is
        kept.
        """
        former, origin = self.chain, fork.origin
        config, accounts, block = former.config, former.genesis_accounts, former.fork_block
        is_own_id = block is not None and config.chain_id != block.origin.chain_id
        is_own_fork = block is not None and config.fork != choose_hardfork(
            block.origin, block.header
        )
        return Chain(
            replace(
                config,
                origin=origin,
                chain_id=config.chain_id if is_own_id else origin.chain_id,
                fork=config.fork if is_own_fork else choose_hardfork(origin, fork.header),
                block_gas_limit=max(config.block_gas_limit, fork.header.gas_limit),
                genesis_timestamp_seconds=fork.header.timestamp,
            ),
            former.models,
            numeric_models=former.numeric_models,
            accounts={each: accounts[each] for each in self.keys.addresses if each in accounts},
            fork=fork,
            former=former,
        )

    def _on_reorg(self, headers: list[BlockHeaderAPI]) -> None:
        self.pending.forget()
        self._offer_ready()  # What came back into the pool has no turn of its own.
        self.listeners.on_reorg(headers)

    # -- state overrides -- #

    def patch_state(self, change: Callable[[StateAPI], None]) -> None:
        """Change accounts in the state of the latest block.

        Transactions of the pool whose nonces are thereby used leave it; those that are thereby
        ready are mined if automine is on.
        """
        self.chain.patch_state(change)
        self._remove_stale()
        self._offer_ready()
