"""Dropped transactions, reverts, reorgs, dumps and loads."""

from __future__ import annotations

import gzip
import json
import threading
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.rpc.context import RequestContext
from pyevm_agents.rpc.errors import INVALID_PARAMS, RpcError, WouldBlockError
from pyevm_agents.rpc.filters import EventSystem
from pyevm_agents.rpc.methods import anvil_state
from pyevm_agents.rpc.methods.anvil_snapshots import MAX_INLINE_REVERT_BLOCKS, revert, snapshot
from tests.deadlines import HANG_SECONDS
from tests.pyevm_agents.rpc.local_node import (
    ETHER,
    FIRST,
    SECOND,
    START_SECONDS,
    STRANGER,
    LocalNode,
    local_node,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def local() -> Iterator[LocalNode]:
    with local_node() as local:
        yield local


def test_a_dropped_transaction_waits_no_more(local: LocalNode) -> None:
    local.mine_by_hand()
    sent = local.send()
    assert local.ask("anvil_dropTransaction", sent) == sent
    assert local.ask("anvil_dropTransaction", sent) is None
    assert local.ask("eth_pendingTransactions") == []


def test_all_of_an_account_or_of_everybody_is_dropped(local: LocalNode) -> None:
    local.mine_by_hand()
    local.send()
    local.send(**{"from": SECOND})
    local.ask("anvil_removePoolTransactions", FIRST)
    assert [one["from"] for one in local.ask("eth_pendingTransactions")] == [SECOND]
    local.ask("anvil_dropAllTransactions")
    assert local.ask("eth_pendingTransactions") == []


def test_automatic_mining_makes_no_block_of_what_can_not_be_mined_yet(local: LocalNode) -> None:
    is_automatic = True
    local.mine_by_hand()
    local.send(nonce="0x1")
    local.ask("evm_setAutomine", is_automatic)
    assert local.number("eth_blockNumber") == 0
    local.mine_by_hand()
    local.send(nonce="0x0")
    local.ask("evm_setAutomine", is_automatic)
    assert local.number("eth_blockNumber") == 1
    assert len(local.block("latest")["transactions"]) == 2


@pytest.mark.parametrize(
    ("method", "params"),
    [("anvil_mine", ["0x186a1"]), ("hardhat_mine", [100_001]), ("evm_mine", [{"blocks": 2**40}])],
)
def test_no_request_makes_blocks_for_ever(
    local: LocalNode, method: str, params: list[object]
) -> None:
    with pytest.raises(RpcError, match="must be at most 100000 blocks at a time"):
        local.ask(method, *params)


def test_a_block_in_five_hundred_years_is_waited_for(local: LocalNode) -> None:
    local.ask("evm_setIntervalMining", "0xffffffffffffffff")
    local.ask("evm_setIntervalMining", 0)
    assert local.number("eth_blockNumber") == 0


def test_rollback_undoes_blocks(local: LocalNode) -> None:
    first, second = local.send(), local.send()
    local.ask("anvil_rollback")
    assert local.number("eth_blockNumber") == 1
    assert local.number("eth_getTransactionCount", FIRST) == 1
    assert local.ask("eth_getTransactionReceipt", second) is None
    assert local.ask("eth_getTransactionReceipt", first)["status"] == "0x1"
    assert local.block("0x2") is None
    local.send()
    local.send()
    assert local.number("eth_blockNumber") == 3


def test_rollback_beyond_genesis_is_refused(local: LocalNode) -> None:
    with pytest.raises(RpcError, match="current height 0, depth 1") as refusal:
        local.ask("anvil_rollback", 1)
    assert refusal.value.code == INVALID_PARAMS


def test_a_rollback_can_be_reverted(local: LocalNode) -> None:
    local.send()
    before = local.block("latest")["hash"]
    snapshot = local.ask("evm_snapshot")
    local.ask("anvil_rollback", 1)
    local.ask("evm_mine")
    assert local.ask("evm_revert", snapshot)
    assert local.block("latest")["hash"] == before
    local.send()
    assert local.number("eth_blockNumber") == 2


def test_what_takes_long_to_undo_is_not_undone_in_passing(local: LocalNode) -> None:
    rpc = RequestContext(node=local.node, events=EventSystem(local.node), may_wait=False)
    few, many = (local.node.history.snapshot() for _ in range(2))
    local.ask("anvil_mine", hex(MAX_INLINE_REVERT_BLOCKS + 1))
    with pytest.raises(WouldBlockError):
        revert(rpc, many)
    assert local.number("eth_blockNumber") == MAX_INLINE_REVERT_BLOCKS + 1
    local.ask("anvil_rollback", 1)
    assert revert(rpc, many)
    assert local.number("eth_blockNumber") == 0
    assert revert(rpc, few)
    assert not revert(rpc, few)


def test_nothing_changes_in_passing_while_something_is_under_way(local: LocalNode) -> None:
    rpc = RequestContext(node=local.node, events=EventSystem(local.node), may_wait=False)
    may_end = threading.Event()
    under_way = local.node.submit_change(lambda: may_end.wait(HANG_SECONDS))
    with pytest.raises(WouldBlockError):
        snapshot(rpc)
    may_end.set()
    assert under_way.result(HANG_SECONDS)
    assert local.node.history.snapshots == {}


def test_reorg_replaces_blocks_and_tells_of_it(local: LocalNode) -> None:
    local.ask("evm_mine")
    gone = local.send()
    old = [local.block(hex(n))["hash"] for n in (1, 2)]
    told = local.ask("eth_newFilter", {})
    local.ask("anvil_reorg", 2, [[{"from": SECOND, "to": STRANGER, "value": "0x7"}, 1]])
    new = [local.block(hex(n)) for n in (1, 2)]
    assert local.number("eth_blockNumber") == 2
    assert [one["hash"] for one in new] != old
    assert [len(one["transactions"]) for one in new] == [0, 1]
    assert local.number("eth_getBalance", STRANGER) == 7
    assert local.ask("eth_getTransactionByHash", gone) is None
    assert local.ask("eth_getFilterChanges", told) == []


def test_a_reorg_takes_signed_transactions(local: LocalNode) -> None:
    signed = local.ask("eth_signTransaction", {"from": FIRST, "to": STRANGER, "value": "0x5"})
    local.ask("evm_mine")
    local.ask("anvil_reorg", 1, [[signed["raw"], 0]])
    assert local.number("eth_getBalance", STRANGER) == 5


def test_a_reorg_that_no_block_can_hold_changes_nothing(local: LocalNode) -> None:
    local.send()
    before = local.block("latest")["hash"]
    bad = local.ask("eth_signTransaction", {"from": FIRST, "to": SECOND, "nonce": "0x9"})
    with pytest.raises(RpcError, match="invalid transaction"):
        local.ask("anvil_reorg", 1, [[bad["raw"], 0]])
    assert local.block("latest")["hash"] == before


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ([2, []], "must be at most the chain's height, 1"),
        ([1, [[{"from": FIRST}, 1]]], "must be an index from 0 to 0"),
        ([1, [[{"from": FIRST}]]], "must be a transaction and the index of its block"),
    ],
)
def test_a_reorg_that_makes_no_sense_is_refused(
    local: LocalNode, params: list[object], message: str
) -> None:
    local.ask("evm_mine")
    with pytest.raises(RpcError, match=message):
        local.ask("anvil_reorg", *params)


