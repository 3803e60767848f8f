"""A node: mining modes and dropped transactions."""

from __future__ import annotations

import itertools
import threading
from functools import partial
from operator import methodcaller
from typing import TYPE_CHECKING

import pytest
from eth_utils import ValidationError

from pyevm_agents.chain.transactions import BLOB_TYPE
from pyevm_agents.errors import EngineFault
from pyevm_agents.node import MiningMode, PoolError
from pyevm_agents.node.listeners import NodeListener
from pyevm_agents.node.txpool import Leaving
from pyevm_agents.vm import BlockRefusal, InvalidBlockError
from pyevm_agents.vm.transaction_executor import AgentTransactionExecutor
from tests.deadlines import HANG_SECONDS
from tests.pyevm_agents.node.senders_of_tests import (
    ADDRESSES,
    GWEI,
    NOBODY,
    START,
    hashes,
    mined,
    transaction,
)

if TYPE_CHECKING:
    from eth.abc import ComputationAPI, MessageAPI, SignedTransactionAPI

    from pyevm_agents.chain import MinedBlock
    from tests.pyevm_agents.node.senders_of_tests import MakeNode


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
    assert [one.hash for one in node.pending.build_block().block.transactions] == [
        high.hash,
        low.hash,
    ]
    assert node.chain.head.block_number == 0
    assert hashes(node.submit_change(node.mine).result()) == [high.hash, low.hash]


def test_what_does_not_fit_waits_for_the_next_block_in_the_order_of_nonces(
    make: MakeNode,
) -> None:
    node = make(is_automatic=False, gas_limit=50_000)
    big, after = transaction(0, 0, gas=40_000), transaction(0, 1)
    other = transaction(1, 0, max_priority_fee_wei=2 * GWEI)
    for one in (big, after, other):
        mined(node, one)
    assert hashes(node.submit_change(node.mine).result()) == [other.hash]
    assert hashes(node.submit_change(node.mine).result()) == [big.hash, after.hash]


def test_a_block_holds_nine_blobs_at_most(make: MakeNode) -> None:
    node = make(is_automatic=False)
    for sender in (0, 1):
        blobs = (b"\x01" * 32,) * 6
        one = transaction(sender, kind=BLOB_TYPE, max_blob_fee_wei=GWEI, blob_hashes=blobs)
        mined(node, one)
    assert len(hashes(node.submit_change(node.mine).result())) == 1
    assert len(hashes(node.submit_change(node.mine).result())) == 1


def test_a_transaction_that_became_invalid_is_dropped_and_the_others_are_mined(
    make: MakeNode,
) -> None:
    node = make(is_automatic=False)
    rich = 10**20 - 21_000 * 3 * GWEI
    spends_all, too_much = transaction(0, 0, value_wei=rich), transaction(0, 1, value_wei=rich)
    other = transaction(1)
    for one in (spends_all, too_much, other):
        mined(node, one)
    assert set(hashes(node.submit_change(node.mine).result())) == {spends_all.hash, other.hash}
    assert too_much.hash not in node.pool
    assert len(node.pool) == 0


def test_a_fee_below_the_next_blocks_is_refused_where_that_would_wait_for_ever(
    make: MakeNode,
) -> None:
    node = make()
    low = transaction(max_fee_wei=1, max_priority_fee_wei=0)
    with pytest.raises(PoolError, match="max fee per gas less than block base fee"):
        mined(node, low)
    node.submit_change(lambda: node.set_mining(MiningMode(is_automatic=False))).result()
    assert mined(node, low) is None
    assert hashes(node.submit_change(node.mine).result()) == []
    node.submit_change(lambda: node.next_block.override_next(base_fee_wei=0)).result()
    assert hashes(node.submit_change(node.mine).result()) == [low.hash]


