"""The state of "pending": it includes the pool for every method."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from eth.vm.forks.prague.constants import HISTORY_STORAGE_ADDRESS, HISTORY_STORAGE_CONTRACT_CODE
from eth_utils import to_hex
from hypothesis import given, settings
from hypothesis import strategies as st

from pyevm_agents.chain import DraftBlock
from pyevm_agents.node import MiningMode, pending_block
from pyevm_agents.node.pending_block import PendingBlockBuilder, PendingTransactions
from pyevm_agents.rpc.errors import WouldBlockError
from pyevm_agents.rpc.session import Session
from tests.pyevm_agents.node.senders_of_tests import ADDRESSES, GWEI, NOBODY
from tests.pyevm_agents.rpc.contracts_to_trace import (
    CALLER,
    CALLER_ADDRESS,
    CODES,
    COUNTER,
    COUNTER_ADDRESS,
    REVERTING,
    SENDER,
    send,
)
from tests.pyevm_agents.rpc.served import START, RefusedError, Served
from tests.pyevm_agents.tracing.assembler import asm
from tests.thinking_node import ThinkingNode

if TYPE_CHECKING:
    from collections.abc import Callable

    from eth.abc import BlockHeaderAPI, SignedTransactionAPI

    Serve = Callable[..., Served]

ACCOUNTS = [to_hex(one) for one in (*ADDRESSES, NOBODY, COUNTER_ADDRESS, CALLER_ADDRESS)]
OUTPUT = {"from": SENDER, "to": COUNTER, "gas": hex(100_000)}
"""Increments a counter and returns it."""


@pytest.fixture
def served(serve: Serve) -> Served:
    return serve(codes=CODES, is_automatic=False)


def word(number: int) -> str:
    return f"0x{number:064x}"


def seen(served: Served, block: str) -> dict[str, Any]:
    """Return the results of reads, calls and estimates on a block."""
    told: dict[str, Any] = {
        "call": served.ask("eth_call", OUTPUT, block),
        "estimate": served.ask("eth_estimateGas", {"from": SENDER, "to": COUNTER}, block),
        "list": served.ask("eth_createAccessList", OUTPUT, block),
        "traced": served.ask("debug_traceCall", OUTPUT, block, {"tracer": "callTracer"}),
        "difference": served.ask("trace_call", OUTPUT, ["stateDiff"], block)["stateDiff"],
        "many": served.ask("trace_callMany", [[OUTPUT, ["trace"]]] * 2, block),
        "bundles": served.ask(
            "eth_callMany", [{"transactions": [OUTPUT] * 2}], {"blockNumber": block}
        ),
        "simulated": [
            one["calls"]
            for one in served.ask(
                "eth_simulateV1", {"blockStateCalls": [{"calls": [OUTPUT]}]}, block
            )
        ],
        "slots": served.ask("eth_getStorageValues", {COUNTER: [word(0), word(1)]}, block),
    }
    for account in ACCOUNTS:
        told[account] = [
            served.ask(f"eth_get{name}", account, block)
            for name in ("Balance", "Code", "Account", "AccountInfo")
        ]
        told[account].append(served.ask("eth_getStorageAt", account, "0x0", block))
        told[account].append(served.ask("eth_getProof", account, ["0x0"], block))
    return told


SENT = st.lists(
    st.tuples(
        st.integers(0, len(ADDRESSES) - 1),
        st.sampled_from([COUNTER, CALLER, REVERTING, to_hex(NOBODY), to_hex(ADDRESSES[1])]),
        st.sampled_from([0, 5, 10**18]),
        st.integers(1, 5),
        st.booleans(),
    ),
    max_size=6,
)
"""Sender, recipient, value, tip, and whether the pending state is read afterwards."""


@settings(max_examples=10)
@given(SENT)
def test_what_is_seen_at_pending_is_what_is_seen_when_it_is_mined(
    sent: list[tuple[int, str, int, int, bool]],
) -> None:
    with closing(Served(codes=CODES, is_automatic=False)) as served:
        before = seen(served, "latest")
        for sender, to, value, tip, is_looked_at in sent:
            told = {"from": to_hex(ADDRESSES[sender]), "value": hex(value)}
            send(served, to, **told, maxPriorityFeePerGas=hex(tip * GWEI))
            if is_looked_at:
                served.ask("eth_call", OUTPUT, "pending")
        pending = seen(served, "pending")
        assert seen(served, "latest") == before
        receipts = served.ask("eth_getBlockReceipts", "pending")
        served.ask("evm_mine")
        assert pending == seen(served, "latest")
        mined = served.ask("eth_getBlockReceipts", "latest")
        assert [one["gasUsed"] for one in receipts] == [one["gasUsed"] for one in mined]


def test_numbers_and_hashes_are_those_of_the_pending_block(serve: Serve) -> None:
    code = asm("NUMBER DUP1 PUSH0 MSTORE 0x01 SWAP1 SUB BLOCKHASH 0x20 MSTORE 0x40 PUSH0 RETURN")
    served = serve(codes={**CODES, NOBODY: code}, is_automatic=False)
    served.ask("anvil_mine", "0x2")
    send(served, COUNTER)
    asked = {"to": to_hex(NOBODY)}
    latest = served.ask("eth_getBlockByNumber", "latest", False)["hash"]  # noqa: FBT003 - JSON-RPC has places
    assert served.ask("eth_call", asked, "pending") == word(3) + latest[2:]
    (block,) = served.ask("eth_simulateV1", {"blockStateCalls": [{"calls": [asked]}]}, "pending")
    output = block["calls"][0]["returnData"]
    pending = served.ask("eth_getHeaderByNumber", "pending")
    assert (block["number"], block["parentHash"]) == ("0x4", pending["hash"])
    assert output == word(4) + pending["hash"][2:]


def test_an_estimate_counts_in_what_waits_unless_it_is_mined_at_once(served: Served) -> None:
    """The first increment fills an empty slot, which costs 17,100 gas more than later ones."""
    asked = {"from": SENDER, "to": COUNTER}
    first = served.ask("eth_estimateGas", asked)
    send(served, COUNTER)
    second = served.ask("eth_estimateGas", asked)
    assert (int(first, 16) - int(second, 16), served.ask("eth_estimateGas", asked, "latest")) == (
        17_100,
        first,
    )
    assert served.ask("agent_estimate", asked)["gasLimit"] == int(second, 16)
    del asked["to"]
    asked |= {"to": COUNTER}
    filled = served.ask("eth_fillTransaction", asked)
    assert filled["tx"]["gas"] == second


def test_what_a_block_can_not_hold_is_left_out_with_what_follows_on_from_it(
    served: Served,
) -> None:
    rich, poor, other = (to_hex(one) for one in ADDRESSES[:3])
    most = 99 * 10**18
    send(served, rich, **{"from": poor}, value=hex(most), maxPriorityFeePerGas=hex(9 * GWEI))
    send(served, COUNTER, **{"from": poor}, maxPriorityFeePerGas=hex(2 * GWEI))
    send(served, COUNTER, **{"from": other}, maxPriorityFeePerGas=hex(GWEI))
    served.ask("anvil_setBalance", poor, hex(10**18))
    assert served.ask("eth_getStorageAt", COUNTER, "0x0", "pending") == word(1)
    block = served.ask("eth_getBlockByNumber", "pending", True)  # noqa: FBT003 - JSON-RPC has places
    assert [one["from"] for one in block["transactions"]] == [other]
    served.ask("evm_mine")
    assert served.ask("eth_getStorageAt", COUNTER, "0x0", "latest") == word(1)


def test_what_was_set_is_behind_the_pending_block_too(served: Served) -> None:
    served.ask("anvil_setStorageAt", COUNTER, word(0), word(7))
    sent = send(served, COUNTER)
    assert served.ask("eth_getStorageAt", COUNTER, "0x0", "pending") == word(8)
    (traced,) = served.ask("debug_traceBlockByNumber", "pending", {"tracer": "callTracer"})
    assert (traced["txHash"], traced["result"]["output"]) == (sent, word(8))
    served.ask("anvil_setStorageAt", COUNTER, word(0), word(20))
    assert served.ask("eth_getStorageAt", COUNTER, "0x0", "pending") == word(21)


def test_going_back_and_mining_leave_nothing_behind(served: Served) -> None:
    def count(block: str) -> int:
        return int(served.ask("eth_getStorageAt", COUNTER, "0x0", block), 16)

    send(served, COUNTER)
    kept = served.ask("evm_snapshot")
    send(served, COUNTER)
    assert (count("latest"), count("pending")) == (0, 2)
    served.ask("evm_mine")
    assert (count("latest"), count("pending")) == (2, 2)
    send(served, COUNTER)
    assert (count("latest"), count("pending")) == (2, 3)
    served.ask("evm_revert", kept)
    assert (count("latest"), count("pending")) == (0, 1)
    served.ask("anvil_dropAllTransactions")
    assert (count("latest"), count("pending")) == (0, 0)


@pytest.fixture
def executed(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Return the hashes of the transactions that drafts execute, as they execute them."""
    executed: list[bytes] = []
    add = DraftBlock.add

    def counted(draft: DraftBlock, transaction: SignedTransactionAPI) -> None:
        executed.append(transaction.hash)
        add(draft, transaction)

    monkeypatch.setattr(DraftBlock, "add", counted)
    return executed


