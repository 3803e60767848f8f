"""What waits, as if its block were made now."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eth_utils import ValidationError

from pyevm_agents.chain import ModelNeededError, Record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eth.abc import BlockHeaderAPI, SignedTransactionAPI
    from eth_typing import Address

    from pyevm_agents.chain import Chain, ChainTrials, Draft, DraftedChain
    from pyevm_agents.node.clock import Settings

GAS_OF_A_SECOND = 2_000_000
"""A draft that used so much gas stands for a second, where nothing but the time moves on. It takes
some tenth of that to execute, so no more than a tenth of the time goes into following it; the time
of a block that is full is late by 15 seconds at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Upcoming:
    """What the next block would be made of."""

    header: BlockHeaderAPI
    """The header that it begins with."""

    clock: Settings
    """How the time was set that it has."""

    transactions: tuple[SignedTransactionAPI, ...]


@dataclass(slots=True, kw_only=True)
class _Line:
    """Transactions in the order in which a block would hold them, as far as they were tried."""

    draft: Draft
    circumstances: object
    """What the block is told to be, but for its time."""

    tried: list[bytes] = field(default_factory=list)
    held: list[SignedTransactionAPI] = field(default_factory=list)
    """Those of them that the block holds."""

    left_out: set[Address] = field(default_factory=set)
    """Who sent one that it can't hold."""

    is_stopped: bool = False
    """Whether a model would have to be asked for the last one that was tried."""

    made: DraftedChain | None = None
    """The block that holds them, and the chain behind it, once somebody has asked for it."""

    def fits(self, circumstances: object, timestamp: int, hashes: Sequence[bytes]) -> bool:
        """Whether a block of these can go on from what was tried."""
        age = timestamp - self.draft.first_header.timestamp
        return (
            self.circumstances == circumstances
            and 0 <= age <= self.draft.header.gas_used // GAS_OF_A_SECOND
            and [*hashes[: len(self.tried)]] == self.tried
        )

    def go_on(self, transactions: Sequence[SignedTransactionAPI]) -> None:
        """Try those that were not tried yet."""
        for one in transactions[len(self.tried) :]:
            if self.is_stopped:
                break
            self.tried.append(one.hash)
            if one.sender not in self.left_out:
                self._try(one)

    def _try(self, transaction: SignedTransactionAPI) -> None:
        try:
            self.draft.add(transaction)
        except ModelNeededError:
            self.is_stopped = True
        except ValidationError:
            self.left_out.add(transaction.sender)
        else:
            self.held.append(transaction)
            self.made = None


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

    def behind(self, waiting: Upcoming) -> tuple[ChainTrials, BlockHeaderAPI]:
        """Return what tries things behind a draft, and its header."""
        with self._lock:
            draft = self._gone_on(waiting).draft
            return draft.trials, draft.header

    def chain(self, waiting: Upcoming) -> DraftedChain:
        """Return the chain as it would be, were a draft its latest block."""
        with self._lock:
            return self._made(self._gone_on(waiting))

    def block(self, waiting: Upcoming) -> Record:
        """Return the block of what waits.

        Where a model would have to be asked, it only lists the transactions: nothing is used, and
        there are no receipts.
        """
        with self._lock:
            line = self._gone_on(waiting)
            if not line.is_stopped:
                return self._made(line).draft
            held = {one.hash for one in line.held}
            rest = waiting.transactions[len(line.tried) - 1 :]
            listed = [
                *(one for one in waiting.transactions if one.hash in held),
                *(one for one in rest if one.sender not in line.left_out),
            ]
            block = self._chain.listing(listed, line.draft.first_header)
            return Record(block=block, receipts=())

    def _gone_on(self, waiting: Upcoming) -> _Line:
        hashes = [one.hash for one in waiting.transactions]
        circumstances = (waiting.header.copy(timestamp=0).hash, waiting.clock)
        line = self._line
        if line is None or not line.fits(circumstances, waiting.header.timestamp, hashes):
            self._line = None  # Its states are let go of before others are made.
            draft = self._chain.begin_draft(waiting.header)
            line = _Line(draft=draft, circumstances=circumstances)
        line.go_on(waiting.transactions)
        self._line = line
        return line

    def _made(self, line: _Line) -> DraftedChain:
        if line.made is None:
            line.made = self._chain.draft(line.held, line.draft.first_header)
        return line.made
