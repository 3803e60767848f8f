"""Transactions that fit the next block; `rpc` tests drafts of it."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from pyevm_agents.chain import Chain
from pyevm_agents.chain.transactions import BLOB_TYPE, DYNAMIC_FEE_TYPE, count_blobs
from pyevm_agents.config import ChainConfig
from pyevm_agents.node.clock import ClockSettings
from pyevm_agents.node.journal import PoolTransaction
from pyevm_agents.node.pending_block import PendingTransactions
from tests.pyevm_agents.node.senders_of_tests import ADDRESSES, GWEI, transaction

HEADER = Chain(ChainConfig()).build_next_header()
GAS_LIMIT, MAX_BLOBS = 200_000, 3

ready = st.lists(
    st.tuples(
        st.integers(0, len(ADDRESSES) - 1),
        st.integers(21_000, 220_000),
        st.integers(0, 4),
    ),
    max_size=12,
)


def upcoming(told: list[tuple[int, int, int]]) -> PendingTransactions:
    nonces = dict.fromkeys(range(len(ADDRESSES)), 0)
    waiting: list[PoolTransaction] = []
    for sender, gas, count in told:
        blobs = {"blob_hashes": (b"\x01" * 32,) * count, "max_blob_fee_wei": GWEI} if count else {}
        kind = BLOB_TYPE if count else DYNAMIC_FEE_TYPE
        one = transaction(sender, nonces[sender], gas=gas, kind=kind, **blobs)
        nonces[sender] += 1
        waiting.append(
            PoolTransaction(transaction=one, sender=ADDRESSES[sender], arrival=len(waiting))
        )
    header = HEADER.copy(gas_limit=GAS_LIMIT)
    return PendingTransactions(
        header=header, max_blobs=MAX_BLOBS, clock=ClockSettings(), ready=tuple(waiting)
    )


@settings(max_examples=30)
@given(told=ready, data=st.data())
def test_candidates_are_those_that_fit_alone_in_the_order_of_nonces(
    told: list[tuple[int, int, int]], data: st.DataObject
) -> None:
    block = upcoming(told)
    hashes = [one.transaction.hash for one in block.ready]
    without = data.draw(st.sets(st.sampled_from(hashes))) if hashes else set()
    chosen = [one.hash for one in block.select_candidates(without)]
    out: set[bytes] = set()
    wanted = []
    for one in block.ready:
        transaction = one.transaction
        fits = transaction.gas <= GAS_LIMIT and count_blobs(transaction) <= MAX_BLOBS
        if fits and transaction.hash not in without and one.sender not in out:
            wanted.append(transaction.hash)
        else:
            out.add(one.sender)
    assert chosen == wanted
