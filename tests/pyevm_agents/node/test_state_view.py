"""The state that a transaction sent now will find."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.node.state_view import StateView, build_next_view, build_pending_view
from tests.pyevm_agents.node.senders_of_tests import ADDRESSES, NOBODY, transaction

if TYPE_CHECKING:
    from tests.pyevm_agents.node.senders_of_tests import MakeNode


def test_it_is_the_latest_state_where_each_transaction_gets_a_block(make: MakeNode) -> None:
    node = make()
    node.admit(transaction(nonce=0))
    view = build_next_view(node, ADDRESSES[1])
    assert view.chain is node.chain
    assert view.state.get_balance(NOBODY) == 0
    assert build_pending_view(node).state.get_balance(NOBODY) == 1


def test_it_is_the_pending_state_where_blocks_are_made_by_hand(make: MakeNode) -> None:
    node = make(is_automatic=False)
    assert build_pending_view(node) == StateView(node.chain, node.next_block.build_header())
    node.admit(transaction(nonce=0))
    node.admit(transaction(nonce=1))
    assert build_next_view(node).state.get_balance(NOBODY) == 2
    assert build_next_view(node, ADDRESSES[0], 2).state.get_balance(NOBODY) == 2


def test_what_a_transaction_replaces_is_not_in_it(make: MakeNode) -> None:
    node = make(is_automatic=False)
    for one in (transaction(nonce=0), transaction(nonce=1), transaction(1, nonce=0)):
        node.admit(one)
    assert build_next_view(node, ADDRESSES[0], 1).state.get_balance(NOBODY) == 2
    assert build_next_view(node, ADDRESSES[0], 0).state.get_balance(NOBODY) == 1
