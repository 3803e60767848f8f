"""A node: what is mined when, what is dropped, and going back."""

from __future__ import annotations

import itertools
import threading
from functools import partial
from operator import methodcaller
from typing import TYPE_CHECKING, Any

import pytest

from pyevm_agents.chain import BlockSettings, Chain, GenesisAccount, MinedBlock
from pyevm_agents.config import ChainConfig
from pyevm_agents.errors import ConfigError, EngineFault
from pyevm_agents.node import Keys, Mining, Node, PoolError, history
from pyevm_agents.node.watchers import Watcher
from pyevm_agents.transactions import BLOB_TYPE
from tests.pyevm_agents.node.senders_of_tests import ADDRESSES, GWEI, KEYS, NOBODY, transaction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    MakeNode = Callable[..., Node]

START = ChainConfig().genesis_timestamp_seconds


@pytest.fixture
def make() -> Iterator[MakeNode]:
    nodes: list[Node] = []

    def make(*, gas_limit: int = 30_000_000, **mining: Any) -> Node:  # noqa: ANN401
        config = ChainConfig(block_gas_limit=gas_limit)
        chain = Chain(
            config, accounts={one: GenesisAccount(balance_wei=10**20) for one in ADDRESSES}
        )
        node = Node(chain, now=lambda: START + 100.0, keys=Keys(KEYS), mining=Mining(**mining))
        nodes.append(node)
        return node

    yield make
    for node in nodes:
        node.close()


def mined(node: Node, one: Any) -> MinedBlock | None:  # noqa: ANN401
    return node.do(lambda: node.submit(one)).result()


def hashes(block: MinedBlock | None) -> list[bytes]:
    assert block is not None
    return [one.hash for one in block.block.transactions]


def test_automatic_mining_makes_a_block_of_each_transaction(make: MakeNode) -> None:
    node = make()
    for nonce in range(3):
        one = transaction(0, nonce)
        assert hashes(mined(node, one)) == [one.hash]
    assert node.chain.head.block_number == 3
    assert node.chain.head.timestamp == START + 102
    assert len(node.pool) == 0


def test_a_gap_in_the_nonces_waits_until_it_is_closed(make: MakeNode) -> None:
    node = make()
    later, first = transaction(0, 1), transaction(0, 0)
    assert mined(node, later) is None
    assert node.next_nonce(ADDRESSES[0]) == 0
    assert hashes(mined(node, first)) == [first.hash, later.hash]
    assert node.next_nonce(ADDRESSES[0]) == 2


def test_manual_mining_waits_and_takes_the_best_tips_first(make: MakeNode) -> None:
    node = make(is_automatic=False)
    low = transaction(0, max_priority_fee_wei=1)
    high = transaction(1, max_priority_fee_wei=2)
    for one in (low, high):
        assert mined(node, one) is None
    assert node.next_nonce(ADDRESSES[0]) == 1
    assert [one.hash for one in node.pending.block().block.transactions] == [high.hash, low.hash]
    assert node.chain.head.block_number == 0
    assert hashes(node.do(node.mine).result()) == [high.hash, low.hash]


def test_what_does_not_fit_waits_for_the_next_block_in_the_order_of_nonces(
    make: MakeNode,
) -> None:
    node = make(is_automatic=False, gas_limit=50_000)
    big, after = transaction(0, 0, gas=40_000), transaction(0, 1)
    other = transaction(1, 0, max_priority_fee_wei=2 * GWEI)
    for one in (big, after, other):
        mined(node, one)
    assert hashes(node.do(node.mine).result()) == [other.hash]
    assert hashes(node.do(node.mine).result()) == [big.hash]
    assert hashes(node.do(node.mine).result()) == [after.hash]


def test_a_block_holds_nine_blobs_at_most(make: MakeNode) -> None:
    node = make(is_automatic=False)
    for sender in (0, 1):
        blobs = (b"\x01" * 32,) * 6
        one = transaction(sender, kind=BLOB_TYPE, max_blob_fee_wei=GWEI, blob_hashes=blobs)
        mined(node, one)
    assert len(hashes(node.do(node.mine).result())) == 1
    assert len(hashes(node.do(node.mine).result())) == 1


def test_a_transaction_that_became_invalid_is_dropped_and_the_others_are_mined(
    make: MakeNode,
) -> None:
    node = make(is_automatic=False)
    rich = 10**20 - 21_000 * 3 * GWEI
    spends_all, too_much = transaction(0, 0, value_wei=rich), transaction(0, 1, value_wei=rich)
    other = transaction(1)
    for one in (spends_all, too_much, other):
        mined(node, one)
    assert set(hashes(node.do(node.mine).result())) == {spends_all.hash, other.hash}
    assert too_much.hash not in node.pool
    assert len(node.pool) == 0


def test_a_fee_below_the_next_blocks_is_refused_where_that_would_wait_for_ever(
    make: MakeNode,
) -> None:
    node = make()
    low = transaction(max_fee_wei=1, max_priority_fee_wei=0)
    with pytest.raises(PoolError, match="max fee per gas less than block base fee"):
        mined(node, low)
    node.do(lambda: node.set_mining(Mining(is_automatic=False))).result()
    assert mined(node, low) is None
    assert hashes(node.do(node.mine).result()) == []
    node.do(lambda: node.next_block.tell(base_fee_wei=0)).result()
    assert hashes(node.do(node.mine).result()) == [low.hash]


