"""Settings of the next block, and the header that it begins with."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from pyevm_agents.chain import BlockSettings
from tests.pyevm_agents.node.senders_of_tests import NOBODY, START

if TYPE_CHECKING:
    from tests.pyevm_agents.node.senders_of_tests import MakeNode


def test_what_a_block_is_told_holds_once_or_always(make: MakeNode) -> None:
    node = make(is_automatic=False)
    node.next_block.fixed = BlockSettings(coinbase=NOBODY)
    node.submit_change(
        lambda: node.next_block.override_next(base_fee_wei=77, prev_randao=b"\x07" * 32)
    ).result()
    first = node.submit_change(node.mine).result().block.header
    second = node.submit_change(node.mine).result().block.header
    assert (first.coinbase, first.base_fee_per_gas, first.mix_hash) == (NOBODY, 77, b"\x07" * 32)
    assert second.coinbase == NOBODY
    assert second.mix_hash != b"\x07" * 32


def test_the_next_header_is_one_whatever_is_mined_meanwhile(make: MakeNode) -> None:
    """Threads read it while another thread mines blocks, in one second of real time."""
    node = make(is_automatic=False)
    end = threading.Event()

    def mine() -> None:
        while not end.is_set():
            node.submit_change(node.mine).result()

    thread = threading.Thread(target=mine)
    thread.start()
    try:
        for _ in range(1_000):
            header = node.next_block.build_header()
            parent = node.chain.header(header.block_number - 1)
            assert header.parent_hash == parent.hash
            assert header.state_root == parent.state_root
    finally:
        end.set()
        thread.join()


def test_what_was_told_is_kept_and_told_again(make: MakeNode) -> None:
    told = make().next_block
    told.fixed = BlockSettings(coinbase=NOBODY)
    told.override_next(base_fee_wei=77)
    restore = told.checkpoint()
    told.reset()
    assert told.build_settings() == BlockSettings(timestamp_seconds=START + 100)
    restore()
    wanted = BlockSettings(coinbase=NOBODY, base_fee_wei=77, timestamp_seconds=START + 100)
    assert told.build_settings() == wanted
    told.on_mined()
    assert told.build_settings() == BlockSettings(coinbase=NOBODY, timestamp_seconds=START + 100)
