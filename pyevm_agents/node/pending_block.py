"""What waits, as if its block were made now."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pyevm_agents.node.drafts import Drafts, Upcoming

if TYPE_CHECKING:
    from eth.abc import BlockHeaderAPI, SignedTransactionAPI
    from eth_typing import Address

    from pyevm_agents.chain import Chain, ChainTrials, DraftedChain, Record
    from pyevm_agents.node.block_settings import NextBlock
    from pyevm_agents.node.clock import Clock
    from pyevm_agents.node.txpool import Pool


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
