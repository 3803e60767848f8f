"""The pending block; `rpc` tests its appearance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.pyevm_agents.node.senders_of_tests import ADDRESSES, NOBODY, mined, transaction

if TYPE_CHECKING:
    from tests.pyevm_agents.node.senders_of_tests import MakeNode


def test_it_is_the_block_that_is_made(make: MakeNode) -> None:
    node = make(is_automatic=False)
    for nonce in range(3):
        mined(node, transaction(0, nonce))
    block = node.pending.build_block().block
    assert node.pending.build_chain().balance(NOBODY) == 3
    assert node.chain.balance(NOBODY) == 0
    trials, header = node.pending.get_simulator()
    assert (header.block_number, header.gas_used) == (1, 3 * 21_000)
    assert trials.state(header).get_nonce(ADDRESSES[0]) == 3
    assert node.submit_change(node.mine).result().block.hash == block.hash
    assert node.pending.build_block().block.transactions == ()


def test_before_a_nonce_stands_what_that_transaction_would_be_behind(make: MakeNode) -> None:
    node = make(is_automatic=False)
    for sender, nonce in ((0, 0), (0, 1), (1, 0)):
        mined(node, transaction(sender, nonce))
    trials, header = node.pending.get_simulator_before_nonce(ADDRESSES[0], 1)
    state = trials.state(header)
    assert [state.get_nonce(ADDRESSES[sender]) for sender in (0, 1)] == [1, 1]
    trials, header = node.pending.get_simulator_before_nonce(ADDRESSES[0], 0)
    assert trials.state(header).get_nonce(ADDRESSES[0]) == 0


def test_it_is_another_once_the_latest_block_is(make: MakeNode) -> None:
    node = make(is_automatic=False)
    mined(node, transaction(0, 0))
    number = node.submit_change(node.history.snapshot).result()
    before = node.pending.build_block().block.hash
    node.submit_change(node.mine).result()
    assert node.pending.build_block().block.header.block_number == 2
    node.submit_change(lambda: node.history.revert(number)).result()
    assert node.pending.build_block().block.hash == before


def test_what_fits_is_chosen_for_a_header(make: MakeNode) -> None:
    node = make(is_automatic=False)
    sent = [transaction(0, nonce) for nonce in range(3)]
    for one in sent:
        mined(node, one)
    header = node.next_block.build_header()
    assert node.pending.select_transactions(header) == sent
    assert node.pending.select_transactions(header.copy(gas_limit=20_999)) == []
