"""Views: a chain and its state behind a block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyevm_agents.rpc.block_ids import header_of
from pyevm_agents.rpc.parameters import PENDING

if TYPE_CHECKING:
    from eth.abc import BlockHeaderAPI, StateAPI
    from eth_typing import Address

    from pyevm_agents.chain import ChainTrials
    from pyevm_agents.rpc.context import Rpc
    from pyevm_agents.rpc.parameters import BlockId


@dataclass(frozen=True, slots=True)
class View:
    """What is behind a block, to be read, and to try things on."""

    chain: ChainTrials
    header: BlockHeaderAPI
    """The block's, which the chain has; or that of one that is not made."""

    @property
    def state(self) -> StateAPI:
        """The state there."""
        return self.chain.state(self.header)


def view_of(rpc: Rpc, block: BlockId) -> View:
    """Return what is behind the block that is meant. "pending" counts in what waits.

    Raises: BlockNotFoundError: there is none. WouldWaitError: transactions have to be executed for
            it, and this thread may not wait.
    """
    if block.tag == "pending" and len(rpc.node.pool):
        rpc.require_patience()
        return View(*rpc.node.pending.behind())
    return View(rpc.node.chain, header_of(rpc.node, block))


def next_view(
    rpc: Rpc, block: BlockId | None, sender: Address | None = None, nonce: int | None = None
) -> View:
    """Return what is behind the block that is meant; where None, what a transaction would find.

    That is "pending" where blocks are made by hand or by a clock, but for those of its sender that
    it takes the place of. Where each transaction gets a block, what waits has its own in no time,
    and the next begins behind the latest: else each of many senders would execute what all others
    have just sent.

    Raises: see `view_of`.
    """
    if block is not None:
        return view_of(rpc, block)
    node = rpc.node
    if node.mining.is_automatic:
        return View(node.chain, node.next_block.header())
    if sender is not None and nonce is not None and nonce < node.next_nonce(sender):
        rpc.require_patience()
        return View(*node.pending.before_nonce(sender, nonce))
    return view_of(rpc, PENDING)


def made_view(rpc: Rpc, block: BlockId) -> View:
    """Return what is behind the block that is meant; "pending" is made, so that it has a hash.

    Raises: see `view_of`.
    """
    if block.tag != "pending":
        return view_of(rpc, block)
    rpc.require_patience()
    chain = rpc.node.pending.chain()
    return View(chain, chain.head)