@pytest.mark.parametrize(
    ("error", "way"),
    [
        (EngineFault("as told"), Leaving.FAULT),
        (ValidationError("py-evm's, of a bug"), Leaving.FAULT),
        (
            InvalidBlockError(BlockRefusal.SYSTEM_CONTRACT_CALL_FAILED, "no block is valid"),
            Leaving.INVALID,
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_fault_takes_away_what_it_failed_on(
    make: MakeNode, monkeypatch: pytest.MonkeyPatch, error: Exception, way: Leaving
) -> None:
    node = make()

    def fail(*_: object, **__: object) -> MinedBlock:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(node.chain, "mine", fail)
        with pytest.raises(type(error)):
            mined(node, transaction())
    departure = node.find_departure(transaction().hash)
    assert departure is not None
    assert departure.way is way
    assert len(node.pool) == 0
    assert hashes(mined(node, transaction())) == [transaction().hash]


def fail_on(one: SignedTransactionAPI, error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    """Raise an error in each execution of a transaction."""
    build = AgentTransactionExecutor.build_computation

    def build_or_fail(
        self: AgentTransactionExecutor, message: MessageAPI, other: SignedTransactionAPI
    ) -> ComputationAPI:
        if other.hash == one.hash:
            raise error
        return build(self, message, other)

    monkeypatch.setattr(AgentTransactionExecutor, "build_computation", build_or_fail)


FAULTS = [EngineFault("as told"), RuntimeError("a bug"), ValidationError("py-evm's")]


@pytest.mark.parametrize("error", FAULTS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("faulty", [0, 1], ids=["first", "second"])
def test_a_fault_of_one_leaves_the_others_of_its_block(
    make: MakeNode, monkeypatch: pytest.MonkeyPatch, faulty: int, error: Exception
) -> None:
    node, both = make(), [transaction(0), transaction(1)]
    fail_on(both[faulty], error, monkeypatch)
    is_sent = threading.Event()
    node.submit_change(partial(is_sent.wait, HANG_SECONDS))
    sent = [node.send(partial(lambda one: one, one)) for one in both]
    is_sent.set()
    told = sent[faulty].mined.exception(HANG_SECONDS)
    assert told is not None
    assert error in (told, told.__cause__)
    other = sent[1 - faulty]
    assert hashes(other.mined.result(HANG_SECONDS)) == [other.transaction.hash]
    departure = node.find_departure(both[faulty].hash)
    assert departure is not None
    assert departure.way is Leaving.FAULT
    assert len(node.pool) == 0


def test_a_fault_of_what_waited_leaves_the_transaction_that_is_submitted(
    make: MakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = make(is_automatic=False)
    waits, one = transaction(0, max_priority_fee_wei=2 * GWEI), transaction(1)
    assert mined(node, waits) is None
    fail_on(waits, EngineFault("as told"), monkeypatch)
    node.submit_change(lambda: node.set_mining(MiningMode())).result()
    assert hashes(mined(node, one)) == [one.hash]
    assert waits.hash not in node.pool


def test_blocks_are_made_from_time_to_time(make: MakeNode) -> None:
    seconds = itertools.count(START)
    node = make(is_automatic=False, interval_seconds=0.01, now=lambda: next(seconds))
    told = threading.Semaphore(0)
    node.listeners.add(NodeListener(on_mined=lambda _: told.release()))
    for _ in range(3):
        assert told.acquire(timeout=HANG_SECONDS)


@pytest.mark.parametrize("rehearses", [False, True])
def test_empty_blocks_do_not_outrun_the_clock(make: MakeNode, *, rehearses: bool) -> None:
    """A tick within the second of the head mines a transaction, but no empty block."""
    seconds, looks, blocks = [START], threading.Semaphore(0), threading.Semaphore(0)

    def now() -> float:
        looks.release()
        return seconds[0]

    node = make(is_automatic=False, interval_seconds=0.001, now=now, rehearses=rehearses)
    node.listeners.add(NodeListener(on_mined=lambda _: blocks.release()))
    for later in range(1, 4):
        for _ in range(10 * later):
            assert looks.acquire(timeout=HANG_SECONDS)
        assert node.chain.head.timestamp == START + later - 1
        seconds[0] += 1
        assert blocks.acquire(timeout=HANG_SECONDS)
    node.send(lambda: transaction(0, 0))
    assert blocks.acquire(timeout=HANG_SECONDS)
    assert node.chain.head.timestamp == START + 4


def test_reading_never_sees_half_of_a_block(make: MakeNode) -> None:
    """Settings made after a block hold until the next block, which begins with them."""
    node = make(is_automatic=False)
    end = threading.Event()

    def work() -> None:
        for number in itertools.count(1):
            if end.is_set():
                return
            give = methodcaller("set_balance", NOBODY, number)
            node.submit_change(partial(node.patch_state, give)).result()
            node.submit_change(node.mine).result()

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


def test_closing_waits_for_the_block_that_is_being_made(make: MakeNode) -> None:
    node = make(is_automatic=False)
    begun, go_on = threading.Event(), threading.Event()

    def work() -> int:
        begun.set()
        go_on.wait(HANG_SECONDS)
        return int(node.mine().block.number)

    future = node.submit_change(work)
    begun.wait(HANG_SECONDS)
    threading.Timer(0.05, go_on.set).start()
    node.close()
    assert future.result(0) == 1
