"""The state after a block, and the one that a sender's next transaction will find."""

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
    """Header of the block: one of the chain, or of a block that is not made."""

    @property
    def state(self) -> StateAPI:
        """The state after the block."""
        return self.chain.state(self.header)


def build_pending_view(node: Node) -> StateView:
    """Return the state after the pending block. Executes what waits for it."""
    if len(node.pool):
        return StateView(*node.pending.get_simulator())
    return StateView(node.chain, node.next_block.build_header())


def build_next_view(
    node: Node, sender: Address | None = None, nonce: int | None = None
) -> StateView:
    """Return the state that a transaction sent now will find.

    Where blocks are made by hand or by a clock, that is the pending one, without those of the
    sender's transactions that this nonce replaces. Where each transaction gets a block, it is the
    latest: what waits has its own block in no time, and each of many senders would otherwise
    execute what all others have just sent.
    """
    if node.mining.is_automatic:
        return StateView(node.chain, node.next_block.build_header())
    if sender is not None and nonce is not None and nonce < node.next_nonce(sender):
        return StateView(*node.pending.get_simulator_before_nonce(sender, nonce))
    return build_pending_view(node)