def test_no_transaction_is_executed_twice_where_others_follow_on(
    served: Served, executed: list[bytes]
) -> None:
    for count in range(1, 6):
        send(served, COUNTER, **{"from": to_hex(ADDRESSES[count % 2])})
        for _ in range(2):
            assert served.ask("eth_getStorageAt", COUNTER, "0x0", "pending") == word(count)
            assert served.ask("eth_call", OUTPUT, "pending") == word(count + 1)
        block = served.ask("eth_getBlockByNumber", "pending", False)  # noqa: FBT003 - JSON-RPC has places
        assert len(block["transactions"]) == count
    assert len(executed) == len({*executed}) == 5
    # A higher tip comes first: all transactions are executed again.
    send(served, COUNTER, **{"from": to_hex(ADDRESSES[2])}, maxPriorityFeePerGas=hex(9 * GWEI))
    assert served.ask("eth_call", OUTPUT, "pending") == word(7)
    assert len(executed) == 11


def test_a_draft_is_late_by_no_more_than_its_gas_is_worth(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pending_block, "GAS_PER_SECOND", 100_000)
    now = [START + 100.0]
    clock = asm("TIMESTAMP PUSH0 MSTORE 0x20 PUSH0 RETURN")
    burner = asm("JUMPDEST 0x0fa0 GAS GT PUSH0 JUMPI STOP")
    code = {NOBODY: clock, CALLER_ADDRESS: burner}
    served = serve(codes={**CODES, **code}, is_automatic=False, now=lambda: now[0])

    def seen_seconds() -> int:
        shown = int(served.ask("eth_call", {"to": to_hex(NOBODY)}, "pending"), 16)
        header = served.ask("eth_getBlockByNumber", "pending", False)  # noqa: FBT003 - JSON-RPC has places
        assert int(header["timestamp"], 16) == shown
        return int(shown - START)

    send(served, COUNTER)
    assert seen_seconds() == 100
    now[0] += 1
    assert seen_seconds() == 101
    send(served, CALLER, gas=hex(3 * 100_000 + 50_000))
    now[0] += 1
    assert seen_seconds() == 102
    now[0] += 3
    assert seen_seconds() == 102
    now[0] += 1
    assert seen_seconds() == 106
    served.ask("evm_increaseTime", 1)
    assert seen_seconds() == 107
    served.ask("evm_setNextBlockTimestamp", hex(int(START) + 500))
    assert seen_seconds() == 500