def test_a_fault_takes_away_what_it_failed_on(
    make: MakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = make()

    def fail(*_: object, **__: object) -> MinedBlock:
        raise EngineFault("as told")

    with monkeypatch.context() as patch:
        patch.setattr(node.chain, "mine", fail)
        with pytest.raises(EngineFault):
            mined(node, transaction())
    assert len(node.pool) == 0
    assert hashes(mined(node, transaction())) == [transaction().hash]


def test_blocks_are_made_from_time_to_time(make: MakeNode) -> None:
    node = make(is_automatic=False, interval_seconds=0.01)
    told = threading.Semaphore(0)
    node.watchers.add(Watcher(mined=lambda _: told.release()))
    for _ in range(3):
        assert told.acquire(timeout=10)


def test_what_a_block_is_told_holds_once_or_always(make: MakeNode) -> None:
    node = make(is_automatic=False)
    node.next_block.fixed = BlockSettings(coinbase=NOBODY)
    node.do(lambda: node.next_block.tell(base_fee_wei=77, prev_randao=b"\x07" * 32)).result()
    first = node.do(node.mine).result().block.header
    second = node.do(node.mine).result().block.header
    assert (first.coinbase, first.base_fee_per_gas, first.mix_hash) == (NOBODY, 77, b"\x07" * 32)
    assert second.coinbase == NOBODY
    assert second.mix_hash != b"\x07" * 32


def test_a_snapshot_keeps_chain_pool_and_clock(make: MakeNode) -> None:
    node = make(is_automatic=False)
    mined(node, transaction(0, 0))
    number = node.do(node.history.snapshot).result()
    undone: list[int] = []
    node.watchers.add(
        Watcher(undone=lambda headers: undone.extend(h.block_number for h in headers))
    )
    node.clock.increase(1_000)
    node.do(node.mine).result()
    mined(node, transaction(1, 0))
    node.do(node.mine).result()
    node.do(lambda: node.history.revert(number)).result()
    assert undone == [2, 1]
    assert node.chain.head.block_number == 0
    assert node.clock.settings.offset_seconds == 0
    assert [one.transaction.hash for one in node.pool.ready(node.chain.nonce, 0)] == [
        transaction(0, 0).hash
    ]
    with pytest.raises(ConfigError, match=f"snapshot {number} is not one of those kept"):
        node.do(lambda: node.history.revert(number)).result()
    assert node.do(node.history.snapshot).result() == number + 1


def test_the_oldest_of_too_many_snapshots_goes(
    make: MakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "MAX_SNAPSHOTS", 3)
    node = make()
    numbers = []
    for nonce in range(5):
        numbers.append(node.do(node.history.snapshot).result())
        mined(node, transaction(0, nonce))
    assert [*node.history.snapshots] == numbers[2:]
    with pytest.raises(ConfigError, match=f"snapshot {numbers[1]} is not one of those kept"):
        node.do(lambda: node.history.revert(numbers[1])).result()
    node.do(lambda: node.history.revert(numbers[2])).result()
    assert node.chain.head.block_number == 2


def test_a_block_has_what_was_set_after_it_also_when_another_follows(make: MakeNode) -> None:
    node = make(is_automatic=False)
    headers, told = [], {}
    for number in range(3):
        node.do(partial(node.modify, methodcaller("set_balance", NOBODY, number + 1))).result()
        head = node.chain.head
        headers.append(head)
        told[head.hash] = node.chain.state_root(head)
        node.do(node.mine).result()
    assert [node.chain.state(one).get_balance(NOBODY) for one in headers] == [1, 2, 3]
    assert [node.chain.state_root(one) for one in headers] == [told[one.hash] for one in headers]
    node.do(lambda: node.history.rollback(2)).result()
    assert node.chain.head == headers[1]
    assert node.chain.balance(NOBODY) == 1  # What was set after it was undone with the next one.
    assert node.chain.state(headers[2]).get_balance(NOBODY) == 2  # It is on the chain no more.


def test_reading_never_sees_half_of_a_block(make: MakeNode) -> None:
    """What was set after a block is there until the next one is, which begins with it."""
    node = make(is_automatic=False)
    end = threading.Event()

    def work() -> None:
        for number in itertools.count(1):
            if end.is_set():
                return
            give = methodcaller("set_balance", NOBODY, number)
            node.do(partial(node.modify, give)).result()
            node.do(node.mine).result()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        before = 0
        for _ in range(1_000):
            found = node.chain.balance(NOBODY)
            assert found >= before
            before = found
    finally:
        end.set()
        thread.join()


def test_the_next_header_is_one_whatever_is_mined_meanwhile(make: MakeNode) -> None:
    """Reading threads ask for it while another makes blocks, in one second of the world's time."""
    node = make(is_automatic=False)
    end = threading.Event()

    def mine() -> None:
        while not end.is_set():
            node.do(node.mine).result()

    thread = threading.Thread(target=mine)
    thread.start()
    try:
        for _ in range(1_000):
            header = node.next_block.header()
            parent = node.chain.header(header.block_number - 1)
            assert header.parent_hash == parent.hash
            assert header.state_root == parent.state_root
    finally:
        end.set()
        thread.join()


def test_closing_waits_for_the_block_that_is_being_made(make: MakeNode) -> None:
    node = make(is_automatic=False)
    begun, go_on = threading.Event(), threading.Event()

    def work() -> int:
        begun.set()
        go_on.wait(10)
        return int(node.mine().block.number)

    future = node.do(work)
    begun.wait(10)
    threading.Timer(0.05, go_on.set).start()
    node.close()
    assert future.result(0) == 1
