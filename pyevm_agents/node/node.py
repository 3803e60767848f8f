"""A development node: a chain whose blocks follow from what is sent to it, and from the clock.

All that changes the chain happens one thing after another, and whatever executes in one thread;
what only reads may be done in any, and transactions are taken in any. So neither waits for an agent
that thinks.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from eth_typing import Address
from eth_utils import ValidationError, keccak
from lru import LRU

from precompiles.react import GrammarViolationError
from pyevm_agents.chain import BlockSettings
from pyevm_agents.console import console_lines
from pyevm_agents.errors import ConfigError, EngineFault
from pyevm_agents.node.admission import Terms, require_admissible
from pyevm_agents.node.clock import Clock
from pyevm_agents.node.clock import Settings as ClockSettings
from pyevm_agents.node.keys import Keys
from pyevm_agents.node.mining import Mining, Ticker
from pyevm_agents.node.pending import Drafts, Upcoming
from pyevm_agents.node.pool import Pool, PoolError
from pyevm_agents.node.turns import BusyError, Turns

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future

    from eth.abc import BlockHeaderAPI, ComputationAPI, SignedTransactionAPI, StateAPI

    from pyevm_agents.chain import Chain, ChainTrials, DraftedChain, MinedBlock, Record
    from pyevm_agents.node.pool import Waiting

T = TypeVar("T")

MAX_SNAPSHOTS = 10_000
"""Snapshots that are kept; the oldest goes. One takes about 1 KB and what was changed after it."""

KEPT_FAULTS = 1_000
"""Transactions of which it is kept why the host failed on them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """What a snapshot keeps beside the chain."""

    head: BlockHeaderAPI
    pool: tuple[Waiting, ...]
    clock: ClockSettings
    next_block: BlockSettings
    fixed: BlockSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A transaction that was taken."""

    transaction: SignedTransactionAPI
    mined: Future[MinedBlock | None]
    """Its block, None where it waits for one. An EngineFault: the host failed while mining."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Watcher:
    """Who is told what happens. Each is called in the thread that executes, and must be quick."""

    mined: Callable[[MinedBlock], None] | None = None
    waits: Callable[[SignedTransactionAPI], None] | None = None
    """Is called in the thread that sends."""

    undone: Callable[[list[BlockHeaderAPI]], None] | None = None
    """Gets the headers of the blocks that are no longer on the chain, the latest first."""

    printed: Callable[[str], None] | None = None
    """Gets each line that a contract prints with `console.log`, in a transaction when it is mined,
    or in a call: then in the thread that asked for it."""