def test_reset_goes_back_to_genesis(local: LocalNode) -> None:
    local.send()
    local.ask("anvil_setBalance", STRANGER, "0x1")
    local.ask("anvil_impersonateAccount", STRANGER)
    instance = local.ask("anvil_metadata")["instanceId"]
    local.ask("evm_snapshot")
    local.mine_by_hand()
    local.send()
    local.ask("hardhat_reset")
    assert local.number("eth_blockNumber") == 0
    assert local.number("eth_getBalance", FIRST) == 10_000 * ETHER
    assert local.number("eth_getBalance", STRANGER) == 0
    assert local.ask("eth_pendingTransactions") == []
    assert local.ask("anvil_metadata")["snapshots"] == {}
    assert local.ask("anvil_metadata")["instanceId"] != instance
    with pytest.raises(RpcError, match="No Signer available"):
        local.send(**{"from": STRANGER})


def test_whom_the_node_impersonates_is_among_its_accounts(local: LocalNode) -> None:
    own = local.ask("eth_accounts")
    for account in (STRANGER, FIRST):
        local.ask("anvil_impersonateAccount", account)
    assert local.ask("eth_accounts") == [*own, STRANGER]
    local.ask("anvil_stopImpersonatingAccount", STRANGER)
    assert local.ask("eth_accounts") == own


