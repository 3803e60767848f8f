"""Methods in addition to execution-apis."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pyevm_agents.rpc.errors import INVALID_PARAMS, METHOD_NOT_FOUND, RpcError
from tests.pyevm_agents.rpc.local_node import FIRST, SECOND, STRANGER, LocalNode, local_node

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def local() -> Iterator[LocalNode]:
    with local_node() as local:
        yield local


def test_a_transaction_is_found_by_sender_and_nonce(local: LocalNode) -> None:
    sent = []
    for _ in range(3):
        local.ask("evm_mine")
        sent.append(local.send())
    local.mine_by_hand()
    sent.append(local.send())
    for nonce, one in enumerate(sent):
        found = local.ask("eth_getTransactionBySenderAndNonce", FIRST, hex(nonce))
        assert found["hash"] == one
    assert local.ask("eth_getTransactionBySenderAndNonce", FIRST, "0x4") is None
    assert local.ask("eth_getTransactionBySenderAndNonce", SECOND, "0x0") is None


def test_a_nonce_that_was_set_has_no_transaction(local: LocalNode) -> None:
    local.ask("anvil_setNonce", FIRST, "0x5")
    assert local.ask("eth_getTransactionBySenderAndNonce", FIRST, "0x3") is None


@pytest.mark.parametrize("method", ["eth_getBlockByHash", "eth_getHeaderByHash"])
def test_the_hash_of_something_else_that_is_kept_is_no_blocks(
    local: LocalNode, method: str
) -> None:
    root = local.block("latest")["stateRoot"]
    assert local.ask(method, root) is None
    code = local.ask("eth_getCode", local.deploy("Counter"), "latest")
    assert local.ask(method, local.ask("web3_sha3", code)) is None


@pytest.mark.parametrize("raw", ["0x", "0x00", "0x05c0", "0x7f", "0xc0", "0x02", "0x02c0"])
def test_bytes_that_are_no_transaction_are_refused(local: LocalNode, raw: str) -> None:
    with pytest.raises(RpcError) as told:
        local.ask("eth_sendRawTransaction", raw)
    assert told.value.code == INVALID_PARAMS


@pytest.mark.parametrize(
    ("told", "kind"),
    [
        ({}, "0x2"),
        ({"gasPrice": "0x77359400"}, "0x0"),
        ({"gasPrice": "0x77359400", "accessList": []}, "0x1"),
        ({"accessList": []}, "0x2"),
    ],
)
def test_a_transactions_type_is_the_least_that_has_what_is_told(
    local: LocalNode, told: dict[str, object], kind: str
) -> None:
    sent = local.send(**told)
    assert local.ask("eth_getTransactionByHash", sent)["type"] == kind


def test_raw_transactions_are_returned(local: LocalNode) -> None:
    signed = local.ask("eth_signTransaction", {"from": FIRST, "to": SECOND})
    local.mine_by_hand()
    sent = local.ask("eth_sendRawTransaction", signed["raw"])
    assert local.ask("eth_getRawTransactionByHash", sent) == signed["raw"]
    local.ask("evm_mine")
    assert local.ask("eth_getRawTransactionByHash", sent) == signed["raw"]
    at = "eth_getRawTransactionByBlockNumberAndIndex"
    assert local.ask(at, "latest", "0x0") == signed["raw"]
    assert local.ask(at, "latest", "0x1") is None
    block = local.block("latest")["hash"]
    by_hash = "eth_getRawTransactionByBlockHashAndIndex"
    assert local.ask(by_hash, block, "0x0") == signed["raw"]
    assert local.ask("eth_getRawTransactionByHash", "0x" + "11" * 32) is None


def test_what_waits_is_listed(local: LocalNode) -> None:
    local.mine_by_hand()
    sent = [local.send(), local.send(nonce="0x7")]
    assert [one["hash"] for one in local.ask("eth_pendingTransactions")] == sent


def test_the_coinbase_is_who_gets_the_fees(local: LocalNode) -> None:
    assert local.ask("eth_coinbase") == "0x" + "00" * 20
    local.ask("anvil_setCoinbase", STRANGER)
    assert local.ask("eth_coinbase") == STRANGER


def test_there_are_no_uncles_and_no_miners(local: LocalNode) -> None:
    assert local.ask("eth_getUncleByBlockNumberAndIndex", "0x0", "0x0") is None
    genesis = local.block("0x0")["hash"]
    assert local.ask("eth_getUncleByBlockHashAndIndex", genesis, "0x0") is None
    assert local.ask("eth_hashrate") == "0x0"
    assert local.ask("eth_mining") is True
    assert local.ask("eth_networkId") == 31_337
    with pytest.raises(RpcError, match="no proof of work") as refusal:
        local.ask("eth_getWork")
    assert refusal.value.code == METHOD_NOT_FOUND
