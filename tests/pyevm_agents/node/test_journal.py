"""The pool's journal: what a node has after the one before it has gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.chain.database import MemoryRows, pool_key
from pyevm_agents.chain.transactions import (
    DYNAMIC_FEE_TYPE,
    LEGACY_TYPE,
    TransactionFields,
    build_impersonated,
    is_impersonated,
)
from pyevm_agents.config import ChainConfig
from pyevm_agents.errors import EngineFault
from pyevm_agents.node import MiningMode, Node
from pyevm_agents.node.journal import Journal
from tests.deadlines import HANG_SECONDS
from tests.pyevm_agents.node.senders_of_tests import (
    ADDRESSES,
    CHAIN_ID,
    GWEI,
    NOBODY,
    START,
    hashes,
    mined,
    transaction,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eth.abc import SignedTransactionAPI


class JournaledNodes:
    """Nodes one after the other on the same rows; none is stopped in order."""

    def __init__(self) -> None:
        self.rows = CountedRows()
        self._started: list[Node] = []

    def start(self, *, is_automatic: bool = False) -> Node:
        """Start a node as if the one before had been killed: on what is written."""
        self.rows = self.rows.duplicate()
        accounts = {one: GenesisAccount(balance_wei=10**20) for one in (*ADDRESSES, NOBODY)}
        chain = Chain(ChainConfig(), accounts=accounts, rows=self.rows)
        mining = MiningMode(is_automatic=is_automatic)
        node = Node(chain, now=lambda: START + 100.0, mining=mining, journal=Journal(self.rows))
        self._started.append(node)
        return node

    def close(self) -> None:
        for node in self._started:
            node.close()


class CountedRows(MemoryRows):
    """Rows that count writes and syncs, and can be full."""

    def __init__(self) -> None:
        super().__init__()
        self.writes = self.syncs = 0
        self.is_full = False

    def write(self, changes: Mapping[bytes, bytes | None]) -> None:
        if self.is_full:
            raise EngineFault("the chain can't be written (disk full)")
        self.writes += 1
        super().write(changes)

    def sync(self) -> None:
        self.syncs += 1

    def duplicate(self) -> CountedRows:
        rows = CountedRows()
        rows._rows = self._rows.copy()
        return rows


@pytest.fixture
def nodes() -> Iterator[JournaledNodes]:
    made = JournaledNodes()
    yield made
    made.close()


def waiting(node: Node) -> list[bytes]:
    """Return the hashes of a node's pool in the order of arrival."""
    senders = (*ADDRESSES, NOBODY)
    entries = [entry for one in senders for entry in node.pool.list_by_sender(one)]
    return [one.transaction.hash for one in sorted(entries, key=lambda entry: entry.arrival)]


def impersonated(kind: int) -> SignedTransactionAPI:
    fields = TransactionFields(
        kind=kind,
        nonce=0,
        gas=21_000,
        to=ADDRESSES[0],
        gas_price_wei=3 * GWEI,
        max_fee_wei=3 * GWEI,
    )
    return build_impersonated(fields, NOBODY, CHAIN_ID)


def test_a_start_has_the_pool_of_the_last_run_in_the_order_of_arrival(
    nodes: JournaledNodes,
) -> None:
    sent = [transaction(1), transaction(0, 1), transaction(0, 0), transaction(2, 7)]
    node = nodes.start()
    for one in sent:
        mined(node, one)
    again = nodes.start()
    assert waiting(again) == [one.hash for one in sent]
    assert [entry.transaction for entry in again.restored.transactions] == sent
    assert again.restored.damaged == ()
    block = again.submit_change(again.mine).result()
    assert hashes(block) == [sent[0].hash, sent[2].hash, sent[1].hash]
    assert waiting(nodes.start()) == [sent[3].hash]


@pytest.mark.parametrize("kind", [LEGACY_TYPE, DYNAMIC_FEE_TYPE])
def test_an_impersonated_transaction_comes_back_as_one(nodes: JournaledNodes, kind: int) -> None:
    one = impersonated(kind)
    mined(nodes.start(), one)
    again = nodes.start()
    (entry,) = again.restored.transactions
    assert (entry.sender, entry.transaction.sender) == (NOBODY, NOBODY)
    assert is_impersonated(entry.transaction)
    assert hashes(again.submit_change(again.mine).result()) == [one.hash]


def test_a_replacement_and_a_drop_leave_the_journal(nodes: JournaledNodes) -> None:
    node = nodes.start()
    cheap = transaction(0)
    better = transaction(0, max_fee_wei=9 * GWEI, max_priority_fee_wei=2 * GWEI)
    dropped, removed, kept = transaction(1), transaction(2), transaction(3)
    for one in (cheap, better, dropped, removed, kept):
        mined(node, one)
    node.pool.remove(dropped.hash)
    node.pool.remove_by_sender(removed.sender)
    assert waiting(nodes.start()) == [better.hash, kept.hash]


def test_a_cleared_pool_leaves_no_rows(nodes: JournaledNodes) -> None:
    node = nodes.start()
    mined(node, transaction(0))
    node.pool.clear()
    assert waiting(nodes.start()) == []


def test_a_block_and_the_rows_of_its_transactions_are_one_commit(nodes: JournaledNodes) -> None:
    node = nodes.start()
    sent = [transaction(0, 0), transaction(0, 1), transaction(1)]
    for one in sent:
        mined(node, one)
    before = nodes.rows.writes
    node.submit_change(node.mine).result()
    assert nodes.rows.writes == before + 1
    again = nodes.start()
    assert again.restored.transactions == ()
    for one in sent:
        assert again.chain.find_transaction(one.hash) is not None


