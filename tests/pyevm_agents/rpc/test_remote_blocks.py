"""Requests to a fork: about local blocks, about remote ones, and over the border."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
import pytest

from pyevm_agents.rpc.dispatcher import DeferredResponse
from pyevm_agents.rpc.methods.registry import collect_methods
from pyevm_agents.rpc.remote_blocks import BLOCKING_METHODS
from tests.pyevm_agents.forking.fake_remote import (
    CONTRACT,
    RECEIVER,
    STORED,
    FakeRemote,
    build_remote_chain,
    fake_remote,
)
from tests.pyevm_agents.forking.forked_node import BALANCE_WEI, forked_node
from tests.pyevm_agents.node.senders_of_tests import ADDRESSES
from tests.pyevm_agents.rpc.served import RefusedError, Served

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyevm_agents.rpc.method_table import RpcMethod

FIRST, SECOND = ("0x" + each.hex() for each in ADDRESSES[:2])
CALLED = "0x" + CONTRACT.hex()
UNKNOWN = "0x" + "12" * 32
LAST_REMOTE = 3
"""The fork block's number."""


@pytest.fixture(scope="module")
def served_remote() -> Iterator[FakeRemote]:
    served = build_remote_chain()
    with fake_remote(served) as remote:
        yield remote
    served.close()


@pytest.fixture
def remote(served_remote: FakeRemote) -> FakeRemote:
    served_remote.faults.change_result = lambda _method, result: result
    served_remote.forget()
    return served_remote


@pytest.fixture
def node(remote: FakeRemote) -> Iterator[Served]:
    with forked_node(remote.url) as served:
        yield served


def ask_batch(node: Served, requests: Sequence[tuple[str, list[Any]]]) -> list[Any]:
    """Send a batch; return the results and errors in order."""
    forms = [
        {"jsonrpc": "2.0", "id": index, "method": method, "params": params}
        for index, (method, params) in enumerate(requests)
    ]
    answer = node.dispatcher.handle(orjson.dumps(forms), node.session)
    if isinstance(answer, DeferredResponse):
        answer = answer()
    answers = {each["id"]: each for each in orjson.loads(answer or b"")}
    return [answers[each].get("result", answers[each].get("error")) for each in range(len(forms))]


def send(node: Served, **told: str) -> str:
    """Send a transaction of the first account; return its hash."""
    return str(node.ask("eth_sendTransaction", {"from": FIRST, "to": RECEIVER, **told}))


def test_the_fork_goes_on_from_the_remotes_block(node: Served, remote: FakeRemote) -> None:
    assert node.ask("eth_blockNumber") == hex(LAST_REMOTE)
    assert node.ask("eth_chainId") == remote.served.ask("eth_chainId")
    mined = node.ask("eth_getTransactionReceipt", send(node, value="0x7"))
    assert mined["blockNumber"] == hex(LAST_REMOTE + 1)
    block = node.ask("eth_getBlockByNumber", "latest", False)  # noqa: FBT003 - JSON-RPC
    before = remote.served.ask("eth_getBlockByNumber", hex(LAST_REMOTE), False)  # noqa: FBT003 - JSON-RPC
    assert block["parentHash"] == before["hash"]
    assert int(block["timestamp"], 16) - int(before["timestamp"], 16) == 1
    assert node.ask("eth_getBalance", RECEIVER) == hex(5 + 7)
    assert node.ask("eth_getStorageAt", CALLED, "0x7") == f"0x{STORED:064x}"
    assert int(node.ask("eth_call", {"to": CALLED}), 16) == STORED


READS: dict[str, tuple[Any, ...]] = {
    "eth_getBlockByNumber": ("0x1", True),
    "eth_getBlockTransactionCountByNumber": ("0x1",),
    "eth_getBlockReceipts": ("0x2",),
    "eth_getTransactionByBlockNumberAndIndex": ("0x1", "0x0"),
    "eth_getHeaderByNumber": ("0x1",),
    "eth_getBalance": (RECEIVER, "0x0"),
    "eth_getTransactionCount": (FIRST, "0x1"),
    "eth_getCode": (CALLED, "0x1"),
    "eth_getStorageAt": (CALLED, "0x7", "0x1"),
    "eth_getProof": (CALLED, ["0x7"], "0x2"),
    "eth_call": ({"to": CALLED}, "0x1"),
    "eth_estimateGas": ({"to": CALLED}, "0x1"),
    "eth_feeHistory": ("0x2", "0x1", [50]),
    "eth_getLogs": ({"fromBlock": "0x0", "toBlock": "0x2"},),
    "debug_traceBlockByNumber": ("0x2", {"tracer": "callTracer"}),
    "debug_getRawBlock": ("0x1",),
    "trace_block": ("0x1",),
    "ots_getBlockDetails": ("0x1",),
}
"""Requests about remote blocks."""