def test_a_servers_loop_executes_nothing_of_what_waits(served: Served) -> None:
    def ask(method: str, *params: object) -> object:
        return served.service.call(method, [*params], Session("test"), may_wait=False)

    assert ask("eth_getBalance", SENDER, "pending") == hex(10**20)
    send(served, COUNTER)
    for method, *params in [
        ("eth_getBalance", SENDER, "pending"),
        ("eth_call", OUTPUT, "pending"),
    ]:
        with pytest.raises(WouldBlockError):
            ask(method, *params)
    assert ask("eth_getBalance", SENDER, "latest") == hex(10**20)


def test_a_call_at_pending_is_told_that_it_reverts_or_can_not_be_paid_for(served: Served) -> None:
    poor = to_hex(ADDRESSES[1])
    send(served, SENDER, **{"from": poor}, value=hex(99 * 10**18))
    spent = {"from": poor, "to": SENDER, "value": hex(2 * 10**18)}
    assert served.ask("eth_call", spent, "latest") == "0x"
    for method in ("eth_call", "eth_estimateGas"):
        with pytest.raises(RefusedError, match="insufficient funds"):
            served.ask(method, spent, "pending")
        with pytest.raises(RefusedError, match="execution reverted"):
            served.ask(method, {"to": REVERTING}, "pending")


