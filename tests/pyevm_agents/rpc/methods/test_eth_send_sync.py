"""Sends that wait for the receipt."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.node import PoolError
from pyevm_agents.rpc.errors import RpcError
from tests.pyevm_agents.rpc.local_node import FIRST, SECOND, LocalNode, local_node

if TYPE_CHECKING:
    from collections.abc import Iterator

FORM = {"from": FIRST, "to": SECOND, "value": "0x1", "gas": hex(21_000)}


@pytest.fixture
def local() -> Iterator[LocalNode]:
    with local_node() as local:
        yield local


def test_a_receipt_is_returned(local: LocalNode) -> None:
    receipt = local.ask("eth_sendTransactionSync", FORM)
    assert receipt["status"] == "0x1"
    signed = local.ask("eth_signTransaction", FORM)
    receipt = local.ask("eth_sendRawTransactionSync", signed["raw"])
    assert receipt["transactionHash"] == signed["tx"]["hash"]


def test_a_block_that_comes_later_is_waited_for(local: LocalNode) -> None:
    local.mine_by_hand()
    later = threading.Timer(0.2, lambda: local.ask("evm_mine"))
    later.start()
    assert local.ask("eth_sendTransactionSync", FORM)["blockNumber"] == "0x1"
    later.join()


def test_without_a_block_the_hash_is_told(local: LocalNode) -> None:
    local.mine_by_hand()
    with pytest.raises(RpcError, match="the transaction is pending") as refusal:
        local.ask("eth_sendTransactionSync", FORM, 10)
    assert refusal.value.code == 4
    assert local.ask("eth_getTransactionByHash", refusal.value.data)["blockNumber"] is None


def test_what_no_block_takes_is_refused_at_once(local: LocalNode) -> None:
    with pytest.raises((RpcError, PoolError), match="insufficient funds"):
        local.ask("eth_sendTransactionSync", FORM | {"value": hex(10**24)})