def test_forking_needs_a_node_that_can_open_forks(local: LocalNode) -> None:
    with pytest.raises(RpcError, match="this node can't fork again: open a new one"):
        local.ask("anvil_reset", {"forking": {"jsonRpcUrl": "http://127.0.0.1:1"}})
    with pytest.raises(RpcError, match="must be jsonRpcUrl and blockNumber"):
        local.ask("anvil_reset", {"forking": {"url": "http://127.0.0.1:1"}})
    with pytest.raises(RpcError, match="does not exist/is not available: the URL belongs to"):
        local.ask("anvil_setRpcUrl", "http://127.0.0.1:1")


def test_a_dump_restores_accounts_code_storage_number_and_time(local: LocalNode) -> None:
    counter = local.deploy("Counter")
    local.ask("anvil_setStorageAt", counter, "0x7", "0x" + "00" * 31 + "2a")
    local.send()
    local.ask("evm_mine", {"timestamp": START_SECONDS + 1_000_000})
    dump = local.ask("anvil_dumpState")
    number = local.number("eth_blockNumber")
    balance = local.number("eth_getBalance", FIRST)
    code = local.ask("eth_getCode", counter)
    with local_node() as other:
        assert other.ask("anvil_loadState", dump) is True
        assert other.number("eth_blockNumber") == number
        latest = other.block("latest")
        assert int(latest["timestamp"], 16) == START_SECONDS + 1_000_000
        assert other.number("eth_getBalance", FIRST) == balance
        assert other.number("eth_getTransactionCount", FIRST) == 2
        assert other.ask("eth_getCode", counter) == code != "0x"
        assert other.number("eth_getStorageAt", counter, "0x7") == 42
        assert other.send()
        assert other.number("eth_blockNumber") == number + 1


def test_what_is_loaded_stands_beside_what_there_is(local: LocalNode) -> None:
    dump = local.ask("anvil_dumpState")
    local.ask("anvil_setBalance", STRANGER, "0x9")
    local.send()
    local.ask("anvil_loadState", dump)
    assert local.number("eth_getBalance", STRANGER) == 9
    assert local.number("eth_getBalance", FIRST) == 10_000 * ETHER
    assert local.number("eth_blockNumber") == 1


def _packed(form: object) -> str:
    return "0x" + gzip.compress(json.dumps(form).encode(), mtime=0).hex()


BLOCK = {"number": "0x0", "timestamp": "0x1"}
FORMAT = "pyevm-agents-state-1"


@pytest.mark.parametrize(
    ("dump", "message"),
    [
        ("0x12", "Failed to decode state dump"),
        ("0x" + gzip.compress(b"[" * 200_000, mtime=0).hex(), "Failed to decode state dump"),
        (_packed([]), "not a state dump"),
        (_packed({"format": "other", "accounts": {}}), "state dump format 'other'"),
        (
            _packed({"format": FORMAT, "block": BLOCK, "accounts": []}),
            "not in the format of anvil_dumpState",
        ),
        (_packed({"format": FORMAT, "block": BLOCK, "accounts": {"0x1": {}}}), "not in the format"),
        (_packed({"format": FORMAT}), "block None"),
        (
            _packed({"format": FORMAT, "block": BLOCK | {"number": "0xffffff"}, "accounts": {}}),
            "at most 10000; mine blocks first",
        ),
        ("0x" + gzip.compress(b"{}", mtime=0).hex()[:-8], "truncated"),
    ],
)
def test_what_is_no_dump_is_refused(local: LocalNode, dump: str, message: str) -> None:
    with pytest.raises(RpcError, match=message):
        local.ask("anvil_loadState", dump)
    assert local.number("eth_getBalance", FIRST) == 10_000 * ETHER


