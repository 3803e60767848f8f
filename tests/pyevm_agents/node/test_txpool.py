"""Transactions that wait: against a plain list, and the order in which they are ready."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from eth.vm.forks.prague.transactions import PragueTransactionBuilder
from eth_typing import Address
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from pyevm_agents.chain.database import MemoryRows, pool_key
from pyevm_agents.chain.transactions import impersonate
from pyevm_agents.node import txpool as pool_module
from pyevm_agents.node.journal import Journal, PoolTransaction
from pyevm_agents.node.txpool import PoolError, TxPool
from tests.pyevm_agents.node.senders_of_tests import ADDRESSES, GWEI, transaction

if TYPE_CHECKING:
    from collections.abc import Callable

    from eth.abc import SignedTransactionAPI

BASE_FEE = 2 * GWEI


class PoolMachine(RuleBasedStateMachine):
    """A txpool holds the transactions of a plain list."""

    senders = st.integers(0, len(ADDRESSES) - 1)

    @initialize(nonces=st.tuples(*[st.integers(0, 2)] * len(ADDRESSES)))
    def begin(self, nonces: tuple[int, ...]) -> None:
        self.rows = MemoryRows()
        self.pool = TxPool(Journal(self.rows))
        self.nonces = dict(zip(ADDRESSES, nonces, strict=True))
        self.waiting: list[SignedTransactionAPI] = []
        self.kept: tuple[Callable[[], None], list[SignedTransactionAPI]] | None = None

    @rule(
        sender=senders,
        nonce=st.integers(0, 4),
        fee=st.sampled_from([GWEI, 2 * GWEI, 22 * GWEI // 10, 4 * GWEI]),
        tip=st.sampled_from([0, GWEI // 2, 55 * GWEI // 100, GWEI]),
    )
    def add(self, sender: int, nonce: int, fee: int, tip: int) -> None:
        one = transaction(sender, nonce, max_fee_wei=fee, max_priority_fee_wei=tip)
        before = next(
            (it for it in self.waiting if (it.sender, it.nonce) == (one.sender, nonce)), None
        )
        if before is not None and before.hash == one.hash:
            with pytest.raises(PoolError, match=r"^already known$"):
                self.pool.add(one)
            return
        if before is not None and (
            fee * 10 < before.max_fee_per_gas * 11
            or tip * 10 < before.max_priority_fee_per_gas * 11
        ):
            with pytest.raises(PoolError, match=r"^replacement transaction underpriced$"):
                self.pool.add(one)
            return
        replaced = self.pool.add(one)
        assert (replaced and replaced.transaction) == before
        self.waiting = [it for it in self.waiting if it is not before] + [one]

    @precondition(lambda self: self.waiting)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        one = data.draw(st.sampled_from(self.waiting))
        removed = self.pool.remove(one.hash)
        assert removed is not None
        assert removed.transaction == one
        assert self.pool.remove(one.hash) is None
        self.waiting.remove(one)

    @rule(sender=senders)
    def remove_of(self, sender: int) -> None:
        removed = {it.transaction.hash for it in self.pool.remove_by_sender(ADDRESSES[sender])}
        assert removed == {it.hash for it in self.waiting if it.sender == ADDRESSES[sender]}
        self.waiting = [it for it in self.waiting if it.sender != ADDRESSES[sender]]

    @precondition(lambda self: self.waiting)
    @rule(data=st.data())
    def mine(self, data: st.DataObject) -> None:
        one = data.draw(st.sampled_from(self.waiting))
        self.rows.write({pool_key(one.sender, one.nonce): None})  # As the block's commit does.
        self.pool.on_mined([one])
        self.pool.remove_stale(lambda sender: one.nonce + 1 if sender == one.sender else 0)
        self.waiting = [
            it for it in self.waiting if it.sender != one.sender or it.nonce > one.nonce
        ]

    @rule()
    def keep(self) -> None:
        self.kept = (self.pool.checkpoint(), [*self.waiting])

    @precondition(lambda self: self.kept)
    @rule()
    def restore(self) -> None:
        assert self.kept is not None
        restore, waiting = self.kept
        restore()
        self.waiting = [*waiting]

    @invariant()
    def holds_what_the_list_holds(self) -> None:
        assert len(self.pool) == len(self.waiting)
        for one in self.waiting:
            assert one.hash in self.pool
            found = self.pool.get(one.hash)
            assert found is not None
            assert found.transaction == one
        ready, queued = self.pool.content(lambda address: self.nonces[address])
        told = [it for lines in (ready, queued) for line in lines.values() for it in line]
        assert {it.transaction.hash for it in told} == {
            it.hash for it in self.waiting if it.nonce >= self.nonces[it.sender]
        }
        for address, line in ready.items():
            end = self.pool.next_nonce(address, self.nonces[address])
            assert all(it.transaction.nonce < end for it in line)

    @invariant()
    def journal_holds_what_the_pool_holds(self) -> None:
        found = Journal(self.rows).read(PragueTransactionBuilder)
        assert [it.transaction.hash for it in found.transactions] == [
            it.hash for it in sorted(self.waiting, key=lambda it: self._arrival(it.hash))
        ]
        assert found.damaged == ()

    def _arrival(self, transaction_hash: bytes) -> int:
        entry = self.pool.get(transaction_hash)
        assert entry is not None
        return entry.arrival

    @invariant()
    def what_is_ready_comes_in_the_order_of_nonces_and_tips(self) -> None:
        ready = [*self.pool.iter_ready(lambda address: self.nonces[address], BASE_FEE)]
        nonces = dict(self.nonces)
        for one in ready:
            assert one.transaction.nonce == nonces[one.sender]
            assert one.transaction.max_fee_per_gas >= BASE_FEE
            nonces[one.sender] += 1
        for address, nonce in nonces.items():
            left = {it.nonce: it for it in self.waiting if it.sender == address}
            assert nonce not in left or left[nonce].max_fee_per_gas < BASE_FEE
        for index, one in enumerate(ready[:-1]):
            after = ready[index + 1]
            if one.sender != after.sender:
                assert _tip(one.transaction) >= _tip(after.transaction)


def _tip(one: SignedTransactionAPI) -> int:
    return int(min(one.max_priority_fee_per_gas, one.max_fee_per_gas - BASE_FEE))


TestPool = PoolMachine.TestCase


def test_of_equal_tips_the_first_comes_first() -> None:
    pool = TxPool()
    for sender in (2, 0, 1):
        pool.add(transaction(sender))
    assert [one.sender for one in pool.iter_ready(lambda _: 0, GWEI)] == [
        ADDRESSES[2],
        ADDRESSES[0],
        ADDRESSES[1],
    ]


def test_the_order_takes_one_look_at_each_transaction() -> None:
    looks = []

    class CountedPool(TxPool):
        def _rank(self, waiting: PoolTransaction, base_fee_wei: int) -> tuple[int, int]:
            looks.append(waiting)
            return super()._rank(waiting, base_fee_wei)

    pool = CountedPool()
    for number in range(100):
        sender = Address(number.to_bytes(20, "big"))
        for nonce in (0, 1):
            pool.add(impersonate(transaction(0, nonce, value_wei=number), sender))
    assert len([*pool.iter_ready(lambda _: 0, GWEI)]) == len(looks) == 200


def test_by_arrival_a_higher_tip_comes_later() -> None:
    arrivals = [
        transaction(1),
        transaction(0, 1, max_fee_wei=8 * GWEI, max_priority_fee_wei=4 * GWEI),
        transaction(2, max_fee_wei=8 * GWEI, max_priority_fee_wei=4 * GWEI),
        transaction(0),
    ]
    for order, expected in (("fifo", [1, 2, 0, 0]), ("fees", [2, 1, 0, 0])):
        pool = TxPool(order=order)
        for one in arrivals:
            pool.add(one)
        ready = [one.sender for one in pool.iter_ready(lambda _: 0, GWEI)]
        assert ready == [ADDRESSES[index] for index in expected]


def test_a_full_pool_takes_replacements_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "MAX_WAITING", 2)
    pool = TxPool()
    pool.add(transaction(0))
    pool.add(transaction(1))
    with pytest.raises(PoolError, match="txpool is full: 2 transactions; mine some"):
        pool.add(transaction(2))
    pool.add(transaction(1, max_fee_wei=6 * GWEI, max_priority_fee_wei=2 * GWEI))
    pool.clear()
    assert len(pool) == 0
    pool.add(transaction(2))


def test_data_that_waits_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "MAX_DATA_BYTES", 100)
    pool = TxPool()
    first = transaction(0, 0, data=bytes(60), gas=100_000)
    pool.add(first)
    with pytest.raises(PoolError, match="60 bytes of data, of at most 100; mine some"):
        pool.add(transaction(0, 1, data=bytes(41), gas=100_000))
    pool.add(transaction(0, 1, data=bytes(40), gas=100_000))
    restore = pool.checkpoint()
    pool.remove(first.hash)
    pool.add(transaction(1, 0, data=bytes(60), gas=100_000))
    restore()
    with pytest.raises(PoolError, match="100 bytes of data, of at most 100"):
        pool.add(transaction(1, 0, data=bytes(1), gas=100_000))


def test_a_pool_holds_what_is_left_where_threads_add_and_remove() -> None:
    pool = TxPool()
    made = [transaction(sender, nonce) for sender in range(4) for nonce in range(25)]

    def work(part: list[SignedTransactionAPI]) -> None:
        for one in part:
            pool.add(one)
            pool.content(lambda _: 0)
            [*pool.iter_ready(lambda _: 0, 0)]
        for one in part[::2]:
            pool.remove(one.hash)

    threads = [threading.Thread(target=work, args=(made[i::4],)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kept = {one.hash for i in range(4) for one in made[i::4][1::2]}
    assert len(pool) == len(kept)
    assert all(one in pool for one in kept)