def test_no_model_is_asked_and_what_stands_before_an_agent_counts() -> None:
    with closing(ThinkingNode(mining=MiningMode(is_automatic=False))) as it:
        before = int(it.ask("eth_getBalance", it.second, "latest"), 16)

        def got(block: str) -> int:
            return int(it.ask("eth_getBalance", it.second, block), 16) - before

        it.ask("eth_sendTransaction", it.transfer())
        it.ask("eth_sendTransaction", it.transfer())
        it.ask("eth_sendTransaction", it.run)
        it.ask("eth_sendTransaction", it.transfer())
        assert (got("latest"), got("pending")) == (0, 2)
        block = it.ask("eth_getBlockByNumber", "pending", False)  # noqa: FBT003 - JSON-RPC has places
        assert len(block["transactions"]) == 4
        assert it.model.requests == []
        told = it.ask("eth_call", it.run, "pending")
        assert len(it.model.requests) == 1, "a call at pending has its model"
        it.ask("evm_mine")
        assert (got("latest"), got("pending")) == (3, 3)
        assert it.ask("eth_call", it.run, "latest") == told


HISTORY = to_hex(HISTORY_STORAGE_ADDRESS)
KNOWS_ITS_PARENT = asm(
    "0x01 NUMBER SUB PUSH0 MSTORE 0x20 PUSH0 0x20 PUSH0 0x"
    + HISTORY[2:]
    + " GAS STATICCALL POP PUSH0 MLOAD 0x2c JUMPI PUSH0 PUSH0 REVERT JUMPDEST 0x20 PUSH0 RETURN"
)
"""Returns the parent's hash of EIP-2935's contract, and reverts if it is empty."""


@pytest.mark.parametrize("is_automatic", [True, False])
@pytest.mark.parametrize("waits", [True, False])
def test_what_a_block_does_before_its_transactions_is_done(
    serve: Serve,
    is_automatic: bool,
    waits: bool,
) -> None:
    codes = {
        **CODES,
        NOBODY: KNOWS_ITS_PARENT,
        HISTORY_STORAGE_ADDRESS: HISTORY_STORAGE_CONTRACT_CODE,
    }
    served = serve(codes=codes, is_automatic=is_automatic)
    served.ask("anvil_mine", "0x3")
    parent = served.ask("eth_getBlockByNumber", "latest", False)["hash"]  # noqa: FBT003 - JSON-RPC has places
    if waits:
        gap = "0x0" if not is_automatic else "0x5"
        send(served, COUNTER, nonce=gap)
    asked = {"from": to_hex(ADDRESSES[1]), "to": to_hex(NOBODY)}
    assert served.ask("eth_call", asked, "pending") == parent
    before = served.ask("eth_getStorageAt", HISTORY, "0x2", "latest")
    assert served.ask("eth_call", asked, "latest") == before
    assert served.ask("eth_getStorageAt", HISTORY, "0x3", "pending") == parent
    proof = served.ask("eth_getProof", HISTORY, ["0x3"], "pending")
    assert proof["storageProof"][0]["value"] == hex(int(parent, 16))
    assert (
        served.ask("debug_traceCall", asked, "pending", {"tracer": "callTracer"})["output"]
        == parent
    )
    least = served.ask("eth_estimateGas", asked)
    sent = served.ask("eth_sendTransaction", asked)
    assert served.ask("eth_getTransactionByHash", sent)["gas"] == least
    served.ask("evm_mine")
    receipt = served.ask("eth_getTransactionReceipt", sent)
    assert receipt["status"] == "0x1"