@pytest.mark.parametrize("method", READS)
def test_remote_blocks_are_the_remotes_answer(
    node: Served, remote: FakeRemote, method: str
) -> None:
    assert node.ask(method, *READS[method]) == remote.served.ask(method, *READS[method])
    assert remote.asked[-1] == [method]


def test_the_latest_block_is_the_fork_block_until_there_is_a_local_one(
    node: Served, remote: FakeRemote
) -> None:
    expected = remote.served.ask("eth_getBlockByNumber", hex(LAST_REMOTE), True)  # noqa: FBT003 - JSON-RPC
    remote.served.ask("evm_mine")  # The remote's own latest block.
    try:
        assert node.ask("eth_getBlockByNumber", "latest", True) == expected  # noqa: FBT003 - JSON-RPC
        assert node.ask("eth_getBlockByNumber", hex(LAST_REMOTE + 1)) is None
    finally:
        remote.served.ask("anvil_rollback", 1)
    assert node.ask("eth_getBlockReceipts", "latest") == []
    assert node.ask("eth_getBlockByNumber", "earliest")["number"] == "0x0"
    assert node.ask("eth_getBalance", FIRST, hex(LAST_REMOTE)) == hex(BALANCE_WEI)
    assert node.ask("eth_getBalance", FIRST, hex(LAST_REMOTE - 1)) != hex(BALANCE_WEI)


def test_a_batch_is_few_round_trips(node: Served, remote: FakeRemote) -> None:
    blocks = [remote.served.ask("eth_getBlockByNumber", hex(each)) for each in (1, 2)]
    hashes = [each for block in blocks for each in block["transactions"]]
    strangers = [f"0x{each:040x}" for each in range(1_000, 1_040)]
    local = send(node)
    requests: list[tuple[str, list[Any]]] = [
        *(("eth_getBalance", [each, "latest"]) for each in strangers),
        *(("eth_getTransactionCount", [each]) for each in strangers),
        *(("eth_getStorageAt", [CALLED, hex(each), "pending"]) for each in range(40)),
        *(("eth_getTransactionReceipt", [each]) for each in [*hashes, UNKNOWN, local]),
        ("eth_getTransactionByHash", [hashes[0]]),
        ("eth_getBalance", [RECEIVER, hex(LAST_REMOTE)]),
        ("eth_getBalance", ["no address"]),
        ("no_method", []),
    ]
    remote.forget()
    results = ask_batch(node, requests)
    # Three of accounts, one of slots, one of transactions with receipts, and one of the unknown
    # transaction again, as a null is not kept.
    assert len(remote.asked) == 6
    alone = [ask_alone(node, *each) for each in requests]
    assert results == alone
    assert results[80 + 7] == f"0x{STORED:064x}"
    assert [each and each["blockNumber"] for each in results[120:124]] == [
        "0x1",
        "0x2",
        None,
        hex(LAST_REMOTE + 1),
    ]


def test_a_batch_without_the_remote_has_an_error_for_each_request(
    node: Served, remote: FakeRemote
) -> None:
    remote.faults.error = {"code": -32000, "message": "out of order"}
    try:
        results = ask_batch(
            node,
            [
                ("eth_getBalance", ["0x" + "31" * 20]),
                ("eth_getStorageAt", [CALLED, "0x31"]),
                ("eth_chainId", []),
            ],
        )
    finally:
        remote.faults.error = None
    assert [each["code"] for each in results[:2]] == [-32002, -32002]
    assert "out of order" in results[0]["message"]
    assert results[2] == node.ask("eth_chainId")


def ask_alone(node: Served, method: str, params: list[Any]) -> Any:  # noqa: ANN401 - JSON
    try:
        return node.ask(method, *params)
    except RefusedError as error:
        return {"code": error.code, "message": error.message}


def test_hashes_are_looked_up_here_and_then_there(node: Served, remote: FakeRemote) -> None:
    block = remote.served.ask("eth_getBlockByNumber", "0x1", True)  # noqa: FBT003 - JSON-RPC
    [transaction] = block["transactions"]
    assert node.ask("eth_getBlockByHash", block["hash"], True) == block  # noqa: FBT003 - JSON-RPC
    assert node.ask("eth_getTransactionByHash", transaction["hash"]) == transaction
    for method in ("eth_getTransactionReceipt", "debug_traceTransaction", "trace_transaction"):
        answer = remote.served.ask(method, transaction["hash"])
        assert node.ask(method, transaction["hash"]) == answer
    state = {"blockHash": block["hash"]}
    assert node.ask("eth_getCode", CALLED, state) == remote.served.ask("eth_getCode", CALLED, "0x1")
    for method in ("eth_getTransactionByHash", "eth_getTransactionReceipt", "eth_getBlockByHash"):
        assert node.ask(method, UNKNOWN) is None


