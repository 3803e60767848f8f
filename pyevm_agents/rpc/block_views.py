"""Views: a chain and its state behind a block."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.node.state_view import StateView, next_transaction_view, pending_view
from pyevm_agents.rpc.block_ids import header_of

if TYPE_CHECKING:
    from eth_typing import Address

    from pyevm_agents.rpc.context import Rpc
    from pyevm_agents.rpc.params import BlockId


def view_of(rpc: Rpc, block: BlockId) -> StateView:
    """Return what is behind the block that is meant. "pending" counts in what waits.

    Raises: BlockNotFoundError: there is none. WouldWaitError: transactions have to be executed for
            it, and this thread may not wait.
    """
    if block.tag == "pending" and len(rpc.node.pool):
        rpc.require_patience()
        return pending_view(rpc.node)
    return StateView(rpc.node.chain, header_of(rpc.node, block))


def next_view(
    rpc: Rpc, block: BlockId | None, sender: Address | None = None, nonce: int | None = None
) -> StateView:
    """Return the state after a block; where None, the one that a transaction would find.

    Raises: see `view_of`.
    """
    if block is not None:
        return view_of(rpc, block)
    if len(rpc.node.pool) and not rpc.node.mining.is_automatic:
        rpc.require_patience()
    return next_transaction_view(rpc.node, sender, nonce)


def made_view(rpc: Rpc, block: BlockId) -> StateView:
    """Return what is behind the block that is meant; "pending" is made, so that it has a hash.

    Raises: see `view_of`.
    """
    if block.tag != "pending":
        return view_of(rpc, block)
    rpc.require_patience()
    chain = rpc.node.pending.chain()
    return StateView(chain, chain.head)