def test_a_transaction_that_takes_anothers_place_is_not_estimated_behind_it(
    served: Served,
) -> None:
    rich = to_hex(ADDRESSES[1])
    told = {"from": rich, "to": SENDER, "nonce": "0x0"}
    served.ask("eth_sendTransaction", told | {"value": hex(99 * 10**18)})
    other = told | {"value": hex(50 * 10**18), "maxPriorityFeePerGas": hex(5 * GWEI)}
    sent = served.ask("eth_sendTransaction", other | {"maxFeePerGas": hex(50 * GWEI)})
    served.ask("evm_mine")
    assert served.ask("eth_getTransactionReceipt", sent)["status"] == "0x1"


def test_what_an_invalid_one_would_have_used_is_there_for_others(served: Served) -> None:
    rich, other = to_hex(ADDRESSES[0]), to_hex(ADDRESSES[1])
    for gas in (21_000, 20_000_000):
        told = {"from": rich, "value": hex(60 * 10**18), "gas": hex(gas)}
        served.ask("eth_sendTransaction", {**told, "to": to_hex(NOBODY), **dear(9)})
    send(served, COUNTER, **{"from": other}, gas=hex(20_000_000), **dear(1))

    def seen_counts(block: str) -> tuple[int, int]:
        form = served.ask("eth_getBlockByNumber", block, False)  # noqa: FBT003 - JSON-RPC has places
        counted = served.ask("eth_getStorageAt", COUNTER, "0x0", block)
        return len(form["transactions"]), int(counted, 16)

    assert seen_counts("pending") == (2, 1)
    # A transfer before it makes it valid: it is executed again.
    send(served, rich, **{"from": to_hex(ADDRESSES[2])}, value=hex(50 * 10**18), **dear(10))
    assert seen_counts("pending") == (4, 1)
    served.ask("evm_mine")
    assert seen_counts("latest") == (4, 1)


def dear(tip_gwei: int) -> dict[str, str]:
    return {"maxFeePerGas": hex(100 * GWEI), "maxPriorityFeePerGas": hex(tip_gwei * GWEI)}


