"""Views of the state: after a block, after the pending block, before a sender's transaction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eth.abc import BlockHeaderAPI, StateAPI
    from eth_typing import Address

    from pyevm_agents.chain import ChainSimulator
    from pyevm_agents.node.node import Node


@dataclass(frozen=True, slots=True)
class StateView:
    """The state after a block, for reads and simulated calls."""

    chain: ChainSimulator
    header: BlockHeaderAPI
    """Header of the block, mined or not."""

    @property
    def state(self) -> StateAPI:
        """The state after the block."""
        return self.chain.state(self.header)


def build_pending_view(node: Node) -> StateView:
    """Return the state after the pending block. Executes its transactions."""
    if len(node.pool):
        return StateView(*node.pending.get_simulator())
    return StateView(node.chain, node.next_block.build_header())


def build_next_view(
    node: Node, sender: Address | None = None, nonce: int | None = None
) -> StateView:
    """Return the state that a transaction sent now is executed on.

    With manual or interval mining: the pending state, without the sender's transactions from this
    nonce on. With automine: the latest state, as pool transactions are mined soon, and otherwise
    each of many senders would execute the transactions of all others.
    """
    if node.mining.is_automatic:
        return StateView(node.chain, node.next_block.build_header())
    if sender is not None and nonce is not None and nonce < node.next_nonce(sender):
        return StateView(*node.pending.get_simulator_before_nonce(sender, nonce))
    return build_pending_view(node)