def test_a_request_is_one_commit_and_an_automatic_block_another(nodes: JournaledNodes) -> None:
    node = nodes.start(is_automatic=True)
    before = nodes.rows.writes
    mined(node, transaction(0))
    assert nodes.rows.writes == before + 2


def test_a_nonce_that_is_used_is_not_restored(nodes: JournaledNodes) -> None:
    node = nodes.start()
    one = transaction(0)
    mined(node, one)
    key = pool_key(one.sender, 0)
    row = nodes.rows.get(key)
    node.submit_change(node.mine).result()
    nodes.rows.write({key: row})
    again = nodes.start()
    assert again.restored.transactions == ()
    assert nodes.rows.get(key) is None


@pytest.mark.parametrize("row", [b"", b"\x00" * 31, b"\x00" * 100])
def test_a_damaged_row_is_reported_and_skipped(nodes: JournaledNodes, row: bytes) -> None:
    one = transaction(0)
    mined(nodes.start(), one)
    nodes.rows.write({pool_key(ADDRESSES[1], 5): row, b"agents:pool:short": row})
    again = nodes.start()
    assert [entry.transaction for entry in again.restored.transactions] == [one]
    assert len(again.restored.damaged) == 2
    assert any("nonce 5 of 0x" in place for place in again.restored.damaged)
    assert nodes.start().restored.damaged == ()


def test_a_flipped_bit_anywhere_in_a_row_is_damage(nodes: JournaledNodes) -> None:
    one = transaction(0)
    mined(nodes.start(), one)
    key = pool_key(one.sender, 0)
    whole = nodes.rows.get(key)
    assert whole is not None
    builder = nodes.start().chain.transaction_builder
    for place in range(len(whole)):
        flipped = bytearray(whole)
        flipped[place] ^= 1
        rows = MemoryRows()
        rows.write({key: bytes(flipped)})
        assert len(Journal(rows).read(builder).damaged) == 1


def test_a_revert_restores_the_journal_with_the_pool(nodes: JournaledNodes) -> None:
    node = nodes.start()
    early, dropped, late = transaction(0), transaction(1), transaction(2)
    mined(node, early)
    mined(node, dropped)
    snapshot = node.submit_change(node.history.snapshot).result()
    mined(node, late)
    node.pool.remove(dropped.hash)
    node.submit_change(node.mine).result()
    assert waiting(node) == []
    mined(node, transaction(3))
    node.submit_change(lambda: node.history.revert(snapshot)).result()
    assert waiting(node) == [early.hash, dropped.hash]
    assert waiting(nodes.start()) == [early.hash, dropped.hash]


def test_a_revert_that_is_killed_before_the_pool_is_restored_has_lost_nothing(
    nodes: JournaledNodes,
) -> None:
    node = nodes.start()
    early = transaction(0)
    mined(node, early)
    snapshot = node.submit_change(node.chain.snapshot).result()
    node.submit_change(node.mine).result()
    node.submit_change(lambda: node.chain.revert(snapshot)).result()
    assert waiting(nodes.start()) == [early.hash]


def test_a_rollback_leaves_the_journal_as_it_is(nodes: JournaledNodes) -> None:
    node = nodes.start()
    gone, kept = transaction(0), transaction(1, 1)
    mined(node, gone)
    mined(node, kept)
    node.submit_change(node.mine).result()
    node.submit_change(lambda: node.rollback(1)).result()
    assert waiting(nodes.start()) == [kept.hash]


def test_a_reset_empties_the_journal(nodes: JournaledNodes) -> None:
    node = nodes.start()
    mined(node, transaction(1, 1))
    node.submit_change(node.reset).result()
    assert waiting(nodes.start()) == []


def test_nothing_is_accepted_that_the_journal_cannot_hold(nodes: JournaledNodes) -> None:
    node = nodes.start()
    nodes.rows.is_full = True
    one = transaction(0)
    with pytest.raises(EngineFault, match="can't be written"):
        mined(node, one)
    assert one.hash not in node.pool
    nodes.rows.is_full = False
    mined(node, one)
    assert waiting(nodes.start()) == [one.hash]


def test_a_node_resumes_with_a_block_of_what_is_ready(nodes: JournaledNodes) -> None:
    ready, queued = transaction(0), transaction(1, 1)
    node = nodes.start()
    mined(node, ready)
    mined(node, queued)
    again = nodes.start(is_automatic=True)
    assert again.chain.head.block_number == 0
    again.resume()
    assert again.wait_idle(HANG_SECONDS)
    assert again.chain.find_transaction(ready.hash) is not None
    assert waiting(again) == [queued.hash]


def test_the_disk_is_waited_for_only_where_a_transaction_waits(nodes: JournaledNodes) -> None:
    node = nodes.start(is_automatic=True)
    ready, queued = transaction(0), transaction(1, 1)
    for one in (ready, queued):
        mined(node, one)
    node.sync_pool(ready.hash)
    assert nodes.rows.syncs == 0
    node.sync_pool(queued.hash)
    assert nodes.rows.syncs == 1


def test_a_node_without_a_journal_writes_nothing_of_its_pool() -> None:
    rows = CountedRows()
    accounts = {one: GenesisAccount(balance_wei=10**20) for one in ADDRESSES}
    chain = Chain(ChainConfig(), accounts=accounts, rows=rows)
    node = Node(chain, now=lambda: START + 100.0, mining=MiningMode(is_automatic=False))
    before = rows.writes
    mined(node, transaction(0))
    node.sync_pool(transaction(0).hash)
    assert (rows.writes, rows.syncs) == (before, 0)
    node.close()
