"""Going back: to a snapshot, by blocks, to genesis."""

from __future__ import annotations

from functools import partial
from operator import methodcaller
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.chain import BlockSettings
from pyevm_agents.errors import ConfigError
from pyevm_agents.node import snapshots
from pyevm_agents.node.clock import ClockSettings
from pyevm_agents.node.listeners import NodeListener
from tests.pyevm_agents.node.senders_of_tests import (
    ADDRESSES,
    NOBODY,
    START,
    mined,
    transaction,
)

if TYPE_CHECKING:
    from eth.abc import BlockHeaderAPI

    from pyevm_agents.node import Node
    from tests.pyevm_agents.node.senders_of_tests import MakeNode


def test_a_snapshot_keeps_chain_pool_and_clock(make: MakeNode) -> None:
    node = make(is_automatic=False)
    mined(node, transaction(0, 0))
    number = node.submit_change(node.history.snapshot).result()
    undone: list[int] = []
    node.listeners.add(
        NodeListener(on_reorg=lambda headers: undone.extend(h.block_number for h in headers))
    )
    node.clock.increase(1_000)
    node.submit_change(node.mine).result()
    mined(node, transaction(1, 0))
    node.submit_change(node.mine).result()
    node.submit_change(lambda: node.history.revert(number)).result()
    assert undone == [2, 1]
    assert node.chain.head.block_number == 0
    assert node.clock.settings.offset_seconds == 0
    assert [one.transaction.hash for one in node.pool.iter_ready(node.chain.nonce, 0)] == [
        transaction(0, 0).hash
    ]
    with pytest.raises(ConfigError, match=f"unknown snapshot {number}"):
        node.submit_change(lambda: node.history.revert(number)).result()
    assert node.submit_change(node.history.snapshot).result() == number + 1


def test_the_oldest_of_too_many_snapshots_goes(
    make: MakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "MAX_SNAPSHOTS", 3)
    node = make()
    numbers = []
    for nonce in range(5):
        numbers.append(node.submit_change(node.history.snapshot).result())
        mined(node, transaction(0, nonce))
    assert [*node.history.snapshots] == numbers[2:]
    with pytest.raises(ConfigError, match=f"unknown snapshot {numbers[1]}"):
        node.submit_change(lambda: node.history.revert(numbers[1])).result()
    node.submit_change(lambda: node.history.revert(numbers[2])).result()
    assert node.chain.head.block_number == 2


def test_a_block_has_what_was_set_after_it_also_when_another_follows(make: MakeNode) -> None:
    node = make(is_automatic=False)
    headers, told = [], {}
    for number in range(3):
        node.submit_change(
            partial(node.patch_state, methodcaller("set_balance", NOBODY, number + 1))
        ).result()
        head = node.chain.head
        headers.append(head)
        told[head.hash] = node.chain.state_root(head)
        node.submit_change(node.mine).result()
    assert [node.chain.state(one).get_balance(NOBODY) for one in headers] == [1, 2, 3]
    assert [node.chain.state_root(one) for one in headers] == [told[one.hash] for one in headers]
    node.submit_change(lambda: node.rollback(2)).result()
    assert node.chain.head == headers[1]
    assert node.chain.balance(NOBODY) == 1  # What was set after it was undone with the next one.
    assert node.chain.state(headers[2]).get_balance(NOBODY) == 2  # It is on the chain no more.


def changed(node: Node) -> None:
    """Change everything that a snapshot restores."""
    mined(node, transaction(0, 0))
    node.submit_change(node.mine).result()
    mined(node, transaction(0, 1))
    node.clock.increase(1_000)
    node.next_block.fixed = BlockSettings(coinbase=NOBODY)
    node.next_block.once = BlockSettings(base_fee_wei=77)
    node.keys.impersonated, node.keys.impersonates_all = frozenset(ADDRESSES[:1]), True
    node.submit_change(node.history.snapshot).result()


def state_of(node: Node) -> tuple[object, ...]:
    """Return everything that a snapshot restores; impersonation and snapshots last."""
    return (
        node.chain.head.block_number,
        len(node.pool),
        node.clock.settings,
        node.next_block.fixed,
        node.next_block.once,
        [*node.history.snapshots],
        node.keys.impersonated,
        node.keys.impersonates_all,
    )


NEW: tuple[object, ...] = (
    0,
    0,
    ClockSettings(),
    BlockSettings(),
    BlockSettings(),
    [],
    frozenset(),
    False,
)


def test_nothing_is_left_of_what_was_before_a_reset(make: MakeNode) -> None:
    node = make(is_automatic=False, now=lambda: START)
    before = node.instance_id
    changed(node)
    node.submit_change(node.reset).result()
    assert state_of(node) == NEW
    assert node.instance_id != before


@pytest.mark.parametrize("go_back", ["reset", "revert"])
def test_who_watches_is_told_when_all_is_as_it_was(make: MakeNode, go_back: str) -> None:
    """A listener sees the restored state; a listener that fails stops nothing."""
    node = make(is_automatic=False, now=lambda: START)
    number = node.submit_change(node.history.snapshot).result()
    changed(node)
    seen: list[tuple[object, ...]] = []

    def look(_: list[BlockHeaderAPI]) -> None:
        seen.append(state_of(node))
        raise RuntimeError("a watcher")

    node.listeners.add(NodeListener(on_reorg=look))
    if go_back == "reset":
        with pytest.raises(RuntimeError, match="a watcher"):
            node.submit_change(node.reset).result()
        assert seen == [NEW]
    else:
        with pytest.raises(RuntimeError, match="a watcher"):
            node.submit_change(lambda: node.history.revert(number)).result()
        assert [one[:6] for one in seen] == [NEW[:6]]  # Who is impersonated stays so.
    assert state_of(node) == seen[0]


def test_a_chain_goes_back_by_no_more_than_it_has(make: MakeNode) -> None:
    node = make()
    mined(node, transaction(0, 0))
    number = node.submit_change(node.history.snapshot).result()
    mined(node, transaction(0, 1))
    assert node.history.count_blocks_since(number) == 1
    assert node.history.count_blocks_since(number + 1) == 0
    with pytest.raises(ConfigError, match="current height 2, depth 3"):
        node.submit_change(lambda: node.rollback(3)).result()
    node.submit_change(lambda: node.rollback(2)).result()
    assert node.chain.head.block_number == 0


def test_blocks_that_took_anothers_place_are_undone_as_well(make: MakeNode) -> None:
    node = make()
    for nonce in range(3):
        mined(node, transaction(0, nonce))
    number = node.submit_change(node.history.snapshot).result()
    told: list[list[bytes]] = []
    node.listeners.add(
        NodeListener(on_reorg=lambda headers: told.append([one.hash for one in headers]))
    )
    before = [node.chain.header(number).hash for number in (3, 2)]
    node.submit_change(lambda: node.reorganize([[], []])).result()
    between = [node.chain.header(number).hash for number in (3, 2)]
    node.submit_change(lambda: node.history.revert(number)).result()
    assert told == [before, between]
    assert [node.chain.header(number).hash for number in (3, 2)] == before
