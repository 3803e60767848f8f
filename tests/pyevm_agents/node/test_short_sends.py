"""A short transaction is mined by the thread that sends it, if nothing waits."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from eth_typing import Address

from pyevm_agents.node import MiningMode
from pyevm_agents.node.listeners import NodeListener
from tests.deadlines import HANG_SECONDS
from tests.pyevm_agents.node.senders_of_tests import transaction

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyevm_agents.node import Node
    from tests.pyevm_agents.node.senders_of_tests import MakeNode

    Hold = Callable[[Node, threading.Event, threading.Event], None]


def test_it_is_announced_as_pending_and_then_as_mined(make: MakeNode) -> None:
    node = make()
    seen: list[tuple[str, bytes]] = []
    node.listeners.add(
        NodeListener(
            on_pending=lambda sent: seen.append(("pending", sent.hash)),
            on_mined=lambda mined: seen.append(("mined", mined.block.transactions[0].hash)),
        )
    )
    sent = node.send_if_short(transaction)
    assert sent is not None
    assert seen == [("pending", sent.hash), ("mined", sent.hash)]
    assert node.chain.find_transaction(sent.hash) is not None
    assert len(node.pool) == 0
    assert node.send(lambda: transaction(nonce=1)).mined.result(HANG_SECONDS) is not None


def test_it_uses_the_clock_and_what_is_set_for_the_next_block(make: MakeNode) -> None:
    node, coinbase = make(), Address(b"\x77" * 20)
    node.clock.set_next(node.chain.head.timestamp + 7_777)
    node.next_block.override_next(coinbase=coinbase)
    assert node.send_if_short(transaction) is not None
    first = node.chain.head
    assert first.timestamp == node.chain.header(0).timestamp + 7_777
    assert first.coinbase == coinbase
    assert node.send_if_short(lambda: transaction(nonce=1)) is not None
    assert node.chain.head.coinbase != coinbase


@pytest.mark.parametrize("is_automatic", [True, False])
def test_with_anything_in_the_pool_or_by_hand_it_is_not_mined(
    make: MakeNode,
    is_automatic: bool,
) -> None:
    node = make(is_automatic=is_automatic)
    if is_automatic:
        node.admit(transaction(1, nonce=5))
    assert node.send_if_short(transaction) is None
    assert node.chain.head.block_number == 0


def test_one_that_left_the_pool_goes_through_the_pool_again(make: MakeNode) -> None:
    node, sent = make(is_automatic=False), transaction()
    node.admit(sent)
    node.pool.remove(sent.hash)
    node.set_mining(MiningMode(is_automatic=True))
    assert node.find_departure(sent.hash) is not None
    assert node.send_if_short(lambda: sent) is None


def hold_queue(node: Node, is_held: threading.Event, is_over: threading.Event) -> None:
    def work() -> None:
        is_held.set()
        assert is_over.wait(HANG_SECONDS)

    node.submit_change(work)


def hold_lock(node: Node, is_held: threading.Event, is_over: threading.Event) -> None:
    def work() -> None:
        with node.send_lock:
            is_held.set()
            assert is_over.wait(HANG_SECONDS)

    threading.Thread(target=work).start()


@pytest.mark.parametrize("hold", [hold_queue, hold_lock])
def test_it_never_waits_for_another(make: MakeNode, hold: Hold) -> None:
    node, is_held, is_over = make(), threading.Event(), threading.Event()
    hold(node, is_held, is_over)
    try:
        assert is_held.wait(HANG_SECONDS)
        assert node.send_if_short(transaction) is None
    finally:
        is_over.set()
    assert node.wait_idle(HANG_SECONDS)


def test_a_closed_node_mines_nothing(make: MakeNode) -> None:
    node = make()
    node.close()
    assert node.send_if_short(transaction) is None