class Node:
    """A chain with accounts, waiting transactions, a clock and snapshots."""

    def __init__(
        self,
        chain: Chain,
        *,
        now: Callable[[], float],
        keys: Keys | None = None,
        mining: Mining | None = None,
    ) -> None:
        """Begin with a chain as it stands.

        Input: what tells the world's time, in seconds since 1970; who signs; when blocks are made.
        """
        self.chain = chain
        self.keys = keys or Keys()
        self.pool = Pool()
        self.clock = Clock(now)
        self.next_block = BlockSettings()
        """What the next block is told to be, once."""

        self.fixed = BlockSettings()
        """What every block is told to be."""

        self.is_logging = True
        """Whether a log of requests and transactions is wanted; who writes one asks."""

        self.instance_id = os.urandom(32)
        """Another one for each node, and after each `reset`."""

        self.sending = threading.RLock()
        """Held from the choice of a nonce until its transaction waits."""

        self._drafts = Drafts(chain)
        self._mining = mining or Mining()
        self._watchers: list[Watcher] = []
        self._kept: dict[int, _Kept] = {}
        self._faults: LRU[bytes, str] = LRU(KEPT_FAULTS)
        self._ticker = Ticker(self._tick)
        self._turns = Turns()
        self._ticker.set(self._mining.interval_seconds)

    def _tick(self) -> None:
        self.do(self.mine).result()

    def close(self) -> None:
        """Stop making blocks, wait for the one that is being made, and close the chain."""
        self._ticker.stop()
        self._turns.close()
        self.chain.close()

    # -- the one thread that changes -- #

    def do(self, work: Callable[[], T]) -> Future[T]:
        """Do something that changes the chain, after whatever was asked before."""
        return self._turns.do(work)

    def do_at_once(self, work: Callable[[], T]) -> T:
        """Do something in this thread that changes the node, executes nothing and takes no time.

        Raises: BusyError: something else is under way, or was asked before; nothing was done.
        """
        return self._turns.do_at_once(work)

    def change(self, work: Callable[[], T]) -> T:
        """Do such a thing after whatever was asked before, at once where that is nothing."""
        try:
            return self.do_at_once(work)
        except BusyError:
            return self.do(work).result()

    def watch(self, watcher: Watcher) -> Callable[[], None]:
        """Tell somebody what happens; return what ends that."""
        self._watchers.append(watcher)
        return lambda: self._watchers.remove(watcher)

    # -- transactions -- #

    @property
    def mining(self) -> Mining:
        """When blocks are made."""
        return self._mining

    def set_mining(self, mining: Mining) -> None:
        """Make blocks at other times from now on."""
        self._mining = mining
        self._ticker.set(mining.interval_seconds)

    def admit(self, transaction: SignedTransactionAPI) -> None:
        """Let a transaction wait for a block; in any thread.

        Raises: PoolError: no block will take it; the message is geth's.
        """
        head = self.chain.head
        header = self.next_header()
        terms = Terms(
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
            self._require_in_time(transaction)
        for watcher in [*self._watchers]:
            if watcher.waits is not None:
                watcher.waits(transaction)

    def _require_in_time(self, transaction: SignedTransactionAPI) -> None:
        """Refuse a transaction whose nonce a block took while it was looked at."""
        nonce = self.chain.nonce(transaction.sender)
        if transaction.nonce < nonce and not self.chain.find_transaction(transaction.hash):
            self.pool.remove(transaction.hash)
            raise PoolError(f"nonce too low: next nonce {nonce}, tx nonce {transaction.nonce}")

    def send(self, make: Callable[[], SignedTransactionAPI]) -> Sent:
        """Let a transaction wait, and have it mined where that is automatic; in any thread.

        Input:  what makes it. No other is sent meanwhile: it may ask for its sender's next nonce.
        Raises: PoolError: no block will take it.
        """
        with self.sending:
            transaction = make()
            self.admit(transaction)
        mined = self.do(lambda: self.mine_if_ready(transaction))
        return Sent(transaction=transaction, mined=mined)

    def submit(self, transaction: SignedTransactionAPI) -> MinedBlock | None:
        """Admit a transaction, and mine it where that is automatic; return its block if so.

        Raises: PoolError: no block will take it. EngineFault: the host failed while mining; the
                transaction waits no more.
        """
        self.admit(transaction)
        return self.mine_if_ready(transaction)

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

    def settings(
        self, timestamp_seconds: int | None = None, *, parent: BlockHeaderAPI | None = None
    ) -> BlockSettings:
        """Return what the next block is told to be."""
        told = _merged(self.fixed, self.next_block)
        if timestamp_seconds is None:
            parent = self.chain.head if parent is None else parent
            timestamp_seconds = self.clock.time_of_next(parent.timestamp)
        return replace(told, timestamp_seconds=timestamp_seconds)

    def next_header(self, parent: BlockHeaderAPI | None = None) -> BlockHeaderAPI:
        """Return the header that the next block begins with, were it made now.

        Input: the latest block as the caller saw it.
        """
        # Another thread may be making blocks: it is looked at once.
        parent = self.chain.head if parent is None else parent
        return self.chain.next_header(self.settings(parent=parent), parent=parent)

    def pending(self) -> Record:
        """Return the block of what waits as it would be made now; see `Drafts.block`.

        Any thread may ask for it, and no model is asked.
        """
        return self._drafts.block(self._upcoming())

    def pending_chain(self) -> DraftedChain:
        """Return the chain as it would be, were that its latest block."""
        return self._drafts.chain(self._upcoming())

    def behind_pending(self) -> tuple[ChainTrials, BlockHeaderAPI]:
        """Return what tries things behind that block, and its header but for its roots."""
        return self._drafts.behind(self._upcoming())

    def before_nonce(self, sender: Address, nonce: int) -> tuple[ChainTrials, BlockHeaderAPI]:
        """Return the same without an account's transactions of a nonce, and of those behind it."""
        upcoming = self._upcoming()
        ready = tuple(
            one for one in upcoming.ready if one.sender != sender or one.transaction.nonce < nonce
        )
        return Drafts(self.chain).behind(replace(upcoming, ready=ready))

    def _upcoming(self) -> Upcoming:
        while True:
            head, clock = self.chain.head, self.clock.settings
            upcoming = self._made_of(self.next_header(head), clock)
            # Else a block may have taken what waited in between, or the time was set.
            if self.chain.head is head and self.clock.settings is clock:
                return upcoming

    def _made_of(self, header: BlockHeaderAPI, clock: ClockSettings) -> Upcoming:
        base_fee = int(header.base_fee_per_gas or 0)
        return Upcoming(
            header=header,
            max_blobs=self.chain.fork.max_blobs,
            clock=clock,
            ready=tuple(self.pool.ready(self.chain.nonce, base_fee)),
        )

    def mine(self, timestamp_seconds: int | None = None) -> MinedBlock:
        """Make a block of what is ready.

        Raises: EngineFault: the host failed; the transactions that it failed on wait no more.
        """
        return self._mined(self._mine_what_fits(self.settings(timestamp_seconds)))

    def mine_these(
        self, transactions: Sequence[SignedTransactionAPI], settings: BlockSettings
    ) -> MinedBlock:
        """Make a block of these transactions, whatever waits.

        Raises: ValidationError: a transaction that no block may hold. EngineFault: the host failed.
        """
        with self.chain.steps.run("block"):
            mined = self.chain.mine(transactions, settings=settings)
        return self._mined(mined)

    def _mined(self, mined: MinedBlock) -> MinedBlock:
        """Take note of a new block, and tell of it."""
        for transaction in mined.block.transactions:
            self.pool.remove(transaction.hash)
            self.pool.remove_below(transaction.sender, transaction.nonce)
        self.clock.mined(mined.block.header.timestamp)
        self.next_block = BlockSettings()
        self._drafts.forget()
        for computation in mined.computations:
            self.tell_printed(computation)
        for watcher in [*self._watchers]:
            if watcher.mined is not None:
                watcher.mined(mined)
        return mined

    def tell_printed(self, computation: ComputationAPI) -> None:
        """Tell what was printed in a transaction or a call, where somebody wants to know."""
        takers = [one.printed for one in [*self._watchers] if one.printed is not None]
        if takers:
            for line in console_lines(computation):
                for take in takers:
                    take(line)

    def _mine_what_fits(self, settings: BlockSettings) -> MinedBlock:
        while True:
            transactions = self.choose(self.chain.next_header(settings))
            try:
                with self.chain.steps.run("block"):
                    return self.chain.mine(transactions, settings=settings)
            except ValidationError:
                self._drop_first_invalid(transactions, settings)
            except BaseException as error:
                for transaction in transactions:
                    self.pool.remove(transaction.hash)
                    if isinstance(error, (EngineFault, GrammarViolationError)):
                        self._faults[transaction.hash] = str(error)
                raise

    def fault_of(self, transaction_hash: bytes) -> str | None:
        """Return why the host failed on a transaction of late; None where it did not.

        Such a transaction waits no more, and is in no block: it may be sent again.
        """
        return self._faults.get(transaction_hash)

    def choose(self, header: BlockHeaderAPI) -> list[SignedTransactionAPI]:
        """Return what waits and fits into a block, in order."""
        return self._made_of(header, self.clock.settings).fitting()

    def _drop_first_invalid(
        self, transactions: list[SignedTransactionAPI], settings: BlockSettings
    ) -> None:
        """Let the first transaction wait no more that a block can't hold behind those before it."""
        ended: list[bytes] = []
        try:
            self.chain.draft(
                transactions,
                self.chain.next_header(settings),
                watch=lambda one, *_: ended.append(one.hash),
            )
        except ValidationError:
            self.pool.remove(transactions[len(ended)].hash)

    # -- going back -- #

    def snapshot(self) -> int:
        """Keep everything as it is now; return a number for `revert`, never given twice."""
        while len(self._kept) >= MAX_SNAPSHOTS:
            self.forget_snapshot(next(iter(self._kept)))
        number = self.chain.snapshot()
        self._kept[number] = _Kept(
            head=self.chain.head,
            pool=self.pool.snapshot(),
            clock=self.clock.settings,
            next_block=self.next_block,
            fixed=self.fixed,
        )
        return number

    def revert(self, number: int) -> None:
        """Go back to a snapshot; it and all later ones are used up.

        Raises: ConfigError: there is no such snapshot.
        """
        before = self.chain.head
        self.chain.revert(number)
        kept = self._kept[number]
        self.pool.restore(kept.pool)
        self.clock.settings = kept.clock
        self.next_block, self.fixed = kept.next_block, kept.fixed
        self._kept = {n: one for n, one in self._kept.items() if n < number}
        self._tell_undone(before)

    def blocks_since(self, number: int) -> int:
        """Return how many blocks going back to a snapshot would undo; 0 where there is none."""
        kept = self._kept.get(number)
        return 0 if kept is None else self.chain.head.block_number - kept.head.block_number

    @property
    def snapshots(self) -> dict[int, BlockHeaderAPI]:
        """The snapshots that can be gone back to, with what was the latest block then."""
        return {number: kept.head for number, kept in self._kept.items()}

    def rollback(self, depth: int) -> None:
        """Go back by so many blocks; their transactions are gone.

        Raises: ConfigError: the chain is not that long.
        """
        before = self.chain.head
        if depth > before.block_number:
            raise ConfigError(
                f"depth must not exceed current chain height: current height "
                f"{before.block_number}, depth {depth}"
            )
        self.chain.rollback(before.block_number - depth)
        self._tell_undone(before)

    def reorganize(self, blocks: Sequence[Sequence[SignedTransactionAPI]]) -> None:
        """Put other blocks in the place of as many of the latest ones.

        Input:  the transactions of each.
        Raises: ConfigError: the chain is not that long. ValidationError: a transaction that no
                block may hold there. EngineFault: the host failed. The chain is as before in the
                last two cases.
        """
        gone = [self.chain.header(self.chain.head.block_number - i) for i in range(len(blocks))]
        number = self.snapshot()
        try:
            self.rollback(len(blocks))
            for transactions, header in zip(blocks, reversed(gone), strict=True):
                # An empty block of the same second would be the one that it replaces.
                randao = keccak(header.hash)
                self.mine_these(transactions, replace(self.settings(), prev_randao=randao))
        except BaseException:
            self.revert(number)
            raise
        self.forget_snapshot(number)

    def reset(self) -> None:
        """Go back to genesis: nothing waits, nobody is impersonated, no snapshot is left."""
        before = self.chain.head
        self.chain.rollback(0)
        self.pool.clear()
        self.clock.settings = ClockSettings()
        self.next_block = self.fixed = BlockSettings()
        self.keys.impersonated, self.keys.impersonates_all = frozenset(), False
        for number in sorted(self._kept):
            self.forget_snapshot(number)
        self.instance_id = os.urandom(32)
        self._tell_undone(before)

    def forget_snapshot(self, number: int) -> None:
        """Keep a snapshot no longer; later ones stay."""
        del self._kept[number]
        self.chain.forget_snapshot(number)

    def _tell_undone(self, before: BlockHeaderAPI) -> None:
        undone = []
        header = before
        while header.block_number > self.chain.head.block_number:
            undone.append(header)
            header = self.chain.header_of(header.parent_hash)
        self._drafts.forget()
        for watcher in [*self._watchers]:
            if watcher.undone is not None and undone:
                watcher.undone(undone)

    # -- setting what no transaction could -- #

    def modify(self, change: Callable[[StateAPI], None]) -> None:
        """Change accounts as they are at the latest block."""
        self.chain.modify(change)

    def tell_next_block(self, **told: object) -> None:
        """Tell the next block what to be, once.

        Raises: ConfigError: such a block can't follow.
        """
        self.next_block = replace(self.next_block, **told)  # type: ignore[arg-type]
        try:
            self.next_header()
        except (ConfigError, ValidationError):
            self.next_block = BlockSettings()
            raise


def _merged(fixed: BlockSettings, once: BlockSettings) -> BlockSettings:
    """Return what two settings say together, the second first."""
    told = {
        name: getattr(once, name)
        for name in BlockSettings.__slots__
        if getattr(once, name) is not None
    }
    return replace(fixed, **told)