def test_a_dump_that_unpacks_to_too_much_is_refused(
    local: LocalNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(anvil_state, "MAX_DUMP_BYTES", 1_000)
    with pytest.raises(RpcError, match="must be at most 1,000 bytes of JSON"):
        local.ask("anvil_loadState", "0x" + gzip.compress(b" " * 2_000, mtime=0).hex())


def test_a_bomb_of_empty_lists_is_refused_before_it_is_parsed(local: LocalNode) -> None:
    bomb = gzip.compress(b"[" + b"[]," * 11_000_000 + b"[]]", mtime=0)
    assert len(bomb) < 40_000
    with pytest.raises(RpcError, match="at most 5,000,000 commas and opening brackets"):
        local.ask("anvil_loadState", "0x" + bomb.hex())


def test_node_info_and_metadata_are_those_of_the_chain(local: LocalNode) -> None:
    local.ask("evm_mine")
    snapshot = local.ask("evm_snapshot")
    head = local.block("latest")
    info = local.ask("anvil_nodeInfo")
    assert info["currentBlockHash"] == head["hash"]
    assert info["environment"]["chainId"] == 31_337
    assert info["hardFork"] == "Prague"
    metadata = local.ask("hardhat_metadata")
    assert metadata["latestBlockNumber"] == 1
    assert metadata["snapshots"] == {snapshot: [1, head["hash"]]}


def test_intervals_are_set_told_and_removed(local: LocalNode) -> None:
    assert local.ask("anvil_getIntervalMining") is None
    local.ask("evm_setIntervalMining", 1_000)
    assert local.ask("anvil_getIntervalMining") == 1_000
    local.ask("evm_setIntervalMining", 0)
    assert local.ask("anvil_removeBlockTimestampInterval") is False
    local.ask("evm_mine")
    local.ask("anvil_setBlockTimestampInterval", 60)
    before = local.block("latest")
    local.ask("evm_mine")
    after = local.block("latest")
    assert int(after["timestamp"], 16) == int(before["timestamp"], 16) + 60
    assert local.ask("anvil_removeBlockTimestampInterval") is True


@pytest.mark.parametrize("name", ["evm", "anvil"])
def test_an_interval_is_instead_of_a_block_for_each_transaction(
    local: LocalNode, name: str
) -> None:
    """As in anvil, under both names: viem's test client calls the first."""
    local.ask(f"{name}_setIntervalMining", 1_000)
    assert local.ask("anvil_getAutomine") is False
    assert local.ask("eth_getTransactionReceipt", local.send()) is None
    local.ask(f"{name}_setIntervalMining", 0)
    assert local.ask("anvil_getIntervalMining") is None
    assert local.ask("anvil_getAutomine") is False


def test_mining_in_detail_returns_the_blocks(local: LocalNode) -> None:
    local.mine_by_hand()
    sent = local.send()
    first, second = local.ask("evm_mine_detailed", {"blocks": 2})
    assert [one["hash"] for one in first["transactions"]] == [sent]
    assert first["transactions"][0]["output"] == "0x"
    assert second["number"] == "0x2"


def test_unsigned_transactions_go_in_anybodys_name(local: LocalNode) -> None:
    local.ask("anvil_setBalance", STRANGER, hex(ETHER))
    form = {"from": STRANGER, "to": SECOND, "value": "0x5"}
    sent = local.ask("eth_sendUnsignedTransaction", form)
    assert local.ask("eth_getTransactionReceipt", sent)["from"] == STRANGER
    with pytest.raises(RpcError, match="missing from"):
        local.ask("eth_sendUnsignedTransaction", {"to": SECOND})


def test_the_log_can_be_turned_off(local: LocalNode) -> None:
    assert local.node.is_logging
    is_wanted = False
    local.ask("anvil_setLoggingEnabled", is_wanted)
    assert not local.node.is_logging


def test_genesis_time_is_told(local: LocalNode) -> None:
    assert local.ask("anvil_getGenesisTime") == 1_735_689_600
