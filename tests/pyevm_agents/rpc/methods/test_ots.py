"""Otterscan's methods, compared with eth_ and trace_ methods."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.pyevm_agents.rpc.contracts_to_trace import (
    CALLER,
    CODES,
    COUNTER,
    INITCODE,
    OTHER,
    REVERTING,
    SENDER,
    send,
)
from tests.pyevm_agents.rpc.served import RefusedError
from tests.pyevm_agents.tracing.assembler import asm

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.pyevm_agents.rpc.served import Served

    Serve = Callable[..., Served]

NOT_THERE = "0x" + "11" * 32


@pytest.fixture
def served(serve: Serve) -> Served:
    return serve(codes=CODES)


def test_the_version_and_the_header_that_otterscan_begins_with(served: Served) -> None:
    assert served.ask("ots_getApiLevel") == 8
    header = served.ask("erigon_getHeaderByNumber", "0x0")
    assert header == served.ask("eth_getHeaderByNumber", "0x0")
    assert served.ask("erigon_getHeaderByNumber", "0x9") is None


def test_contracts_have_code_and_others_have_none(served: Served) -> None:
    assert served.ask("ots_hasCode", COUNTER, "latest") is True
    assert served.ask("ots_hasCode", COUNTER) is True
    assert served.ask("ots_hasCode", SENDER, "0x0") is False


def test_a_blocks_details_have_its_fees_and_no_transactions(serve: Serve) -> None:
    served = serve(codes=CODES, is_automatic=False)
    sent = [send(served, COUNTER) for _ in range(3)]
    served.ask("evm_mine")
    details = served.ask("ots_getBlockDetails", 1)
    block = served.ask("eth_getBlockByNumber", "0x1")
    shown = block | {"transactionCount": 3, "logsBloom": None}
    del shown["transactions"]
    assert details["block"] == shown
    receipts = [served.ask("eth_getTransactionReceipt", one) for one in sent]
    fees = sum(int(one["gasUsed"], 16) * int(one["effectiveGasPrice"], 16) for one in receipts)
    assert details["totalFees"] == hex(fees)
    assert details["issuance"] == {"blockReward": "0x0", "uncleReward": "0x0", "issuance": "0x0"}
    assert served.ask("ots_getBlockDetailsByHash", block["hash"]) == details
    assert served.ask("ots_getBlockDetails", "0x9") is None
    assert served.ask("ots_getBlockDetailsByHash", NOT_THERE) is None


def test_a_blocks_transactions_come_in_pages(serve: Serve) -> None:
    served = serve(codes=CODES, is_automatic=False)
    sent = [send(served, COUNTER, data="0x12345678aabb") for _ in range(5)]
    served.ask("evm_mine")
    found = []
    for number in range(3):
        page = served.ask("ots_getBlockTransactions", 1, number, 2)
        block, receipts = page["fullblock"], page["receipts"]
        assert block["transactionCount"] == 5
        found += [one["hash"] for one in block["transactions"]]
        assert {one["input"] for one in block["transactions"]} == {"0x12345678"}
        assert [one["transactionHash"] for one in receipts] == [
            one["hash"] for one in block["transactions"]
        ]
        assert {one["timestamp"] for one in receipts} == {block["timestamp"]}
        assert all(one["logs"] is one["logsBloom"] is None for one in receipts)
    assert found == sent
    beyond = served.ask("ots_getBlockTransactions", 1, 3, 2)
    assert beyond["fullblock"]["transactions"] == beyond["receipts"] == []
    assert served.ask("ots_getBlockTransactions", 9, 0, 2) is None
    with pytest.raises(RefusedError, match="must be a page of 1 to 1000 entries"):
        served.ask("ots_getBlockTransactions", 1, 0, 0)


def test_a_transactions_hash_is_found_by_sender_and_nonce(served: Served) -> None:
    sent = [send(served, COUNTER) for _ in range(2)]
    at = "ots_getTransactionBySenderAndNonce"
    assert [served.ask(at, SENDER, nonce) for nonce in (0, "0x1", 2)] == [*sent, None]


def test_a_failed_transactions_revert_data_is_its_error(served: Served) -> None:
    assert served.ask("ots_getTransactionError", send(served, REVERTING)) == f"0x{5:064x}"
    assert served.ask("ots_getTransactionError", send(served, COUNTER)) == "0x"
    with pytest.raises(RefusedError, match="transaction not found"):
        served.ask("ots_getTransactionError", NOT_THERE)


def test_internal_operations_move_ether_and_contracts(served: Served) -> None:
    sent = send(served, CALLER, value="0x5")
    created = served.ask("trace_transaction", sent)[2]["result"]["address"]
    assert served.ask("ots_getInternalOperations", sent) == [
        {"type": 0, "from": CALLER, "to": COUNTER, "value": "0x3"},
        {"type": 2, "from": CALLER, "to": created, "value": "0x1"},
    ]
    transfer = send(served, OTHER, value="0x7")
    assert served.ask("ots_getInternalOperations", transfer) == []


@pytest.mark.filterwarnings("ignore:SELFDESTRUCT")
def test_a_contract_that_destroys_itself_is_an_operation_and_what_was_undone_is_none(
    served: Served,
) -> None:
    code = asm("0x" + "99" * 20 + " SELFDESTRUCT")
    served.ask("anvil_setCode", OTHER, "0x" + code.hex())
    served.ask("anvil_setBalance", OTHER, "0x9")
    assert served.ask("ots_getInternalOperations", send(served, OTHER)) == [
        {"type": 1, "from": OTHER, "to": "0x" + "99" * 20, "value": "0x9"}
    ]
    served.ask("anvil_setCode", OTHER, "0x" + CODES[bytes.fromhex(CALLER[2:])].hex()[:-2] + "fe")  # type: ignore[index]
    undone = send(served, OTHER, value="0x9")
    assert len(served.ask("trace_transaction", undone)) == 3
    assert served.ask("ots_getInternalOperations", undone) == []


def test_calls_are_listed_with_their_depths(served: Served) -> None:
    sent = send(served, CALLER, value="0x5")
    calls = served.ask("ots_traceTransaction", sent)
    assert [(call["type"], call["depth"], call["value"]) for call in calls] == [
        ("CALL", 0, "0x5"),
        ("CALL", 1, "0x3"),
        ("CREATE", 1, "0x1"),
    ]
    assert calls[1]["output"] == f"0x{1:064x}"
    assert calls[2]["input"] == "0x" + INITCODE.hex()


def test_a_contracts_creator_is_who_created_it(served: Served) -> None:
    send(served, COUNTER)
    inner = send(served, CALLER, value="0x5")
    outer = send(served, None, data="0x" + INITCODE.hex())
    created = served.ask("trace_transaction", inner)[2]["result"]["address"]
    assert served.ask("ots_getContractCreator", created) == {"hash": inner, "creator": CALLER}
    created = served.ask("eth_getTransactionReceipt", outer)["contractAddress"]
    assert served.ask("ots_getContractCreator", created) == {"hash": outer, "creator": SENDER}
    assert served.ask("ots_getContractCreator", COUNTER) is None  # Of genesis.
    assert served.ask("ots_getContractCreator", SENDER) is None
