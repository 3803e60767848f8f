"""Trees of the calls of mined transactions, for the node's log."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from eth.exceptions import HeaderNotFound

from pyevm_agents.errors import AgentsError
from pyevm_agents.tracing import CallTree, TraceBudget, make_selectively_traced_vm
from pyevm_agents.tracing.call_tree_text import TreeLine, iter_call_lines

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eth.abc import SignedTransactionAPI

    from pyevm_agents.abi.address_names import AddressNames
    from pyevm_agents.node import Node

MAX_TREE_BYTES = 64 * 2**20
"""Upper bound of the memory of one transaction's calls."""


class CallTrees:
    """Replays mined transactions and returns their calls as text."""

    def __init__(self, node: Node, names: AddressNames) -> None:
        """Input: the node; the names of addresses."""
        self._node, self._names = node, names

    def trace(self, transaction_hash: str) -> Iterable[TreeLine]:
        """Return the lines of a transaction's calls.

        One line with the reason if there is no trace, for example because the block is gone.
        """
        try:
            return self._replay(bytes.fromhex(transaction_hash.removeprefix("0x")))
        except (AgentsError, HeaderNotFound) as error:
            return [TreeLine(branches="  ", text=f"no trace: {error}", is_failure=True)]

    def _replay(self, transaction_hash: bytes) -> Iterable[TreeLine]:
        chain = self._node.chain
        match = chain.find_transaction(transaction_hash)
        if match is None:
            return []
        record, index = match
        tree = CallTree(TraceBudget(MAX_TREE_BYTES))

        def choose_tracer(transaction: SignedTransactionAPI) -> CallTree | None:
            return tree if transaction.hash == transaction_hash else None

        chain.replay(record, index, partial(make_selectively_traced_vm, choose=choose_tracer))
        agents = chain.find_agent_trace(transaction_hash)
        steps = () if agents is None else agents.steps
        return [*iter_call_lines(tree, steps, self._names)]