def test_what_the_remote_mined_after_the_fork_block_is_unknown(remote: FakeRemote) -> None:
    block = remote.served.ask("eth_getBlockByNumber", "0x2", True)  # noqa: FBT003 - JSON-RPC
    [transaction] = block["transactions"]
    with forked_node(remote.url, block_number=1) as node:
        assert node.ask("eth_getBlockByHash", block["hash"]) is None
        assert node.ask("eth_getTransactionByHash", transaction["hash"]) is None
        assert node.ask("eth_getTransactionReceipt", transaction["hash"]) is None
        with pytest.raises(RefusedError, match="header not found"):
            node.ask("eth_getCode", CALLED, {"blockHash": block["hash"]})
        assert node.ask("eth_getLogs", {"fromBlock": "0x0", "toBlock": "latest"}) == []


def test_a_local_transaction_asks_the_remote_nothing(node: Served, remote: FakeRemote) -> None:
    made = send(node)
    remote.forget()
    assert node.ask("eth_getTransactionReceipt", made)["status"] == "0x1"
    assert node.ask("eth_getBlockByNumber", "latest")["transactions"] == [made]
    assert remote.asked == []


# Emits a log without topics: LOG0 of nothing.
LOGGER = "6000 6000 a0 00".replace(" ", "")


def test_logs_over_the_border_are_joined(remote: FakeRemote) -> None:
    logger = "0x" + "1c" * 20
    remote.served.ask("anvil_setCode", logger, "0x" + LOGGER)
    snapshot = remote.served.ask("evm_snapshot")
    remote.served.ask("eth_sendTransaction", {"from": FIRST, "to": logger})
    try:
        with forked_node(remote.url) as node:
            node.ask("eth_sendTransaction", {"from": FIRST, "to": logger})
            numbers = [
                [int(log["blockNumber"], 16) for log in node.ask("eth_getLogs", criteria)]
                for criteria in (
                    {"fromBlock": "earliest", "address": logger},
                    {"fromBlock": "0x0", "toBlock": "0x4", "address": [logger, FIRST]},
                    {"fromBlock": "0x5"},
                    {"fromBlock": "0x0", "address": FIRST},
                    {"fromBlock": "0x0", "topics": [UNKNOWN]},
                    {"blockHash": node.ask("eth_getBlockByNumber", "0x4")["hash"]},
                    {"blockHash": node.ask("eth_getBlockByNumber", "0x5")["hash"]},
                )
            ]
            assert numbers == [[4, 5], [4], [5], [], [], [4], [5]]
            entry = node.ask("eth_newFilter", {"fromBlock": "0x0"})
            assert len(node.ask("eth_getFilterLogs", entry)) == 2
    finally:
        remote.served.ask("evm_revert", snapshot)


def test_runs_calls_and_changes_are_those_of_local_blocks(node: Served, remote: FakeRemote) -> None:
    sent = send(node, value="0x7")
    remote.forget()
    assert node.ask("agent_getRuns", "earliest", "latest") == []
    assert node.ask("agent_getRuns", "0x0", "0xffff") == []
    assert remote.asked == []
    traced = node.ask("agent_traceCalls", sent)
    assert [each["amount"] for each in traced["transfers"]] == ["7"]
    (change,) = [each for each in traced["changes"] if each["address"].lower() == RECEIVER]
    assert change["balance"] == {"before": "5", "after": "12"}
    remote_hash = remote.served.ask("eth_getBlockByNumber", "0x1")["transactions"][0]
    with pytest.raises(RefusedError, match="not mined"):
        node.ask("agent_traceCalls", remote_hash)


def test_a_fee_history_over_the_border_is_joined(node: Served, remote: FakeRemote) -> None:
    send(node)
    history = node.ask("eth_feeHistory", "0x3", "latest", [10, 90])
    assert history["oldestBlock"] == "0x2"
    assert [len(history[name]) for name in sorted(history) if name != "oldestBlock"] == [
        *(4, 4, 3, 3, 3),
    ]
    fees = [int(node.ask("eth_getBlockByNumber", hex(n))["baseFeePerGas"], 16) for n in (2, 3, 4)]
    assert [int(fee, 16) for fee in history["baseFeePerGas"][:3]] == fees
    only_remote = remote.served.ask("eth_feeHistory", "0x2", "0x3", [10, 90])
    assert history["reward"][:2] == only_remote["reward"]
    local = node.ask("eth_feeHistory", "0x1", "latest")
    assert (local["oldestBlock"], len(local["baseFeePerGas"])) == ("0x4", 2)


