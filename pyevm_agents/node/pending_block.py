"""What waits, as if its block were made now.

Drafts of the next block: what waits, executed as it comes.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from eth_utils import ValidationError

from pyevm_agents.chain import ModelNeededError, Record
from pyevm_agents.chain.transactions import blobs_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from eth.abc import BlockHeaderAPI, SignedTransactionAPI
    from eth_typing import Address

    from pyevm_agents.chain import Chain, ChainTrials, Draft, DraftedChain
    from pyevm_agents.node.block_settings import NextBlock
    from pyevm_agents.node.clock import Clock, Settings
    from pyevm_agents.node.txpool import Pool, Waiting


class Pending:
    """The block that would be made now. Any thread may ask for it, and no model is asked."""

    def __init__(self, chain: Chain, pool: Pool, clock: Clock, next_block: NextBlock) -> None:
        """Make it of what waits in a pool."""
        self._chain = chain
        self._pool = pool
        self._clock = clock
        self._next_block = next_block
        self._drafts = Drafts(chain)

    def block(self) -> Record:
        """Return it; see `Drafts.block`."""
        return self._drafts.block(self._upcoming())

    def chain(self) -> DraftedChain:
        """Return the chain as it would be, were that its latest block."""
        return self._drafts.chain(self._upcoming())

    def behind(self) -> tuple[ChainTrials, BlockHeaderAPI]:
        """Return what tries things behind that block, and its header but for its roots."""
        return self._drafts.behind(self._upcoming())

    def before_nonce(self, sender: Address, nonce: int) -> tuple[ChainTrials, BlockHeaderAPI]:
        """Return the same without an account's transactions of a nonce, and of those behind it."""
        upcoming = self._upcoming()
        ready = tuple(
            one for one in upcoming.ready if one.sender != sender or one.transaction.nonce < nonce
        )
        return Drafts(self._chain).behind(replace(upcoming, ready=ready))

    def choose(self, header: BlockHeaderAPI) -> list[SignedTransactionAPI]:
        """Return what waits and fits into a block that begins so, in order."""
        return self._of(header).fitting()

    def forget(self) -> None:
        """Let go of what was tried: the latest block is another."""
        self._drafts.forget()

    def _upcoming(self) -> Upcoming:
        while True:
            head, clock = self._chain.head, self._clock.settings
            upcoming = self._of(self._next_block.header(head))
            # Else a block may have taken what waited in between, or the time was set.
            if self._chain.head is head and self._clock.settings is clock:
                return upcoming

    def _of(self, header: BlockHeaderAPI) -> Upcoming:
        base_fee = int(header.base_fee_per_gas or 0)
        return Upcoming(
            header=header,
            max_blobs=self._chain.fork.max_blobs,
            clock=self._clock.settings,
            ready=tuple(self._pool.ready(self._chain.nonce, base_fee)),
        )