def test_no_draft_stands_on_one_block_and_leaves_out_what_the_next_has(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    send(served, COUNTER)
    ready = served.node.pool.iter_ready
    mined: list[int] = []

    def late(*told: Any) -> Any:  # noqa: ANN401 - Pool.ready's own
        if not mined:
            mined.append(1)
            served.ask("evm_mine")
        return ready(*told)

    monkeypatch.setattr(served.node.pool, "iter_ready", late)
    assert served.ask("eth_getStorageAt", COUNTER, "0x0", "pending") == word(1)


def test_whoever_looked_at_the_clock_before_is_served_by_a_later_draft(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = []
    begin = served.node.chain.begin_draft

    def counted(header: BlockHeaderAPI) -> DraftBlock:
        begun.append(header.timestamp)
        return begin(header)

    monkeypatch.setattr(served.node.chain, "begin_draft", counted)
    send(served, COUNTER)
    drafts = PendingBlockBuilder(served.node.chain)
    for late in (0, 1, 0, 1, 0):
        header = served.node.next_block.build_header()
        ready = tuple(served.node.pool.iter_ready(served.node.chain.nonce, 0))
        upcoming = PendingTransactions(
            header=header.copy(timestamp=header.timestamp + late),
            max_blobs=6,
            clock=served.node.clock.settings,
            ready=ready,
        )
        drafts.get_simulator(upcoming)
    assert len(begun) == 2


def test_what_traces_the_pending_block_asks_no_model() -> None:
    with closing(ThinkingNode(mining=MiningMode(is_automatic=False))) as it:
        first = it.ask("eth_sendTransaction", it.transfer())
        it.ask("eth_sendTransaction", it.run)
        options = {"tracer": "callTracer"}
        (traced,) = it.ask("debug_traceBlockByNumber", "pending", options)
        assert traced["txHash"] == first
        assert len(it.ask("trace_block", "pending")) == 1
        assert len(it.ask("trace_replayBlockTransactions", "pending", ["trace"])) == 1
        assert it.ask("debug_executionWitness", "pending")["state"]
        assert it.ask("debug_getRawReceipts", "pending")
        assert it.ask("ots_getBlockDetails", "pending")["totalFees"] != "0x0"
        assert len(it.ask("ots_getBlockTransactions", "pending", 0, 10)["receipts"]) == 1
        assert it.model.requests == []


@pytest.mark.parametrize("undo", ["rollback", "revert"])
def test_an_undone_block_is_traced_on_what_it_began_with(serve: Serve, undo: str) -> None:
    served = serve(codes=CODES)
    options = {"tracer": "callTracer"}

    def traced(block: str) -> str:
        (told,) = served.ask("debug_traceBlockByHash", block, options)
        return str(told["result"]["output"])

    blocks = []
    for begins_with in (0x10, 0x20):
        kept = served.ask("evm_snapshot")
        served.ask("anvil_setStorageAt", COUNTER, word(0), word(begins_with))
        sent = send(served, COUNTER)
        blocks.append(served.ask("eth_getTransactionReceipt", sent)["blockHash"])
        if undo == "revert":
            served.ask("evm_revert", kept)
        else:
            served.ask("anvil_rollback", 1)
        served.ask("anvil_setStorageAt", COUNTER, word(0), word(0x50))
        assert [traced(block) for block in blocks] == [word(0x11), word(0x21)][: len(blocks)]


def test_a_block_that_is_made_again_is_traced_on_what_it_began_with_now(serve: Serve) -> None:
    """The transaction overwrites the earlier value, so both states have one hash."""
    codes = {NOBODY: asm("0x07 PUSH0 SLOAD PUSH0 MSTORE PUSH0 SSTORE 0x20 PUSH0 RETURN")}
    served = serve(codes=codes)
    hashes = []
    for begins_with in (0x10, None):
        kept = served.ask("evm_snapshot")
        if begins_with is not None:
            served.ask("anvil_setStorageAt", to_hex(NOBODY), word(0), word(begins_with))
        else:  # The gas differs if the slot was empty.
            served.ask("anvil_setStorageAt", to_hex(NOBODY), word(0), word(0x20))
        sent = send(served, to_hex(NOBODY))
        hashes.append(served.ask("eth_getTransactionReceipt", sent)["blockHash"])
        traced = served.ask("debug_traceTransaction", sent, {"tracer": "callTracer"})
        assert traced["output"] == word(begins_with or 0x20)
        served.ask("evm_revert", kept)
    assert hashes[0] == hashes[1]


def test_an_undone_block_keeps_who_sent_without_a_key(serve: Serve) -> None:
    served = serve(codes=CODES)
    kept, sender = served.ask("evm_snapshot"), "0x" + "77" * 20
    served.ask("anvil_impersonateAccount", sender)
    served.ask("anvil_setBalance", sender, hex(10**18))
    sent = send(served, COUNTER, **{"from": sender})
    block = served.ask("eth_getTransactionReceipt", sent)["blockHash"]
    served.ask("evm_revert", kept)
    served.node.chain._records.clear()  # noqa: SLF001 - as if others had been asked for since
    (told,) = served.ask("debug_traceBlockByHash", block, {"tracer": "callTracer"})
    assert told["result"]["from"] == sender


def test_a_pending_block_is_traced_on_what_it_began_with_whatever_happens(served: Served) -> None:
    served.ask("anvil_setStorageAt", COUNTER, word(0), word(0x50))
    send(served, COUNTER)
    record = served.node.pending.build_block()
    for change in (
        lambda: None,
        lambda: served.ask("evm_mine"),
        lambda: served.ask("anvil_setStorageAt", COUNTER, word(0), word(0x99)),
    ):
        change()
        _, computation = served.node.chain.replay(record, 0)
        assert to_hex(bytes(computation.output)) == word(0x51)


OPENED = asm(
    "CALLDATASIZE 0x0c JUMPI PUSH0 SLOAD 0x11 JUMPI PUSH0 PUSH0 REVERT "
    "JUMPDEST 0x01 PUSH0 SSTORE JUMPDEST STOP"
)
"""Reverts until it is called with data."""


def test_what_takes_anothers_place_is_tried_behind_those_before_it(serve: Serve) -> None:
    served = serve(codes={NOBODY: OPENED}, is_automatic=False)
    door, sender = to_hex(NOBODY), to_hex(ADDRESSES[1])
    send(served, SENDER, **{"from": sender}, **dear(5))
    send(served, door, **{"from": sender}, data="0x01", **dear(5))
    send(served, SENDER, **{"from": sender}, **dear(5))
    told = {"from": sender, "to": door}
    for nonce, is_open in (("0x3", True), ("0x2", True), ("0x1", False), ("0x0", False)):
        for method in ("eth_estimateGas", "agent_estimate"):
            if is_open:
                assert served.ask(method, told | {"nonce": nonce})
            else:
                with pytest.raises(RefusedError, match="execution reverted"):
                    served.ask(method, told | {"nonce": nonce})
        listed = served.ask("eth_createAccessList", told | {"nonce": nonce})
        assert ("error" in listed) != is_open
    more = {"nonce": "0x2", "maxFeePerGas": hex(200 * GWEI), "maxPriorityFeePerGas": hex(9 * GWEI)}
    sent = served.ask("eth_sendTransaction", told | more)
    served.ask("evm_mine")
    assert served.ask("eth_getTransactionReceipt", sent)["status"] == "0x1"


def test_one_that_no_block_holds_makes_the_others_no_slower(
    served: Served, executed: list[bytes]
) -> None:
    poor = to_hex(ADDRESSES[1])
    send(served, SENDER, **{"from": poor}, value=hex(99 * 10**18), **dear(9))
    send(served, SENDER, **{"from": poor}, value=hex(99 * 10**18), **dear(9))
    for count in range(1, 8):
        send(served, COUNTER, **{"from": to_hex(ADDRESSES[2])}, **dear(5))
        assert served.ask("eth_getStorageAt", COUNTER, "0x0", "pending") == word(count)
    assert len(executed) == 9


def test_no_draft_has_a_time_that_was_set_otherwise_meanwhile(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    send(served, COUNTER)
    ready, late = served.node.pool.iter_ready, [hex(int(START) + 500)]

    def interrupted(*told: Any) -> Any:  # noqa: ANN401 - Pool.ready's own
        if late:
            served.ask("evm_setNextBlockTimestamp", late.pop())
        return ready(*told)

    monkeypatch.setattr(served.node.pool, "iter_ready", interrupted)
    for _ in range(2):
        header = served.ask("eth_getHeaderByNumber", "pending")
        assert int(header["timestamp"], 16) == START + 500


def test_what_a_transaction_writes_where_its_block_began_is_seen(serve: Serve) -> None:
    system = "0x" + "ff" * 19 + "fe"
    codes = {**CODES, HISTORY_STORAGE_ADDRESS: HISTORY_STORAGE_CONTRACT_CODE}
    served = serve(codes=codes, is_automatic=False)
    served.ask("anvil_impersonateAccount", system)
    served.ask("anvil_setBalance", system, hex(10**18))
    send(served, HISTORY, **{"from": system}, data=word(0x1234))
    assert served.ask("eth_getStorageAt", HISTORY, "0x0", "pending") == word(0x1234)
    served.ask("evm_mine")
    assert served.ask("eth_getStorageAt", HISTORY, "0x0", "latest") == word(0x1234)