def test_a_history_with_other_blocks_is_a_fault(node: Served, remote: FakeRemote) -> None:
    remote.faults.change_result = lambda _method, result: result | {"baseFeePerGas": []}
    with pytest.raises(RefusedError, match="eth_feeHistory: the result has not the 2 blocks"):
        node.ask("eth_feeHistory", "0x2", "latest")


def test_transactions_of_unknown_types_pass_as_they_are(node: Served, remote: FakeRemote) -> None:
    deposit = {
        "type": "0x7e",
        "hash": UNKNOWN,
        "blockNumber": "0x1",
        "mint": "0x1",
        "sourceHash": UNKNOWN,
        "depositReceiptVersion": 2**60,
    }

    def serve(method: str, result: Any) -> Any:  # noqa: ANN401 - JSON
        if method in {"eth_getTransactionByHash", "eth_getTransactionReceipt"}:
            return deposit
        return result | {"transactions": [deposit]} if method == "eth_getBlockByNumber" else result

    remote.faults.change_result = serve
    assert node.ask("eth_getTransactionByHash", UNKNOWN) == deposit
    assert node.ask("eth_getTransactionReceipt", UNKNOWN) == deposit
    assert node.ask("eth_getBlockByNumber", "0x1", True)["transactions"] == [deposit]  # noqa: FBT003 - JSON-RPC


def test_the_remotes_error_is_passed_on(node: Served) -> None:
    with pytest.raises(RefusedError) as local:
        node.ask("eth_call", {"to": CALLED, "data": "0x01"}, "0x7")
    assert "header not found" in local.value.message
    with pytest.raises(RefusedError) as refused:
        node.ask("eth_call", {"data": "0x60006000fd", "gas": "0x30d40"}, "0x1")
    assert (refused.value.code, refused.value.message) == (3, "execution reverted")


def test_a_remote_that_is_gone_is_a_fault_and_mines_nothing(
    node: Served, remote: FakeRemote
) -> None:
    remote.faults.statuses = [(503, {})] * 20
    try:
        with pytest.raises(RefusedError, match="HTTP status 503") as refused:
            node.ask("eth_getBalance", "0x" + "ab" * 20)
        assert refused.value.code == -32002
        assert remote.url.rpartition("/")[2] not in refused.value.message
        with pytest.raises(RefusedError, match="HTTP status 503"):
            send(node, to="0x" + "ab" * 20, gas="0x5208")
        assert node.ask("eth_blockNumber") == hex(LAST_REMOTE)
    finally:
        remote.faults.statuses = []
    assert node.ask("eth_getTransactionReceipt", send(node))["status"] == "0x1"


def test_local_blocks_have_no_proofs(node: Served) -> None:
    node.ask("evm_mine")
    with pytest.raises(RefusedError, match="not available, as their state root is not Ethereum's"):
        node.ask("eth_getProof", CALLED, [], "latest")


def test_searches_stop_at_the_first_local_block(node: Served) -> None:
    made = send(node)
    page = node.ask("ots_searchTransactionsBefore", FIRST, 0, 10)
    assert [each["hash"] for each in page["txs"]] == [made]
    assert page["lastPage"]
    page = node.ask("ots_searchTransactionsAfter", FIRST, 0, 10)
    assert [each["hash"] for each in page["txs"]] == [made]
    assert [each["transactionHash"] for each in node.ask("trace_filter", {})] == [made]


def test_methods_that_may_ask_the_remote_do_not_run_on_the_event_loop(node: Served) -> None:
    service = node.service
    assert not any(service.is_quick(method) for method in BLOCKING_METHODS)
    assert service.is_quick("eth_chainId")
    assert collect_methods().keys() >= BLOCKING_METHODS


def test_quick_methods_that_name_a_block_are_blocking_on_a_fork() -> None:
    parsers = {"parse_block_id", "parse_hash32"}

    def names_block(method: RpcMethod) -> bool:
        return any(
            getattr(getattr(each, "parse", each), "__name__", "") in parsers
            for each in method.parameters
        )

    quick = {m.name for m in collect_methods().values() if m.is_quick and names_block(m)}
    assert {name for name in quick if name.startswith("eth_")} <= BLOCKING_METHODS
