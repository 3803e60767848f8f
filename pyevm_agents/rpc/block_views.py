"""State views of a block id: a chain and the state after a block."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.node.state_view import StateView, build_next_view, build_pending_view
from pyevm_agents.rpc.block_ids import resolve_header
from pyevm_agents.rpc.errors import SERVER_ERROR, RpcError

if TYPE_CHECKING:
    from eth_typing import Address

    from pyevm_agents.rpc.context import RequestContext
    from pyevm_agents.rpc.params import BlockId


def resolve_view(rpc: RequestContext, block: BlockId) -> StateView:
    """Return the state after a block; "pending" includes the transactions in the pool.

    Raises: BlockNotFoundError: the block is unknown. WouldBlockError: transactions of the pool have
            to be executed, and this thread may not wait.
    """
    if block.tag == "pending" and len(rpc.node.pool):
        rpc.require_blocking_allowed()
        return build_pending_view(rpc.node)
    return StateView(rpc.node.chain, resolve_header(rpc.node, block))


def resolve_next_view(
    rpc: RequestContext,
    block: BlockId | None,
    sender: Address | None = None,
    nonce: int | None = None,
) -> StateView:
    """Return the state after a block; for None, the state that a new transaction would find.

    Raises: see `resolve_view`.
    """
    if block is not None:
        return resolve_view(rpc, block)
    if len(rpc.node.pool) and not rpc.node.mining.is_automatic:
        rpc.require_blocking_allowed()
    return build_next_view(rpc.node, sender, nonce)


def require_ethereum_state(rpc: RequestContext, subject: str) -> None:
    """Reject a request for parts of the state trie on a fork.

    Raises: RpcError: the chain is a fork.
    """
    origin = rpc.node.chain.config.origin
    if origin is not None:
        raise RpcError(
            SERVER_ERROR,
            f"{subject} of local blocks of a fork: not available, as their state root is not "
            "Ethereum's: it covers the accounts that differ from block "
            f"{origin.block_number} of chain {origin.chain_id}; ask the remote chain about its "
            "own blocks",
        )


def resolve_sealed_view(rpc: RequestContext, block: BlockId) -> StateView:
    """Return the state after a block; the pending block is sealed, and therefore has a hash.

    Raises: see `resolve_view`.
    """
    if block.tag != "pending":
        return resolve_view(rpc, block)
    rpc.require_blocking_allowed()
    chain = rpc.node.pending.build_chain()
    return StateView(chain, chain.head)