GAS_OF_A_SECOND = 2_000_000
"""A draft that used so much gas stands for a second, where nothing but the time moves on. It takes
some tenth of that to execute, so no more than a tenth of the time goes into following it; the time
of a block that is full is late by 15 seconds at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Upcoming:
    """What the next block would be made of."""

    header: BlockHeaderAPI
    """The header that it begins with."""

    max_blobs: int
    clock: Settings
    """How the time was set that it has."""

    ready: tuple[Waiting, ...]
    """What waits and has its turn, in order."""

    def fitting(self, without: Collection[bytes] = ()) -> list[SignedTransactionAPI]:
        """Return the transactions that fit into the block, in order.

        Input: the hashes of those that are left out, with what follows on from them.
        """
        gas_room, blob_room = self.header.gas_limit, self.max_blobs
        left_out: set[Address] = set()
        chosen = []
        for one in self.ready:
            transaction = one.transaction
            gas, blobs = transaction.gas, blobs_of(transaction)
            is_out = one.sender in left_out or transaction.hash in without
            if is_out or gas > gas_room or blobs > blob_room:
                left_out.add(one.sender)
                continue
            gas_room, blob_room = gas_room - gas, blob_room - blobs
            chosen.append(transaction)
        return chosen


@dataclass(slots=True, kw_only=True)
class _Line:
    """Transactions in the order in which a block would hold them, as far as they were tried."""

    draft: Draft
    circumstances: object
    """What the block is told to be, but for its time."""

    ready: Sequence[bytes]
    """What was ready when it was last looked at."""

    held: list[SignedTransactionAPI] = field(default_factory=list)
    """Those that the block holds."""

    invalid: set[bytes] = field(default_factory=set)
    """Those that it can't hold behind the others."""

    stop: bytes | None = None
    """The one for which a model would have to be asked."""

    made: DraftedChain | None = None
    """The block that holds them, and the chain behind it, once somebody has asked for it."""

    def fits(self, circumstances: object, timestamp: int, ready: Sequence[bytes]) -> bool:
        """Whether a block of what is ready can go on from what was tried.

        A later one serves whoever looked at the clock before, a second at most.
        """
        age = timestamp - self.draft.first_header.timestamp
        if self.circumstances != circumstances or not -1 <= age <= self._seconds:
            return False
        # Behind others that came before them since, it might hold what it could not.
        count = max((i + 1 for i, one in enumerate(self.ready) if one in self.invalid), default=0)
        return ready[:count] == self.ready[:count]

    @property
    def _seconds(self) -> int:
        """How long it stands, where nothing but the time moves on."""
        return int(self.draft.header.gas_used) // GAS_OF_A_SECOND

    def goes_on_to(self, transactions: Sequence[SignedTransactionAPI]) -> bool:
        """Whether these begin with what was tried."""
        tried: list[bytes] = [one.hash for one in self.held]
        if self.stop is not None:
            tried.append(self.stop)
        return [one.hash for one in transactions[: len(tried)]] == tried

    def go_on(self, transactions: Sequence[SignedTransactionAPI]) -> bool:
        """Try those that were not tried yet; return whether the block holds them.

        It ends before one for which a model would have to be asked.
        """
        for one in transactions[len(self.held) :]:
            if self.stop is not None:
                break
            try:
                self.draft.add(one)
            except ModelNeededError:
                self.stop = one.hash
            except ValidationError:
                self.invalid.add(one.hash)
                return False
            else:
                self.held.append(one)
                self.made = None
        return True


class Drafts:
    """Drafts of the next block, in any thread. What was tried for one is not tried for the next.

    Transactions that a block can't hold are left out, with what follows on from them. A draft ends
    before the first for which a model would have to be asked.
    """

    def __init__(self, chain: Chain) -> None:
        """Make blocks behind a chain's latest."""
        self._chain = chain
        self._lock = threading.Lock()  # Who asks for what is being tried waits for it.
        self._line: _Line | None = None

    def forget(self) -> None:
        """Let go of the last draft: a block was made."""
        self._line = None

    def behind(self, upcoming: Upcoming) -> tuple[ChainTrials, BlockHeaderAPI]:
        """Return what tries things behind a draft, and its header."""
        with self._lock:
            draft = self._gone_on(upcoming).draft
            return draft.trials, draft.header

    def chain(self, upcoming: Upcoming) -> DraftedChain:
        """Return the chain as it would be, were a draft its latest block."""
        with self._lock:
            return self._made(self._gone_on(upcoming))

    def block(self, upcoming: Upcoming) -> Record:
        """Return the block of what waits.

        Where a model would have to be asked, it only lists the transactions: nothing is used, and
        there are no receipts.
        """
        with self._lock:
            line = self._gone_on(upcoming)
            if line.stop is None:
                return self._made(line).draft
            listed = upcoming.fitting(line.invalid)
            block = self._chain.listing(listed, line.draft.first_header)
            return Record(block=block, receipts=())

    def _gone_on(self, upcoming: Upcoming) -> _Line:
        ready = [one.transaction.hash for one in upcoming.ready]
        circumstances = (upcoming.header.copy(timestamp=0).hash, upcoming.clock)
        line = self._line
        if line is None or not line.fits(circumstances, upcoming.header.timestamp, ready):
            line = None
        while True:
            transactions = upcoming.fitting(() if line is None else line.invalid)
            if line is None or not line.goes_on_to(transactions):
                line = self._line = None  # Its states are let go of before others are made.
                draft = self._chain.begin_draft(upcoming.header)
                line = _Line(draft=draft, circumstances=circumstances, ready=ready)
                transactions = upcoming.fitting()
            if line.go_on(transactions):
                line.ready = ready
                # Where a block was made meanwhile, nobody asks for it again.
                is_next = self._chain.head.hash == upcoming.header.parent_hash
                self._line = line if is_next else None
                return line

    def _made(self, line: _Line) -> DraftedChain:
        if line.made is None:
            line.made = self._chain.draft(line.held, line.draft.first_header)
        return line.made
