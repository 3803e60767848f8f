"""Listeners and their notifications."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.node.listeners import NodeListener
from tests.pyevm_agents.node.senders_of_tests import mined, transaction

if TYPE_CHECKING:
    from eth.abc import BlockHeaderAPI

    from pyevm_agents.chain import MinedBlock
    from tests.pyevm_agents.node.senders_of_tests import MakeNode


def test_each_is_told_what_it_asks_for_until_it_asks_no_more(make: MakeNode) -> None:
    node = make()
    told: list[str] = []

    def has_mined(block: MinedBlock) -> None:
        told.append(f"first: block {block.block.number}")

    def has_undone(headers: list[BlockHeaderAPI]) -> None:
        told.append(f"second: undone {[one.block_number for one in headers]}")

    end_first = node.listeners.add(NodeListener(on_mined=has_mined))
    end_second = node.listeners.add(
        NodeListener(
            on_mined=lambda _: told.append("second: a block"),
            on_pending=lambda _: told.append("second: waits"),
            on_reorg=has_undone,
        )
    )
    mined(node, transaction(0, 0))
    assert told == ["second: waits", "first: block 1", "second: a block"]
    end_first()
    mined(node, transaction(0, 1))
    told.clear()
    node.submit_change(lambda: node.rollback(0)).result()
    assert told == []  # No block was undone.
    node.submit_change(lambda: node.rollback(2)).result()
    assert told == ["second: undone [2, 1]"]
    end_second()
    mined(node, transaction(0, 0))
    assert len(told) == 1


def test_one_may_end_while_it_is_told(make: MakeNode) -> None:
    node = make()
    told: list[str] = []

    def once(_: MinedBlock) -> None:
        told.append("once")
        end()

    end = node.listeners.add(NodeListener(on_mined=once))
    node.listeners.add(NodeListener(on_mined=lambda _: told.append("always")))
    for nonce in range(2):
        mined(node, transaction(0, nonce))
    assert told == ["once", "always", "always"]
